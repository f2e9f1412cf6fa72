// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// Matrix products by tiles (AMX): a panel of 32 rows, read in place, times all panels of a block of
// columns, which is in L2. The sums stay in tiles along the whole block.
#pragma once

#include <flaggems/kernel/family/gemm/vector/int8.hpp>

namespace flaggems::kernels {

/// A tile of a kernel that goes `by_rows`. Rows of `a` are `a_row` elements apart, steps `a_along`.
template <class C>
struct panel_arguments : tile_arguments<C> {
  // If not null, the sums go there as bf16, and `out` is only read; alpha is 1.
  void* narrow;
  i64 narrow_row;
  // Each step prefetches `prefetch_lines` lines into L2, `prefetch_line` bytes apart, and advances
  // by `prefetch_step`.
  i64 prefetch_line, prefetch_step;
};

#if FLAGGEMS_ARCH_X86
/// Packs the whole panels of 32 lines along the sum, in items of 32 bits, 16 lines by 16 items at a
/// time; returns how many lines those are.
template <class T>
FLAGGEMS_NOINLINE FLAGGEMS_TARGET_AVX512 i64 transpose_panels(const pack_arguments<T>& p) {
  using V = typename register_vector<u32, isa_avx512>::type;
  using loose = typename register_vector<u32, isa_avx512>::loose;
  typedef char piece __attribute__((vector_size(16), aligned(1), may_alias));
  constexpr i64 item = 4 / static_cast<i64>(sizeof(T));
  if (p.along != 1 || p.depth % (16 * item) != 0) return 0;
  const i64 items = p.depth / item, line = p.line * static_cast<i64>(sizeof(T));
  i64 l = 0;
  for (; l + 32 <= p.lines; l += 32)
    for (i64 g = 0; g < 32; g += 16) {
      const char* const from =
          static_cast<const char*>(static_cast<const void*>(p.from + (l + g) * p.line));
      u32* to = static_cast<u32*>(p.to) + l * items + g;
      const i64 prefetch_from = l + g + 32 <= p.lines ? 16 * line : 0;
      for (i64 q = 0; q < items * 4; q += 64) {
        for (int n = 0; n < 16; ++n) __builtin_prefetch(from + prefetch_from + n * line + q);
        for (i64 c = q; c < q + 64; c += 16, to += 4 * 32) {
          V x[4];  // [n]: four items of each of the lines n, n + 4, n + 8, n + 12
          FLAGGEMS_UNROLL
          for (int n = 0; n < 4; ++n) {
            const char* const at = from + n * line + c;
            const auto* const p0 = static_cast<const piece*>(static_cast<const void*>(at));
            const auto* const p4 =
                static_cast<const piece*>(static_cast<const void*>(at + 4 * line));
            const auto* const p8 =
                static_cast<const piece*>(static_cast<const void*>(at + 8 * line));
            const auto* const p12 =
                static_cast<const piece*>(static_cast<const void*>(at + 12 * line));
            FLAGGEMS_INSTRUCTION(modelled::join(x[n], *p0, *p4, *p8, *p12),
                                 "vmovdqu %1, %x0\n\t"
                                 "vinserti32x4 $1, %2, %0, %0\n\t"
                                 "vinserti32x4 $2, %3, %0, %0\n\t"
                                 "vinserti32x4 $3, %4, %0, %0"
                                 : "=&x"(x[n])
                                 : "m"(*p0), "m"(*p4), "m"(*p8), "m"(*p12));
          }
          V a, b, c0, d, y[4];
          FLAGGEMS_INSTRUCTION(modelled::unpack<u32>(a, x[0], x[1], modelled::half::lower),
                               "vpunpckldq %2, %1, %0"
                               : "=v"(a)
                               : "v"(x[0]), "v"(x[1]));
          FLAGGEMS_INSTRUCTION(modelled::unpack<u32>(b, x[2], x[3], modelled::half::lower),
                               "vpunpckldq %2, %1, %0"
                               : "=v"(b)
                               : "v"(x[2]), "v"(x[3]));
          FLAGGEMS_INSTRUCTION(modelled::unpack<u32>(c0, x[0], x[1], modelled::half::upper),
                               "vpunpckhdq %2, %1, %0"
                               : "=v"(c0)
                               : "v"(x[0]), "v"(x[1]));
          FLAGGEMS_INSTRUCTION(modelled::unpack<u32>(d, x[2], x[3], modelled::half::upper),
                               "vpunpckhdq %2, %1, %0"
                               : "=v"(d)
                               : "v"(x[2]), "v"(x[3]));
          FLAGGEMS_INSTRUCTION(modelled::unpack<u64>(y[0], a, b, modelled::half::lower),
                               "vpunpcklqdq %2, %1, %0"
                               : "=v"(y[0])
                               : "v"(a), "v"(b));
          FLAGGEMS_INSTRUCTION(modelled::unpack<u64>(y[1], a, b, modelled::half::upper),
                               "vpunpckhqdq %2, %1, %0"
                               : "=v"(y[1])
                               : "v"(a), "v"(b));
          FLAGGEMS_INSTRUCTION(modelled::unpack<u64>(y[2], c0, d, modelled::half::lower),
                               "vpunpcklqdq %2, %1, %0"
                               : "=v"(y[2])
                               : "v"(c0), "v"(d));
          FLAGGEMS_INSTRUCTION(modelled::unpack<u64>(y[3], c0, d, modelled::half::upper),
                               "vpunpckhqdq %2, %1, %0"
                               : "=v"(y[3])
                               : "v"(c0), "v"(d));
          FLAGGEMS_UNROLL
          for (int n = 0; n < 4; ++n) *static_cast<loose*>(static_cast<void*>(to + n * 32)) = y[n];
        }
      }
    }
  return l;
}
#endif

/// Packs panels of 32 columns: those that `Rest` is too slow for, and the rest.
template <class Rest, class Isa, class T>
FLAGGEMS_HOST_INLINE void pack_tile_columns(pack_arguments<T> p) {
#if FLAGGEMS_ARCH_X86
  if constexpr (Isa::bytes == 64) {
    const i64 done = transpose_panels(p);
    p.from += done * p.line;
    p.lines -= done;
    p.to = static_cast<u8*>(p.to) + done * p.depth * static_cast<i64>(sizeof(T));
    if (p.lines == 0) return;
  }
#endif
  outlined<Isa>::template call<Rest>(p);
}

/// The shape of a product of bf16 by tiles: 32x32 results, 32 elements of a line in a row.
template <class Isa>
struct bf16_tile_kernel : bf16_kernel<Isa, 32, 2, 32> {
  using T = small_float<bf16_format>;
  static constexpr bool by_rows = true;
  template <class Out>
  static constexpr bool narrows = is_same<Out, T>;
  // Deep blocks, since storing and reloading the sums of a tile, 4 KiB, costs much.
  static constexpr int l1_quarters = 12;
  static constexpr int most_depth = 2048;
  template <class>
  FLAGGEMS_HOST_INLINE static void pack_rows(const pack_arguments<T>& p) {
    outlined<Isa>::template call<pack_tiles<32, 32>>(p);
  }
  template <class>
  FLAGGEMS_HOST_INLINE static void pack_columns(const pack_arguments<T>& p) {
    pack_tile_columns<pack_pairs<32, 32>, Isa>(p);
  }
};

/// The same of bytes, 64 elements of a line in a row.
template <class Isa>
struct byte_tile_kernel : byte_kernel {
  static constexpr bool by_rows = true;
  template <class>
  static constexpr bool narrows = false;
  static constexpr int lanes = 16, rows = 32, columns = 32;
  static constexpr int step = 64;
  static constexpr int l1_quarters = 6;
  static constexpr int most_depth = 2048;

  FLAGGEMS_HOST_INLINE static i64 panel_bytes(i64 width, i64 steps) { return width * steps * step; }
  template <class T>
  FLAGGEMS_HOST_INLINE static void pack_rows(const pack_arguments<T>& p) {
    outlined<Isa>::template call<pack_byte_tiles<T, rows, step>>(p);
  }
  template <class T>
  FLAGGEMS_HOST_INLINE static void pack_columns(const pack_arguments<T>& p) {
    pack_tile_columns<pack_bytes<T, item_of_quad<false>, columns, step, panel_head::none>, Isa>(p);
  }
};

/// Rows [i, i_stop) times a packed block of columns [j, j_stop), for `work` of gemm_blocked.
template <class Kernel, class Isa, class Work, class Place, class Out, class Matrix>
FLAGGEMS_HOST_INLINE void multiply_by_rows(const Work& w, const Place& batch, Out* to,
                                           const Matrix& a_data, i64 q,
                                           const unsigned char* columns, i64 i, i64 i_stop, i64 j,
                                           i64 j_stop, i64 nc, depth_part along) {
  const i64 depth = along.depth;
  const bool first = along.first, last = along.last;
  using storing = typename Work::storing;
  using C = typename Work::sum_type;
  constexpr i64 rows = Kernel::rows, width = Kernel::columns, step = Kernel::step;
  constexpr bool in_place = Work::sums_in_place, replaces = Work::keeps_sums;
  const i64 steps = ceil_div(depth, step), panels = ceil_div(j_stop - j, width);
  const i64 panel = Kernel::panel_bytes(width, steps);
  const bool biased = w.bias.active() && (in_place ? first : last);
  const typename Work::bias_part finish = w.bias.at(batch, 0);
  bool readable = false;  // in place
  i64 a_line = 0;
  using A = typename Work::a_element;
  const A* from = nullptr;
  if constexpr (!Work::evaluates) {
    readable = w.a.along == 1 && depth % step == 0;
    a_line = w.a.line;
    from = a_data + q * w.a.along;
  }
  // Columns that other workers packed, or that are in memory, are prefetched with the first rows.
  const bool remote = (w.members > 1 || w.plan.packed != nullptr) && i_stop - i > rows;
  alignas(64) C buffer[rows * width];
  panel_arguments<C> t;
  t.steps = steps;
  t.alpha = w.out.alpha;
  t.b_along = width;
  for (i64 ir = i; ir < i_stop; ir += rows) {
    const i64 m = min_of(rows, i_stop - ir);
    t.a = w.packed_a;
    t.a_row = step;
    t.a_along = rows * step;
    if constexpr (Work::evaluates) {
      w.evaluate_rows(a_data, ir, ir + m, q, depth, 0);
    } else if (readable && m == rows) {
      t.a = from + ir * a_line;
      t.a_row = a_line;
      t.a_along = step;
    } else {
      Kernel::template pack_rows<A>(
          pack_arguments<A>{from + ir * a_line, a_line, w.a.along, m, depth, w.packed_a});
    }
    const i64 next = readable ? min_of(rows, i_stop - ir - m) : 0;  // rows to fetch
    const i64 share = ceil_div(next, panels);
    for (i64 p = 0; p < panels; ++p) {
      const i64 jr = j + p * width, n = min_of(width, j_stop - jr);
      t.b = columns + p * panel;
      t.vectors = static_cast<int>(ceil_div(n, i64{Kernel::lanes}));
      if (remote && ir == i) {
        t.prefetch_from = static_cast<const char*>(t.b) + panel;
        t.prefetch_line = 64;
        t.prefetch_step = panel / steps;
        t.prefetch_lines = p + 1 < panels ? static_cast<int>(panel / steps / 64) : 0;
      } else {
        t.prefetch_from = static_cast<const char*>(
            static_cast<const void*>(from + (ir + rows + p * share) * a_line));
        t.prefetch_line = a_line * static_cast<i64>(sizeof(A));
        t.prefetch_step = 64;
        t.prefetch_lines = static_cast<int>(max_of(min_of(share, next - p * share), i64{0}));
      }
      C* const part = w.sums + (ir - i) * nc + (jr - j);
      Out* const place = to + ir * w.out.row + jr * w.out.column;
      const bool fits = m == rows && n % Kernel::lanes == 0 && !biased && w.out.column == 1;
      t.out = part;
      t.out_row = nc;
      t.add = !first;
      t.narrow = nullptr;
      if constexpr (!in_place) {
        if (!last || replaces) {
          Kernel::product(t);
          continue;
        }
        if constexpr (Kernel::template narrows<Out> && !replaces)
          if (fits && t.alpha == C(1)) {
            t.narrow = place;
            t.narrow_row = w.out.row;
            Kernel::product(t);
            continue;
          }
      } else if (fits) {
        t.out = place;
        t.out_row = w.out.row;
        Kernel::product(t);
        continue;
      }
      t.out = buffer;
      t.out_row = width;
      t.add = false;
      Kernel::product(t);
      outlined<Isa>::template call<storing>(typename storing::arguments{
          buffer, !in_place && !first ? part : nullptr, width, nc, m, n, place, w.out.row,
          w.out.column, in_place && !first, biased, &finish, ir, jr});
    }
    if constexpr (replaces)
      if (last) {
        outlined<Isa>::template call<storing>(
            typename storing::arguments{w.sums + (ir - i) * nc, nullptr, nc, 0, m, j_stop - j,
                                        to + ir * w.out.row + j * w.out.column, w.out.row,
                                        w.out.column, false, true, &finish, ir, j});
        Kernel::begin();  // a product that a functor made has ended this one
      }
  }
}

#if FLAGGEMS_ARCH_X86
#if FLAGGEMS_MODEL_ISA
template <class A, class B>
void modelled_step(const char* a, i64 a_row, const char* b) {
  modelled::tileloadd(4, a, a_row);
  modelled::tileloadd(6, b, 128);
  modelled::multiply_tiles<A, B>(0, 4, 6);
  modelled::tileloadd(7, b + 64, 128);
  modelled::multiply_tiles<A, B>(1, 4, 7);
  modelled::tileloadd(5, a + 16 * a_row, a_row);
  modelled::multiply_tiles<A, B>(2, 5, 6);
  modelled::multiply_tiles<A, B>(3, 5, 7);
}
#endif
// A step of 32x32 results: two tiles of `a`, two of `b`, and each product right after its operands
// are loaded.
#define FLAGGEMS_TILE_STEP(A, B, instruction)                                                   \
  FLAGGEMS_TILE_INSTRUCTION((modelled_step<A, B>(a, a_row, b)),                                 \
                            "tileloadd (%0,%4,1), %%tmm4\n\t"                                   \
                            "tileloadd (%2,%5,1), %%tmm6\n\t" instruction                       \
                            " %%tmm6, %%tmm4, %%tmm0\n\t"                                       \
                            "tileloadd (%3,%5,1), %%tmm7\n\t" instruction                       \
                            " %%tmm7, %%tmm4, %%tmm1\n\t"                                       \
                            "tileloadd (%1,%4,1), %%tmm5\n\t" instruction                       \
                            " %%tmm6, %%tmm5, %%tmm2\n\t" instruction " %%tmm7, %%tmm5, %%tmm3" \
                            :                                                                   \
                            : "r"(a), "r"(a + 16 * a_row), "r"(b), "r"(b + 64), "r"(a_row),     \
                              "r"(i64{128})                                                     \
                            : "memory")

struct tile_step_bf16 {
  FLAGGEMS_TARGET_AMX FLAGGEMS_HOST_INLINE static void run(const char* a, i64 a_row,
                                                           const char* b) {
    FLAGGEMS_TILE_STEP(u16, u16, "tdpbf16ps");
  }
};
template <class A, class B>
struct tile_step_bytes {
  FLAGGEMS_TARGET_AMX FLAGGEMS_HOST_INLINE static void run(const char* a, i64 a_row,
                                                           const char* b) {
    // The letters: whether the elements of `a`, of `b` are signed.
    if constexpr (is_same<A, i8> && is_same<B, i8>)
      FLAGGEMS_TILE_STEP(A, B, "tdpbssd");
    else if constexpr (is_same<A, i8>)
      FLAGGEMS_TILE_STEP(A, B, "tdpbsud");
    else if constexpr (is_same<B, i8>)
      FLAGGEMS_TILE_STEP(A, B, "tdpbusd");
    else
      FLAGGEMS_TILE_STEP(A, B, "tdpbuud");
  }
};
#undef FLAGGEMS_TILE_STEP

/// 32x32 results in four of the eight tile registers, two each for the operands, so that four loads
/// serve four products. Subnormal bf16 count as zero, and subnormal sums of them become zero.
template <class Step, class C>
struct amx_tiles {
  /// All tiles are 16 rows of 64 bytes.
  FLAGGEMS_NOINLINE FLAGGEMS_TARGET_AMX static void begin() {
    struct alignas(64) {
      u8 palette = 1, start_row = 0, reserved[14] = {};
      u16 row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
      u8 rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
    } config;
    FLAGGEMS_TILE_INSTRUCTION(modelled::ldtilecfg(config), "ldtilecfg %0" : : "m"(config));
  }
  FLAGGEMS_NOINLINE FLAGGEMS_TARGET_AMX static void end() {
    FLAGGEMS_TILE_INSTRUCTION(modelled::tilerelease(), "tilerelease");
  }

  /// `item`: bytes of an element of `a`.
  template <i64 Item>
  FLAGGEMS_NOINLINE FLAGGEMS_TARGET_AMX static void product(const panel_arguments<C>& p) {
    const char* a = static_cast<const char*>(p.a);
    const char* b = static_cast<const char*>(p.b);
    const i64 a_row = p.a_row * Item, a_along = p.a_along * Item;
    const bool both = p.vectors == 2;
    // Previous sums are loaded into the tiles and stored from there, unless alpha is applied: a
    // buffer and vectors would dominate short products.
    const bool whole = p.alpha == C(1);
    if (whole && p.add)
      load(p.out, p.out_row, both);
    else
      FLAGGEMS_TILE_INSTRUCTION(
          (modelled::tilezero(0), modelled::tilezero(1), modelled::tilezero(2),
           modelled::tilezero(3)),
          "tilezero %%tmm0\n\ttilezero %%tmm1\n\ttilezero %%tmm2\n\ttilezero %%tmm3"
          :
          :);
    const char* prefetch_from = p.prefetch_from;
    const i64 prefetch_line = p.prefetch_line, prefetch_step = p.prefetch_step;
    const int lines = p.prefetch_lines;
    for (i64 q = p.steps; q > 0; --q, a += a_along, b += 16 * 128, prefetch_from += prefetch_step) {
      const char* line = prefetch_from;
      for (int n = 0; n < lines; ++n, line += prefetch_line) __builtin_prefetch(line, 0, 2);
      Step::run(a, a_row, b);
    }
    if (whole && p.narrow == nullptr) return store(p.out, p.out_row, both);
    alignas(64) C sums[32 * 32];
    store(sums, 32, true);
    if constexpr (is_same<C, f32>)
      if (p.narrow != nullptr) return narrow(sums, p, both);
    scale(sums, p, both);
  }

 private:
  using V = typename register_vector<C, isa_avx512>::type;
  using loose = typename register_vector<C, isa_avx512>::loose;

  FLAGGEMS_TARGET_AMX FLAGGEMS_HOST_INLINE static void load(const C* from, i64 row, bool both) {
    const C* const low = from + 16 * row;
    const i64 bytes = row * 4;
    FLAGGEMS_TILE_INSTRUCTION(
        (modelled::tileloadd(0, from, bytes), modelled::tileloadd(2, low, bytes)),
        "tileloadd (%0,%2,1), %%tmm0\n\ttileloadd (%1,%2,1), %%tmm2"
        :
        : "r"(from), "r"(low), "r"(bytes)
        : "memory");
    if (both)
      FLAGGEMS_TILE_INSTRUCTION(
          (modelled::tileloadd(1, from + 16, bytes), modelled::tileloadd(3, low + 16, bytes)),
          "tileloadd (%0,%2,1), %%tmm1\n\ttileloadd (%1,%2,1), %%tmm3"
          :
          : "r"(from + 16), "r"(low + 16), "r"(bytes)
          : "memory");
    else
      FLAGGEMS_TILE_INSTRUCTION((modelled::tilezero(1), modelled::tilezero(3)),
                                "tilezero %%tmm1\n\ttilezero %%tmm3"
                                :
                                :);
  }
  FLAGGEMS_TARGET_AMX FLAGGEMS_HOST_INLINE static void store(C* to, i64 row, bool both) {
    C* const low = to + 16 * row;
    const i64 bytes = row * 4;
    FLAGGEMS_TILE_INSTRUCTION(
        (modelled::tilestored(0, to, bytes), modelled::tilestored(2, low, bytes)),
        "tilestored %%tmm0, (%0,%2,1)\n\ttilestored %%tmm2, (%1,%2,1)"
        :
        : "r"(to), "r"(low), "r"(bytes)
        : "memory");
    if (both)
      FLAGGEMS_TILE_INSTRUCTION(
          (modelled::tilestored(1, to + 16, bytes), modelled::tilestored(3, low + 16, bytes)),
          "tilestored %%tmm1, (%0,%2,1)\n\ttilestored %%tmm3, (%1,%2,1)"
          :
          : "r"(to + 16), "r"(low + 16), "r"(bytes)
          : "memory");
  }
  FLAGGEMS_TARGET_AMX FLAGGEMS_HOST_INLINE static const V& vector(const C* p) {
    return *static_cast<const V*>(static_cast<const void*>(p));
  }
  FLAGGEMS_TARGET_AMX FLAGGEMS_HOST_INLINE static void scale(const C* sums,
                                                             const panel_arguments<C>& p,
                                                             bool both) {
    for (int r = 0; r < 32; ++r)
      for (int v = 0; v < (both ? 32 : 16); v += 16) {
        V x = vector(sums + r * 32 + v) * p.alpha;
        loose* const to = static_cast<loose*>(static_cast<void*>(p.out + r * p.out_row + v));
        if (p.add) x += *to;
        *to = x;
      }
  }
  /// The instruction flushes subnormals, which these sums have none of.
  FLAGGEMS_TARGET_AMX FLAGGEMS_HOST_INLINE static void narrow(const C* sums,
                                                              const panel_arguments<C>& p,
                                                              bool both) {
    using W = typename register_vector<u16, isa_avx512>::loose;
    typedef u16 half __attribute__((vector_size(32), aligned(1), may_alias));
    u16* to = static_cast<u16*>(p.narrow);
    for (int r = 0; r < 32; ++r, to += p.narrow_row, sums += 32) {
      if (both) {
        W x;
        FLAGGEMS_INSTRUCTION(modelled::vcvtneps2bf16(x, vector(sums), vector(sums + 16)),
                             "vcvtne2ps2bf16 %1, %2, %0"
                             : "=v"(x)
                             : "v"(vector(sums)), "v"(vector(sums + 16)));
        *static_cast<W*>(static_cast<void*>(to)) = x;
      } else {
        half x;
        FLAGGEMS_INSTRUCTION(modelled::vcvtneps2bf16(x, vector(sums)), "vcvtneps2bf16 %1, %0"
                             : "=v"(x)
                             : "v"(vector(sums)));
        *static_cast<half*>(static_cast<void*>(to)) = x;
      }
    }
  }
};

template <class Isa>
struct amx_kernel : bf16_tile_kernel<Isa>, amx_tiles<tile_step_bf16, f32> {
  using amx_tiles<tile_step_bf16, f32>::begin;
  using amx_tiles<tile_step_bf16, f32>::end;
  FLAGGEMS_HOST_INLINE static void product(const panel_arguments<f32>& p) {
    amx_tiles<tile_step_bf16, f32>::template product<2>(p);
  }
};
template <class A, class B, class Isa>
struct amx_byte_kernel : byte_tile_kernel<Isa>, amx_tiles<tile_step_bytes<A, B>, u32> {
  using amx_tiles<tile_step_bytes<A, B>, u32>::begin;
  using amx_tiles<tile_step_bytes<A, B>, u32>::end;
  FLAGGEMS_HOST_INLINE static void product(const panel_arguments<u32>& p) {
    amx_tiles<tile_step_bytes<A, B>, u32>::template product<1>(p);
  }
};

template <>
struct choose_tile_kernel<small_float<bf16_format>, small_float<bf16_format>, f32, isa_amx> {
  using type = amx_kernel<isa_avx512>;
};
template <class A, class B>
struct choose_byte_kernel<A, B, isa_amx> {
  using type = amx_byte_kernel<A, B, isa_avx512>;
};
#endif

}  // namespace flaggems::kernels
