// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Products of rows with the weights of the experts that they were given to: numbers or codes with
// scales and zero points, of dtypes that are known at run time.
#pragma once

#include <flaggems/ops/dispatch/gemm/grouped.hpp>
#include <flaggems/ops/expr.hpp>
#include <flaggems/ops/moe_routing.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/reduce.hpp>
#include <flaggems/tensor/any_view.hpp>

#include <limits>
#include <optional>

namespace flaggems {

namespace operators {
struct expert_product;
}  // namespace operators

namespace detail {

template <class D>
using optional_any = std::optional<any_view<D>>;

/// x as T, in new memory: of floats or of integers, those outside of i32 as the nearest ones.
template <class To, class S, class D>
tensor<To, D> read_any(const char* op, const S& stream, const any_view<D>& x) {
  auto r = empty<To>(stream, shape(x.sizes()), op);
  const auto from = [&](auto type) {
    const auto v = x.template as<const typename decltype(type)::type>();
    if constexpr (std::is_same_v<To, i32>)
      assign(stream, r, nearest_i32(v), op);
    else
      assign(stream, r, cast<To>(v), op);
  };
  if constexpr (kind_of<To> == kind::floating)
    visit<f32, bf16, f16>(x.dtype(), from, op);
  else
    visit<i32, i64>(x.dtype(), from, op);
  return r;
}

/// Raises unless x has a dtype that kernels read as numbers of scales or biases.
inline void check_numbers(const char* op, const char* what, dtype type, bool may_be_codes) {
  const bool right = type == dtype::f32 || type == dtype::bf16 || type == dtype::f16 ||
                     (may_be_codes && type == dtype::u8);
  if (!right) [[unlikely]]
    raise(errc::dtype_mismatch, op,
          text(what) + (may_be_codes ? " of f32, bf16, f16 or u8" : " of f32, bf16 or f16"),
          to_string(type));
}

/// What an operand's codes are, and what scales and zero points they share: `lines` and `terms` of
/// them each.
struct code_facts {
  kernels::coding code = kernels::coding::f32;
  kernels::zero_kind zeros_are = kernels::zero_kind::none;
  i64 lines = 1, terms = 1;
  kernels::coding scale = kernels::coding::f32;  // of scales of u8: those or e8m0
};

/// Scales, or zero points, [groups, ceil(lines / each), ceil(terms / each)], where dimensions at
/// the end of one element may be missing. Raises shape_mismatch or dtype_mismatch.
template <class D>
kernels::coded_numbers shared_numbers(const char* op, const char* what, const any_view<D>& x,
                                      i64 groups, i64 lines, i64 terms, kernels::coding of_u8) {
  check_numbers(op, what, x.dtype(), of_u8 != kernels::coding::f32);
  const i64 expected[] = {groups, lines, terms};
  bool fits = x.rank() <= 3;
  for (int d = 0; d < 3; ++d)
    fits = fits && (d < x.rank() ? x.size(d) == expected[d] : expected[d] == 1);
  if (!fits) [[unlikely]]
    raise(errc::shape_mismatch, op,
          text(what) + " of sizes " + to_string(shape{groups, lines, terms}), to_string(x.sizes()));
  const auto stride = [&](int d) { return d < x.rank() ? x.stride(d) : i64{0}; };
  return {static_cast<const u8*>(x.data()), x.dtype() == dtype::u8 ? of_u8 : coding_of(x.dtype()),
          stride(0), stride(1), stride(2)};
}

/// An operand [groups, lines, terms] of codes. Raises shape_mismatch or dtype_mismatch.
template <class D>
kernels::coded_lines coded_operand(const char* op, const char* what, const any_view<D>& x,
                                   i64 groups, i64 lines, i64 terms, const code_facts& facts,
                                   const optional_any<D>& scale, const optional_any<D>& zeros) {
  const bool paired = kernels::is_paired(facts.code);
  const shape expected{groups, lines, paired ? terms / 2 : terms};
  if (!same_sizes(x.sizes(), expected) || (paired && terms % 2 != 0)) [[unlikely]]
    raise(errc::shape_mismatch, op, text(what) + " of sizes " + to_string(expected),
          to_string(x.sizes()));
  kernels::coded_lines r{};
  r.data = static_cast<const u8*>(x.data());
  r.code = facts.code;
  r.group = x.stride(0);
  r.line = x.stride(1);
  r.along = x.stride(2);
  // No more than there are, so that 32 bits hold it.
  const auto each = [](i64 wanted, i64 all) {
    return static_cast<i32>(kernels::max_of(kernels::min_of(wanted, all), i64{1}));
  };
  r.lines_each = each(facts.lines, lines);
  r.terms_each = each(facts.terms, terms);
  const i64 line_parts = kernels::ceil_div(lines, i64{r.lines_each});
  const i64 term_parts = kernels::ceil_div(terms, i64{r.terms_each});
  if (scale)
    r.scales = shared_numbers(op, "scales", *scale, groups, line_parts, term_parts, facts.scale);
  if (zeros) {
    const bool pairs = facts.zeros_are == kernels::zero_kind::pair_of_lines;
    r.zeros_are = facts.zeros_are;
    r.zeros = shared_numbers(op, "zero points", *zeros, groups,
                             pairs ? kernels::ceil_div(line_parts, i64{2}) : line_parts, term_parts,
                             kernels::coding::u8);
  }
  r.scales_vary = (scale && facts.terms < terms) || r.zeros_are != kernels::zero_kind::none;
  return r;
}

/// A bias [groups, n].
template <class D>
kernels::coded_numbers expert_bias(const char* op, const optional_any<D>& bias, i64 groups, i64 n) {
  if (!bias) return {};
  return shared_numbers(op, "a bias", *bias, groups, n, 1, kernels::coding::f32);
}

/// Which experts the choices of tokens are for, and in what order they lie: `rows` are the choices
/// by expert, those for none of `experts` last, `ends` where those of each expert end.
template <class D>
struct expert_routes {
  tensor<i32, D> rows, ends;
};
/// With a map, experts are what it has for topk_ids. Raises dtype_mismatch or shape_mismatch.
template <class S, class D>
expert_routes<D> route_choices(const char* op, const S& stream, const any_view<D>& topk_ids,
                               const optional_any<D>& map, i64 experts) {
  const i64 n = topk_ids.numel();
  auto own = empty<i64>(stream, {n}, op);
  const auto known = [&](i64 count) { return logical_and(ge(own, i64{0}), lt(own, count)); };
  const auto given = read_any<i64>(op, stream, topk_ids);
  assign(stream, own, given.view().view({n}), op);
  if (map && n > 0) {
    const auto names = read_any<i64>(op, stream, *map);
    assign(stream, own, where(known(names.numel()), own, names.numel()), op);
    auto all = full<i64>(stream, {names.numel() + 1}, -1);
    assign(stream, all.view().narrow(0, 0, names.numel()), names, op);
    assign(stream, own, gather(stream, all, 0, evaluate(stream, own + i64{0}, op)), op);
  }
  assign(stream, own, where(known(experts), own, experts), op);
  const auto sorted = sort(stream, own, 0);
  expert_routes<D> r{empty<i32>(stream, {n}, op), empty<i32>(stream, {experts + 1}, op)};
  assign(stream, r.rows, cast<i32>(sorted.indices), op);
  searchsorted(stream, sorted.values, arange<i64>(stream, experts + 1), r.ends, true);
  return r;
}

/// Makes a call of rows by routes: of `count` choices, the first operand having a line for each
/// `share` of them.
template <class Out, class D>
void set_routes(grouped_call<Out>& call, const expert_routes<D>& routes, i64 experts, i64 count,
                i64 share) {
  call.space.rows = {
      kernels::grouping::rows_to_ends, routes.ends.data(), nullptr, experts + 1, count, 1};
  call.space.placed = {routes.rows.data(), count, share};
  call.space.groups = experts;
}
template <class Out, class To>
void set_result(grouped_call<Out>& call, const To& to, i64 n, i64 k) {
  call.space.n = n;
  call.space.k = k;
  call.out.data = to.data();
  call.out.group = 0;
  call.out.row = to.stride(0);
  call.out.column = to.stride(1);
}

/// Raises unless so many places and sizes can be counted in 32 bits.
inline void check_counts(const char* op, i64 places, i64 n, i64 k) {
  constexpr i64 most = (std::numeric_limits<i32>::max)();
  if (places > most || n > most || k > most) [[unlikely]]
    raise(errc::invalid_argument, op, "fewer than 2^31 rows, columns and terms",
          text(places) + ", " + text(n) + " and " + text(k));
}

}  // namespace detail

/// How the operands of expert products are quantised, what else is made of the products, and the
/// rows that blocks have.
template <class D>
struct expert_product_options {
  bool use_fp8_w8a8 = false;    ///< both of f8e4m3, with scales
  bool use_int8_w8a8 = false;   ///< both of i8
  bool use_int8_w8a16 = false;  ///< weights of i8, or of u8 less 128 or their zero points
  bool use_int4_w4a16 = false;  ///< weights of pairs of 4 bits in u8, less 8 or their zero points
  bool per_channel_quant = false;  ///< scales of tokens and columns; else, or with a block_shape,
                                   ///< of whole matrices or blocks
  int_list block_shape{};          ///< columns and terms that share a scale
  std::optional<any_view<D>> B_bias{};  ///< [E, N]
  bool FUSE_SILU = false;               ///< C is silu(the first half of columns) * the second half
  bool direct_sum = false;              ///< C gets the sums of out_top_k rows each added
  i64 out_top_k = 1;
};

namespace detail {

/// The facts of weights [E, n, k], and of the rows multiplied with them, of such options.
template <class D, class Options>
void facts_of_codes(const char* op, const Options& o, dtype type, const optional_any<D>& b_scale,
                    i64 n, i64 k, code_facts& rows, code_facts& weights) {
  const int chosen =
      int{o.use_fp8_w8a8} + int{o.use_int8_w8a8} + int{o.use_int8_w8a16} + int{o.use_int4_w4a16};
  if (chosen > 1) [[unlikely]]
    raise(errc::invalid_argument, op, "one quantisation at most", text(chosen));
  if (o.block_shape.size() != 0 &&
      (o.block_shape.size() != 2 || o.block_shape[0] < 0 || o.block_shape[1] < 1)) [[unlikely]]
    raise(errc::invalid_argument, op, "a block_shape of columns and terms",
          to_string(o.block_shape));
  const bool narrow = o.use_int8_w8a16 || o.use_int4_w4a16;
  const bool right = o.use_fp8_w8a8     ? type == dtype::f8e4m3
                     : o.use_int8_w8a8  ? type == dtype::i8
                     : o.use_int4_w4a16 ? type == dtype::u8 || type == dtype::i8
                     : o.use_int8_w8a16 ? type == dtype::u8 || type == dtype::i8
                                        : is_floating_point(type) && size_of(type) < 8;
  if (!right) [[unlikely]]
    raise(errc::dtype_mismatch, op, "weights of the dtype that the quantisation says",
          to_string(type));
  if (chosen > 0 && !b_scale) [[unlikely]]
    raise(errc::invalid_argument, op, "scales of quantised weights", "none");
  weights.code = coding_of(type);
  weights.lines = b_scale && b_scale->numel() == b_scale->size(0) && !o.per_channel_quant ? n : 1;
  weights.terms = rows.terms = k;
  if (o.block_shape.size() == 2) {
    // Of weights with activations of 16 bits each column has its own scales.
    weights.lines = narrow ? 1 : kernels::max_of(o.block_shape[0], i64{1});
    weights.terms = rows.terms = o.block_shape[1];
  }
  using kernels::zero_kind;
  if (o.use_int4_w4a16 && type == dtype::u8) {
    weights.code = kernels::coding::u4_8;
    weights.zeros_are = zero_kind::pair_of_lines;
  } else if (narrow && type == dtype::u8) {
    weights.code = kernels::coding::u8_128;
    weights.zeros_are = zero_kind::code;
  }
}
/// Codes that have zero points of their own are not less 8 or 128.
inline void take_zeros(code_facts& facts, bool has_zeros) {
  if (!has_zeros) return;
  if (facts.code == kernels::coding::u4_8) facts.code = kernels::coding::u4;
  if (facts.code == kernels::coding::u8_128) facts.code = kernels::coding::u8;
}

/// One product of blocks of rows into C [rows, N].
template <class S, class T, class D>
void multiply_blocks_of_rows(const char* op, const S& stream, const any_view<D>& a,
                             const any_view<D>& b, const tensor_view<T, D>& c,
                             const optional_any<D>& a_scale, const optional_any<D>& b_scale,
                             const optional_any<D>& b_zeros, const f32* weights, const i32* sorted,
                             i64 places, const i32* experts, const i32* count, i64 top_k, i64 block,
                             const expert_product_options<D>& o) {
  const i64 n = b.size(1), k = a.size(1), rows = a.size(0);
  check_counts(op, places, n, k);
  code_facts of_rows, of_weights;
  facts_of_codes(op, o, b.dtype(), b_scale, n, k, of_rows, of_weights);
  take_zeros(of_weights, b_zeros.has_value());
  of_rows.code = coding_of(a.dtype());
  of_rows.lines = a_scale && a_scale->numel() == 1 ? kernels::max_of(rows, i64{1}) : 1;
  grouped_call<T> call;
  optional_any<D> by_rows = a_scale;
  if (by_rows) by_rows = by_rows->rank() == 0 ? by_rows->reshape({1, 1, 1}) : by_rows->unsqueeze(0);
  call.a = coded_operand<D>(op, "A", a.unsqueeze(0), 1, rows, k, of_rows, by_rows, std::nullopt);
  call.a.group = call.a.scales.group = 0;
  call.b = coded_operand(op, "B", b, b.size(0), n, k, of_weights, b_scale, b_zeros);
  set_result(call, c, n, k);
  call.out.bias = expert_bias<D>(op, o.B_bias, b.size(0), n);
  call.out.weights = weights;
  const i64 blocks = kernels::ceil_div(places, block);
  call.space.rows = {kernels::grouping::rows_in_blocks, experts, count, blocks, places, block};
  call.space.placed = {sorted, rows * top_k, top_k};
  call.space.groups = b.size(0);
  multiply_groups(op, stream, call);
}

}  // namespace detail

/// C[i / top_k, i % top_k, :] = (A[i / top_k, :] * B[e, :, :]^T * scales + bias[e, :]) *
/// topk_weights[i], the weights only with mul_routed_weight, for the places i of sorted_token_ids:
/// `block_size_m` of them at a time have expert e of expert_ids, as moe_align_block_size gives
/// them. Where e is -1, zeros. Without sorted_token_ids place i is i, and expert_ids has one for
/// each.
///
/// A [M, K], B [E, N, K] (K / 2 of pairs of 4 bits), C [M, top_k, N] of f32, bf16 or f16, N / 2
/// with FUSE_SILU; with direct_sum C [M / out_top_k, 1, N], to which sums are added. A_scale [1],
/// [M] or [M, ceil(K / terms)]; B_scale [E], [E, N], [E, ceil(N / columns), ceil(K / terms)]; B_zp
/// the same of u8, [E, N / 2, ..] of pairs of 4 bits. Products are summed in f32. Rows that no
/// place names are not written (zeros with FUSE_SILU). C shares no memory with an input. Raises
/// shape_mismatch, invalid_argument, dtype_mismatch or overlap before anything is written.
/// flag_gems::dispatch_fused_moe_kernel(Tensor A, Tensor B, Tensor(a!) C, Tensor? A_scale, Tensor?
/// B_scale, Tensor? B_zp, Tensor? topk_weights, Tensor? sorted_token_ids, Tensor expert_ids, Tensor
/// num_tokens_post_padded, bool mul_routed_weight, int top_k, config, ..): block_size_m is that of
/// the config
template <stream_like S, tensor_like C>
void dispatch_fused_moe_kernel(const S& stream, const any_view<device_of<S>>& A,
                               const any_view<device_of<S>>& B, C&& c,
                               const std::optional<any_view<device_of<S>>>& A_scale,
                               const std::optional<any_view<device_of<S>>>& B_scale,
                               const std::optional<any_view<device_of<S>>>& B_zp,
                               const std::optional<any_view<device_of<S>>>& topk_weights,
                               const std::optional<any_view<device_of<S>>>& sorted_token_ids,
                               const any_view<device_of<S>>& expert_ids,
                               const any_view<device_of<S>>& num_tokens_post_padded,
                               bool mul_routed_weight, i64 top_k, i64 block_size_m,
                               const expert_product_options<device_of<S>>& options = {}) {
  constexpr const char* op = "dispatch_fused_moe_kernel";
  using D = device_of<S>;
  using T = value_t<C>;
  same_device<S, C>();
  static_assert(detail::is_among<T, f32, bf16, f16>, "flaggems: products are f32, bf16 or f16");
  const tensor_view<T, D> to(as_view(c));
  if (A.rank() != 2 || B.rank() != 3 || to.rank() != 3) [[unlikely]]
    raise(errc::shape_mismatch, op, "A [M, K], B [E, N, K] and C [M, top_k, N]",
          to_string(A.sizes()) + ", " + to_string(B.sizes()) + " and " + to_string(to.sizes()));
  if (top_k < 1 || block_size_m < 1 || options.out_top_k < 1) [[unlikely]]
    raise(errc::invalid_argument, op, "a positive top_k, out_top_k and block_size_m",
          detail::text(top_k) + ", " + detail::text(options.out_top_k) + " and " +
              detail::text(block_size_m));
  const i64 n = B.size(1);
  i64 rows = 0;
  if (!detail::multiply(A.size(0), top_k, rows)) [[unlikely]]
    raise(errc::invalid_argument, op, "fewer than 2^31 rows",
          detail::text(A.size(0)) + " times " + detail::text(top_k));
  const shape sizes = options.direct_sum ? shape{rows / options.out_top_k, 1, n}
                                         : shape{A.size(0), top_k, options.FUSE_SILU ? n / 2 : n};
  detail::check_sizes(op, to, sizes, "C");
  if ((options.FUSE_SILU && n % 2 != 0) || (options.FUSE_SILU && options.direct_sum) ||
      (options.direct_sum && rows % options.out_top_k != 0)) [[unlikely]]
    raise(errc::invalid_argument, op,
          "halves of columns, or whole sums of out_top_k rows, and not both",
          detail::text(n) + " columns and " + detail::text(rows) + " rows");
  if (mul_routed_weight && (!topk_weights || topk_weights->numel() != rows)) [[unlikely]]
    raise(errc::shape_mismatch, op, "a weight for each of " + detail::text(rows) + " rows of C",
          topk_weights ? to_string(topk_weights->sizes()) : detail::text("none"));
  const i64 places = sorted_token_ids ? sorted_token_ids->numel() : rows;
  // A block of more places than there are has all of them.
  const i64 block =
      sorted_token_ids ? kernels::min_of(block_size_m, kernels::max_of(places, i64{1})) : 1;
  if (expert_ids.numel() < kernels::ceil_div(places, block) || num_tokens_post_padded.numel() != 1)
      [[unlikely]]
    raise(errc::shape_mismatch, op, "an expert for each block, and one number of places",
          to_string(expert_ids.sizes()) + " and " + to_string(num_tokens_post_padded.sizes()));
  detail::check_separate(op, to, A, B, A_scale, B_scale, B_zp, topk_weights, sorted_token_ids,
                         expert_ids, num_tokens_post_padded, options.B_bias);
  if (to.empty() ||
      detail::replaced<operators::expert_product>(
          op, stream, A, B, to, A_scale, B_scale, B_zp, topk_weights, sorted_token_ids, expert_ids,
          num_tokens_post_padded, mul_routed_weight, top_k, block_size_m, options))
    return;
  const auto experts = detail::read_any<i32>(op, stream, expert_ids.reshape({expert_ids.numel()}));
  const auto count = detail::read_any<i32>(op, stream, num_tokens_post_padded);
  tensor<i32, D> sorted;
  tensor<f32, D> weights;
  if (sorted_token_ids) sorted = detail::read_any<i32>(op, stream, *sorted_token_ids);
  if (mul_routed_weight) weights = detail::read_any<f32>(op, stream, *topk_weights);
  const auto multiply = [&](const tensor_view<T, D>& into) {
    detail::multiply_blocks_of_rows(
        op, stream, A, B, into, A_scale, B_scale, B_zp,
        mul_routed_weight ? weights.data() : nullptr, sorted_token_ids ? sorted.data() : nullptr,
        places, experts.data(), sorted_token_ids ? count.data() : nullptr, top_k, block, options);
  };
  if (!options.FUSE_SILU && !options.direct_sum) {
    if (to.stride(0) == top_k * to.stride(1) || A.size(0) == 1 || top_k == 1)
      return multiply(tensor_view<T, D>(detail::unchecked_t{}, to.data(), shape{rows, n},
                                        {top_k == 1 ? to.stride(0) : to.stride(1), to.stride(2)}));
    auto own = empty<T>(stream, {rows, n}, op);
    assign(stream, own.view().view(to.shape_of()), to, op);  // rows that no place names stay
    multiply(own.view());
    return assign(stream, to, own.view().view(to.shape_of()), op);
  }
  auto own = zeros<T>(stream, {rows, n});
  multiply(own.view());
  if (options.direct_sum) {
    const auto parts = own.view().view({rows / options.out_top_k, options.out_top_k, n});
    const auto sums = sum<f32>(stream, parts, 1, true);
    return assign(stream, to, cast<T>(cast<f32>(to) + sums), op);
  }
  const auto all = own.view().view({A.size(0), top_k, n});
  assign(stream, to, silu_and_mul(all.narrow(2, 0, n / 2), all.narrow(2, n / 2, n / 2)), op);
}

/// The same without zero points. flag_gems::invoke_fused_moe_triton_kernel(Tensor A, Tensor B,
/// Tensor(a!) C, Tensor? A_scale, Tensor? B_scale, Tensor? topk_weights, Tensor? sorted_token_ids,
/// Tensor expert_ids, Tensor num_tokens_post_padded, bool mul_routed_weight, int top_k, config, ..)
template <stream_like S, tensor_like C>
void invoke_fused_moe_triton_kernel(const S& stream, const any_view<device_of<S>>& A,
                                    const any_view<device_of<S>>& B, C&& c,
                                    const std::optional<any_view<device_of<S>>>& A_scale,
                                    const std::optional<any_view<device_of<S>>>& B_scale,
                                    const std::optional<any_view<device_of<S>>>& topk_weights,
                                    const std::optional<any_view<device_of<S>>>& sorted_token_ids,
                                    const any_view<device_of<S>>& expert_ids,
                                    const any_view<device_of<S>>& num_tokens_post_padded,
                                    bool mul_routed_weight, i64 top_k, i64 block_size_m,
                                    const expert_product_options<device_of<S>>& options = {}) {
  dispatch_fused_moe_kernel(stream, A, B, c, A_scale, B_scale, std::nullopt, topk_weights,
                            sorted_token_ids, expert_ids, num_tokens_post_padded, mul_routed_weight,
                            top_k, block_size_m, options);
}

}  // namespace flaggems
