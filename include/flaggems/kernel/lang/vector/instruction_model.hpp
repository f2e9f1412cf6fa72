// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// Models of x86 instructions in C++: with FLAGGEMS_MODEL_ISA=1 every level runs on any machine, so
// that the surrounding code is tested on processors without them. Named after the instructions;
// operands in the order of the asm statements, result first. Semantics: Intel 64 and IA-32
// Architectures Software Developer's Manual, volume 2.
#pragma once

#include <flaggems/kernel/lang/number.hpp>

namespace flaggems::kernels::modelled {

/// Lane i of type E of an operand, which repeats if it is shorter (a broadcast).
template <class E, class V>
E lane(const V& v, int i) {
  E e;
  __builtin_memcpy(&e,
                   reinterpret_cast<const char*>(&v) + static_cast<u64>(i) * sizeof(E) % sizeof(V),
                   sizeof(E));
  return e;
}
/// to[i] = f(i) for all lanes of type E. Operands of `f` may alias `to`.
template <class E, class V, class F>
void set_lanes(V& to, F f) {
  V result;
  for (int i = 0; i < static_cast<int>(sizeof(V) / sizeof(E)); ++i) {
    const E e = f(i);
    __builtin_memcpy(reinterpret_cast<char*>(&result) + static_cast<u64>(i) * sizeof(E), &e,
                     sizeof(E));
  }
  to = result;
}
template <class To>
To saturated(i32 x) {
  constexpr i32 least = sizeof(To) == 1 ? -128 : -32768, most = sizeof(To) == 1 ? 127 : 32767;
  return static_cast<To>(x < least ? least : x > most ? most : x);
}

// ---- integers
/// to += sums of four products of an unsigned byte of a and a signed byte of b.
template <class V, class B>
void vpdpbusd(V& to, const V& a, const B& b) {
  set_lanes<u32>(to, [&](int i) {
    u32 sum = lane<u32>(to, i);
    for (int e = 4 * i; e < 4 * i + 4; ++e)
      sum += static_cast<u32>(i32{lane<u8>(a, e)} * i32{lane<i8>(b, e)});
    return sum;
  });
}
template <class V, class B>
void vpmaddubsw(V& to, const V& a, const B& b) {
  set_lanes<i16>(to, [&](int i) {
    const auto product = [&](int e) { return i32{lane<u8>(a, e)} * i32{lane<i8>(b, e)}; };
    return saturated<i16>(product(2 * i) + product(2 * i + 1));
  });
}
template <class V, class B>
void vpmaddwd(V& to, const V& a, const B& b) {
  set_lanes<u32>(to, [&](int i) {
    const auto product = [&](int e) {
      return static_cast<u32>(i32{lane<i16>(a, e)} * i32{lane<i16>(b, e)});
    };
    return product(2 * i) + product(2 * i + 1);
  });
}
/// to += vpmaddwd(a, b).
template <class V>
void add_vpmaddwd(V& to, const V& a, const V& b) {
  V product;
  vpmaddwd(product, a, b);
  to += product;
}
template <class V>
void vpaddw(V& to, const V& a) {
  set_lanes<u16>(to, [&](int i) { return static_cast<u16>(lane<u16>(to, i) + lane<u16>(a, i)); });
}
template <class V>
void vpabsb(V& to, const V& a) {
  set_lanes<u8>(to, [&](int i) {
    const i32 x = lane<i8>(a, i);
    return static_cast<u8>(x < 0 ? -x : x);
  });
}
template <class V>
void vpsignb(V& to, const V& a, const V& b) {
  set_lanes<u8>(to, [&](int i) {
    const i32 x = lane<i8>(a, i), sign = lane<i8>(b, i);
    return static_cast<u8>(sign < 0 ? -x : sign == 0 ? 0 : x);
  });
}
template <class V>
void vpmaxsd(V& to, const V& a) {
  set_lanes<i32>(to, [&](int i) { return max_of(lane<i32>(to, i), lane<i32>(a, i)); });
}
template <class V>
void vpsrlvd(V& to, const V& by) {
  set_lanes<u32>(to, [&](int i) {
    const u32 n = lane<u32>(by, i);
    return n < 32 ? lane<u32>(to, i) >> n : 0u;
  });
}
/// In each 16 bytes, the lanes of `to`, then those of a, half as wide.
template <class From, class To, class V>
void pack_signed(V& to, const V& a) {
  constexpr int wide = 16 / static_cast<int>(sizeof(From));
  set_lanes<To>(to, [&](int i) {
    const int part = i / (2 * wide) * wide, within = i % (2 * wide);
    return saturated<To>(within < wide ? lane<From>(to, part + within)
                                       : lane<From>(a, part + within - wide));
  });
}
template <class V>
void vpackssdw(V& to, const V& a) {
  pack_signed<i32, i16>(to, a);
}
template <class V>
void vpacksswb(V& to, const V& a) {
  pack_signed<i16, i8>(to, a);
}
/// Lane i of `to`, of E, is lane at[i] of x.
template <class E, class V, class At, class X>
void permute(V& to, const At& at, const X& x) {
  constexpr int lanes = static_cast<int>(sizeof(V) / sizeof(E));
  set_lanes<E>(to, [&](int i) {
    return lane<E>(x, static_cast<int>(lane<uint_of_size<sizeof(E)>>(at, i)) & (lanes - 1));
  });
}
/// In each 16 bytes, interleaves the lanes of E from the lower (upper) halves of a and b.
enum class half { lower, upper };
template <class E, class V>
void unpack(V& to, const V& a, const V& b, half which) {
  constexpr int lanes = 16 / static_cast<int>(sizeof(E));
  set_lanes<E>(to, [&](int i) {
    const int from = i / lanes * lanes + i % lanes / 2 + (which == half::upper ? lanes / 2 : 0);
    return i % 2 == 0 ? lane<E>(a, from) : lane<E>(b, from);
  });
}
/// Concatenates the operands.
template <class V, class... Parts>
void join(V& to, const Parts&... parts) {
  static_assert((sizeof(Parts) + ...) == sizeof(V));
  V result;
  char* at = reinterpret_cast<char*>(&result);
  ((__builtin_memcpy(at, &parts, sizeof(parts)), at += sizeof(parts)), ...);
  to = result;
}
template <class V, class X>
void upper_half(V& to, const X& x) {
  static_assert(sizeof(X) == 2 * sizeof(V));
  __builtin_memcpy(&to, reinterpret_cast<const char*>(&x) + sizeof(V), sizeof(V));
}
/// Broadcasts the first element of x.
template <class E, class V, class X>
void broadcast(V& to, const X& x) {
  set_lanes<E>(to, [&](int) { return lane<E>(x, 0); });
}

// ---- floating point
template <class V, class B>
void vfmadd231ps(V& to, const V& a, const B& b) {
  set_lanes<f32>(to, [&](int i) {
    return __builtin_fmaf(lane<f32>(a, i), lane<f32>(b, i), lane<f32>(to, i));
  });
}
template <class V, class B>
void vmulps(V& to, const V& a, const B& b) {
  set_lanes<f32>(to, [&](int i) { return lane<f32>(a, i) * lane<f32>(b, i); });
}
template <class V, class A>
void vcvtdq2ps(V& to, const A& a) {
  set_lanes<f32>(to, [&](int i) { return static_cast<f32>(lane<i32>(a, i)); });
}
template <class V, class A>
void vcvtph2ps(V& to, const A& a) {
  set_lanes<f32>(to, [&](int i) {
    small_float<f16_format> x{};
    x.bits = lane<u16>(a, i);
    return number_cast<f32>(x);
  });
}

// ---- bf16; its instructions flush subnormal numbers to zero
inline f32 flushed(f32 x) {
  return (bit_cast<u32>(x) & 0x7f800000u) == 0 ? bit_cast<f32>(bit_cast<u32>(x) & 0x80000000u) : x;
}
inline f32 of_bf16(u16 bits) { return flushed(bit_cast<f32>(u32{bits} << 16)); }
template <class V, class X>
void vdpbf16ps(V& to, const X& a, const X& b) {
  set_lanes<f32>(to, [&](int i) {
    f32 sum = lane<f32>(to, i);
    for (int e = 2 * i + 1; e >= 2 * i; --e)
      sum = flushed(of_bf16(lane<u16>(a, e)) * of_bf16(lane<u16>(b, e)) + sum);
    return sum;
  });
}
/// to = `low`, then `high` if given, converted to bf16.
template <class V, class... Parts>
void vcvtneps2bf16(V& to, const Parts&... parts) {
  char* at = reinterpret_cast<char*>(&to);
  const auto put = [&](const auto& x) {
    for (int i = 0; i < static_cast<int>(sizeof(x) / 4); ++i, at += 2) {
      const small_float<bf16_format> y =
          number_cast<small_float<bf16_format>>(flushed(lane<f32>(x, i)));
      __builtin_memcpy(at, &y.bits, 2);
    }
  };
  (put(parts), ...);
}

// ---- tiles (AMX, palette 1): eight registers a thread, of up to 16 rows of 64 bytes
struct tile_registers {
  bool configured = false;
  int rows[8] = {}, row_bytes[8] = {};
  u8 data[8][16][64] = {};
};
inline tile_registers& tiles() {
  static thread_local tile_registers of_thread;
  return of_thread;
}
/// Fails where the processor would fault.
inline void require(bool legal) {
  if (!legal) __builtin_trap();
}
/// `config`: the 64 bytes that the instruction reads.
template <class Config>
void ldtilecfg(const Config& config) {
  static_assert(sizeof(Config) == 64);
  tile_registers& t = tiles();
  t = {};
  require(lane<u8>(config, 0) == 1 && lane<u8>(config, 1) == 0);  // palette, first row
  for (int b = 2; b < 16; ++b) require(lane<u8>(config, b) == 0);
  for (int n = 0; n < 8; ++n) {
    t.row_bytes[n] = lane<u16>(config, 8 + n);
    t.rows[n] = lane<u8>(config, 48 + n);
    require(t.row_bytes[n] <= 64 && t.rows[n] <= 16);
    require((t.row_bytes[n] == 0) == (t.rows[n] == 0));
  }
  for (int n = 8; n < 16; ++n)
    require(lane<u16>(config, 8 + n) == 0 && lane<u8>(config, 48 + n) == 0);
  t.configured = true;
}
inline void tilerelease() { tiles() = {}; }
inline tile_registers& configured(int tile) {
  tile_registers& t = tiles();
  require(t.configured && t.rows[tile] > 0);
  return t;
}
inline void tilezero(int tile) {
  __builtin_memset(configured(tile).data[tile], 0, sizeof(tile_registers::data[0]));
}
/// `stride`: bytes from row to row in memory.
inline void tileloadd(int tile, const void* from, i64 stride) {
  tilezero(tile);
  tile_registers& t = tiles();
  for (int r = 0; r < t.rows[tile]; ++r)
    __builtin_memcpy(t.data[tile][r], static_cast<const char*>(from) + r * stride,
                     static_cast<u64>(t.row_bytes[tile]));
}
inline void tilestored(int tile, void* to, i64 stride) {
  const tile_registers& t = configured(tile);
  for (int r = 0; r < t.rows[tile]; ++r)
    __builtin_memcpy(static_cast<char*>(to) + r * stride, t.data[tile][r],
                     static_cast<u64>(t.row_bytes[tile]));
}
/// c += a * b, the elements of a of A, those of b of B: bytes (tdpb*d) or bf16 (tdpbf16ps).
template <class A, class B>
void multiply_tiles(int c, int a, int b) {
  tile_registers& t = configured(c);
  configured(a);
  configured(b);
  const int rows = t.rows[c], columns = t.row_bytes[c] / 4, steps = t.row_bytes[a] / 4;
  require(t.rows[a] == rows && t.row_bytes[b] == t.row_bytes[c] && t.rows[b] == steps);
  require(c != a && c != b && a != b);
  for (int r = 0; r < rows; ++r)
    for (int n = 0; n < columns; ++n) {
      auto& place = t.data[c][r][4 * n];
      if constexpr (sizeof(A) == 1) {
        u32 sum;
        __builtin_memcpy(&sum, &place, 4);
        for (int q = 0; q < steps; ++q)
          for (int e = 0; e < 4; ++e)
            sum += static_cast<u32>(i32{lane<A>(t.data[a][r], 4 * q + e)} *
                                    i32{lane<B>(t.data[b][q], 4 * n + e)});
        __builtin_memcpy(&place, &sum, 4);
      } else {
        f32 sum, part[2] = {};
        __builtin_memcpy(&sum, &place, 4);
        for (int q = 0; q < steps; ++q)
          for (int e = 0; e < 2; ++e)
            part[e] = flushed(of_bf16(lane<u16>(t.data[a][r], 2 * q + e)) *
                                  of_bf16(lane<u16>(t.data[b][q], 2 * n + e)) +
                              part[e]);
        sum = flushed(sum + flushed(part[0] + part[1]));
        __builtin_memcpy(&place, &sum, 4);
      }
    }
}

}  // namespace flaggems::kernels::modelled
