// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// An NVRTC-like runtime compiler, opened at run time, and its kernel images, cached on disk.
#pragma once

#include <flaggems/detail/disk_cache.hpp>
#include <flaggems/detail/dynamic_library.hpp>
#include <flaggems/error.hpp>
#include <flaggems/vendors/driver/kernel_text.hpp>

#include <string>
#include <vector>

namespace flaggems::detail {

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

/// The compiler of `Api`. Opening its library is slow, so it is deferred until something must be
/// compiled; cached images need none, whichever version made them.
template <class Api>
class runtime_compiler {
 public:
  static runtime_compiler& get() {
    static runtime_compiler opened;
    return opened;
  }

  /// The image of a kernel's instance for `target`, from disk or compiled from `texts`. Raises
  /// not_supported without a compiler, texts or names of all types; driver_error with the
  /// compiler's message.
  [[nodiscard]] std::string image_of(const char* op, const kernel_instance& instance,
                                     std::string_view target,
                                     const kernel_texts& texts = kernel_texts::embedded()) {
    if (!has_names(instance))
      raise(errc::not_supported, op,
            "types of kernels with names, in headers that end with FLAGGEMS_TEXT",
            nameless_type(instance));
    if (texts.names.empty())
      raise(errc::not_supported, op, "a program with the texts of its kernels",
            "one compiled with FLAGGEMS_EMBED=0");
    if (texts.ambiguous != nullptr)
      raise(errc::not_supported, op, "one header for each name that FLAGGEMS_TEXT gives",
            text("two different texts named ") + texts.ambiguous);
    const std::string lines = source_of(instance, entry_name);
    // (A compiler named by the user may differ from the one that made the cached image.)
    const char* const named = std::getenv(Api::compiler_variable);
    std::string key =
        std::string(Api::compiler_name) + ' ' + (named != nullptr ? named : "") + '\n';
    for (const std::string& option : Api::compiler_options(target)) key += option + '\n';
    key += std::to_string(texts.hash()) + '\n' + lines;
    std::string image = cache_.load(key);
    if (image.empty()) {
      image = compile(op, instance.types(), texts, lines, target);
      cache_.store(key, image);
    }
    return image;
  }
  /// Compiles `lines`, which need some of the texts; errors call them `what`.
  [[nodiscard]] std::string compile(const char* op, std::string_view what,
                                    const kernel_texts& texts, const std::string& lines,
                                    std::string_view target) {
    require(op);
    const std::string source = source_of(texts, lines);
    const std::vector<std::string> options = Api::compiler_options(target);
    std::vector<const char*> words =
        Api::other_options(library().major_number, library().minor_number, cache_.reason().empty());
    for (const std::string& option : options) words.push_back(option.c_str());
    const compiler_functions& call = library().call;
    program unit;
    int result =
        call.create(&unit.handle, source.c_str(), source_name, static_cast<int>(texts.names.size()),
                    texts.texts.data(), texts.names.data());
    std::string image;
    std::size_t bytes = 0;
    if (result == 0)
      result = call.compile(unit.handle, static_cast<int>(words.size()), words.data());
    if (result == 0) result = call.image_size(unit.handle, &bytes);
    if (result == 0) {
      image.resize(bytes);
      result = call.image(unit.handle, image.data());
    }
    if (result != 0) raise_failure(op, what, lines, unit.handle, result);
    return image;
  }

  /// Whether all types can be named in a source.
  [[nodiscard]] static bool has_names(const kernel_instance& instance) noexcept {
    return nameless_type(instance).empty();
  }
  /// The first type that cannot be named, such as a lambda or one of an unnamed namespace; empty if
  /// all can.
  [[nodiscard]] static std::string_view nameless_type(const kernel_instance& instance) noexcept {
    const std::string_view types = instance.types();
    std::size_t at = types.npos;
    for (const char* mark :
         {"{anonymous}", "(anonymous ", "<lambda", "(lambda", "::<unnamed", "__nv_"})
      at = (std::min)(at, types.find(mark));
    if (at == types.npos) return {};
    // The text between the commas or brackets around it.
    std::size_t first = at, last = at;
    for (int depth = 0; first > 0; --first) {
      const char c = types[first - 1];
      depth += c == '>' || c == ')' ? 1 : c == '<' || c == '(' ? -1 : 0;
      if (depth < 0 || (depth == 0 && c == ',')) break;
    }
    for (int depth = 0; last < types.size(); ++last) {
      const char c = types[last];
      depth += c == '<' || c == '(' ? 1 : c == '>' || c == ')' ? -1 : 0;
      if (depth < 0 || (depth == 0 && c == ',')) break;
    }
    first += types[first] == ' ' ? 1 : 0;
    return types.substr(first, last - first);
  }
  [[nodiscard]] const disk_cache& cache() const noexcept { return cache_; }
  /// "13.0"; empty without a compiler.
  [[nodiscard]] std::string_view version() const noexcept { return library().version.view(); }
  /// The compiler's log of the last kernel that failed to compile.
  [[nodiscard]] const std::string& log() const noexcept { return log_; }
  /// Why nothing can be compiled; empty if it can.
  [[nodiscard]] const text& reason() const noexcept { return library().functions.reason(); }

 private:
  runtime_compiler() : cache_(disk_cache::of_user()) {}

  // The library, opened at first use.
  struct opened {
    dynamic_library functions;
    compiler_functions call{};
    text version;
    int major_number = 0, minor_number = 0;

    opened() : functions(Api::compiler_variable, Api::compiler_libraries) {
      const bool found = functions.bind(Api::compiler_symbols[0], call.version) &&
                         functions.bind(Api::compiler_symbols[1], call.error_string) &&
                         functions.bind(Api::compiler_symbols[2], call.create) &&
                         functions.bind(Api::compiler_symbols[3], call.destroy) &&
                         functions.bind(Api::compiler_symbols[4], call.compile) &&
                         functions.bind(Api::compiler_symbols[5], call.log_size) &&
                         functions.bind(Api::compiler_symbols[6], call.log) &&
                         functions.bind(Api::compiler_symbols[7], call.image_size) &&
                         functions.bind(Api::compiler_symbols[8], call.image);
      if (found && call.version(&major_number, &minor_number) == 0)
        version = text(major_number) + "." + text(minor_number);
    }
  };
  static const opened& library() {
    static const opened once;
    return once;
  }
  static void require(const char* op) {
    if (library().version.empty())
      raise(errc::not_supported, op, text("the runtime compiler ") + Api::compiler_name,
            library().functions.reason());
  }
  [[noreturn]] void raise_failure(const char* op, std::string_view what, std::string_view lines,
                                  void* unit, int result) {
    const compiler_functions& call = library().call;
    std::size_t bytes = 0;
    log_.clear();
    if (unit != nullptr && call.log_size(unit, &bytes) == 0 && bytes > 1) {
      log_.resize(bytes - 1);
      call.log(unit, log_.data());
    }
    // Errors hold some hundred bytes: of a long log, its first error.
    const std::size_t error_at = log_.find("error");
    std::size_t line = error_at == log_.npos ? 0 : log_.rfind('\n', error_at) + 1;
    const std::string said = log_.substr(line, log_.find('\n', line) - line);
    const std::string_view unknown = unknown_name(said, lines);
    if (!unknown.empty()) {  // all other messages follow from that
      log_ = "does the header of \"" + std::string(unknown) + "\" end with FLAGGEMS_TEXT?\n" + said;
      line = 0;
    }
    raise(
        errc::driver_error, op,
        text("code, made of headers that end with FLAGGEMS_TEXT and include no others, of ") + what,
        text(call.error_string(result)) + ": " + std::string_view(log_).substr(line));
  }
  // The unknown name in the instances' lines that the compiler reported; empty if none.
  static std::string_view unknown_name(std::string_view said, std::string_view lines) noexcept {
    if (said.find(source_name) != 0) return {};
    for (const std::string_view before : {"error: identifier \"", "\" has no member \""})
      if (const std::size_t at = said.find(before); at != said.npos) {
        said.remove_prefix(at + before.size());
        return said.substr(0, said.find('"'));
      }
    // An unnamed unknown namespace: that of the first type that is not the library's.
    if (said.find("name followed by \"::\"") == said.npos) return {};
    const auto in_name = [&](std::size_t k) {
      return lines[k] == ':' || letters_of_names.find(lines[k]) != letters_of_names.npos;
    };
    for (std::size_t p = 0; (p = lines.find("::", p)) != lines.npos;) {
      std::size_t first = p;
      while (first > 0 && in_name(first - 1)) --first;
      while (p < lines.size() && in_name(p)) ++p;
      const std::string_view name = lines.substr(first, p - first);
      if (name.find("flaggems::") != 0) return name;
    }
    return {};
  }

  struct program {
    program() = default;
    ~program() {
      if (handle != nullptr) library().call.destroy(&handle);
    }
    program(const program&) = delete;
    program& operator=(const program&) = delete;
    void* handle = nullptr;
  };

  std::string log_;
  disk_cache cache_;
};

}  // namespace flaggems::detail
