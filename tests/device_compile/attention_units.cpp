// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Attention on AMD's matrix units: by their instructions where the target has them, else by
// shuffles.
#include <flaggems/kernel/family/attention/simt/prefill_mma.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;
using flaggems::bf16;
using flaggems::f16;
FLAGGEMS_INSTANCE(scaled_dot_product_attention_prefill_mfma,
                  fk::attention_prefill_tiles<bf16, bf16, fk::no_mask, fk::no_logs, 1, 2, 64, 4,
                                              fk::mfma_unit<bf16>>,
                  fk::prefill_space, fk::decode_arg<const bf16>, fk::decode_arg<const bf16>,
                  fk::decode_arg<const bf16>, fk::no_mask, fk::decode_arg<bf16>, fk::no_logs)
FLAGGEMS_INSTANCE(scaled_dot_product_attention_prefill_wmma,
                  fk::attention_prefill_tiles<f16, f16, fk::no_mask, fk::no_logs, 1, 1, 32, 4,
                                              fk::wmma_unit<f16>>,
                  fk::prefill_space, fk::decode_arg<const f16>, fk::decode_arg<const f16>,
                  fk::decode_arg<const f16>, fk::no_mask, fk::decode_arg<f16>, fk::no_logs)
