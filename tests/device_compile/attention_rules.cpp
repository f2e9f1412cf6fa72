// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/attention/attention.hpp>
#include <flaggems/kernel/family/attention/rules.hpp>
#include <flaggems/kernel/family/attention/simt/prefill_mma.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;
using flaggems::bf16;
using cap = fk::attention_rule<flaggems::soft_cap>;
using window = fk::decode_rule<flaggems::attention_window>;
FLAGGEMS_INSTANCE(scaled_dot_product_attention_soft_cap,
                  fk::attention<float, float, float, float, cap, fk::stepping::contiguous>,
                  fk::attention_space, fk::attention_arg<const float>,
                  fk::attention_arg<const float>, fk::attention_arg<const float>, cap,
                  fk::attention_arg<float>, float, fk::attention_arg<float>)
FLAGGEMS_INSTANCE(scaled_dot_product_attention_window,
                  fk::attention_prefill_tiles<bf16, bf16, window, fk::no_logs, 1, 1, 16, 4>,
                  fk::prefill_space, fk::decode_arg<const bf16>, fk::decode_arg<const bf16>,
                  fk::decode_arg<const bf16>, window, fk::decode_arg<bf16>, fk::no_logs)
