// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/quantized/scale.hpp>
#include <flaggems/kernel/family/row/programs/norm.hpp>
#include <flaggems/kernel/family/row/simt/registers.hpp>
#include <flaggems/kernel/family/row/staged.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;
using flaggems::bf16;
using flaggems::f8e4m3;

namespace flaggems::kernels {
using power_f32 = node<float, next_power_of_two_fn, arg<float, float>>;
using quotient_f32 = node<float, div_fn, arg<bf16, float>, arg<float, float>>;
}  // namespace flaggems::kernels

using skip = fk::skip_layer_norm_program<float>;
template <class T>
using skip_of =
    fk::row_operands<fk::operands<fk::row_arg<T>, fk::row_arg<T>>, fk::operands<fk::row_target<T>>,
                     fk::operands<fk::row_arg<T>, fk::row_arg<T>>>;

FLAGGEMS_INSTANCE(act_quant_scales, fk::pointwise<float, fk::power_f32>, fk::tiling,
                  fk::target<float>, fk::power_f32)
FLAGGEMS_INSTANCE(act_quant_bf16, fk::pointwise<f8e4m3, fk::quotient_f32>, fk::tiling,
                  fk::target<f8e4m3>, fk::quotient_f32)
FLAGGEMS_INSTANCE(skip_layer_norm_bf16, fk::register_row_program<skip, skip_of<bf16>, 4, 1, true>,
                  fk::norm_space, fk::row_threads, skip_of<bf16>, skip)
FLAGGEMS_INSTANCE(skip_layer_norm_f32, fk::staged_row_program<skip, skip_of<float>>, fk::norm_space,
                  skip_of<float>, skip)
