// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/distance.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/reduce.hpp>
#include <flaggems/ops/scan.hpp>
#include <flaggems/ops/statistics.hpp>

#include "contract.hpp"

namespace contract {

void own_results() {
  each(real{}, [](const auto& x) {
    (void)fg::sum(s, x);
    (void)fg::prod(s, x);
    (void)fg::amax(s, x);
    (void)fg::amin(s, x);
    (void)fg::any(s, x);
    (void)fg::all(s, x);
    (void)fg::argmax(s, x);
    (void)fg::argmin(s, x);
  });
  each(floats{}, [](const auto& x) { (void)fg::mean(s, x); });
}

void other_results() {
  each(real{}, [](const auto& x) {
    (void)fg::sum<f32>(s, x);
    (void)fg::sum<bool>(s, x);
    (void)fg::prod<bool>(s, x);
    (void)fg::mean<f32>(s, x);
  });
  each(types<pair<f64, f32>, pair<f64, bf16>, pair<f32, f64>, pair<bf16, f64>, pair<f64, bool>,
             pair<bf16, i64>, pair<i32, i64>, pair<u8, bool>, pair<i8, i32>>{},
       [](const auto& to, const auto& from) {
         fg::sum(s, from, to);
         fg::prod(s, from, to);
       });
}

// Of an expression, bool squared among them.
void of_expressions() {
  each(real{}, [](const auto& x) { (void)fg::sum(s, fg::square(x)); });
  each(mixed{}, [](const auto& a, const auto& b) { (void)fg::amax(s, fg::add(a, b)); });
}

void of_statistics() {
  each(real{}, [](const auto& x) {
    (void)fg::max(s, x, 0);
    (void)fg::min(s, x, 0);
    (void)fg::aminmax(s, x);
    (void)fg::count_nonzero(s, x);
    (void)fg::trace(s, x);
    (void)fg::equal(s, x, x);
    (void)fg::allclose(s, x, x);
  });
  each(floats{}, [](const auto& x) { (void)fg::nansum(s, x); });
  each(types<f32, bf16, f64, f16>{}, [](const auto& x) {
    (void)fg::logsumexp(s, x, 0);
    (void)fg::dist(s, x, x);
    (void)fg::pairwise_distance(s, x, x);
    (void)fg::cdist(s, x, x);
    (void)fg::cdist_backward(s, x, x, x, 2, x);
    (void)fg::pdist(s, x);
    (void)fg::renorm(s, x, 2, 0, 1);
    (void)fg::linalg_matrix_norm(s, x, 1);
    (void)fg::var_mean(s, x);
    (void)fg::stddev(s, x);
    for (const double p : {1.0, 2.0}) (void)fg::norm(s, x, p);
  });
}

void scanned() {
  each(fg::detail::scanned_types{}, [](const auto& x) {
    (void)fg::cumsum(s, x, 0);
    (void)fg::cumprod(s, x, 0);
    (void)fg::cummax(s, x, 0);
    (void)fg::cummin(s, x, 0);
  });
  each(types<f32, bf16, f64, f16>{}, [](const auto& x) { (void)fg::logcumsumexp(s, x, 0); });
}

}  // namespace contract
