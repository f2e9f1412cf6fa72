// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Writes of keys and values into a paged cache.
#pragma once

#include <flaggems/ops/scatter.hpp>

#include <string_view>

namespace flaggems {
namespace operators {
struct reshape_and_cache;
struct reshape_and_cache_flash;
struct concat_and_cache_mla;
}  // namespace operators

/// How a cache keeps elements: as they are.
enum class cache_format { automatic };

/// The format of that name, "auto". Raises not_supported for others.
inline cache_format spelled(std::string_view text, std::type_identity<cache_format>) {
  if (text != "auto") [[unlikely]]
    raise(errc::not_supported, "reshape_and_cache", "kv_cache_dtype auto: elements as they are",
          text);
  return cache_format::automatic;
}

namespace detail {

/// Whether a cache [blocks, block size, ...] takes the tokens [n, ...], and shares no memory with
/// them or with the slots.
template <class X, class Cache, class Slots>
void check_cache(const char* op, const X& x, const Cache& cache, const Slots& slots) {
  bool fits = cache.rank() == x.rank() + 1 && slots.rank() == 1 && slots.numel() <= x.size(0);
  for (int d = 1; fits && d < x.rank(); ++d) fits = cache.size(d + 1) == x.size(d);
  if (!fits) [[unlikely]]
    raise_shapes(op, "tokens of the sizes of the cache's", x.shape_of(), cache.shape_of());
  check_writable(op, cache);
  const placed_layout written(layout_of(cache));
  check_no_overlap(op, written, layout_of(x));
  check_no_overlap(op, written, layout_of(slots));
}

/// cache[slot / block size, slot % block size, ...] = x[token, ...] for the slot of each token;
/// those below 0 are of none.
template <class S, class T, class D>
void put_tokens(const char* op, const S& stream, const tensor_view<const T, D>& x,
                const tensor_view<T, D>& cache, const tensor_view<const i64, D>& slots) {
  const i64 n = slots.numel(), size = cache.size(1);
  if (n == 0 || cache.empty()) return;
  common_step step;
  step.add(cache.size(0), cache.stride(0));
  step.add(size, cache.stride(1));
  element_offsets<S, D> offsets(op, stream, {n}, step);
  offsets.add(div(slots, size, rounding_mode::floor).node, cache.size(0), cache.stride(0), false);
  offsets.add(sub(slots, mul(div(slots, size, rounding_mode::floor), size)).node, size,
              cache.stride(1), false);
  shape strides(cache.strides());
  strides.erase(0);
  strides[0] = 0;
  tensor_view<const i64, D> index = offsets.view();
  for (int d = 1; d < x.rank(); ++d) index = index.unsqueeze(-1);
  const tensor_view<const T, D> source = x.narrow(0, 0, n);
  launch_scatter(
      op, stream,
      indexed_elements<T, i64, D>{cache.data() + offsets.lowest(), strides, offsets.reach(),
                                  offsets.step(), index.expand(source.shape_of())},
      source, meeting_dims{1}, kernels::joining::replace);
}
/// Writes keys and values; both caches as [blocks, block size, ...]. `is_replaced` is asked once
/// all is checked.
template <class S, class Keys, class Values, class KeyCache, class ValueCache, class Slots,
          class Replaced>
void put_both(const char* op, const S& stream, const Keys& keys, const Values& values,
              const KeyCache& key_cache, const ValueCache& value_cache, const Slots& slots,
              const Replaced& is_replaced) {
  check_cache(op, keys, key_cache, slots);
  check_cache(op, values, value_cache, slots);
  check_no_overlap(op, placed_layout(layout_of(key_cache)), layout_of(value_cache));
  check_indices(op, stream, slots, key_cache.size(0) * key_cache.size(1), -1);
  check_indices(op, stream, slots, value_cache.size(0) * value_cache.size(1), -1);
  if (is_replaced()) return;
  put_tokens(op, stream, keys, key_cache, slots);
  put_tokens(op, stream, values, value_cache, slots);
}

template <class T, class S, class Key, class Value, class KeyCache, class ValueCache, class Slots>
constexpr bool check_cache_types() {
  constexpr bool same = std::is_same_v<T, value_t<Value>> && std::is_same_v<T, value_t<KeyCache>> &&
                        std::is_same_v<T, value_t<ValueCache>> &&
                        std::is_same_v<value_t<Slots>, i64>;
  static_assert(same, "flaggems: keys, values and caches have one dtype, slots are i64");
  return same;
}

}  // namespace detail

/// Writes keys and values of tokens into a paged cache: token i goes to place slot % B of block
/// slot / B, slot = slot_mapping[i]; those of slot -1 go nowhere.
///
/// Shapes: key, value [N, H, E]; key_cache, value_cache [blocks, B, H, E]; slot_mapping [M], i64,
/// M <= N. Slots outside [-1, blocks B) raise out_of_range where the host
/// can read them, and write nothing elsewhere. Raises shape_mismatch, overlap, or not_supported,
/// before anything is written. flag_gems::reshape_and_cache_flash(Tensor key, Tensor value,
/// Tensor(a!) key_cache, Tensor(b!) value_cache, Tensor slot_mapping, str kv_cache_dtype)
template <stream_like S, tensor_like Key, tensor_like Value, tensor_like KeyCache,
          tensor_like ValueCache, tensor_like Slots>
void reshape_and_cache_flash(
    const S& stream, const Key& key, const Value& value, KeyCache&& key_cache,
    ValueCache&& value_cache, const Slots& slot_mapping,
    [[maybe_unused]] cache_format kv_cache_dtype = cache_format::automatic) {
  constexpr const char* op = "reshape_and_cache_flash";
  using T = value_t<const Key&>;
  same_device<S, Key, Value, KeyCache, ValueCache, Slots>();
  if constexpr (detail::check_cache_types<T, S, const Value&, const Value&, KeyCache, ValueCache,
                                          const Slots&>()) {
    const auto keys = detail::input_of(key);
    const auto values = detail::input_of(value);
    const auto slots = detail::input_of(slot_mapping);
    const auto to_keys = as_view(key_cache);
    const auto to_values = as_view(value_cache);
    detail::put_both(op, stream, keys, values, to_keys, to_values, slots, [&] {
      return detail::replaced<operators::reshape_and_cache_flash>(op, stream, keys, values, to_keys,
                                                                  to_values, slots);
    });
  }
}

/// The same in another order: key_cache [blocks, H, E / x, B, x], value_cache [blocks, H, E, B].
/// flag_gems::reshape_and_cache(Tensor key, Tensor value, Tensor(a!) key_cache, Tensor(b!)
/// value_cache, Tensor slot_mapping, str kv_cache_dtype)
template <stream_like S, tensor_like Key, tensor_like Value, tensor_like KeyCache,
          tensor_like ValueCache, tensor_like Slots>
void reshape_and_cache(const S& stream, const Key& key, const Value& value, KeyCache&& key_cache,
                       ValueCache&& value_cache, const Slots& slot_mapping,
                       [[maybe_unused]] cache_format kv_cache_dtype = cache_format::automatic) {
  constexpr const char* op = "reshape_and_cache";
  using T = value_t<const Key&>;
  same_device<S, Key, Value, KeyCache, ValueCache, Slots>();
  if constexpr (detail::check_cache_types<T, S, const Value&, const Value&, KeyCache, ValueCache,
                                          const Slots&>()) {
    const auto given = detail::input_of(key);
    const auto values = detail::input_of(value);
    const auto slots = detail::input_of(slot_mapping);
    const auto cache = as_view(key_cache);
    const auto other = as_view(value_cache);
    if (given.rank() != 3 || cache.rank() != 5 || other.rank() != 4 || cache.size(4) == 0 ||
        given.size(2) % cache.size(4) != 0) [[unlikely]]
      detail::raise_shapes(op, "keys [N, H, E] for caches [blocks, H, E / x, B, x]",
                           given.shape_of(), cache.shape_of());
    const auto keys = given.unflatten(2, {given.size(2) / cache.size(4), cache.size(4)});
    const auto to_keys = cache.permute({0, 3, 1, 2, 4});
    const auto to_values = other.permute({0, 3, 1, 2});
    detail::put_both(op, stream, keys, values, to_keys, to_values, slots, [&] {
      return detail::replaced<operators::reshape_and_cache>(op, stream, given, values, cache, other,
                                                            slots);
    });
  }
}

/// Writes what multi-head latent attention keeps of tokens: kv_c, then k_pe, in one row of a paged
/// cache; slots as in reshape_and_cache_flash.
///
/// Shapes: kv_c [N, R]; k_pe [N, P]; kv_cache [blocks, B, R + P]; slot_mapping [M], i64, M <= N.
/// Elements are kept as they are, without `scale`. Raises as reshape_and_cache_flash.
/// flag_gems::concat_and_cache_mla(Tensor kv_c, Tensor k_pe, Tensor(a!) kv_cache, Tensor
/// slot_mapping, str kv_cache_dtype, Tensor scale)
template <stream_like S, tensor_like Latent, tensor_like Rotary, tensor_like Cache,
          tensor_like Slots>
void concat_and_cache_mla(const S& stream, const Latent& kv_c, const Rotary& k_pe, Cache&& kv_cache,
                          const Slots& slot_mapping,
                          [[maybe_unused]] cache_format kv_cache_dtype = cache_format::automatic) {
  constexpr const char* op = "concat_and_cache_mla";
  using T = value_t<const Latent&>;
  same_device<S, Latent, Rotary, Cache, Slots>();
  if constexpr (detail::check_cache_types<T, S, const Latent&, const Rotary&, Cache, Cache,
                                          const Slots&>()) {
    const auto latent = detail::input_of(kv_c);
    const auto rotary = detail::input_of(k_pe);
    const auto slots = detail::input_of(slot_mapping);
    const auto cache = as_view(kv_cache);
    if (latent.rank() != 2 || rotary.rank() != 2 || cache.rank() != 3 ||
        latent.size(1) + rotary.size(1) != cache.size(2)) [[unlikely]]
      detail::raise_shapes(op, "kv_c [N, R] and k_pe [N, P] for a cache [blocks, B, R + P]",
                           latent.shape_of(), cache.shape_of());
    const i64 split = latent.size(1);
    detail::check_writable(op, cache);
    detail::put_both(op, stream, latent, rotary, cache.narrow(2, 0, split),
                     cache.narrow(2, split, rotary.size(1)), slots, [&] {
                       return detail::replaced<operators::concat_and_cache_mla>(
                           op, stream, latent, rotary, cache, slots);
                     });
  }
}

}  // namespace flaggems
