// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What simulated/cuda.hpp has compiled once a program, without GoogleTest.
#include <simulated/cuda.hpp>

template class flaggems::detail::driver<flaggems::detail::cuda_api>;
template class flaggems::detail::runtime_compiler<flaggems::detail::cuda_api>;
template struct flaggems::driver_device<flaggems::detail::cuda_api>;
