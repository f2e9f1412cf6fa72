// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/scan/scan.hpp>
#include <flaggems/kernel/family/scan/simt/look_back.hpp>
#include <flaggems/kernel/family/scan/simt/scan.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;
using flaggems::bf16;
using flaggems::i64;
using flaggems::u64;

using sum_f32 = fk::scan_sum<float>;
using sum_i64 = fk::scan_sum<i64>;
using prod_f32 = fk::scan_prod<float>;
using logs_f32 = fk::scan_log_sum_exp<float>;
using largest_f32 = fk::scan_extreme<float, true>;
using smallest_f32 = fk::scan_extreme<float, false>;
FLAGGEMS_INSTANCE(cumsum_bf16, fk::scan<sum_f32, bf16, bf16>, fk::scan_space, fk::arg<bf16, bf16>,
                  fk::target<bf16>, fk::target<i64>, fk::global_ptr<sum_f32::state>, fk::scan_pass)
FLAGGEMS_INSTANCE(cumsum_bool, fk::scan<sum_i64, bool, i64>, fk::scan_space, fk::arg<bool, bool>,
                  fk::target<i64>, fk::target<i64>, fk::global_ptr<sum_i64::state>, fk::scan_pass)
FLAGGEMS_INSTANCE(cumprod_f32, fk::scan<prod_f32, float, float>, fk::scan_space,
                  fk::arg<float, float>, fk::target<float>, fk::target<i64>,
                  fk::global_ptr<prod_f32::state>, fk::scan_pass)
FLAGGEMS_INSTANCE(logcumsumexp_bf16, fk::scan<logs_f32, bf16, bf16>, fk::scan_space,
                  fk::arg<bf16, bf16>, fk::target<bf16>, fk::target<i64>,
                  fk::global_ptr<logs_f32::state>, fk::scan_pass)
FLAGGEMS_INSTANCE(cummax_bf16, fk::scan<largest_f32, bf16, bf16>, fk::scan_space,
                  fk::arg<bf16, bf16>, fk::target<bf16>, fk::target<i64>,
                  fk::global_ptr<largest_f32::state>, fk::scan_pass)
FLAGGEMS_INSTANCE(cummin_f32, fk::scan<smallest_f32, float, float>, fk::scan_space,
                  fk::arg<float, float>, fk::target<float>, fk::target<i64>,
                  fk::global_ptr<smallest_f32::state>, fk::scan_pass)
FLAGGEMS_INSTANCE(cumsum_states, fk::scan_states<sum_f32>, i64, i64, fk::global_ptr<const float>,
                  fk::global_ptr<float>)

// Rows that warps or all blocks share.
FLAGGEMS_INSTANCE(cumsum_rows_f32, fk::scan_rows<sum_f32, float, float>, fk::scan_space,
                  fk::arg<float, float>, fk::target<float>, fk::target<i64>)
FLAGGEMS_INSTANCE(cumsum_rows_bf16, fk::scan_rows<sum_f32, bf16, bf16>, fk::scan_space,
                  fk::arg<bf16, bf16>, fk::target<bf16>, fk::target<i64>)
FLAGGEMS_INSTANCE(cummax_rows_f32, fk::scan_rows<largest_f32, float, float>, fk::scan_space,
                  fk::arg<float, float>, fk::target<float>, fk::target<i64>)
FLAGGEMS_INSTANCE(logcumsumexp_rows_f32, fk::scan_rows<logs_f32, float, float>, fk::scan_space,
                  fk::arg<float, float>, fk::target<float>, fk::target<i64>)
FLAGGEMS_INSTANCE(cumsum_once_f32, fk::scan_once<sum_f32, float, float>, fk::scan_space,
                  fk::arg<float, float>, fk::target<float>, fk::target<i64>, fk::global_ptr<u64>)
FLAGGEMS_INSTANCE(cumsum_once_bf16, fk::scan_once<sum_f32, bf16, bf16>, fk::scan_space,
                  fk::arg<bf16, bf16>, fk::target<bf16>, fk::target<i64>, fk::global_ptr<u64>)
FLAGGEMS_INSTANCE(cumsum_once_bool, fk::scan_once<sum_i64, bool, i64>, fk::scan_space,
                  fk::arg<bool, bool>, fk::target<i64>, fk::target<i64>, fk::global_ptr<u64>)
FLAGGEMS_INSTANCE(logcumsumexp_once_f32, fk::scan_once<logs_f32, float, float>, fk::scan_space,
                  fk::arg<float, float>, fk::target<float>, fk::target<i64>, fk::global_ptr<u64>)
FLAGGEMS_INSTANCE(cummax_once_f32, fk::scan_once<largest_f32, float, float>, fk::scan_space,
                  fk::arg<float, float>, fk::target<float>, fk::target<i64>, fk::global_ptr<u64>)
FLAGGEMS_INSTANCE(cumsum_block_f32, fk::scan_block_rows<sum_f32, float, float>, fk::scan_space,
                  fk::arg<float, float>, fk::target<float>, fk::target<i64>)
FLAGGEMS_INSTANCE(scan_clear_words, fk::clear_words, i64, i64, fk::global_ptr<u64>)
