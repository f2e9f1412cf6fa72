// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Code for Level Zero: how it is compiled, modules and their kernels, and what launches read.
#pragma once

#include <flaggems/vendors/driver/compiler_program.hpp>
#include <flaggems/vendors/level_zero/queue.hpp>

#include <array>

namespace flaggems::detail {

/// How kernels are compiled for Level Zero. The code is for no device in particular: the driver
/// compiles it once more for its own.
struct level_zero_api {
  static constexpr const char* name = "level_zero";
  static constexpr const char* target = "spirv64";
  using compiler = compiler_program<level_zero_api>;
  static constexpr const char* compiler_name = "clang and llvm-spirv for Level Zero";
  static constexpr const char* compiler_variable = "FLAGGEMS_LEVEL_ZERO_COMPILER";
  static constexpr const char* compiler_programs[] = {"clang-15", "clang"};
  static constexpr const char* translator = "llvm-spirv";
  static constexpr const char* translator_variable = "FLAGGEMS_LEVEL_ZERO_TRANSLATOR";
  // SPIR-V 1.1: all that atomics and barriers of our texts need.
  static constexpr const char* translator_options[] = {"--spirv-max-version=1.1", "-o", "-", "-"};

  /// Without optimisation, which is the driver's: SPIR-V has no form for what clang's loop hints
  /// make of shared ends of loops.
  static std::vector<std::string> compiler_options(std::string_view) {
    return {"-x", "cl", "-cl-std=CLC++2021", "-target", "spir64", "-O0",
            "-w", "-c", "-emit-llvm",        "-o",      "-",      "-"};
  }
  /// Typed pointers, clang 15's default: the translator reads no others.
  static std::vector<const char*> other_options(int /*major_number*/) { return {}; }
  static bool runs(std::string_view device, std::string_view image) noexcept {
    return device == image;
  }
};

/// A module and the kernels that were made of it, which go before it.
class level_zero_module {
 public:
  level_zero_module(void* device, const void* image, i64 bytes) {
    const auto& f = level_zero_calls();
    ze::module_of description;
    description.bytes = static_cast<std::size_t>(bytes);
    description.data = static_cast<const unsigned char*>(image);
    void* log = nullptr;
    const int result = f.zeModuleCreate.call(level_zero_driver::get().context(), device,
                                             &description, &native_, &log);
    if (result == 0 && log == nullptr) return;
    char words[256] = {};
    std::size_t room = sizeof(words) - 1;
    if (log != nullptr) f.zeModuleBuildLogGetString.call(log, &room, words);
    if (log != nullptr) f.zeModuleBuildLogDestroy.call(log);
    if (result != 0)
      raise(errc::driver_error, "load_module", "success of zeModuleCreate",
            level_zero_error_text(result) + ": " + static_cast<const char*>(words));
  }
  ~level_zero_module() {
    for (void* const kernel : kernels_) level_zero_calls().zeKernelDestroy.call(kernel);
    level_zero_calls().zeModuleDestroy.call(native_);
  }
  level_zero_module(const level_zero_module&) = delete;
  level_zero_module& operator=(const level_zero_module&) = delete;

  [[nodiscard]] void* kernel(const char* op, const char* entry) {
    const auto& f = level_zero_calls();
    ze::kernel_of description;
    description.name = entry;
    void* made = nullptr;
    const pool_lock lock(mutex_);
    level_zero_call(op, f.zeKernelCreate, native_, &description, &made);
    kernels_.push_back(made);
    // Arguments hold pointers in structs, where the driver does not see them.
    level_zero_call(op, f.zeKernelSetIndirectAccess, made, ze::access_all);
    return made;
  }

 private:
  void* native_ = nullptr;
  pool_mutex mutex_;
  std::vector<void*> kernels_;
};

/// Words in memory of the host, which a queue keeps behind the launch that reads them.
class level_zero_words {
 public:
  level_zero_words(const char* op, level_zero_queue& queue, const void* words, std::size_t bytes)
      : queue_(queue), data_(level_zero_host_memory(op, bytes)) {
    check(data_ != nullptr, errc::out_of_memory, op, "memory of the host for arguments");
    std::memcpy(data_, words, bytes);
  }
  ~level_zero_words() { queue_.keep(data_); }
  level_zero_words(const level_zero_words&) = delete;
  level_zero_words& operator=(const level_zero_words&) = delete;
  [[nodiscard]] void* data() const noexcept { return data_; }

 private:
  level_zero_queue& queue_;
  void* data_;
};

/// Each byte, as a pattern that may be read when a fill runs.
inline constexpr std::array<unsigned char, 256> level_zero_bytes = [] {
  std::array<unsigned char, 256> all{};
  for (std::size_t k = 0; k < all.size(); ++k) all[k] = static_cast<unsigned char>(k);
  return all;
}();

}  // namespace flaggems::detail
