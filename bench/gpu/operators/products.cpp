// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include "bridge.hpp"

#include <flaggems/ops/activation.hpp>
#include <flaggems/ops/arithmetic.hpp>
#include <flaggems/ops/gemm.hpp>
#include <flaggems/ops/gemm_epilogue.hpp>
#include <flaggems/ops/scaled_mm.hpp>

#include <optional>

namespace bridge {
namespace {

/// NVIDIA's GPUs as they are before sm_90: products are by mma.sync.
struct cuda_of_warps : fg::cuda {
  static int warp_group_units(int) { return 0; }
};

const entry mv("mv", [](const call& c) {
  with_float(c, 0, [&]<class T>(T) {
    fg::mv(c.on, c.view<const T>(0), c.view<const T>(1), c.view<T>(2));
  });
});
const entry linear("linear", [](const call& c) {
  with_float(c, 0, [&]<class T>(T) {
    fg::linear(c.on, c.view<const T>(0), c.view<const T>(1), c.view<T>(2));
  });
});
const entry mm("mm", [](const call& c) {
  with_float(c, 0, [&]<class T>(T) {
    fg::mm(c.on, c.view<const T>(0), c.view<const T>(1), c.view<T>(2));
  });
});
const entry mm_f64("mm_f64", [](const call& c) {
  fg::mm(c.on, c.view<const fg::f64>(0), c.view<const fg::f64>(1), c.view<fg::f64>(2));
});
const entry mm_by_warps("mm_by_warps", [](const call& c) {
  const auto view = [&]<class T>(T*, std::size_t k) {
    const auto x = c.view<T>(k);
    return fg::tensor_view<T, cuda_of_warps>(x.data(), x.sizes(), x.strides());
  };
  const fg::bf16* const in = nullptr;
  fg::bf16* const out = nullptr;
  fg::mm(fg::stream_ref<cuda_of_warps>(c.on.handle()), view(in, 0), view(in, 1), view(out, 2));
});
const entry mm_f16("mm_f16", [](const call& c) {
  fg::mm(c.on, c.view<const fg::f16>(0), c.view<const fg::f16>(1), c.view<fg::f16>(2));
});
const entry mm_tf32("mm_tf32", [](const call& c) {
  fg::mm(fg::allow_tf32(c.on), c.view<const fg::f32>(0), c.view<const fg::f32>(1),
         c.view<fg::f32>(2));
});
const entry linear_bias("linear_bias", [](const call& c) {
  with_float(c, 0, [&]<class T>(T) {
    fg::linear(c.on, c.view<const T>(0), c.view<const T>(1), c.view<const T>(2), c.view<T>(3));
  });
});
const entry linear_gelu("linear_gelu", [](const call& c) {
  with_float(c, 0, [&]<class T>(T) {
    fg::linear(c.on, c.view<const T>(0), c.view<const T>(1), c.view<T>(3),
               fg::epilogue(fg::gelu(fg::product + c.view<const T>(2))));
  });
});
/// Of a weight whose rows alternate between the gate and what it multiplies.
const entry linear_gated("linear_gated", [](const call& c) {
  with_float(c, 0, [&]<class T>(T) {
    fg::linear(c.on, c.view<const T>(0), c.view<const T>(1), c.view<T>(2),
               fg::epilogue(fg::silu(fg::product_even) * fg::product_odd));
  });
});
const entry linear_residual("linear_residual", [](const call& c) {
  with_float(c, 0, [&]<class T>(T) {
    fg::linear(c.on, c.view<const T>(0), c.view<const T>(1), c.view<T>(3),
               fg::epilogue(fg::product + c.view<const T>(2)));
  });
});
const entry linear_gelu_stored("linear_gelu_stored", [](const call& c) {
  with_float(c, 0, [&]<class T>(T) {
    fg::linear(
        c.on, c.view<const T>(0), c.view<const T>(1), c.view<T>(4),
        fg::epilogue(fg::gelu(fg::also_store(c.view<T>(3), fg::product + c.view<const T>(2)))));
  });
});
const entry addmm("addmm", [](const call& c) {
  with_float(c, 0, [&]<class T>(T) {
    fg::addmm(c.on, c.view<const T>(2), c.view<const T>(0), c.view<const T>(1), c.view<T>(3));
  });
});
const entry bmm("bmm", [](const call& c) {
  with_float(c, 0, [&]<class T>(T) {
    fg::bmm(c.on, c.view<const T>(0), c.view<const T>(1), c.view<T>(2));
  });
});
const entry int_mm("int_mm", [](const call& c) {
  fg::int_mm(c.on, c.view<const fg::i8>(0), c.view<const fg::i8>(1), c.view<fg::i32>(2));
});
const entry scaled_mm("scaled_mm", [](const call& c) {
  fg::scaled_mm(c.on, c.view<const fg::f8e4m3>(0), c.view<const fg::f8e4m3>(1),
                c.view<const fg::f32>(2), c.view<const fg::f32>(3), std::nullopt, std::nullopt,
                c.view<fg::bf16>(4), c.number(0) != 0);
});
const entry fp8_matmul("fp8_matmul", [](const call& c) {
  fg::fp8_matmul(c.on, c.view<const fg::f8e4m3>(0), c.view<const fg::f32>(1),
                 c.view<const fg::f8e4m3>(2), c.view<const fg::f32>(3), c.view<fg::bf16>(4));
});

}  // namespace
}  // namespace bridge
