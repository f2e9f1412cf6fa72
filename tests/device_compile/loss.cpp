// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/pointwise/tables/loss.hpp>

#include "rows.hpp"

namespace fk = flaggems::kernels;

FLAGGEMS_LOSS_TABLE(FLAGGEMS_BINARY_ROW, FLAGGEMS_BINARY_ROW_OF, FLAGGEMS_BINARY_ROW,
                    FLAGGEMS_BINARY_ROW_OF)

FLAGGEMS_ROW(binary_cross_entropy, floating, binary<fk::binary_cross_entropy_fn>)
FLAGGEMS_ROW(binary_cross_entropy_backward, floating, binary<fk::binary_cross_entropy_backward_fn>)
FLAGGEMS_ROW(binary_cross_entropy_with_logits, floating, ternary<fk::logits_loss_fn>)
FLAGGEMS_ROW(margin_ranking_loss, floating, ternary<fk::margin_ranking_loss_fn<float>>)
