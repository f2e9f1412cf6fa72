// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/block/simt/entry.hpp>
#include "../support/box_kernels.hpp"

FLAGGEMS_INSTANCE(copy_boxes_f32, flaggems_test::copy_boxes, flaggems::kernels::tensor_map,
                  flaggems::kernels::global_ptr<float>, flaggems::i64)
