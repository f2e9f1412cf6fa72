// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/embedding.hpp>
#include <flaggems/ops/embedding_backward.hpp>
#include <flaggems/ops/gather.hpp>
#include <flaggems/ops/histogram.hpp>
#include <flaggems/ops/index_backward.hpp>
#include <flaggems/ops/index_select.hpp>
#include <flaggems/ops/kv_cache.hpp>
#include <flaggems/ops/membership.hpp>
#include <flaggems/ops/moe.hpp>
#include <flaggems/ops/moe_routing.hpp>
#include <flaggems/ops/nll_loss.hpp>
#include <flaggems/ops/nonzero.hpp>
#include <flaggems/ops/order_statistics.hpp>
#include <flaggems/ops/scatter.hpp>
#include <flaggems/ops/search.hpp>
#include <flaggems/ops/segment_reduce.hpp>
#include <flaggems/ops/sequence_batches.hpp>
#include <flaggems/ops/sort.hpp>
#include <flaggems/ops/topk.hpp>
#include <flaggems/ops/unique.hpp>

#include "contract.hpp"

#include <array>
#include <tuple>

namespace contract {

void ordered() {
  each(fg::detail::ordered_types{}, [](const auto& x) {
    (void)fg::sort(s, x);
    (void)fg::argsort(s, x);
    (void)fg::topk(s, x, 2);
    (void)fg::kthvalue(s, x, 2);
    (void)fg::median(s, x);
    (void)fg::nanmedian(s, x, 0);
    (void)fg::mode(s, x);
    (void)fg::unique2(s, x);
    (void)fg::unique_dim(s, x, 0);
    (void)fg::unique_consecutive(s, x);
    (void)fg::searchsorted(s, x, x);
    (void)fg::bucketize<i32>(s, x, x);
  });
  each(types<f32, f64>{}, [](const auto& x) {
    (void)fg::quantile(s, x, x);
    (void)fg::nanquantile(s, x, 0.5);
  });
  each(integers{}, [](const auto& x) { (void)fg::bincount(s, x); });
  each(types<f32, bf16, f64, f16>{}, [](const auto& x) {
    (void)fg::bincount(s, some<i64>(), x);
    (void)fg::histc(s, x);
  });
}

void looked_up() {
  each(cross<real, index_types>{}, [](const auto& x, const auto& index) {
    (void)fg::index_select(s, x, 0, index);
    (void)fg::embedding(s, x, index);
  });
  each(cross<types<f32, bf16, f64, f16>, index_types>{}, [](auto& x, const auto& index) {
    for (const double p : {2.0, 3.0}) fg::embedding_renorm_(s, x, index, 1, p);
  });
}

void scattered() {
  each(cross<real, index_types>{}, [](const auto& x, const auto& index) {
    (void)fg::gather(s, x, 0, index);
    (void)fg::take(s, x, index);
    (void)fg::scatter(s, x, 0, index, x);
    (void)fg::scatter_add(s, x, 0, index, x);
  });
  each(fg::detail::joined_types{}, [](const auto& x) {
    const auto& index = some<i64>();
    (void)fg::scatter(s, x, 0, index, 1, fg::scatter_reduction::mean);
    (void)fg::index(s, x, std::tuple(index, index));
    (void)fg::index_put(s, x, std::tuple(index, index), x, true);
    (void)fg::masked_select(s, x, some<bool>());
    (void)fg::masked_scatter(s, x, some<bool>(), x);
    (void)fg::nonzero(s, x);
    (void)fg::nonzero_numpy(s, x);
    (void)fg::jagged_to_padded_dense_forward(s, x, std::array{some<i64>()}, {2});
    (void)fg::unpack_seq(s, x, some<i32>());
    (void)fg::isin(s, x, x);
    (void)fg::index_select_backward(s, x, {8}, 0, index);
    (void)fg::gather_backward(s, x, x, 0, index, false);
    (void)fg::cummaxmin_backward(s, x, x, index, 0);
    (void)fg::value_selecting_reduction_backward(s, x, 0, index, {8}, true);
    (void)fg::masked_scatter_backward(s, x, some<bool>(), {8});
  });
  each(types<f32, bf16, f64, f16>{},
       [](const auto& x) { (void)fg::embedding_dense_backward(s, x, some<i64>(), 8, 0, true); });
  each(types<f32, bf16, f64, f16>{}, [](const auto& x) {
    const auto loss = fg::nll_loss_forward(s, x, some<i64>(), x, fg::reduction::mean, -100);
    (void)fg::nll_loss_backward(s, loss.first, x, some<i64>(), x, fg::reduction::mean, -100,
                                loss.second);
  });
  each(types<f32, bf16, f64, f16>{}, [](const auto& x) {
    (void)fg::nll_loss_nd_forward(s, x, some<i64>());
    (void)fg::segment_reduce_backward(
        s, x, fg::segment_reduce(s, x, fg::segment_reduction::mean, some<i64>()), x,
        fg::segment_reduction::prod, some<i64>());
    (void)fg::pack_seq(s, x, some<i64>());
    fg::top_k_per_row_prefill(s, x, some<i32>(), some<i32>(), some<i32>());
    fg::top_k_per_row_decode(s, x, 2, some<i64>(), some<i64>());
    fg::topk_softmax(s, x, some<i32>(), some<i64>(), x);
    fg::moe_sum(s, x, x);
  });
  each(floats{}, [](auto& x) {
    (void)fg::grouped_topk(s, x, 2, 1, 2, true, 1, x, 1);
    fg::topk_softplus_sqrt(s, x, some<i32>(), some<i32>(), x, true, 1, x);
    (void)fg::router_gemm(s, x, x);
  });
  each(index_types{}, [](auto& ids) { (void)fg::moe_align_block_size(s, ids, 16, 8, ids); });
  (void)fg::one_hot(s, some<i64>());
  each(types<f32, bf16, f64, f16>{},
       [](auto& x) { fg::apply_repetition_penalties(s, x, some<bool>(), some<bool>(), x); });
  each(types<f32, bf16, f16>{}, [](auto& x) {
    fg::reshape_and_cache(s, x, x, x, x, some<i64>());
    fg::reshape_and_cache_flash(s, x, x, x, x, some<i64>());
    fg::concat_and_cache_mla(s, x, x, x, some<i64>());
  });
}

}  // namespace contract
