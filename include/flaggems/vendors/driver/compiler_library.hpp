// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A compiler in a library with NVRTC's functions, opened at run time.
#pragma once

#include <flaggems/detail/dynamic_library.hpp>
#include <flaggems/vendors/driver/kernel_text.hpp>

#include <string>
#include <vector>

namespace flaggems::detail {

/// What a compiler made of a source.
struct compiled_source {
  std::string image, log;
  text failure;  ///< empty: it succeeded
};

/// The functions of a runtime compiler, by NVRTC's names without prefix.
struct compiler_functions {
  int (*version)(int* major_number, int* minor_number);
  const char* (*error_string)(int result);
  int (*create)(void** program, const char* source, const char* name, int headers,
                const char* const* texts, const char* const* names);
  int (*destroy)(void** program);
  int (*compile)(void* program, int count, const char* const* options);
  int (*log_size)(void* program, std::size_t* bytes);
  int (*log)(void* program, char* text);
  int (*image_size)(void* program, std::size_t* bytes);
  int (*image)(void* program, char* bytes);
};

/// The compiler of `Api`, opened at first use. `Api::finish`, where there is one, makes the
/// driver's image of the compiler's, and returns why it cannot.
template <class Api>
class compiler_library {
 public:
  static const compiler_library& get() {
    static const compiler_library once;
    return once;
  }
  /// "13.0"; empty without a compiler.
  [[nodiscard]] std::string_view version() const noexcept { return version_.view(); }
  /// Why nothing can be compiled; empty if it can.
  [[nodiscard]] const text& reason() const noexcept { return functions_.reason(); }

  /// Compiles `lines` and the texts that they need; `kept`: the image will be in our cache.
  [[nodiscard]] compiled_source compile(const kernel_texts& texts, const std::string& lines,
                                        const std::vector<std::string>& options, bool kept) const {
    const std::string source = source_of(texts, lines);
    std::vector<const char*> words = Api::other_options(major_number_, minor_number_, kept);
    for (const std::string& option : options) words.push_back(option.c_str());
    program unit{call_};
    compiled_source made;
    int result =
        call_.create(&unit.handle, source.c_str(), source_name,
                     static_cast<int>(texts.names.size()), texts.texts.data(), texts.names.data());
    std::size_t bytes = 0;
    if (result == 0)
      result = call_.compile(unit.handle, static_cast<int>(words.size()), words.data());
    if (result == 0) result = call_.image_size(unit.handle, &bytes);
    if (result == 0) {
      made.image.resize(bytes);
      result = call_.image(unit.handle, made.image.data());
    }
    if (result == 0) {
      if constexpr (requires { Api::finish(made.image); }) made.failure = Api::finish(made.image);
      return made;
    }
    made.failure = call_.error_string(result);
    if (unit.handle != nullptr && call_.log_size(unit.handle, &bytes) == 0 && bytes > 1) {
      made.log.resize(bytes - 1);
      call_.log(unit.handle, made.log.data());
    }
    return made;
  }

 private:
  compiler_library() : functions_(Api::compiler_variable, Api::compiler_libraries) {
    const bool found = functions_.bind(Api::compiler_symbols[0], call_.version) &&
                       functions_.bind(Api::compiler_symbols[1], call_.error_string) &&
                       functions_.bind(Api::compiler_symbols[2], call_.create) &&
                       functions_.bind(Api::compiler_symbols[3], call_.destroy) &&
                       functions_.bind(Api::compiler_symbols[4], call_.compile) &&
                       functions_.bind(Api::compiler_symbols[5], call_.log_size) &&
                       functions_.bind(Api::compiler_symbols[6], call_.log) &&
                       functions_.bind(Api::compiler_symbols[7], call_.image_size) &&
                       functions_.bind(Api::compiler_symbols[8], call_.image);
    if (found && call_.version(&major_number_, &minor_number_) == 0)
      version_ = text(major_number_) + "." + text(minor_number_);
  }
  struct program {
    explicit program(const compiler_functions& functions) : call(functions) {}
    ~program() {
      if (handle != nullptr) call.destroy(&handle);
    }
    program(const program&) = delete;
    program& operator=(const program&) = delete;
    const compiler_functions& call;
    void* handle = nullptr;
  };

  dynamic_library functions_;
  compiler_functions call_{};
  text version_;
  int major_number_ = 0, minor_number_ = 0;
};

}  // namespace flaggems::detail
