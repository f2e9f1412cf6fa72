// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/complex.hpp>
#include <flaggems/ops/creation.hpp>
#include <flaggems/registry/families/views.hpp>
#include <registry/support.hpp>

#include <cstring>

FLAGGEMS_REGISTRY_FAMILY(flaggems::operator_families::views, flaggems::host, flaggems::f32);

namespace flaggems_test {
namespace {

using list = fg::int_list;
using fg::c64;

void expect_view(const fg::any_tensor<host>& got, const view<host>& want, const std::string& what) {
  EXPECT_TRUE(got.has_value() && got.is_view()) << what;
  EXPECT_EQ(got.view().data(), want.data()) << what;
  EXPECT_EQ(got.dtype(), want.dtype()) << what;
  EXPECT_EQ(got.view().is_const(), want.is_const()) << what;
  EXPECT_EQ(shape(got.sizes()), shape(want.sizes())) << what;
  EXPECT_EQ(shape(got.strides()), shape(want.strides())) << what;
}
template <class View>
void check_view(const char* key, const arguments<host>& given, const View& want) {
  const auto& op = fg::registry<host>::at(key);
  note(op);
  fg::any_tensor<host> got[1];
  op.call(fg::ref(stream_of<host>()), given, got);
  expect_view(got[0], want, key);
}
template <class Parts>
void check_parts(const char* key, const arguments<host>& given, const Parts& want) {
  const auto& op = fg::registry<host>::at(key);
  note(op);
  fg::any_results<host> got;
  op.call(fg::ref(stream_of<host>()), given, got);
  std::vector<view<host>> all;
  for (const auto& part : want) all.emplace_back(part);
  ASSERT_EQ(got.tensors.size(), all.size()) << key;
  for (std::size_t k = 0; k < all.size(); ++k) expect_view(got.tensors[k], all[k], key);
}

/// Of what cannot be viewed under other sizes, copies, whatever the dtype.
template <class View>
void check_copies(const View& v) {
  const auto& s = stream_of<host>();
  const auto dense = fg::contiguous(s, v);
  const auto expect = [&](const fg::any_tensor<host>& got, const shape& sizes) {
    EXPECT_FALSE(got.is_view());
    EXPECT_EQ(shape(got.sizes()), sizes);
    EXPECT_EQ(shape(got.strides()), fg::contiguous_strides(sizes));
    EXPECT_EQ(std::memcmp(got.view().data(), dense.data(), static_cast<std::size_t>(dense.bytes())),
              0);
  };
  const view<host> x(v);
  const i64 n = v.numel();
  const auto& reshape = fg::registry<host>::at("reshape");
  const auto& flatten = fg::registry<host>::at("flatten.using_ints");
  expect(reshape(s, {x, list{-1, 4}}), {n / 4, 4});
  expect(flatten(s, {x}), {n});
  // As doubles of half as many, which the program was not compiled for.
  const auto wide = fg::zeros<fg::f64>(s, {3, 2});
  const view<host> doubles(wide.view().t());
  EXPECT_EQ(flatten(s, {doubles}).dtype(), fg::dtype::f64);
  EXPECT_ERROR(reshape(s, {x, list{n + 1}}), shape_mismatch, "reshape");
  EXPECT_TRUE(flatten(s, {x.narrow(0, 0, 0)}).is_view());
}

/// Views of complex numbers and of their parts.
void check_complex(const fg::tensor<c64>& a) {
  const auto v = a.view();
  const view<host> x(v), parts(fg::view_as_real(v));
  check_view("view_as_real", {x}, fg::view_as_real(v));
  check_view("view_as_complex", {parts}, v);
  check_view("real", {x}, fg::real(v));
  check_view("real", {parts}, fg::view_as_real(v));
  check_view("imag", {x}, fg::imag(v));
  check_view("resolve_conj", {x}, v);
  check_view("resolve_neg", {x}, v);
  const auto& s = stream_of<host>();
  const auto at = [](const char* key) -> const auto& { return fg::registry<host>::at(key); };
  EXPECT_ERROR(at("imag")(s, {parts}), dtype_mismatch, "imag", "c64 or c128");
  EXPECT_ERROR(at("view_as_complex")(s, {x}), dtype_mismatch, "view_as_complex", "f32 or f64");
  EXPECT_ERROR(at("view_as_complex")(s, {parts.select(3, 0)}), shape_mismatch, "view_as_complex");
}

/// The views of the library, of elements of T.
template <class T>
void check_all(const fg::tensor<T>& a) {  // [2, 1, 6]
  const auto v = a.view();
  const view<host> x(v), m(v.select(1, 0)), rows(v.view({2, 6}).t());
  check_view("alias", {x}, v);
  check_view("lift_fresh", {x}, v);
  check_view("_reshape_alias", {x, list{3, 2}, list{1, 4}}, v.as_strided({3, 2}, {1, 4}));
  check_view("permute", {x, list{2, 0, 1}}, v.permute({2, 0, 1}));
  check_view("transpose.int", {x, 0, -1}, v.transpose(0, -1));
  check_view("t", {m}, v.select(1, 0).t());
  check_view("movedim.int", {x, 0, 2}, v.movedim(0, 2));
  check_view("expand", {x, list{2, 3, -1}}, v.expand({2, 3, -1}));
  check_view("broadcast_to", {x, list{4, 2, 1, 6}}, v.broadcast_to({4, 2, 1, 6}));
  const auto i = fg::empty<i64>(stream_of<host>(), {2, 5, 6});
  check_view("expand_as", {x, view<host>(i)}, v.expand({2, 5, 6}));
  check_view("view", {x, list{3, -1}}, v.view({3, -1}));
  check_view("reshape", {x, list{4, 3}}, v.reshape({4, 3}));
  check_view("flatten.using_ints", {x, 1}, v.flatten(1));
  check_view("unflatten.int", {x, 2, list{2, -1}}, v.unflatten(2, {2, -1}));
  check_copies(v.transpose(0, 2));
  check_view("squeeze", {x}, v.squeeze());
  check_view("squeeze.dim", {x, 1}, v.squeeze(1));
  check_view("squeeze.dims", {x, list{0, 1}}, v.squeeze({0, 1}));
  check_view("unsqueeze", {x, -1}, v.unsqueeze(-1));
  check_view("narrow", {x, 2, 1, 4}, v.narrow(2, 1, 4));
  check_view("select.int", {x, 2, -2}, v.select(2, -2));
  check_view("slice.Tensor", {x, 2, 1, std::nullopt, 2}, v.slice(2, 1, 6, 2));
  check_view("diagonal", {x, 1, 0, 2}, v.diagonal(1, 0, 2));
  check_view("unfold", {x, 2, 3, 2}, v.unfold(2, 3, 2));
  check_parts("unbind.int", {x}, v.unbind());
  check_parts("split.Tensor", {rows, 4}, v.view({2, 6}).t().split(4));
  check_parts("split_with_sizes", {x, list{1, 0, 5}, 2}, fg::split_with_sizes(v, {1, 0, 5}, 2));
  check_parts("chunk", {x, 4, 2}, v.chunk(4, 2));
  check_parts("tensor_split.sections", {x, 4, 2}, v.tensor_split(4, 2));
}

TEST(registry_views, all) {
  check_all(numbers({2, 1, 6}));
  // Nothing looks at elements, so that the dtypes of the program do not matter.
  check_all(numbers<bf16>({2, 1, 6}));
  check_all(fg::empty<c64>(stream_of<host>(), {2, 1, 6}));
  check_complex(fg::empty<c64>(stream_of<host>(), {2, 1, 6}));
}

TEST(registry_views, write_through) {
  const auto& s = stream_of<host>();
  auto a = numbers({2, 3});
  const view<host> x(a);
  const auto row = fg::registry<host>::at("select.int")(s, {x, 0, 1});
  row.as<f32>()(2) = 5;
  EXPECT_EQ(a.view()(1, 2), 5);
}

TEST(registry_views, refusals) {
  const auto& s = stream_of<host>();
  const auto a = numbers({2, 3});
  const view<host> x(a);
  const auto& at = [](const char* key) -> const auto& { return fg::registry<host>::at(key); };
  EXPECT_ERROR(at("view")(s, {x, list{4}}), shape_mismatch, "view");
  EXPECT_ERROR(at("select.int")(s, {x, 0, 2}), out_of_range, "select");
  EXPECT_ERROR(at("permute")(s, {x}), invalid_argument, "int[] for argument dims");
  EXPECT_ERROR(at("split.Tensor")(s, {x, 1}), invalid_argument, "split.Tensor", "any_results");
  fg::any_results<host> parts;
  EXPECT_ERROR(at("split_with_sizes").call(s, arguments<host>{x, list{1, 2}}, parts),
               invalid_argument, "split_with_sizes", "sum is 2");
  EXPECT_ERROR(at("split_with_sizes").call(s, arguments<host>{x, list{3, -1}}, parts),
               invalid_argument, "split_with_sizes");
  EXPECT_TRUE(parts.tensors.empty());
}

}  // namespace
}  // namespace flaggems_test
