// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/pointwise/tables/activation_backward.hpp>

#include "rows.hpp"

namespace fk = flaggems::kernels;

FLAGGEMS_ACTIVATION_BACKWARD_TABLE(FLAGGEMS_BINARY_ROW, FLAGGEMS_BINARY_ROW_OF,
                                   FLAGGEMS_BINARY_ROW_OF)

FLAGGEMS_ROW(gelu_backward, floating, binary<fk::gelu_backward_fn>)
FLAGGEMS_ROW(elu_backward, floating, binary<fk::elu_backward_fn<float>>)
FLAGGEMS_ROW(leaky_relu_backward, floating, binary<fk::leaky_relu_backward_fn<float>>)
FLAGGEMS_ROW(logit_backward, floating, binary<fk::logit_backward_fn<float>>)
