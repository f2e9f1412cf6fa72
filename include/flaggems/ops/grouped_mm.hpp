// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Matrix products of groups: of rows, columns or terms that lie behind each other in one matrix, up
// to offsets that kernels read.
#pragma once

#include <flaggems/ops/dispatch/gemm/grouped.hpp>
#include <flaggems/ops/expr.hpp>
#include <flaggems/ops/gemm.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/tensor/optional.hpp>

#include <limits>
#include <optional>
#include <type_traits>

namespace flaggems {

namespace operators {
struct grouped_mm;
}  // namespace operators

namespace detail {

/// Which dimension of a grouped product has the groups behind each other.
enum class grouped_dimension { rows, columns, terms, none };

/// The form of a product of self [(G,) m, k] and mat2 [(G,) k, n].
struct grouped_form {
  grouped_dimension along;
  i64 groups, m, n, k;
  /// Sizes of the result: one matrix where rows or columns are grouped, else one a group.
  [[nodiscard]] shape sizes() const {
    const bool is_one = along == grouped_dimension::rows || along == grouped_dimension::columns;
    return is_one ? shape{m, n} : shape{groups, m, n};
  }
};

/// The size of the dimension that the groups share.
inline i64 grouped_size(const grouped_form& f) {
  if (f.along == grouped_dimension::rows) return f.m;
  return f.along == grouped_dimension::columns ? f.n : f.k;
}
/// Raises shape_mismatch or invalid_argument unless the operands have such a form.
FLAGGEMS_NOINLINE_ONCE grouped_form form_of_groups(const char* op, int_list a, int_list b,
                                                   std::optional<i64> ends) {
  const int of_a = a.size(), of_b = b.size();
  if (of_a < 2 || of_a > 3 || of_b < 2 || of_b > 3) [[unlikely]]
    raise(errc::shape_mismatch, op, "matrices, or a matrix for each group",
          to_string(a) + " and " + to_string(b));
  const i64 k = a[of_a - 1];
  if (k != b[of_b - 2]) [[unlikely]]
    raise(errc::shape_mismatch, op, "second matrices of " + text(k) + " rows", to_string(b));
  grouped_form f{grouped_dimension::none, 0, a[of_a - 2], b[of_b - 1], k};
  if (of_a == 3 && of_b == 3)
    f.groups = a[0];
  else if (of_a == 3)
    f.along = grouped_dimension::columns, f.groups = a[0];
  else if (of_b == 3)
    f.along = grouped_dimension::rows, f.groups = b[0];
  else
    f.along = grouped_dimension::terms, f.groups = ends.value_or(0);
  if (ends.has_value() != (f.along != grouped_dimension::none)) [[unlikely]]
    raise(errc::invalid_argument, op, "offsets if and only if one matrix has all groups",
          ends.has_value() ? "offsets" : "none");
  if ((ends && *ends != f.groups) || (of_a == 3 && of_b == 3 && b[0] != f.groups)) [[unlikely]]
    raise(errc::shape_mismatch, op, text(f.groups) + " groups",
          text(ends ? *ends : b[0]) + " of them");
  if (f.m > (std::numeric_limits<i32>::max)() || f.n > (std::numeric_limits<i32>::max)() ||
      f.k > (std::numeric_limits<i32>::max)()) [[unlikely]]
    raise(errc::invalid_argument, op, "sizes below 2^31", to_string(a) + " and " + to_string(b));
  return f;
}

/// Offsets as kernels read them, i32 behind each other.
template <class S, class Ends>
tensor<i32, device_of<S>> group_ends(const char* op, const S& stream, const Ends& ends) {
  static_assert(kind_of<typename Ends::value_type> == kind::integer,
                "flaggems: offsets are integers");
  return evaluate(stream, nearest_i32(ends), op);
}

/// The product of a form on devices that read offsets in the kernel.
template <class S, class A, class B, class Out>
void multiply_form(const char* op, const S& stream, const grouped_form& f, const A& a, const B& b,
                   const Out& out, const i32* ends, const kernels::coded_numbers& of_a,
                   const kernels::coded_numbers& of_b) {
  using call_type = grouped_call<typename Out::value_type>;
  call_type call;
  const auto group = [](const auto& v) { return v.rank() == 3 ? v.stride(0) : i64{0}; };
  auto left = call_type::lines_of(a.data(), coding_of(dtype_of<typename A::value_type>), group(a),
                                  a.stride(-2), a.stride(-1));
  auto right = call_type::lines_of(b.data(), coding_of(dtype_of<typename B::value_type>), group(b),
                                   b.stride(-1), b.stride(-2));
  left.scales = of_a;
  right.scales = of_b;
  const bool exchanges = f.along == grouped_dimension::columns;
  const bool by_terms = f.along == grouped_dimension::terms || f.along == grouped_dimension::none;
  call.a = exchanges ? right : left;
  call.b = exchanges ? left : right;
  call.space.n = exchanges ? f.m : f.n;
  call.space.k = f.k;
  call.space.groups = f.groups;
  const i64 places = exchanges ? f.n : f.m;
  call.space.rows = {by_terms ? kernels::grouping::terms_to_ends : kernels::grouping::rows_to_ends,
                     ends,
                     nullptr,
                     f.groups,
                     places,
                     1};
  call.space.placed = {nullptr, places, 1};
  call.out.data = out.data();
  call.out.group = group(out);
  call.out.row = exchanges ? out.stride(-1) : out.stride(-2);
  call.out.column = exchanges ? out.stride(-2) : out.stride(-1);
  multiply_groups(op, stream, call);
}

}  // namespace detail

/// out = self * mat2 by groups. At least one operand is a matrix that has all groups in it: group g
/// from offs[g - 1] up to offs[g].
///
/// self [m, k], mat2 [G, k, n]: rows of self have groups, out [m, n]. self [G, m, k], mat2 [k, n]:
/// columns of mat2 have, out [m, n]. self [m, k], mat2 [k, n]: terms have, out [G, m, n]. Both of
/// three dimensions, without offs: bmm. All of f32, bf16 or f16, any strides, sums in f32; offs [G]
/// of i32 or i64, rising; rows and columns behind the last one are not written. out shares no
/// memory with an input. Raises shape_mismatch, invalid_argument, overlap, or, where the host runs
/// kernels, out_of_range before anything is written; elsewhere offsets are cut to what there is.
/// aten::_grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None, ScalarType?
/// out_dtype=None); as in ATen, without a bias and another dtype
template <stream_like S, tensor_like A, tensor_like B, optional_tensor Ends, tensor_like Out>
void grouped_mm(const S& stream, const A& self, const B& mat2, const Ends& offs, Out&& out) {
  constexpr const char* op = "grouped_mm";
  using D = device_of<S>;
  using T = value_t<const A&>;
  using index_type = typename detail::optional_element<Ends, i32>::type;
  same_device<S, A, B, Ends, Out>();
  static_assert(std::is_same_v<T, value_t<const B&>> && std::is_same_v<T, value_t<Out>> &&
                    detail::is_among<T, f32, bf16, f16>,
                "flaggems: grouped_mm takes one of f32, bf16 and f16");
  const tensor_view<const T, D> a(as_view(self)), b(as_view(mat2));
  const auto to = as_view(out);
  const auto ends = detail::optional_view<index_type, D>(offs);
  const auto f = detail::form_of_groups(
      op, a.sizes(), b.sizes(), ends ? std::optional<i64>(ends->numel()) : std::optional<i64>());
  detail::check_sizes(op, to, f.sizes());
  detail::check_separate_output(op, to, a, b);
  if (!ends) return bmm(stream, a, b, to);
  detail::check_matrix_rank(op, "offsets", *ends, 1);
  if (to.empty() || detail::replaced<operators::grouped_mm>(op, stream, a, b, *ends, to)) return;
  const auto read = detail::group_ends(op, stream, *ends);
  using enum detail::grouped_dimension;
  const auto one = [&](i64 g, i64 begin, i64 end) {
    if (g == f.groups) return;
    const auto part = [&](const auto& v, int dim, bool is_cut) {
      const auto matrix = v.rank() == 3 ? v.select(0, g) : v.view();
      return is_cut ? matrix.narrow(dim, begin, end - begin) : matrix;
    };
    const auto x = part(a, f.along == rows ? 0 : 1, f.along != columns);
    const auto y = part(b, f.along == terms ? 0 : 1, f.along != rows);
    const auto z = part(to, f.along == rows ? 0 : 1, f.along != terms);
    detail::gemm(op, stream, x, y.transpose(0, 1), z, detail::no_bias_view{}, 1, 0);
  };
  if (detail::for_each_group(op, stream, read.data(), f.groups, detail::grouped_size(f), one))
    return;
  detail::multiply_form(op, stream, f, a, b, to, read.data(), {}, {});
}
/// The same in a new tensor. A bias and another dtype raise not_supported, as in ATen.
template <class Result = void, stream_like S, tensor_like A, tensor_like B,
          optional_tensor Ends = std::nullopt_t, optional_tensor Bias = std::nullopt_t>
requires(!tensor_like<Bias>)
    [[nodiscard]] auto grouped_mm(const S& stream, const A& self, const B& mat2,
                                  const Ends& offs = std::nullopt,
                                  const Bias& bias = std::nullopt) {
  constexpr const char* op = "grouped_mm";
  using T = value_t<const A&>;
  using D = device_of<S>;
  using index_type = typename detail::optional_element<Ends, i32>::type;
  if (detail::optional_view<T, D>(bias)) [[unlikely]]
    raise(errc::not_supported, op, "no bias", "one");
  if (!std::is_void_v<Result> && !std::is_same_v<Result, T>) [[unlikely]]
    raise(errc::not_supported, op, "a result of the operands' dtype", "another");
  const auto ends = detail::optional_view<index_type, D>(offs);
  const auto f =
      detail::form_of_groups(op, as_view(self).sizes(), as_view(mat2).sizes(),
                             ends ? std::optional<i64>(ends->numel()) : std::optional<i64>());
  auto out = empty<T>(stream, f.sizes(), op);
  grouped_mm(stream, self, mat2, offs, out);
  return out;
}

namespace detail {

/// Scales of lines, [lines] of one matrix for all groups, [groups, lines], or behind each other
/// for each group. Raises shape_mismatch.
template <class D>
kernels::coded_numbers scales_of_lines(const char* op, const char* what,
                                       const tensor_view<const f32, D>& scale, bool is_stack,
                                       bool has_group, i64 groups, i64 lines) {
  const shape expected = is_stack    ? shape{groups, lines}
                         : has_group ? shape{groups * lines}
                                     : shape{lines};
  if (!same_sizes(scale.sizes(), expected)) [[unlikely]]
    raise(errc::shape_mismatch, op, text(what) + " of sizes " + to_string(expected),
          to_string(scale.shape_of()));
  kernels::coded_numbers r{};
  r.data = static_cast<const u8*>(static_cast<const void*>(scale.data()));
  r.code = kernels::coding::f32;
  r.line = scale.stride(-1);
  r.group = is_stack ? scale.stride(0) : has_group ? lines * r.line : 0;
  return r;
}

}  // namespace detail

/// out = (self * mat2) * scale_a * scale_b by groups, of f8e4m3; otherwise as grouped_mm.
///
/// scale_a [m] of f32 where self is one matrix whose rows have groups, [G m] where terms have, [G,
/// m] where self is one for each group; scale_b [G, n], [n] or [G n] the same way. out of bf16, f16
/// or f32. self may be [G, m, k] where mat2 is [G, k, n]. bias and scale_result raise
/// not_supported, as in ATen; use_fast_accum changes nothing. aten::_scaled_grouped_mm(Tensor self,
/// Tensor mat2, Tensor scale_a, Tensor scale_b, Tensor? offs=None, Tensor? bias=None, Tensor?
/// scale_result=None, ScalarType? out_dtype=None, bool use_fast_accum=False)
template <stream_like S, tensor_like A, tensor_like B, tensor_like ScaleA, tensor_like ScaleB,
          optional_tensor Ends, tensor_like Out>
void scaled_grouped_mm(const S& stream, const A& self, const B& mat2, const ScaleA& scale_a,
                       const ScaleB& scale_b, const Ends& offs, Out&& out) {
  constexpr const char* op = "scaled_grouped_mm";
  using D = device_of<S>;
  using index_type = typename detail::optional_element<Ends, i32>::type;
  same_device<S, A, B, ScaleA, ScaleB, Ends, Out>();
  static_assert(std::is_same_v<value_t<const A&>, f8e4m3> &&
                    std::is_same_v<value_t<const B&>, f8e4m3> &&
                    detail::is_among<value_t<Out>, f32, bf16, f16>,
                "flaggems: scaled_grouped_mm takes f8e4m3 and gives f32, bf16 or f16");
  const tensor_view<const f8e4m3, D> a(as_view(self)), b(as_view(mat2));
  const tensor_view<const f32, D> by_a(as_view(scale_a)), by_b(as_view(scale_b));
  const auto to = as_view(out);
  const auto ends = detail::optional_view<index_type, D>(offs);
  const auto f = detail::form_of_groups(
      op, a.sizes(), b.sizes(), ends ? std::optional<i64>(ends->numel()) : std::optional<i64>());
  detail::check_sizes(op, to, f.sizes());
  detail::check_separate_output(op, to, a, b, by_a, by_b);
  const bool by_terms = f.along == detail::grouped_dimension::terms;
  const auto left =
      detail::scales_of_lines(op, "scale_a", by_a, a.rank() == 3, by_terms, f.groups, f.m);
  const auto right =
      detail::scales_of_lines(op, "scale_b", by_b, b.rank() == 3, by_terms, f.groups, f.n);
  if (ends) detail::check_matrix_rank(op, "offsets", *ends, 1);
  if (to.empty()) return;
  if (!ends) return detail::multiply_form(op, stream, f, a, b, to, nullptr, left, right);
  const auto read = detail::group_ends(op, stream, *ends);
  detail::for_each_group(op, stream, read.data(), f.groups, detail::grouped_size(f),
                         [](i64, i64, i64) {});
  detail::multiply_form(op, stream, f, a, b, to, read.data(), left, right);
}
/// The same in a new tensor of Result; of bf16 if that is void.
template <class Result = void, stream_like S, tensor_like A, tensor_like B, tensor_like ScaleA,
          tensor_like ScaleB, optional_tensor Ends = std::nullopt_t,
          optional_tensor Bias = std::nullopt_t, optional_tensor Scale = std::nullopt_t>
requires(!tensor_like<Bias>) [[nodiscard]] auto scaled_grouped_mm(
    const S& stream, const A& self, const B& mat2, const ScaleA& scale_a, const ScaleB& scale_b,
    const Ends& offs = std::nullopt, const Bias& bias = std::nullopt,
    const Scale& scale_result = std::nullopt, [[maybe_unused]] bool use_fast_accum = false) {
  constexpr const char* op = "scaled_grouped_mm";
  using D = device_of<S>;
  using O = std::conditional_t<std::is_void_v<Result>, bf16, Result>;
  using index_type = typename detail::optional_element<Ends, i32>::type;
  if (detail::optional_view<typename detail::optional_element<Bias, f32>::type, D>(bias) ||
      detail::optional_view<typename detail::optional_element<Scale, f32>::type, D>(scale_result))
      [[unlikely]]
    raise(errc::not_supported, op, "no bias and no scale_result", "one");
  const auto ends = detail::optional_view<index_type, D>(offs);
  const auto f =
      detail::form_of_groups(op, as_view(self).sizes(), as_view(mat2).sizes(),
                             ends ? std::optional<i64>(ends->numel()) : std::optional<i64>());
  auto out = empty<O>(stream, f.sizes(), op);
  scaled_grouped_mm(stream, self, mat2, scale_a, scale_b, offs, out);
  return out;
}

}  // namespace flaggems
