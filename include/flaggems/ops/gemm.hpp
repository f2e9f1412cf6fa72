// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Matrix products: mm addmm bmm baddbmm linear mv. All of them are one problem, a batch of
// out[i, j] = alpha * sum(a[i, q] * b[j, q]) + beta * bias[i, j] with any strides.
#pragma once

#include <flaggems/ops/dispatch/gemm/call.hpp>
#include <flaggems/ops/dispatch/gemm/small.hpp>
#include <flaggems/tensor/complex_views.hpp>
#include <flaggems/tensor/optional.hpp>

#include <type_traits>

namespace flaggems {

namespace detail {
/// A factor of a product: any number, truncated for integer tensors, as in ATen's products (ATen's
/// add and sub refuse a floating-point one).
template <class T>
class product_factor {
 public:
  template <class V>
  requires(std::is_arithmetic_v<V> ||
           kernels::is_small_float<V>) constexpr product_factor(V given) {
    if constexpr (std::is_same_v<T, i64> && !std::is_integral_v<V>) {
      using range = kernels::integer_range<i64, f64>;
      const auto number = static_cast<f64>(given);
      if (number >= range::least && number < range::end)
        value_ = static_cast<i64>(number);
      else
        refused_ = number;
    } else {
      value_ = static_cast<T>(given);
    }
  }
  /// The number. Raises invalid_argument if T does not hold it.
  [[nodiscard]] T value(const char* op) const {
    if (refused_ != 0) [[unlikely]]
      raise(errc::invalid_argument, op, "alpha and beta that i64 can hold", text(refused_));
    return value_;
  }

 private:
  T value_ = 0;
  f64 refused_ = 0;
};
}  // namespace detail

/// The factors of addmm and baddbmm, given by any number: as f64 for floating-point tensors; as i64
/// for integers, truncated (0.5 is 0, as in ATen), invalid_argument if out of range.
template <class T>
struct gemm_scalars {
  using type = detail::product_factor<
      std::conditional_t<kernels::is_floating<kernels::real_of<T>>, f64, i64>>;
  type beta = 1;   ///< of the tensor that is added; 0: it is not read
  type alpha = 1;  ///< of the product
};

namespace detail {
/// An argument in an output's position that can only be read: const, or a temporary tensor.
template <class X>
inline constexpr bool ends_with_the_call = false;
template <class T, class D>
inline constexpr bool ends_with_the_call<tensor<T, D>> = true;
template <class X>
concept read_only = tensor_like<X> &&(std::is_const_v<element_t<X>> || ends_with_the_call<X>);

/// The result of `linear` with an output: as unusable as void, but using it gives a message, since
/// the output may have been meant as a bias: how to pass one.
template <class Out>
struct no_result {
  constexpr no_result() = default;
  constexpr no_result(const no_result&) {
    static_assert(!tensor_like<Out>,
                  "flaggems: linear(stream, x, weight, out) writes a tensor that is not const, and "
                  "gives nothing: give a bias as with_bias(b), or const");
  }
};
template <class Out>
inline constexpr no_result<Out> nothing{};
template <class Out>
using nothing_t = const no_result<Out>&;
}  // namespace detail

/// A bias for the forms that return a tensor: linear(stream, x, weight, with_bias(b)).
template <class View>
struct bias_operand {
  View value;
};
/// Marks `bias`, which may be a tensor that is not const, as the bias of the forms that return a
/// tensor.
template <tensor_like X>
[[nodiscard]] auto with_bias(const X& bias) {
  return bias_operand<detail::view_of<const X&>>{as_view(bias)};
}

namespace detail {

/// A view of a matrix product's operand with a row dimension in front of its last one.
template <class View>
auto as_row(const View& v) {
  return v.unsqueeze(-2);
}

/// The same of a vector, without the code for views of any rank.
template <class T, class D>
tensor_view<T, D> row_of_vector(const tensor_view<T, D>& v) {
  const i64 n = v.sizes()[0], stride = v.strides()[0];
  return {unchecked_t{}, v.data(), {1, n}, {wrapped_product(n, stride), stride}};
}

inline const no_bias_view& bias_part(const no_bias_view& none, i64) { return none; }
template <class View>
auto bias_part(const View& view, i64 which) {
  return part_of(view, which);
}
/// Runs one product of views: see gemm. One of complex numbers is four of their parts, which are
/// strided views.
template <class S, class A, class B, class Out, class Bias, class Factor>
void product(const char* op, const S& stream, const A& a, const B& b, const Out& out,
             const Bias& bias, Factor given_alpha, Factor given_beta, const u8* packed = nullptr) {
  constexpr int complex_ones = int{kernels::is_complex<typename A::value_type>} +
                               int{kernels::is_complex<typename B::value_type>} +
                               int{kernels::is_complex<typename Out::value_type>};
  static_assert(complex_ones == 0 || complex_ones == 3,
                "flaggems: a matrix product of complex numbers has complex tensors alone");
  using C = typename gemm_compute<kernels::real_of<typename A::value_type>,
                                  kernels::real_of<typename B::value_type>,
                                  kernels::real_of<typename Out::value_type>>::type;
  const C alpha = static_cast<C>(given_alpha), beta = static_cast<C>(given_beta);
  if constexpr (complex_ones == 0) {
    gemm(op, stream, a, b, out, bias, alpha, beta, packed);
  } else if constexpr (complex_ones == 3) {
    const auto x = part_of(a, 0), y = part_of(a, 1);
    const auto u = part_of(b, 0), v = part_of(b, 1);
    const auto re = part_of(out, 0), im = part_of(out, 1);
    gemm(op, stream, x, u, re, bias_part(bias, 0), alpha, beta);
    gemm(op, stream, y, v, re, re, -alpha, C(1));
    gemm(op, stream, x, v, im, bias_part(bias, 1), alpha, beta);
    gemm(op, stream, y, u, im, im, alpha, C(1));
  }
}

template <class S, class Input, class A, class B, class Out, class Scalars>
void add_product(const char* op, const S& stream, const Input& input, const A& a, const B& b,
                 const Out& out, const Scalars& scalars) {
  using C = typename gemm_compute<kernels::real_of<typename A::value_type>,
                                  kernels::real_of<typename B::value_type>,
                                  kernels::real_of<typename Out::value_type>>::type;
  static_assert(
      kernels::is_complex<typename Input::value_type> ==
              kernels::is_complex<typename Out::value_type> &&
          kernels::is_floating<C> ==
              kernels::is_floating<kernels::real_of<typename Input::value_type>>,
      "flaggems: what is added to a product must be of its kind: integers, floating point "
      "or complex numbers");
  const auto alpha = static_cast<C>(scalars.alpha.value(op));
  const auto beta = static_cast<C>(scalars.beta.value(op));
  check_broadcasts(op, input, out.shape_of());
  const auto whole = input.expand(out.shape_of());
  check_separate_output(op, out, a, b);
  if (overlap(out, whole) == overlap_kind::partial) [[unlikely]]
    raise(errc::overlap, op, "an output that shares no memory with `input`, or is `input`",
          "an output that overlaps `input` in part");
  product(op, stream, a, b.transpose(-2, -1), out, whole, alpha, beta);
}

template <class A, class B>
shape mm_shape(const char* op, const A& a, const B& b) {
  check_matrix_rank(op, "a matrix", a, 2);
  check_matrix_rank(op, "a second matrix", b, 2);
  check_size(op, "rows of the second matrix", a.size(1), b.size(0));
  return shape{a.size(0), b.size(1)};
}

template <class A, class B>
shape bmm_shape(const char* op, const A& a, const B& b) {
  check_matrix_rank(op, "matrices", a, 3);
  check_matrix_rank(op, "second matrices", b, 3);
  check_size(op, "rows of the second matrices", a.size(2), b.size(1));
  const i64 batch = a.size(0) == 1 ? b.size(0) : a.size(0);
  if (b.size(0) != 1) check_size(op, "as many second matrices as matrices:", batch, b.size(0));
  return shape{batch, a.size(1), b.size(2)};
}

template <class View>
auto expand_batch(const View& v, i64 batch) {
  return v.expand(shape{batch, v.size(1), v.size(2)});
}

template <class X, class W>
shape linear_shape(const X& x, const W& w) {
  if (x.rank() < 1) [[unlikely]]
    raise(errc::shape_mismatch, "linear", "x of rank 1 or more", "rank 0");
  if (w.rank() != 1) check_matrix_rank("linear", "a weight", w, 2);
  check_size("linear", "columns of the weight", x.size(-1), w.size(-1));
  shape r = x.shape_of();
  if (w.rank() == 1) {
    r.erase(r.rank() - 1);
    return r;
  }
  r[r.rank() - 1] = w.size(0);
  return r;
}

/// [..., K] as [..., 1, K], so that all leading dimensions are a batch with one weight. A matrix
/// stays as it is, and so does a tensor of the highest rank, which has no room for a dimension.
template <class View>
auto linear_rows(const View& v) {
  return v.rank() == 2 || v.rank() == max_rank ? v.view() : as_row(v);
}
/// The weight, expanded to that batch.
template <class X, class W>
auto linear_weight(const X& x, const W& w) {
  if (x.rank() == 2) return w.view();
  shape all = linear_rows(x).shape_of();
  all[all.rank() - 2] = w.size(0);
  all[all.rank() - 1] = w.size(1);
  return w.expand(all);
}

/// A vector in the output's position may have been meant as the bias.
FLAGGEMS_NOINLINE_ONCE void check_linear_sizes(int_list got, const shape& expected) {
  if (same_sizes(got, expected)) return;
  const int rank = expected.rank();
  const bool may_be_bias = got.size() == 1 && rank > 1 && got[0] == expected[rank - 1];
  raise(errc::shape_mismatch, "linear", "out of sizes " + to_string(expected),
        to_string(got) + (may_be_bias ? " (a bias is with_bias(b))" : ""));
}

/// The bias of a `linear`: one element for each column.
template <class View>
struct column_bias {
  static constexpr bool replaces = false;
  View view;
};

// A product is stored with `no_bias_view`, `column_bias` or an epilogue (gemm_epilogue.hpp).
// `check_added` raises unless that suits the result; `multiply` runs the product, where `to` is
// `out`, or `out` with a dimension in front of its last one.
template <class Out>
void check_added(const char*, const Out&, const no_bias_view&) {}
template <class Out, class View>
void check_added(const char* op, const Out& out, const column_bias<View>& bias) {
  check_matrix_rank(op, "a bias", bias.view, 1);
  check_size(op, "elements of the bias", out.size(-1), bias.view.size(0));
  check_separate_output(op, out, bias.view);
}

template <class S, class A, class B, class To>
void multiply(const char* op, const S& stream, const A& a, const B& b, const To& to, const shape&,
              const no_bias_view& none, const u8* packed) {
  product(op, stream, a, b, to, none, 1, 0, packed);
}
template <class S, class A, class B, class To, class View>
void multiply(const char* op, const S& stream, const A& a, const B& b, const To& to, const shape&,
              const column_bias<View>& bias, const u8* packed) {
  using bias_type = typename View::value_type;
  static_assert(
      kernels::is_floating<typename To::value_type> == kernels::is_floating<bias_type> &&
          kernels::is_complex<typename To::value_type> == kernels::is_complex<bias_type>,
      "flaggems: the bias of floating-point tensors must be of floating point, and complex "
      "where they are");
  product(op, stream, a, b, to, bias.view.expand(to.shape_of()), 1, 1, packed);
}

/// The sizes of what is made of a product of these.
template <class Added>
const shape& made_of(const char*, const shape& sums, const Added&) {
  return sums;
}

template <class S, class A, class B, class Out, class Added>
void mm_into(const S& stream, const A& a, const B& b, const Out& out, const Added& added) {
  check_sizes("mm", out, made_of("mm", mm_shape("mm", a, b), added));
  check_separate_output("mm", out, a, b);
  check_added("mm", out, added);
  multiply("mm", stream, a, b.t(), out, out.shape_of(), added, nullptr);
}

template <class S, class A, class B, class Out, class Added>
void bmm_into(const S& stream, const A& a, const B& b, const Out& out, const Added& added) {
  const shape sizes = made_of("bmm", bmm_shape("bmm", a, b), added);
  check_sizes("bmm", out, sizes);
  check_separate_output("bmm", out, a, b);
  check_added("bmm", out, added);
  multiply("bmm", stream, expand_batch(a, sizes[0]), expand_batch(b, sizes[0]).transpose(-2, -1),
           out, sizes, added, nullptr);
}

/// What is added to the one column of a product with a vector. A bias has no dimension then.
inline const no_bias_view& column_of(const no_bias_view& none) { return none; }
template <class View>
auto column_of(const column_bias<View>& bias) {
  const auto one = bias.view.rank() == 0 ? bias.view.unsqueeze(0) : bias.view.view();
  return column_bias<std::remove_const_t<decltype(one)>>{one};
}

/// `packed`: the panels of w, whose view then only has the sizes (gemm_packed.hpp).
template <class S, class X, class W, class Out, class Added>
void linear_into(const S& stream, const X& x, const W& w, const Out& out, const Added& added,
                 const u8* packed = nullptr) {
  check_linear_sizes(out.sizes(), made_of("linear", linear_shape(x, w), added));
  if constexpr (W::extents_type::static_rank < 2)
    if (w.rank() == 1) {  // a vector: the weight of one column
      if constexpr (requires { column_of(added); })
        return linear_into(stream, x, w.unsqueeze(0), out.unsqueeze(-1), column_of(added));
      check_matrix_rank("linear", "a weight", w, 2);
    }
  check_separate_output("linear", out, x, w);
  check_added("linear", out, added);
  multiply("linear", stream, linear_rows(x), linear_weight(x, w), linear_rows(out), out.shape_of(),
           added, packed);
}

}  // namespace detail

/// The stream, on which matrix products of f32 may round their operands to tf32, numbers of 10 bits
/// behind the first, for matrix units; sums are in f32. `mm(allow_tf32(stream), a, b, out)`; where
/// there are no such units, or without it, products are in full precision. (PyTorch's
/// torch.backends.cuda.matmul.allow_tf32, for a call.)
template <stream_like S>
[[nodiscard]] auto allow_tf32(const S& stream) {
  return tf32_stream<device_of<S>>{ref(stream)};
}

/// out = mat1 * mat2, the matrix product.
///
/// mat1 [m, k], mat2 [k, n], out [m, n], any strides; out shares no memory with an input. 16-bit
/// floats are multiplied and summed in f32 and may be mixed with f32; integers wrap around, and i8
/// and u8 in any mixture may have an out of i32 (ATen's _int_mm), whose sums are exact modulo 2^32.
/// Of complex tensors, in four products of their parts. k = 0 gives zeros. Raises shape_mismatch or
/// overlap before anything is written. aten::mm.out(Tensor self, Tensor mat2, *, Tensor(a!) out)
template <stream_like S, tensor_like A, tensor_like B, tensor_like Out>
void mm(const S& stream, const A& mat1, const B& mat2, Out&& out) {
  same_device<S, A, B, Out>();
  if (detail::small_mm<detail::second_matrix::plain>("mm", stream, mat1, mat2, out)) return;
  detail::mm_into(stream, as_view(mat1), as_view(mat2), as_view(out), detail::no_bias_view{});
}
/// mat1 * mat2 in a new tensor of mat1's dtype.
template <stream_like S, tensor_like A, tensor_like B>
[[nodiscard]] auto mm(const S& stream, const A& mat1, const B& mat2) {
  auto out =
      empty<value_t<const A&>>(stream, detail::mm_shape("mm", as_view(mat1), as_view(mat2)), "mm");
  mm(stream, mat1, mat2, out);
  return out;
}

/// out = beta * input + alpha * (mat1 * mat2).
///
/// mat1 [m, k], mat2 [k, n], out [m, n]; input broadcasts to [m, n] and may be `out` itself. With
/// beta = 0 input is not read, so its NaN do not spread. Otherwise as `mm`.
/// aten::addmm.out(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1,
/// Tensor(a!) out)
template <stream_like S, tensor_like Input, tensor_like A, tensor_like B, tensor_like Out>
void addmm(const S& stream, const Input& input, const A& mat1, const B& mat2, Out&& out,
           const gemm_scalars<value_t<const A&>>& scalars = {}) {
  same_device<S, Input, A, B, Out>();
  const auto a = as_view(mat1);
  const auto b = as_view(mat2);
  detail::check_sizes("addmm", as_view(out), detail::mm_shape("addmm", a, b));
  detail::add_product("addmm", stream, as_view(input), a, b, as_view(out), scalars);
}
/// beta * input + alpha * (mat1 * mat2) in a new tensor of mat1's dtype.
template <stream_like S, tensor_like Input, tensor_like A, tensor_like B>
[[nodiscard]] auto addmm(const S& stream, const Input& input, const A& mat1, const B& mat2,
                         const gemm_scalars<value_t<const A&>>& scalars = {}) {
  auto out = empty<value_t<const A&>>(
      stream, detail::mm_shape("addmm", as_view(mat1), as_view(mat2)), "addmm");
  addmm(stream, input, mat1, mat2, out, scalars);
  return out;
}

/// out[b] = input[b] * mat2[b], a matrix product for each b.
///
/// input [b, m, k], mat2 [b, k, n], out [b, m, n]; one of the inputs may have b = 1 and is then
/// used for every b (ATen's bmm would refuse). Otherwise as `mm`.
/// aten::bmm.out(Tensor self, Tensor mat2, *, Tensor(a!) out)
template <stream_like S, tensor_like A, tensor_like B, tensor_like Out>
void bmm(const S& stream, const A& input, const B& mat2, Out&& out) {
  same_device<S, A, B, Out>();
  detail::bmm_into(stream, as_view(input), as_view(mat2), as_view(out), detail::no_bias_view{});
}
/// The products in a new tensor of input's dtype.
template <stream_like S, tensor_like A, tensor_like B>
[[nodiscard]] auto bmm(const S& stream, const A& input, const B& mat2) {
  auto out = empty<value_t<const A&>>(
      stream, detail::bmm_shape("bmm", as_view(input), as_view(mat2)), "bmm");
  bmm(stream, input, mat2, out);
  return out;
}

/// out = beta * input + alpha * (batch1 * batch2): `bmm` with a tensor added as in `addmm`.
///
/// batch1 [b, m, k], batch2 [b, k, n], out [b, m, n]; input broadcasts to out's sizes and may be
/// `out` itself.
/// aten::baddbmm.out(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1,
/// Tensor(a!) out)
template <stream_like S, tensor_like Input, tensor_like A, tensor_like B, tensor_like Out>
void baddbmm(const S& stream, const Input& input, const A& batch1, const B& batch2, Out&& out,
             const gemm_scalars<value_t<const A&>>& scalars = {}) {
  same_device<S, Input, A, B, Out>();
  const auto a = as_view(batch1);
  const auto b = as_view(batch2);
  const shape sizes = detail::bmm_shape("baddbmm", a, b);
  detail::check_sizes("baddbmm", as_view(out), sizes);
  detail::add_product("baddbmm", stream, as_view(input), detail::expand_batch(a, sizes[0]),
                      detail::expand_batch(b, sizes[0]), as_view(out), scalars);
}
/// beta * input + alpha * (batch1 * batch2) in a new tensor of batch1's dtype.
template <stream_like S, tensor_like Input, tensor_like A, tensor_like B>
[[nodiscard]] auto baddbmm(const S& stream, const Input& input, const A& batch1, const B& batch2,
                           const gemm_scalars<value_t<const A&>>& scalars = {}) {
  auto out = empty<value_t<const A&>>(
      stream, detail::bmm_shape("baddbmm", as_view(batch1), as_view(batch2)), "baddbmm");
  baddbmm(stream, input, batch1, batch2, out, scalars);
  return out;
}

/// out = x * weight^T.
///
/// x [..., k], weight [n, k], out [..., n], any strides and any number of leading dimensions; with
/// weight [k], out [...]. out shares no memory with an input. The element types may differ (f32
/// activations with bf16 weights); sums are in f32. Raises shape_mismatch or overlap before
/// anything is written. aten::linear.out(Tensor input, Tensor weight, Tensor? bias=None, *,
/// Tensor(a!) out)
template <stream_like S, tensor_like X, tensor_like W, tensor_like Out>
requires(!detail::read_only<Out>) auto linear(const S& stream, const X& x, const W& weight,
                                              Out&& out) -> detail::nothing_t<Out> {
  same_device<S, X, W, Out>();
  if (!detail::small_mm<detail::second_matrix::transposed>("linear", stream, x, weight, out))
    detail::linear_into(stream, as_view(x), as_view(weight), as_view(out), detail::no_bias_view{});
  return detail::nothing<Out>;
}
/// out = x * weight^T + bias, bias [n]; without a dimension if weight is [k].
template <stream_like S, tensor_like X, tensor_like W, tensor_like Bias, tensor_like Out>
void linear(const S& stream, const X& x, const W& weight, const Bias& bias, Out&& out) {
  same_device<S, X, W, Bias, Out>();
  detail::linear_into(stream, as_view(x), as_view(weight), as_view(out),
                      detail::column_bias<detail::view_of<const Bias&>>{as_view(bias)});
}
/// The same with a bias that may be absent: an optional, or std::nullopt.
template <stream_like S, tensor_like X, tensor_like W, optional_tensor Bias, tensor_like Out>
requires(!tensor_like<Bias>) void linear(const S& stream, const X& x, const W& weight,
                                         const Bias& bias, Out&& out) {
  if constexpr (!std::is_same_v<Bias, std::nullopt_t>)
    if (bias.has_value()) return linear(stream, x, weight, *bias, out);
  linear(stream, x, weight, out);
}
/// x * weight^T in a new tensor of x's dtype.
template <stream_like S, tensor_like X, tensor_like W>
[[nodiscard]] auto linear(const S& stream, const X& x, const W& weight) {
  auto out =
      empty<value_t<const X&>>(stream, detail::linear_shape(as_view(x), as_view(weight)), "linear");
  linear(stream, x, weight, out);
  return out;
}
/// x * weight^T + bias in a new tensor of x's dtype; the bias is given as with_bias(b).
template <stream_like S, tensor_like X, tensor_like W, class Bias>
[[nodiscard]] auto linear(const S& stream, const X& x, const W& weight,
                          const bias_operand<Bias>& bias) {
  auto out =
      empty<value_t<const X&>>(stream, detail::linear_shape(as_view(x), as_view(weight)), "linear");
  linear(stream, x, weight, bias.value, out);
  return out;
}
/// The same; a const tensor or view, or a temporary tensor, is the bias.
template <stream_like S, tensor_like X, tensor_like W, detail::read_only Bias>
[[nodiscard]] auto linear(const S& stream, const X& x, const W& weight, Bias&& bias) {
  return linear(stream, x, weight, with_bias(bias));
}
/// The same with a bias that may be absent: an optional, or std::nullopt.
template <stream_like S, tensor_like X, tensor_like W, optional_tensor Bias>
requires(!tensor_like<Bias>)
    [[nodiscard]] auto linear(const S& stream, const X& x, const W& weight, const Bias& bias) {
  auto out =
      empty<value_t<const X&>>(stream, detail::linear_shape(as_view(x), as_view(weight)), "linear");
  linear(stream, x, weight, bias, out);
  return out;
}

/// out = mat * vec, a matrix by a vector.
///
/// mat [m, k], vec [k], out [m]. Otherwise as `mm`.
/// aten::mv.out(Tensor self, Tensor vec, *, Tensor(a!) out)
template <stream_like S, tensor_like A, tensor_like X, tensor_like Out>
void mv(const S& stream, const A& mat, const X& vec, Out&& out) {
  same_device<S, A, X, Out>();
  const auto a = as_view(mat);
  const auto x = as_view(vec);
  const auto to = as_view(out);
  detail::check_matrix_rank("mv", "a matrix", a, 2);
  detail::check_matrix_rank("mv", "a vector", x, 1);
  detail::check_size("mv", "elements of the vector", a.size(1), x.size(0));
  detail::check_sizes("mv", to, shape{a.size(0)});
  detail::check_separate_output("mv", to, a, x);
  detail::product("mv", stream, detail::row_of_vector(x), a, detail::row_of_vector(to),
                  detail::no_bias_view{}, 1, 0);
}
/// mat * vec in a new tensor of mat's dtype.
template <stream_like S, tensor_like A, tensor_like X>
[[nodiscard]] auto mv(const S& stream, const A& mat, const X& vec) {
  detail::check_matrix_rank("mv", "a matrix", as_view(mat), 2);
  auto out = empty<value_t<const A&>>(stream, shape{as_view(mat).size(0)}, "mv");
  mv(stream, mat, vec, out);
  return out;
}

}  // namespace flaggems
