// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Rotary position embedding: apply_rotary_pos_emb, its in-place form, and mrope, of three
// positions.
#pragma once

#include <flaggems/ops/arithmetic.hpp>
#include <flaggems/ops/comparison.hpp>
#include <flaggems/ops/dispatch/rotary.hpp>
#include <flaggems/ops/gather.hpp>
#include <flaggems/ops/index_select.hpp>
#include <flaggems/ops/plan/norm.hpp>
#include <flaggems/tensor/optional.hpp>

#include <utility>

namespace flaggems {

namespace operators {
struct apply_rotary_pos_emb;
}
namespace detail {

template <class View>
shape leading_sizes(const char* op, const View& x) {
  if (x.rank() < 2) [[unlikely]]
    raise(errc::invalid_argument, op, "q and k of sizes [..., heads, head_dim]",
          to_string(shape(x.sizes())));
  return shape(x.sizes().first(static_cast<std::size_t>(x.rank() - 2)));
}

[[noreturn]] FLAGGEMS_COLD_ONCE void raise_outputs_overlap(const char* op) {
  raise(errc::overlap, op, "outputs that share no memory with the other operands", "one that does");
}

/// Does not compile unless apply_rotary_pos_emb takes these types; gives whether it does.
template <class Q, class K, class Cos, class Sin, class Ids, class QOut, class KOut>
constexpr bool check_rotary_types() {
  using T = value_t<Q>;
  using W = value_t<Cos>;
  using J = typename optional_element<Ids, i64>::type;
  constexpr bool one = std::is_same_v<T, value_t<K>> && std::is_same_v<T, value_t<QOut>> &&
                       std::is_same_v<T, value_t<KOut>>;
  constexpr bool one_of_angles = std::is_same_v<W, value_t<Sin>>;
  constexpr bool floats = kernels::is_floating<T> && kernels::is_floating<W>;
  constexpr bool counts = std::is_same_v<J, i32> || std::is_same_v<J, i64>;
  static_assert(one, "flaggems: q, k and the outputs of apply_rotary_pos_emb have one dtype");
  static_assert(one_of_angles, "flaggems: cos and sin have one dtype");
  static_assert(floats, "flaggems: apply_rotary_pos_emb takes floating-point tensors");
  static_assert(counts, "flaggems: position_ids are of dtype i32 or i64");
  return one && one_of_angles && floats && counts && check_elements_written<element_t<QOut>>() &&
         check_elements_written<element_t<KOut>>();
}

template <class S, class T, class W, class J, class D>
void rotate(const char* op, const S& stream, const tensor_view<const T, D>& q,
            const tensor_view<const T, D>& k, const tensor_view<const W, D>& cos,
            const tensor_view<const W, D>& sin, const std::optional<tensor_view<const J, D>>& ids,
            bool interleaved, const tensor_view<T, D>& q_out, const tensor_view<T, D>& k_out) {
  const shape tokens = leading_sizes(op, q);
  if (k.rank() != q.rank() || !same_sizes(tokens, {k.sizes().data(), tokens.rank()}) ||
      k.size(-1) != q.size(-1)) [[unlikely]]
    raise(errc::shape_mismatch, op,
          "k with q's sizes but for the heads: " + to_string(shape(q.sizes())),
          to_string(shape(k.sizes())));
  if (cos.rank() != 2 || !same_sizes(sin.sizes(), cos.sizes())) [[unlikely]]
    raise(errc::shape_mismatch, op, "cos and sin of sizes [max_position, rotary_dim / 2]",
          to_string(shape(cos.sizes())) + " and " + to_string(shape(sin.sizes())));
  if (cos.size(1) > q.size(-1) / 2) [[unlikely]]
    raise(errc::shape_mismatch, op,
          "at most head_dim / 2 = " + detail::text(q.size(-1) / 2) + " angles",
          detail::text(cos.size(1)));
  check_same_sizes(op, q, q_out);
  check_same_sizes(op, k, k_out);
  check_writable(op, q_out);
  check_writable(op, k_out);
  const placed_layout q_to = layout_of(q_out), k_to = layout_of(k_out), q_from = layout_of(q),
                      k_from = layout_of(k);
  check_no_partial_overlap(op, q_to, q_from);
  check_no_partial_overlap(op, k_to, k_from);
  const auto disjoint = [&](const placed_layout& out, const placed_layout& in) {
    if (overlap(out, in) != overlap_kind::none) [[unlikely]]
      raise_outputs_overlap(op);
  };
  disjoint(q_to, k_to);
  disjoint(q_to, k_from);
  disjoint(k_to, q_from);
  const auto check_no_overlap_with = [&](const placed_layout& in) {
    disjoint(q_to, in);
    disjoint(k_to, in);
  };
  check_no_overlap_with(layout_of(cos));
  check_no_overlap_with(layout_of(sin));
  i64 id_strides[max_rank] = {};
  if (ids) {
    check_no_overlap_with(layout_of(*ids));
    if (broadcast_shapes(tokens, shape(ids->sizes()), op) != tokens) [[unlikely]]
      raise(errc::shape_mismatch, op, "position_ids that broadcast to " + to_string(tokens),
            to_string(shape(ids->sizes())));
    check_indices(op, stream, *ids, cos.size(0));
  } else {
    const int last = tokens.rank() - 1;
    if (last < 0) [[unlikely]]
      raise(errc::invalid_argument, op, "q of sizes [..., sequence, heads, head_dim]",
            to_string(shape(q.sizes())));
    if (tokens[last] > cos.size(0)) [[unlikely]]
      raise(errc::out_of_range, op, "at most " + detail::text(cos.size(0)) + " positions",
            detail::text(tokens[last]));
    id_strides[last] = 1;
  }

  iteration it(tokens);
  const std::size_t lead = static_cast<std::size_t>(tokens.rank());
  it.add(tokens, q_out.strides().first(lead));
  it.add(tokens, k_out.strides().first(lead));
  it.add(tokens, q.strides().first(lead));
  it.add(tokens, k.strides().first(lead));
  if (ids)
    it.add(ids->sizes(), ids->strides());
  else
    it.add(tokens, std::span<const i64>(id_strides, lead));
  if (it.empty() || q.size(-2) + k.size(-2) == 0 || q.size(-1) == 0) return;
  if (replaced<operators::apply_rotary_pos_emb>(op, stream, q, k, cos, sin, ids, interleaved, q_out,
                                                k_out))
    return;
  it.collapse();
  const bool in_place =
      overlap(q_from, q_to) == overlap_kind::exact && overlap(k_from, k_to) == overlap_kind::exact;
  launch_rotation(op, stream, it, rotary_operands<T, W, D>{q, k, cos, sin, q_out, k_out},
                  ids ? ids->data() : nullptr, {.interleaved = interleaved, .in_place = in_place});
}

}  // namespace detail

/// q_out, k_out = q, k with the pairs of each head rotated by the angles of the token's position.
///
/// Shapes: q, q_out [..., q_heads, head_dim]; k, k_out [..., k_heads, head_dim]; cos, sin
/// [max_position, rotary_dim / 2] with rotary_dim <= head_dim, the rest is copied; position_ids
/// (i32 or i64) broadcast to [...], or are std::nullopt: then a position is the index in the
/// dimension before the heads. A pair is elements j and j + rotary_dim / 2, or 2 j and 2 j + 1 if
/// `rotary_interleaved`. 16-bit floats compute in f32. An output may be its own input; other
/// overlap raises. Positions outside [0, max_position) raise out_of_range where the host can read
/// them; elsewhere the nearest row is used. Raises invalid_argument, shape_mismatch or overlap. All
/// before anything is written. flag_gems apply_rotary_pos_emb(q, k, cos, sin, position_ids=None,
/// rotary_interleaved=False, inplace=False)
template <stream_like S, tensor_like Q, tensor_like K, tensor_like Cos, tensor_like Sin,
          optional_tensor Ids, tensor_like QOut, tensor_like KOut>
void apply_rotary_pos_emb(const S& stream, const Q& q, const K& k, const Cos& cos, const Sin& sin,
                          const Ids& position_ids, QOut&& q_out, KOut&& k_out,
                          bool rotary_interleaved = false,
                          const char* op = "apply_rotary_pos_emb") {
  same_device<S, Q, K, Cos, Sin, Ids, QOut, KOut>();
  using D = device_of<S>;
  using J = typename detail::optional_element<Ids, i64>::type;
  if constexpr (detail::check_rotary_types<const Q&, const K&, const Cos&, const Sin&, Ids, QOut,
                                           KOut>())
    detail::rotate<S, value_t<const Q&>, value_t<const Cos&>, J, D>(
        op, stream, as_view(q), as_view(k), as_view(cos), as_view(sin),
        detail::optional_view<J, D>(position_ids), rotary_interleaved, as_view(q_out),
        as_view(k_out));
}

/// apply_rotary_pos_emb in two new tensors, the pair (q, k).
template <stream_like S, tensor_like Q, tensor_like K, tensor_like Cos, tensor_like Sin,
          optional_tensor Ids = std::nullopt_t>
[[nodiscard]] auto apply_rotary_pos_emb(const S& stream, const Q& q, const K& k, const Cos& cos,
                                        const Sin& sin, const Ids& position_ids = std::nullopt,
                                        bool rotary_interleaved = false) {
  auto out = std::pair(empty_like(stream, q, "apply_rotary_pos_emb"),
                       empty_like(stream, k, "apply_rotary_pos_emb"));
  apply_rotary_pos_emb(stream, q, k, cos, sin, position_ids, out.first, out.second,
                       rotary_interleaved);
  return out;
}

/// The same in place: q and k are rotated.
/// flag_gems::rotary_embedding_inplace(Tensor! q, Tensor! k, Tensor cos, Tensor sin, Tensor?
/// position_ids=None, bool rotary_interleaved=False)
template <stream_like S, tensor_like Q, tensor_like K, tensor_like Cos, tensor_like Sin,
          optional_tensor Ids = std::nullopt_t>
void apply_rotary_pos_emb_(const S& stream, Q&& q, K&& k, const Cos& cos, const Sin& sin,
                           const Ids& position_ids = std::nullopt,
                           bool rotary_interleaved = false) {
  apply_rotary_pos_emb(stream, q, k, cos, sin, position_ids, q, k, rotary_interleaved,
                       "apply_rotary_pos_emb_");
}

namespace detail {

/// Which of three positions turns each of `pairs` pairs: in sections, one behind the other, or
/// interleaved, position 1 and 2 in every third pair of as many as their sections have.
template <class S>
auto axes_of_sections(const char* op, const S& stream, i64 pairs, i64 t, i64 h, i64 w,
                      bool interleaved) {
  auto axes = empty<i64>(stream, {pairs}, op);
  if (pairs == 0) return axes;
  const expr<coordinate<device_of<S>>> k(coordinate<device_of<S>>(axes.shape_of(), 0));
  if (interleaved) {
    const auto turn = remainder(k, i64{3});
    assign(stream, axes,
           where(logical_and(eq(turn, i64{1}), lt(k, 3 * h)), i64{1},
                 where(logical_and(eq(turn, i64{2}), lt(k, 3 * w)), i64{2}, i64{0})),
           op);
  } else {
    assign(stream, axes, where(lt(k, t), i64{0}, where(lt(k, t + h), i64{1}, i64{2})), op);
  }
  return axes;
}

}  // namespace detail

/// query and key, in place: heads whose pairs are rotated by angles of three positions of a token,
/// as of time, height and width: of the first section_t pairs those of positions[0], then of
/// section_h, then of section_w; with is_interleaved, positions 1 and 2 have pair 3 j + 1 and 3 j +
/// 2 for j less than their sections; with is_interleaved_glm pair j has that of axis_map[j]. A pair
/// is elements j and j + rotary_dim / 2, or without is_neox_style 2 j and 2 j + 1; the rest of a
/// head is kept.
///
/// query, key [N, heads * head_size] and cos_sin_cache [max_position, rotary_dim] (cosines, then
/// sines) of floating point; positions [3, N] and axis_map [rotary_dim / 2] of i64. Sections add up
/// to rotary_dim / 2 unless they are interleaved. 16-bit floats compute in f32. Positions outside
/// raise out_of_range where the host can read them. Raises invalid_argument, shape_mismatch or
/// overlap before anything is written. flag_gems::mrope(Tensor(a!) query, Tensor(b!) key, Tensor
/// cos_sin_cache, Tensor positions, int section_t, int section_h, int section_w, int head_size, int
/// rotary_dim, bool is_interleaved=False, bool is_interleaved_glm=False, bool is_neox_style=True,
/// Tensor? axis_map=None)
template <stream_like S, tensor_like Q, tensor_like K, tensor_like Table, tensor_like Ids,
          optional_tensor Axes = std::nullopt_t>
void mrope(const S& stream, Q&& query, K&& key, const Table& cos_sin_cache, const Ids& positions,
           i64 section_t, i64 section_h, i64 section_w, i64 head_size, i64 rotary_dim,
           bool is_interleaved = false, bool is_interleaved_glm = false, bool is_neox_style = true,
           const Axes& axis_map = std::nullopt) {
  constexpr const char* op = "mrope";
  using D = device_of<S>;
  same_device<S, Q, K, Table, Ids, Axes>();
  const auto q = as_view(query);
  const auto k = as_view(key);
  const auto table = detail::input_of(cos_sin_cache);
  const tensor_view<const i64, D> ids(as_view(positions));
  const auto given = detail::optional_view<i64, D>(axis_map);
  const i64 pairs = rotary_dim / 2, tokens = q.rank() == 2 ? q.size(0) : 0;
  if (head_size < 1 || rotary_dim < 0 || rotary_dim % 2 != 0 || rotary_dim > head_size ||
      section_t < 0 || section_h < 0 || section_w < 0) [[unlikely]]
    raise(errc::invalid_argument, op, "an even rotary_dim of at most head_size, and sections",
          detail::text(rotary_dim) + " of " + detail::text(head_size));
  if (q.rank() != 2 || k.rank() != 2 || k.size(0) != tokens || q.size(1) % head_size != 0 ||
      k.size(1) % head_size != 0) [[unlikely]]
    detail::raise_shapes(op, "query and key [N, heads * head_size]", q.shape_of(), k.shape_of());
  if (table.rank() != 2 || table.size(1) != rotary_dim || ids.rank() != 2 || ids.size(0) != 3 ||
      ids.size(1) != tokens) [[unlikely]]
    detail::raise_shapes(op, "a cos_sin_cache [max_position, rotary_dim] and positions [3, N]",
                         table.shape_of(), ids.shape_of());
  if (is_interleaved_glm != given.has_value()) [[unlikely]]
    raise(errc::invalid_argument, op, "an axis_map with is_interleaved_glm, and none without",
          given ? "one" : "none");
  if (given && (given->rank() != 1 || given->size(0) != pairs)) [[unlikely]]
    detail::raise_other_sizes(op, {pairs}, given->sizes());
  if (!is_interleaved && !given && section_t + section_h + section_w != pairs) [[unlikely]]
    raise(errc::invalid_argument, op, "sections of " + detail::text(pairs) + " pairs together",
          detail::text(section_t + section_h + section_w));
  detail::check_separate(op, q, table, ids, given);
  detail::check_separate(op, k, q, table, ids, given);
  detail::check_indices(op, stream, ids, table.size(0));
  if (given) detail::check_indices(op, stream, *given, 3);
  if (tokens == 0 || pairs == 0 || table.size(0) == 0) return;
  const auto own = given ? tensor<i64, D>()
                         : detail::axes_of_sections(op, stream, pairs, section_t, section_h,
                                                    section_w, is_interleaved);
  const auto turned = index_select(stream, ids, 0, given ? *given : detail::input_of(own));
  const auto rows = turned.view().t();  // [N, pairs]
  const auto cos = gather(stream, table.narrow(1, 0, pairs), 0, rows),
             sin = gather(stream, table.narrow(1, pairs, pairs), 0, rows);
  const auto heads = [&](const auto& x) {
    return x.unflatten(1, {x.size(1) / head_size, head_size});
  };
  apply_rotary_pos_emb(stream, heads(q), heads(k), cos, sin, std::nullopt, heads(q), heads(k),
                       !is_neox_style, op);
}

}  // namespace flaggems
