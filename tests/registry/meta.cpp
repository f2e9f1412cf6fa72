// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Operators on tensors without elements: sizes, strides, dtypes and errors as on a device with
// them.
#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/reduce.hpp>
#include <flaggems/ops/softmax.hpp>
#include <flaggems/vendors/meta.hpp>
#include <registry/support.hpp>

namespace flaggems_test {
namespace {

using fg::meta;

TEST(registry_meta, results_without_elements) {
  const auto& s = stream_of<meta>();
  const i64 many = i64{1} << 24;
  const auto a = fg::empty<f32>(s, {many, 7, many});  // more bytes than any memory has
  const view<meta> x(fg::as_view(a).slice(0, 0, many, 2));
  const auto expect = [&](const char* name, const arguments<meta>& list, const shape& sizes,
                          fg::dtype type) {
    const auto r = fg::registry<meta>::at(name)(s, list);
    EXPECT_EQ(shape(r.sizes()), sizes) << name;
    EXPECT_EQ(r.dtype(), type) << name;
    EXPECT_TRUE(r.view().is_contiguous()) << name;
  };
  expect("softmax.int", {x, 1}, {many / 2, 7, many}, fg::dtype::f32);
  expect("sum.dim_IntList", {x, 0, true}, {1, 7, many}, fg::dtype::f32);
  expect("mean", {x}, {}, fg::dtype::f32);
  expect("argmax", {x, 1}, {many / 2, many}, fg::dtype::i64);
  expect("any.dim", {x, -1}, {many / 2, 7}, fg::dtype::bool_);
  fg::any_tensor<meta> three[3];
  fg::registry<meta>::at("native_layer_norm")
      .call(s, {x, fg::int_list({many}), std::nullopt, std::nullopt, 1e-5}, three);
  EXPECT_EQ(shape(three[1].sizes()), (shape{many / 2, 7, 1}));
}

// Another allocator makes memory as an operator's results would lie, and the operator writes it.
TEST(registry_meta, describes_results_before_there_is_memory) {
  const auto& s = stream_of<meta>();
  const auto& here = stream_of<host>();
  const shape sizes{2, 3, 4, 5};
  const i64 first = 0;
  const fg::int_list dims(&first, 1);
  const auto described = fg::empty<f32>(s, sizes, fg::memory_format::channels_last);
  const auto r = fg::registry<meta>::at("flip")(s, {view<meta>(described), dims});
  EXPECT_EQ(shape(r.view().strides()), (shape{60, 1, 15, 3}));

  const auto x = fg::contiguous(here, numbers(sizes), fg::memory_format::channels_last);
  std::vector<f32> memory(static_cast<std::size_t>(r.view().numel()));
  const view<host> out(memory.data(), r.dtype(), r.view().sizes(), r.view().strides());
  fg::registry<host>::at("flip.out").call(here, {view<host>(x), dims, out}, {});
  const auto made = fg::registry<host>::at("flip")(here, {view<host>(x), dims});
  EXPECT_EQ(shape(made.view().strides()), shape(out.strides()));
  EXPECT_EQ(bytes_of(out), bytes_of(made.view()));
}

TEST(registry_meta, refuses_what_a_device_refuses) {
  const auto& s = stream_of<meta>();
  const auto a = fg::empty<f32>(s, {3, 4});
  auto b = fg::empty<f32>(s, {3, 5});
  const view<meta> x(fg::as_view(a)), out(b.view());
  EXPECT_ERROR(fg::registry<meta>::at("softmax.int")(s, {x, 2}), out_of_range, "softmax", "2");
  EXPECT_ERROR(fg::registry<meta>::at("softmax.int_out")(s, {x, 1, {}, out}), shape_mismatch,
               "softmax", "[3, 5]");
  auto c = fg::empty<f32>(s, {6});
  const view<meta> low(c.view().narrow(0, 0, 4)), high(c.view().narrow(0, 1, 4));
  EXPECT_ERROR(fg::registry<meta>::at("softmax.int_out")(s, {low, 0, {}, high}), overlap, "softmax",
               "");
  EXPECT_ERROR(static_cast<void>(fg::to_host(s, c)), not_supported, "meta", "elements");
  EXPECT_ERROR(meta::set_device(1), device_unavailable, "set_device", "meta");
}

}  // namespace
}  // namespace flaggems_test
