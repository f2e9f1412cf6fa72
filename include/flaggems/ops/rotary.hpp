// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Rotary position embedding: apply_rotary_pos_emb and its in-place form.
#pragma once

#include <flaggems/kernel/family/row/simt/rotary.hpp>
#include <flaggems/kernel/family/row/vector/rotary.hpp>
#include <flaggems/ops/dispatch/pointwise.hpp>
#include <flaggems/ops/index_select.hpp>
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

[[noreturn]] FLAGGEMS_COLD inline void raise_outputs_overlap(const char* op) {
  raise(errc::overlap, op, "outputs that share no memory with the other operands", "one that does");
}

/// All but the strides over the tokens.
template <class T, class D>
void set_rotary_operand(kernels::rotary_tensor<T>& x, const tensor_view<const T, D>& in,
                        const tensor_view<T, D>& out) {
  const auto last = static_cast<std::size_t>(in.rank() - 1);
  const auto read = in.strides(), written = out.strides();
  x.in = in.data();
  x.out = out.data();
  x.in_head = read[last - 1];
  x.in_step = read[last];
  x.out_head = written[last - 1];
  x.out_step = written[last];
}

/// The operands of a rotation.
template <class T, class W, class D>
struct rotary_operands {
  const tensor_view<const T, D>&q, &k;
  const tensor_view<const W, D>&cos, &sin;
  const tensor_view<T, D>&q_out, &k_out;
};

/// What a chip is told of a rotation; not all of it `fits` 32 bits.
template <class T, class W>
struct rotary_plan {
  kernels::rotary_steps steps;
  kernels::rotary_tensors<T> both;
  kernels::rotary_angles<W> cos, sin;
  bool fits;

  /// `it`: the tokens, with the strides of q_out, k_out, q, k and the positions. A pack has `size`
  /// elements, a power of two.
  template <class D>
  rotary_plan(const iteration& it, const rotary_operands<T, W, D>& x, bool interleaved,
              bool in_place, int size) {
    const i64 pairs = x.cos.size(1), head_dim = x.q.size(-1), q_heads = x.q.size(-2);
    const i64 heads = q_heads + x.k.size(-2);
    steps.q_heads = narrow(q_heads);
    steps.pairs = narrow(pairs);
    steps.pair = interleaved ? 2 : 1;
    steps.second = interleaved ? 1 : steps.pairs;
    steps.positions = narrow(x.cos.size(0));
    narrow(head_dim);
    steps.rank = it.rank();
    for (int d = 0; d < it.rank(); ++d) {
      steps.dimensions[d] = {divider_by(it.size(d)),
                             {{multiple(it.stride(2, d)), multiple(it.stride(0, d))},
                              {multiple(it.stride(3, d)), multiple(it.stride(1, d))}},
                             narrow(it.stride(4, d))};
    }
    both.at[0] = heads_of(x.q, x.q_out);
    both.at[1] = heads_of(x.k, x.k_out);
    const int angles = interleaved ? size / 2 : size;
    cos = angles_of(x.cos, angles);
    sin = angles_of(x.sin, angles);

    const i64 half = interleaved ? 2 * pairs : pairs, rest = in_place ? 0 : head_dim - 2 * pairs;
    const u64 pack = static_cast<u64>(size);
    steps.packed = size > 1 && steps_are_one_ &&
                   ((odd_ | static_cast<u64>(half | rest)) & (pack - 1)) == 0 &&
                   (ends_ & (pack * sizeof(T) - 1)) == 0;
    const int shift = steps.packed ? __builtin_ctz(static_cast<unsigned>(size)) : 0;
    const i64 rotated = steps.packed ? half >> shift : pairs, per_head = rotated + (rest >> shift);
    const i64 all = work_of(it.numel(), heads, per_head);
    fits = all >> 31 == 0 && wide_ >> 32 == 0;
    steps.steps = static_cast<u32>(all);
    if (all == 0) return;
    steps.rotated = static_cast<u32>(rotated);
    steps.per_head = divider_by(per_head);
    steps.heads = divider_by(heads);
  }

 private:
  i32 narrow(i64 x) {
    wide_ |= static_cast<u64>(x) + 0x80000000u;
    return static_cast<i32>(x);
  }
  /// What has to be a multiple of a pack.
  i32 multiple(i64 x) {
    odd_ |= static_cast<u64>(x);
    return narrow(x);
  }
  kernels::rotary_heads<T> heads_of(const auto& in, const auto& out) {
    const auto last = static_cast<std::size_t>(in.rank() - 1);
    const i64 *const read = in.strides().data() + last, *const written =
                                                            out.strides().data() + last;
    ends_ |= reinterpret_cast<u64>(in.data()) | reinterpret_cast<u64>(out.data());
    steps_are_one_ = steps_are_one_ && read[0] == 1 && written[0] == 1;
    return {in.data(),       out.data(),        multiple(read[-1]), multiple(written[-1]),
            narrow(read[0]), narrow(written[0])};
  }
  kernels::rotary_angles<W> angles_of(const auto& x, int count) {
    const i64 row = x.stride(0), step = x.stride(1);
    const u64 bytes = static_cast<u64>(count) * sizeof(W);
    steps_are_one_ = steps_are_one_ && step == 1 && (row & (count - 1)) == 0 &&
                     (reinterpret_cast<u64>(x.data()) & (bytes - 1)) == 0;
    return {x.data(), narrow(row), narrow(step)};
  }

  u64 wide_ = 0, odd_ = 0, ends_ = 0;
  bool steps_are_one_ = true;
};

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
  check_apart_or_same(op, q_to, q_from);
  check_apart_or_same(op, k_to, k_from);
  const auto disjoint = [&](const placed_layout& out, const placed_layout& in) {
    if (overlap(out, in) != overlap_kind::none) [[unlikely]]
      raise_outputs_overlap(op);
  };
  disjoint(q_to, k_to);
  disjoint(q_to, k_from);
  disjoint(k_to, q_from);
  const auto both_apart_from = [&](const placed_layout& in) {
    disjoint(q_to, in);
    disjoint(k_to, in);
  };
  both_apart_from(layout_of(cos));
  both_apart_from(layout_of(sin));
  i64 id_strides[max_rank] = {};
  if (ids) {
    both_apart_from(layout_of(*ids));
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
  const i64 heads = q.size(-2) + k.size(-2);
  if (it.empty() || heads == 0 || q.size(-1) == 0) return;
  if (replaced<operators::apply_rotary_pos_emb>(op, stream, q, k, cos, sin, ids, interleaved, q_out,
                                                k_out))
    return;
  it.collapse();
  const bool in_place =
      overlap(q_from, q_to) == overlap_kind::exact && overlap(k_from, k_to) == overlap_kind::exact;
  launch_config config;
  config.op = op;
  config.tiles = it.numel() * heads;
  config.work = work_of(config.tiles, q.size(-1), 16);
  using C = std::conditional_t<std::is_same_v<T, f64> || std::is_same_v<W, f64>, f64, f32>;
  const J* const id_data = ids ? ids->data() : nullptr;
  if constexpr (has_simt<D>) {
    using kernel = kernels::rotary_packs<T, W, J, C>;
    const rotary_operands<T, W, D> operands{q, k, cos, sin, q_out, k_out};
    const rotary_plan<T, W> plan(it, operands, interleaved, in_place, kernel::size);
    if (plan.fits) {
      if (plan.steps.steps == 0) return;
      plan_steps(config, plan.steps.steps);
      return launch<kernel>(stream, config, plan.steps, plan.both, plan.cos, plan.sin, id_data);
    }
  }
  kernels::rotary_space space;
  space.heads[0] = q.size(-2);
  space.heads[1] = k.size(-2);
  space.head_dim = q.size(-1);
  space.rank = it.rank();
  for (int d = 0; d < space.rank; ++d) space.sizes[d] = it.size(d);
  space.tokens = it.numel();
  space.pairs = cos.size(1);
  space.pair = interleaved ? 2 : 1;
  space.second = interleaved ? 1 : space.pairs;
  space.positions = cos.size(0);
  space.in_place = in_place;
  kernels::rotary_tensor<T> q_arg, k_arg;
  set_rotary_operand(q_arg, q, q_out);
  set_rotary_operand(k_arg, k, k_out);
  it.copy_strides(0, q_arg.out_strides);
  it.copy_strides(1, k_arg.out_strides);
  it.copy_strides(2, q_arg.in_strides);
  it.copy_strides(3, k_arg.in_strides);
  kernels::row_arg<J> id_arg;
  id_arg.data = id_data;
  it.copy_strides(4, id_arg.strides);
  const kernels::row_arg<W> cos_arg{cos.data(), {cos.stride(0), cos.stride(1)}};
  const kernels::row_arg<W> sin_arg{sin.data(), {sin.stride(0), sin.stride(1)}};
  config.threads =
      static_cast<int>(kernels::min_of(i64{256}, kernels::max_of(space.pairs, i64{32})));
  launch<kernels::rotary<T, W, J, C>>(stream, config, space, q_arg, k_arg, cos_arg, sin_arg,
                                      id_arg);
}

}  // namespace detail

/// q_out, k_out = q, k with the pairs of each head rotated by the angles of the token's position.
///
/// Shapes: q, q_out [..., q_heads, head_dim]; k, k_out [..., k_heads, head_dim]; cos, sin
/// [max_position, rotary_dim / 2] with rotary_dim <= head_dim, the rest is copied; position_ids
/// (i32 or i64) broadcast to [...], or std::nullopt: the index in the dimension before the heads. A
/// pair is elements j and j + rotary_dim / 2, or 2 j and 2 j + 1 if `rotary_interleaved`. 16-bit
/// floats compute in f32. An output may be its own input; there is no other overlap. Raises
/// out_of_range, where the host can read them, for positions outside [0, max_position); other
/// devices take the nearest row for those. Raises invalid_argument, shape_mismatch or overlap. All
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

}  // namespace flaggems
