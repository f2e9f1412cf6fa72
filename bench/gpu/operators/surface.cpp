// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Operators that surface.py compares beside the rows of tables: losses, and what moves or sums up
// elements at indices.
#include "bridge.hpp"

#include <flaggems/ops/activation.hpp>
#include <flaggems/ops/activation_backward.hpp>
#include <flaggems/ops/arithmetic.hpp>
#include <flaggems/ops/arrange.hpp>
#include <flaggems/ops/convolution.hpp>
#include <flaggems/ops/embedding_backward.hpp>
#include <flaggems/ops/fused_norm.hpp>
#include <flaggems/ops/gated.hpp>
#include <flaggems/ops/gather.hpp>
#include <flaggems/ops/loss.hpp>
#include <flaggems/ops/outer.hpp>
#include <flaggems/ops/pad.hpp>
#include <flaggems/ops/scan.hpp>
#include <flaggems/ops/scatter.hpp>
#include <flaggems/ops/stack.hpp>
#include <flaggems/ops/statistics.hpp>
#include <flaggems/ops/triangle.hpp>

#include <array>
#include <optional>

namespace bridge {
namespace {

// An operation of floats; `c` is the call, T their type.
#define FLAGGEMS_BENCH(id, ...) \
  const entry surface_##id(     \
      #id, [](const call& c) { with_float(c, 0, [&]<class T>(T) { __VA_ARGS__; }); });
#define FLAGGEMS_BENCH_UNARY(id) FLAGGEMS_BENCH(id, fg::id(c.on, c.view<const T>(0), c.view<T>(1)))
#define FLAGGEMS_BENCH_BINARY(id) \
  FLAGGEMS_BENCH(id, fg::id(c.on, c.view<const T>(0), c.view<const T>(1), c.view<T>(2)))

FLAGGEMS_BENCH_UNARY(nan_to_num)
FLAGGEMS_BENCH_UNARY(gelu)
FLAGGEMS_BENCH_UNARY(glu)
FLAGGEMS_BENCH_BINARY(floor_divide)
FLAGGEMS_BENCH_BINARY(gelu_backward)
FLAGGEMS_BENCH_BINARY(mse_loss)
FLAGGEMS_BENCH_BINARY(smooth_l1_loss)
FLAGGEMS_BENCH_BINARY(outer)
FLAGGEMS_BENCH(masked_fill,
               fg::masked_fill(c.on, c.view<const T>(0), c.view<const bool>(1), 0.5F, c.view<T>(2)))
FLAGGEMS_BENCH(binary_cross_entropy_with_logits,
               fg::binary_cross_entropy_with_logits(c.on, c.view<const T>(0), c.view<const T>(1),
                                                    std::nullopt, std::nullopt, c.view<T>(2)))

FLAGGEMS_BENCH(conv1d, fg::conv1d(c.on, c.view<const T>(0), c.view<const T>(1), c.view<const T>(2),
                                  c.view<T>(3), {c.integer(0)}, {1}, {1}, c.integer(1)))
FLAGGEMS_BENCH(conv2d, fg::conv2d(c.on, c.view<const T>(0), c.view<const T>(1), c.view<const T>(2),
                                  c.view<T>(3), {c.integer(0)}, {c.integer(1)}))
FLAGGEMS_BENCH(flip, fg::flip(c.on, c.view<const T>(0), c.view<T>(1), {-1}))
FLAGGEMS_BENCH(roll, fg::roll(c.on, c.view<const T>(0), c.view<T>(1), 3, -1))
FLAGGEMS_BENCH(repeat, fg::repeat(c.on, c.view<const T>(0), c.view<T>(1), {2, 3}))
FLAGGEMS_BENCH(pixel_shuffle, fg::pixel_shuffle(c.on, c.view<const T>(0), c.view<T>(1), 2))
FLAGGEMS_BENCH(constant_pad_nd,
               fg::constant_pad_nd(c.on, c.view<const T>(0), c.view<T>(1), {1, 2, 3, 4}, 0))
FLAGGEMS_BENCH(reflection_pad2d,
               fg::reflection_pad2d(c.on, c.view<const T>(0), c.view<T>(1), {1, 2, 3, 4}))
FLAGGEMS_BENCH(triu, fg::triu(c.on, c.view<const T>(0), c.view<T>(1)))
FLAGGEMS_BENCH(stack, fg::stack(c.on, std::array{c.view<const T>(0), c.view<const T>(1)},
                                c.view<T>(2), -1))

FLAGGEMS_BENCH(cumsum, fg::cumsum(c.on, c.view<const T>(0), c.view<T>(1), c.integer(0)))
FLAGGEMS_BENCH(logcumsumexp, fg::logcumsumexp(c.on, c.view<const T>(0), c.view<T>(1), c.integer(0)))
FLAGGEMS_BENCH(cummax,
               fg::cummax(c.on, c.view<const T>(0), c.view<T>(1), c.view<i64>(2), c.integer(0)))
FLAGGEMS_BENCH(gather, fg::gather(c.on, c.view<const T>(0), c.integer(0), c.view<const i64>(1),
                                  c.view<T>(2)))
FLAGGEMS_BENCH(index,
               fg::index(c.on, c.view<const T>(0), std::array{c.view<const i64>(1)}, c.view<T>(2)))
// Into the last tensor, whose dtype is the first's.
FLAGGEMS_BENCH(scatter_, fg::scatter_(c.on, c.view<T>(2), c.integer(0), c.view<const i64>(1),
                                      c.view<const T>(0)))
FLAGGEMS_BENCH(scatter_add_, fg::scatter_add_(c.on, c.view<T>(2), c.integer(0),
                                              c.view<const i64>(1), c.view<const T>(0)))
FLAGGEMS_BENCH(index_add_, fg::index_add_(c.on, c.view<T>(2), c.integer(0), c.view<const i64>(1),
                                          c.view<const T>(0)))
FLAGGEMS_BENCH(index_copy_, fg::index_copy_(c.on, c.view<T>(2), c.integer(0), c.view<const i64>(1),
                                            c.view<const T>(0)))
FLAGGEMS_BENCH(index_put_, fg::index_put_(c.on, c.view<T>(2), std::array{c.view<const i64>(1)},
                                          c.view<const T>(0), c.integer(0) != 0))
FLAGGEMS_BENCH(embedding_dense_backward,
               fg::embedding_dense_backward(c.on, c.view<const T>(0), c.view<const i64>(1),
                                            c.view<T>(2), c.tensors[2].sizes[0]))

FLAGGEMS_BENCH(max, fg::max(c.on, c.view<const T>(0), c.view<T>(1), c.view<i64>(2), c.integer(0)))
FLAGGEMS_BENCH(var, fg::var(c.on, c.view<const T>(0), c.view<T>(1), c.integer(0)))
FLAGGEMS_BENCH(logsumexp, fg::logsumexp(c.on, c.view<const T>(0), c.view<T>(1), c.integer(0)))
FLAGGEMS_BENCH(norm, fg::norm(c.on, c.view<const T>(0), c.view<T>(1), 2.0, c.integer(0)))
FLAGGEMS_BENCH(count_nonzero,
               fg::count_nonzero(c.on, c.view<const T>(0), c.view<i64>(1), c.integer(0)))
FLAGGEMS_BENCH(skip_layer_norm, fg::skip_layer_norm(c.on, c.view<const T>(0), c.view<const T>(1),
                                                    {c.tensors[2].sizes[0]}, c.view<const T>(2),
                                                    c.view<const T>(3), c.view<T>(4)))
#undef FLAGGEMS_BENCH_BINARY
#undef FLAGGEMS_BENCH_UNARY
#undef FLAGGEMS_BENCH

}  // namespace
}  // namespace bridge
