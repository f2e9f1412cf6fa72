// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/pointwise/simt/pointwise.hpp>
#include <flaggems/kernel/family/random/draw.hpp>
#include <flaggems/kernel/family/random/poisson.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;
using flaggems::bf16;
using flaggems::i64;

namespace flaggems::kernels {
template <class F, class C, int Digits>
using draw_of = node<C, drawn_fn<F, C, Digits>, position<i64>>;
using bernoulli_f32 = draw_of<bernoulli_fn<float>, float, 24>;
using geometric_f64 = draw_of<geometric_fn<double>, double, 53>;
using exponential_f32 = draw_of<exponential_fn<float>, float, 24>;
using uniform_bf16 = draw_of<uniform_fn<float>, float, 8>;
using normal_f32 = draw_of<normal_fn<float>, float, 24>;
using normal_f64 = draw_of<normal_fn<double>, double, 53>;
using log_normal_f32 = draw_of<log_normal_fn<float>, float, 24>;
using cauchy_f32 = draw_of<cauchy_fn<float>, float, 24>;
using integers = draw_of<integer_fn, i64, 53>;
using poisson_f32 = node<double, poisson_fn, arg<float, double>, position<i64>>;
}  // namespace flaggems::kernels

FLAGGEMS_INSTANCE(bernoulli, fk::pointwise_strided<bool, fk::bernoulli_f32>, fk::strided_space,
                  fk::target<bool>, fk::bernoulli_f32)
FLAGGEMS_INSTANCE(geometric, fk::pointwise_strided<i64, fk::geometric_f64>, fk::strided_space,
                  fk::target<i64>, fk::geometric_f64)
FLAGGEMS_INSTANCE(exponential, fk::pointwise_strided<float, fk::exponential_f32>, fk::strided_space,
                  fk::target<float>, fk::exponential_f32)
FLAGGEMS_INSTANCE(uniform, fk::pointwise_strided<bf16, fk::uniform_bf16>, fk::strided_space,
                  fk::target<bf16>, fk::uniform_bf16)
FLAGGEMS_INSTANCE(normal, fk::pointwise_strided<float, fk::normal_f32>, fk::strided_space,
                  fk::target<float>, fk::normal_f32)
FLAGGEMS_INSTANCE(normal_doubles, fk::pointwise_strided<double, fk::normal_f64>, fk::strided_space,
                  fk::target<double>, fk::normal_f64)
FLAGGEMS_INSTANCE(log_normal, fk::pointwise_strided<float, fk::log_normal_f32>, fk::strided_space,
                  fk::target<float>, fk::log_normal_f32)
FLAGGEMS_INSTANCE(cauchy, fk::pointwise_strided<float, fk::cauchy_f32>, fk::strided_space,
                  fk::target<float>, fk::cauchy_f32)
FLAGGEMS_INSTANCE(random, fk::pointwise_strided<int, fk::integers>, fk::strided_space,
                  fk::target<int>, fk::integers)
FLAGGEMS_INSTANCE(poisson, fk::pointwise_strided<float, fk::poisson_f32>, fk::strided_space,
                  fk::target<float>, fk::poisson_f32)
