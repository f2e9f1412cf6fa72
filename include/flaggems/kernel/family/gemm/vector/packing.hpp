// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// Packing of a matrix product's operands: `width` lines become a panel, in which the elements that
// a micro-kernel reads in one step are adjacent. Any strides; lines past the end are zeros.
#pragma once

#include <flaggems/kernel/block/vector/block.hpp>
#include <flaggems/kernel/block/vector/outlined.hpp>

namespace flaggems::kernels {

/// `lines` lines of `depth` elements, and where their panels go.
template <class T>
struct pack_arguments {
  const T* from;
  i64 line, along;
  i64 lines, depth;
  void* to;
};

/// 16 bytes of C.
template <class C>
struct pack_vector {
  typedef C type __attribute__((vector_size(16)));
  typedef C loose __attribute__((vector_size(16), aligned(1), may_alias));
  static constexpr int side = 16 / static_cast<int>(sizeof(C));
};

/// Lane p of two vectors whose elements, or pairs of elements, take turns within each 16 bytes.
template <int Lanes, int Side, int Run>
FLAGGEMS_HOST_INLINE constexpr int taken_in_turn(int p, bool upper) {
  const int within = p % Side;
  return p / Side * Side + (within / Run % 2 == 0 ? 0 : Lanes) + within / Run / 2 * Run +
         within % Run + (upper ? Side / 2 : 0);
}
template <int Side, int Run, class V, int... K>
FLAGGEMS_HOST_INLINE void take_in_turn(V& low, V& high, const V& x, const V& y,
                                       int_sequence<K...>) {
  constexpr int lanes = sizeof...(K);
  low = FLAGGEMS_SHUFFLE(x, y, taken_in_turn<lanes, Side, Run>(K, false)...);
  high = FLAGGEMS_SHUFFLE(x, y, taken_in_turn<lanes, Side, Run>(K, true)...);
}
template <class V, class Half, int... K>
FLAGGEMS_HOST_INLINE void join_halves(V& to, const Half& x, const Half& y, int_sequence<K...>) {
  to = FLAGGEMS_SHUFFLE(x, y, K...);
}

/// A block of `lines` x `side` elements that is transposed at a time: each 16 bytes of a vector
/// belong to `side` lines of their own, so that full vectors are shuffled and stored.
template <class C, int Bytes>
struct pack_block {
  static constexpr int side = pack_vector<C>::side, lines = Bytes / static_cast<int>(sizeof(C));
  using quarter = typename pack_vector<C>::loose;
  typedef C vector __attribute__((vector_size(Bytes)));
  typedef C loose __attribute__((vector_size(Bytes), aligned(1), may_alias));
  using lanes = make_int_sequence<lines>;

  /// to[(q + e) * step + n] = from[n][q + e], n < lines, e < side.
  FLAGGEMS_HOST_INLINE static void transpose(C* to, i64 step, const C* const* from, i64 q) {
    vector row[side], next[side];
    FLAGGEMS_UNROLL
    for (int n = 0; n < side; ++n) read(row[n], from + n, q);
    if constexpr (side == 2) {
      take_in_turn<side, 1>(next[0], next[1], row[0], row[1], lanes{});
    } else {
      vector low[2], high[2];
      take_in_turn<side, 1>(low[0], high[0], row[0], row[1], lanes{});
      take_in_turn<side, 1>(low[1], high[1], row[2], row[3], lanes{});
      take_in_turn<side, 2>(next[0], next[1], low[0], low[1], lanes{});
      take_in_turn<side, 2>(next[2], next[3], high[0], high[1], lanes{});
    }
    FLAGGEMS_UNROLL
    for (int e = 0; e < side; ++e)
      *static_cast<loose*>(static_cast<void*>(to + (q + e) * step)) = next[e];
  }

 private:
  /// A pointer, since clang forgets through a reference that it need not be aligned.
  FLAGGEMS_HOST_INLINE static const quarter* at(const C* p) {
    return static_cast<const quarter*>(static_cast<const void*>(p));
  }
  /// 16 bytes of every `side`th line.
  FLAGGEMS_HOST_INLINE static void read(vector& to, const C* const* from, i64 q) {
    if constexpr (Bytes == 16) {
      to = *at(from[0] + q);
    } else {
#if FLAGGEMS_GCC_X86_ASM
      if constexpr (Bytes == 32) {
        asm("vmovups %1, %x0" : "=x"(to) : "m"(*at(from[0] + q)));
        asm("vinsertf128 $1, %1, %0, %0" : "+x"(to) : "m"(*at(from[side] + q)));
      } else {
        asm("vmovups %1, %x0" : "=v"(to) : "m"(*at(from[0] + q)));
        asm("vinsertf32x4 $1, %1, %0, %0" : "+v"(to) : "m"(*at(from[side] + q)));
        asm("vinsertf32x4 $2, %1, %0, %0" : "+v"(to) : "m"(*at(from[2 * side] + q)));
        asm("vinsertf32x4 $3, %1, %0, %0" : "+v"(to) : "m"(*at(from[3 * side] + q)));
      }
#else
      using half = pack_block<C, Bytes / 2>;
      typename half::vector x, y;
      half::read(x, from, q);
      half::read(y, from + lines / 2, q);
      join_halves(to, x, y, lanes{});
#endif
    }
  }
  template <class, int>
  friend struct pack_block;
};

/// Panels of C: element q of line l of a panel is at [q * Width + l].
template <class C, class T, int Width>
struct pack_elements {
  static constexpr int side = pack_vector<C>::side;
  static constexpr i64 chunk = 64;  // elements of a line that are converted at a time
  static_assert(Width % side == 0 && Width <= chunk);
  using stage = C[chunk + 16];
  /// Of the widest vectors that divide a panel.
  FLAGGEMS_HOST_INLINE static constexpr int block_bytes(int bytes) {
    while (bytes > 16 && Width * static_cast<int>(sizeof(C)) % bytes != 0) bytes /= 2;
    return bytes;
  }

  template <class Isa>
  FLAGGEMS_HOST_INLINE static void run(const pack_arguments<T>& p) {
    C* const to = static_cast<C*>(p.to);
    if (p.line == 1 && p.along != 1) {
      // A few rows at a time through all panels: as many streams as the processor prefetches. Panel
      // by panel, rows 4 KiB apart would evict each other.
      constexpr i64 streams = 4;
      for (i64 q = 0; q < p.depth; q += streams)
        for (i64 l = 0; l < p.lines; l += Width)
          across<Isa>(to + l * p.depth + q * Width, p.from + l + q * p.along,
                      min_of(p.depth - q, streams), min_of(p.lines - l, i64{Width}), p);
    } else {
      for (i64 l = 0; l < p.lines; l += Width) along<Isa>(to + l * p.depth, l, p);
    }
  }

 private:
  /// p[0 .. count) as C: in place, or in `converted`.
  template <class Isa>
  FLAGGEMS_HOST_INLINE static const C* elements(const T* p, i64 stride, i64 count,
                                                stage& converted) {
    if constexpr (is_same<T, C>)
      if (stride == 1) return p;
    for (i64 e = 0; e < count; e += Isa::lanes)
      store_lanes(converted + e,
                  load_strided<C, T, Isa>(p + e * stride, stride,
                                          static_cast<int>(min_of(count - e, i64{Isa::lanes}))),
                  Isa::lanes);
    return converted;
  }

  template <class Isa>
  FLAGGEMS_HOST_INLINE static void along(C* to, i64 l, const pack_arguments<T>& p) {
    using block = pack_block<C, block_bytes(Isa::bytes)>;
    constexpr int lines = block::lines;
    stage converted[lines];
    const T* const from = p.from + l * p.line;
    const i64 live = min_of(p.lines - l, i64{Width});
    for (i64 g = 0; g < Width; g += lines) {
      // Lines are too short for the hardware to prefetch the next ones.
      const i64 prefetch_lines = l + g + lines < p.lines ? lines * p.line : 0;
      for (i64 start = 0; start < p.depth; start += chunk) {
        const i64 count = min_of(p.depth - start, chunk);
        C* const part = to + start * Width + g;
        const C* row[lines];
        for (int n = 0; n < lines; ++n) {
          if (g + n < live) {
            const T* const line = from + (g + n) * p.line + start * p.along;
            for (i64 q = 0; q < chunk; q += 64 / static_cast<i64>(sizeof(T)))
              __builtin_prefetch(line + prefetch_lines + q);
            row[n] = elements<Isa>(line, p.along, count, converted[n]);
          } else {
            for (i64 q = 0; q < count; ++q) converted[n][q] = C(0);
            row[n] = converted[n];
          }
        }
        i64 q = 0;
        for (; q + side <= count; q += side) block::transpose(part, Width, row, q);
        for (; q < count; ++q)
          for (int n = 0; n < lines; ++n) part[q * Width + n] = row[n][q];
      }
    }
  }

  template <class Isa>
  FLAGGEMS_HOST_INLINE static void across(C* to, const T* from, i64 depth, i64 live,
                                          const pack_arguments<T>& p) {
    using loose = typename pack_vector<C>::loose;
    stage converted;
    for (i64 q = 0; q < depth; ++q, to += Width) {
      const C* row = elements<Isa>(from + q * p.along, 1, live, converted);
      if (live == Width) {
        FLAGGEMS_UNROLL
        for (int g = 0; g < Width / side; ++g)
          *static_cast<loose*>(static_cast<void*>(to + g * side)) =
              *static_cast<const loose*>(static_cast<const void*>(row + g * side));
      } else {
        for (i64 l = 0; l < Width; ++l) to[l] = l < live ? row[l] : C(0);
      }
    }
  }
};

/// 16-bit words of a vector, and to[0], to[1] = x0 y0 x1 y1 ... (Written out: g++ 12 does not
/// shuffle vectors of a dependent width.)
template <int Bytes>
struct pack_words;
template <>
struct pack_words<16> {
  typedef u16 loose __attribute__((vector_size(16), aligned(1), may_alias));
  FLAGGEMS_HOST_INLINE static void interleave(loose* to, const loose& x, const loose& y) {
    to[0] = __builtin_shufflevector(x, y, 0, 8, 1, 9, 2, 10, 3, 11);
    to[1] = __builtin_shufflevector(x, y, 4, 12, 5, 13, 6, 14, 7, 15);
  }
};
template <>
struct pack_words<32> {
  typedef u16 loose __attribute__((vector_size(32), aligned(1), may_alias));
  FLAGGEMS_HOST_INLINE static void interleave(loose* to, const loose& x, const loose& y) {
    to[0] = __builtin_shufflevector(x, y, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    to[1] =
        __builtin_shufflevector(x, y, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  }
};
template <>
struct pack_words<64> {
  typedef u16 loose __attribute__((vector_size(64), aligned(1), may_alias));
  FLAGGEMS_HOST_INLINE static void interleave(loose* to, const loose& x, const loose& y) {
    to[0] = __builtin_shufflevector(x, y, 0, 32, 1, 33, 2, 34, 3, 35, 4, 36, 5, 37, 6, 38, 7, 39, 8,
                                    40, 9, 41, 10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47);
    to[1] =
        __builtin_shufflevector(x, y, 16, 48, 17, 49, 18, 50, 19, 51, 20, 52, 21, 53, 22, 54, 23,
                                55, 24, 56, 25, 57, 26, 58, 27, 59, 28, 60, 29, 61, 30, 62, 31, 63);
  }
};

/// Panels of pairs of bf16 that are adjacent along the summed dimension: pair q of line l is at [q
/// * Width + l]. The depth is padded with zeros to a multiple of Step.
template <int Width, int Step>
struct pack_pairs {
  using T = small_float<bf16_format>;
  static constexpr int side = 4;
  static constexpr i64 chunk = 64;  // pairs
  static_assert(Width % side == 0 && Step % 2 == 0);

  template <class Isa>
  FLAGGEMS_HOST_INLINE static void run(const pack_arguments<T>& p) {
    u32* const to = static_cast<u32*>(p.to);
    const i64 pairs = round_up(p.depth, i64{Step}) / 2;
    if (p.line == 1 && p.along != 1) {
      constexpr i64 streams = Width == 32 ? 8 : 2;  // pairs: see pack_elements; 8 measured for AMX
      for (i64 q = 0; q < pairs; q += streams)
        for (i64 l = 0; l < p.lines; l += Width)
          across<Isa>(to + l * pairs + q * Width, l, q, min_of(pairs - q, streams), p);
    } else {
      for (i64 l = 0; l < p.lines; l += Width) along(to + l * pairs, l, pairs, p);
    }
  }

 private:
  FLAGGEMS_HOST_INLINE static void along(u32* to, i64 l, i64 pairs, const pack_arguments<T>& p) {
    u32 gathered[side][chunk];
    for (i64 g = 0; g < Width; g += side) {
      const i64 prefetch_lines = l + g + side < p.lines ? side * p.line : 0;
      for (i64 start = 0; start < pairs; start += chunk) {
        const i64 count = min_of(pairs - start, chunk);
        const i64 present = min_of(p.depth - 2 * start, 2 * count);  // of their elements
        u32* const part = to + start * Width + g;
        const u32* row[side];
        for (int n = 0; n < side; ++n) {
          const bool live = l + g + n < p.lines;
          const T* const from = p.from + (l + g + n) * p.line + 2 * start * p.along;
          if (live && p.along == 1 && present == 2 * count) {
            for (i64 q = 0; q < 2 * chunk; q += 32) __builtin_prefetch(from + prefetch_lines + q);
            row[n] = static_cast<const u32*>(static_cast<const void*>(from));
          } else {
            for (i64 q = 0; q < count; ++q) {
              const auto bits = [&](i64 e) FLAGGEMS_LAMBDA {
                return live && e < present ? static_cast<u32>(from[e * p.along].bits) : 0u;
              };
              gathered[n][q] = bits(2 * q) | bits(2 * q + 1) << 16;
            }
            row[n] = gathered[n];
          }
        }
        i64 q = 0;
        for (; q + side <= count; q += side) pack_block<u32, 16>::transpose(part, Width, row, q);
        for (; q < count; ++q)
          for (int n = 0; n < side; ++n)
            __builtin_memcpy(part + q * Width + n, row[n] + q, sizeof(u32));
      }
    }
  }

  /// `count` pairs from pair `first` on, of the panel whose first line is l.
  template <class Isa>
  FLAGGEMS_HOST_INLINE static void across(u32* to, i64 l, i64 first, i64 count,
                                          const pack_arguments<T>& p) {
    // AVX-512 permutes across its whole registers.
    constexpr int bytes = Isa::bytes < 64 || Width % 16 != 0 ? 16 : Width % 32 != 0 ? 32 : 64;
    using loose = typename pack_words<bytes>::loose;
    constexpr int half = bytes / 2;  // words of a vector
    const i64 live = min_of(p.lines - l, i64{Width});
    for (i64 q = first; q < first + count; ++q, to += Width) {
      const T* const even = p.from + l + 2 * q * p.along;
      const T* const odd = even + p.along;
      if (live == Width && 2 * q + 1 < p.depth) {
        static_for<Width / half>([&](auto g) FLAGGEMS_LAMBDA {
          const void* const x = even + half * g;
          const void* const y = odd + half * g;
          pack_words<bytes>::interleave(static_cast<loose*>(static_cast<void*>(to + half * g)),
                                        *static_cast<const loose*>(x),
                                        *static_cast<const loose*>(y));
        });
      } else {
        for (i64 n = 0; n < Width; ++n) {
          const u32 low = n < live && 2 * q < p.depth ? even[n].bits : 0u;
          const u32 high = n < live && 2 * q + 1 < p.depth ? odd[n].bits : 0u;
          to[n] = low | high << 16;
        }
      }
    }
  }
};

/// Panels of tiles: `Step` elements of a line are adjacent, followed by the other lines' (the left
/// operand of AMX). Depth and lines are padded with zeros.
template <int Width, int Step>
struct pack_tiles {
  using T = small_float<bf16_format>;

  template <class Isa>
  FLAGGEMS_HOST_INLINE static void run(const pack_arguments<T>& p) {
    T* const to = static_cast<T*>(p.to);
    const i64 depth = round_up(p.depth, i64{Step});
    for (i64 l = 0; l < round_up(p.lines, i64{Width}); ++l) {
      const T* const from = p.from + l * p.line;
      T* const line = to + l / Width * Width * depth + l % Width * Step;
      for (i64 q = 0; q < depth; q += Step) {
        T* const part = line + q * Width;
        if (l < p.lines && p.along == 1 && q + Step <= p.depth) {
          // Not memcpy, which g++ cuts into pieces of the baseline.
          using loose = typename pack_words<Isa::bytes>::loose;
          constexpr int words = Isa::bytes / 2;
          static_assert(Step % words == 0);
          static_for<Step / words>([&](auto g) FLAGGEMS_LAMBDA {
            const void* const source = from + q + g * words;
            *static_cast<loose*>(static_cast<void*>(part + g * words)) =
                *static_cast<const loose*>(source);
          });
        } else
          for (i64 e = 0; e < Step; ++e)
            part[e].bits = l < p.lines && q + e < p.depth ? from[(q + e) * p.along].bits : u16(0);
      }
    }
  }
};

}  // namespace flaggems::kernels
