// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// ATen's operators under autocast on a device type of ours, by the lists that PyTorch has for all
// back ends. Part of torch_device.hpp.
#pragma once

#include <flaggems/adapters/torch_operators.hpp>

#include <torch/library.h>

#include <initializer_list>
#include <memory>
#include <string>

namespace flaggems::detail {

/// Adds the kernels to a library of ATen's for AutocastPrivateUse1.
inline void add_autocast(torch::Library& m) {
  const auto add = [&](torch_autocast policy, std::initializer_list<std::string> names) {
    for (std::string name : names) {
      // The lists have "pow, Tensor_Scalar" for pow.Tensor_Scalar.
      if (const auto comma = name.find(", "); comma != name.npos) name.replace(comma, 2, ".");
      m.impl(name.c_str(),
             torch::CppFunction::makeFromBoxedFunctor(
                 std::make_unique<torch_autocast_kernel>(c10::DeviceType::PrivateUse1, policy)));
    }
  };
#define FLAGGEMS_LISTED(...) #__VA_ARGS__,
  add(torch_autocast::lower_precision_fp, {AT_FORALL_LOWER_PRECISION_FP(FLAGGEMS_LISTED)});
  add(torch_autocast::fp32, {AT_FORALL_FP32(FLAGGEMS_LISTED) "norm.Scalar", "norm.ScalarOpt_dim"});
  add(torch_autocast::fp32_set_opt_dtype, {AT_FORALL_FP32_SET_OPT_DTYPE(FLAGGEMS_LISTED)});
  add(torch_autocast::promote, {AT_FORALL_PROMOTE(FLAGGEMS_LISTED)});
#undef FLAGGEMS_LISTED
}

}  // namespace flaggems::detail
