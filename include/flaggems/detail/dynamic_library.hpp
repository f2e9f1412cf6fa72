// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Libraries opened at run time: drivers and runtime compilers.
#pragma once

#include <flaggems/detail/text.hpp>

#include <dlfcn.h>
#include <cstdlib>

namespace flaggems::detail {

/// A library that stays open until the program ends: drivers cannot be unloaded safely.
class dynamic_library {
 public:
  /// Opens the library named by the environment variable `variable`, if set and not empty; else the
  /// first of `names` that can be opened.
  template <int Count>
  dynamic_library(const char* variable, const char* const (&names)[Count]) noexcept {
    const char* const set = std::getenv(variable);
    if (set != nullptr && *set != '\0') {
      open(set);
      if (handle_ == nullptr) reason_ += text(" (") + variable + ")";
      return;
    }
    for (const char* name : names)
      if (handle_ == nullptr) open(name);
  }

  [[nodiscard]] bool is_open() const noexcept { return handle_ != nullptr; }
  /// Why it is not open, or which symbol is missing.
  [[nodiscard]] const text& reason() const noexcept { return reason_; }
  /// The path it was opened by.
  [[nodiscard]] const text& path() const noexcept { return path_; }

  [[nodiscard]] bool has(const char* name) const noexcept {
    return handle_ != nullptr && dlsym(handle_, name) != nullptr;
  }
  /// Sets `function` to the symbol `name`; false, with a reason, if there is none.
  template <class F>
  bool bind(const char* name, F*& function) noexcept {
    void* const symbol = handle_ != nullptr ? dlsym(handle_, name) : nullptr;
    function = reinterpret_cast<F*>(symbol);
    if (symbol == nullptr && reason_.empty()) reason_ = path_ + text(" has no ") + name;
    return symbol != nullptr;
  }

 private:
  void open(const char* name) noexcept {
    handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    path_ = name;
    if (handle_ != nullptr) {
      reason_ = text();
      return;
    }
    const char* const why = dlerror();
    // The first name's reason, as that is the expected one.
    if (reason_.empty()) reason_ = why != nullptr ? why : "it cannot be opened";
  }

  void* handle_ = nullptr;
  text path_, reason_;
};

}  // namespace flaggems::detail
