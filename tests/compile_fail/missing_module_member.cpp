// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A device type that loads images needs modules.
//
// clang-format off
//
// expect: -DMEMBER=module_handle: flaggems: device type lacks `using module_handle = <a regular type>`
// expect: -DMEMBER=function_handle: flaggems: device type lacks `using function_handle = <a regular type>`
// expect: -DMEMBER=load_module: flaggems: device type lacks `static module_handle load_module(const void* image, i64 bytes)`
// expect: -DMEMBER=unload_module: flaggems: device type lacks `static void unload_module(module_handle) noexcept`
// expect: -DMEMBER=find_function: flaggems: device type lacks `static function_handle find_function(module_handle, const char* name)`
// clang-format on
#include <support/mock_device.hpp>

struct with_modules : support::mock_device {
  struct images {
    static constexpr flaggems::image_provider providers[] = {
        flaggems::image_provider::runtime_compiled};
  };
  using module_handle = int;
  using function_handle = int;
  static module_handle load_module(const void*, flaggems::i64);
  static void unload_module(module_handle) noexcept;
  static function_handle find_function(module_handle, const char*);
};
static_assert(flaggems::check_device<with_modules>());

#ifdef MEMBER
class lacking : public with_modules {
  using with_modules::MEMBER;  // private here
};
static_assert(flaggems::check_device<lacking>());
#endif
