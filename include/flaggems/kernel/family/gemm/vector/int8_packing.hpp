// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// Packing of 8-bit integers for family/gemm/vector/int8.hpp. A panel has items of 32 bits: four
// elements for the instructions that multiply bytes, or two that were widened to 16 bits.
#pragma once

#include <flaggems/kernel/family/gemm/vector/packing.hpp>

namespace flaggems::kernels {

/// Elements of 8 bits.
template <class T>
inline constexpr bool is_byte = is_same<T, i8> || is_same<T, u8>;

/// What the forms of an item are made with: 16 bytes, or the items they become.
struct byte_vectors {
  typedef u8 bytes __attribute__((vector_size(16)));
  typedef u8 loose_bytes __attribute__((vector_size(16), aligned(1), may_alias));
  typedef u16 words __attribute__((vector_size(16)));
  typedef i16 signed_words __attribute__((vector_size(16)));
  typedef u32 items __attribute__((vector_size(16)));
  typedef u32 loose_items __attribute__((vector_size(16), aligned(1), may_alias));

  FLAGGEMS_HOST_INLINE static bytes read(const u8* from) {
    return *static_cast<const loose_bytes*>(static_cast<const void*>(from));
  }
  FLAGGEMS_HOST_INLINE static void write(u32* to, const items& x) {
    *static_cast<loose_items*>(static_cast<void*>(to)) = x;
  }
  /// x[0], y[0], x[1], ... of the first and of the last 8 bytes.
  FLAGGEMS_HOST_INLINE static void interleave(const bytes& x, const bytes& y, bytes& low,
                                              bytes& high) {
    low = __builtin_shufflevector(x, y, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    high =
        __builtin_shufflevector(x, y, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  }
};

/// Items of two elements of T, widened to 16 bits.
template <class T>
struct item_of_pair : byte_vectors {
  static constexpr int elements = 2;
  static constexpr bool in_place = false;

  /// 8 pairs of adjacent elements.
  FLAGGEMS_HOST_INLINE static void widen(const bytes& x, items& low, items& high) {
    bytes first, second;
    interleave(bytes{}, x, first, second);  // above zero bytes
    low = shifted(first);
    high = shifted(second);
  }
  FLAGGEMS_HOST_INLINE static void from_line(u32* to, const u8* from, i64 items_wanted) {
    for (i64 q = 0; q < items_wanted; q += 8) {
      items low, high;
      widen(read(from + 2 * q), low, high);
      write(to + q, low);
      write(to + q + 4, high);
    }
  }
  /// out[i] of line i, from two rows of 16 lines.
  FLAGGEMS_HOST_INLINE static void from_rows(items (&out)[4], const bytes (&row)[2]) {
    bytes low, high;
    interleave(row[0], row[1], low, high);
    widen(low, out[0], out[1]);
    widen(high, out[2], out[3]);
  }

 private:
  FLAGGEMS_HOST_INLINE static items shifted(const bytes& x) {
    if constexpr (is_same<T, i8>)
      return (items)((signed_words)x >> 8);
    else
      return (items)((words)x >> 8);
  }
};

/// Items of four bytes. Offset: signed ones become unsigned ones, 128 larger.
template <bool Offset>
struct item_of_quad : byte_vectors {
  static constexpr int elements = 4;
  static constexpr bool in_place = !Offset;

  FLAGGEMS_HOST_INLINE static bytes value(const bytes& x) {
    if constexpr (Offset)
      return x ^ (bytes{} + u8(0x80));
    else
      return x;
  }
  FLAGGEMS_HOST_INLINE static void from_line(u32* to, const u8* from, i64 items_wanted) {
    for (i64 q = 0; q < items_wanted; q += 4) write(to + q, (items)value(read(from + 4 * q)));
  }
  FLAGGEMS_HOST_INLINE static void from_rows(items (&out)[4], const bytes (&row)[4]) {
    bytes low01, high01, low23, high23;
    interleave(row[0], row[1], low01, high01);
    interleave(row[2], row[3], low23, high23);
    words_of(out[0], out[1], low01, low23);
    words_of(out[2], out[3], high01, high23);
  }

 private:
  FLAGGEMS_HOST_INLINE static void words_of(items& low, items& high, const bytes& x,
                                            const bytes& y) {
    const words a = (words)value(x), b = (words)value(y);
    low = (items)__builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
    high = (items)__builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
  }
};

/// A vector register of signed items.
template <class Isa>
struct pack_register {
  typedef i32 type __attribute__((vector_size(Isa::bytes)));
  typedef i32 loose __attribute__((vector_size(Isa::bytes), aligned(1), may_alias));
  static constexpr int lanes = Isa::bytes / 4;
};

/// The head of a panel: none, 0, or -128 times the sum of a line's elements.
enum class panel_head { none, zero, weighted };

/// Panels of items: item q of line l is at [q * Width + l]. The depth is filled up with zeros to a
/// multiple of Step. A panel with a head begins with one more item a line, which the tile's sums
/// start from.
template <class T, class Item, int Width, int Step, panel_head Head>
struct pack_bytes {
  static constexpr int side = 4;
  static constexpr i64 chunk = 64;  // items
  static_assert(Width % side == 0 && Step % Item::elements == 0);

  template <class Isa>
  FLAGGEMS_HOST_INLINE static void run(const pack_arguments<T>& p) {
    u32* const to = static_cast<u32*>(p.to);
    const i64 items = round_up(p.depth, i64{Step}) / Item::elements;
    const i64 panel = (items + (Head != panel_head::none ? 1 : 0)) * Width;
    u32* const first = to + (Head != panel_head::none ? Width : 0);
    if (p.line == 1 && p.along != 1)
      across(first, panel, items, p);
    else
      for (i64 l = 0; l < p.lines; l += Width) along(first + l / Width * panel, l, items, p);
    if constexpr (Head != panel_head::none)
      for (i64 l = 0; l < p.lines; l += Width) sum<Isa>(to + l / Width * panel, items);
  }

 private:
  FLAGGEMS_HOST_INLINE static void along(u32* to, i64 l, i64 items, const pack_arguments<T>& p) {
    constexpr i64 elements = Item::elements;
    u8 gathered[side][chunk * elements];
    u32 converted[side][chunk];
    for (i64 g = 0; g < Width; g += side) {
      const i64 prefetch_lines = l + g + side < p.lines ? side * p.line : 0;
      for (i64 start = 0; start < items; start += chunk) {
        const i64 count = min_of(items - start, chunk);
        const i64 present = min_of(p.depth - start * elements, count * elements);
        const u32* row[side];
        for (int n = 0; n < side; ++n) {
          const T* const line = p.from + (l + g + n) * p.line + start * elements * p.along;
          const u8* from = reinterpret_cast<const u8*>(line);
          if (l + g + n >= p.lines) {
            from = gathered[n];
            for (i64 e = 0; e < round_up(count * elements, 16); ++e) gathered[n][e] = 0;
          } else if (p.along != 1 || present % 16 != 0 || present != count * elements) {
            from = gathered[n];
            const i64 whole = round_up(count * elements, 16);
            if (p.along == 1)
              __builtin_memcpy(gathered[n], line, static_cast<unsigned long>(present));
            else
              for (i64 e = 0; e < present; ++e) gathered[n][e] = static_cast<u8>(line[e * p.along]);
            for (i64 e = present; e < whole; ++e) gathered[n][e] = 0;
          } else {
            for (i64 e = 0; e < present; e += 64) __builtin_prefetch(from + prefetch_lines + e);
          }
          if constexpr (Item::in_place) {
            row[n] = static_cast<const u32*>(static_cast<const void*>(from));
          } else {
            Item::from_line(converted[n], from, count);
            row[n] = converted[n];
          }
        }
        u32* const part = to + start * Width + g;
        i64 q = 0;
        for (; q + side <= count; q += side) pack_block<u32, 16>::transpose(part, Width, row, q);
        for (; q < count; ++q)
          for (int n = 0; n < side; ++n)
            __builtin_memcpy(part + q * Width + n, row[n] + q, sizeof(u32));
      }
    }
  }

  /// A few rows at a time through all panels, as in pack_elements.
  FLAGGEMS_HOST_INLINE static void across(u32* to, i64 panel, i64 items,
                                          const pack_arguments<T>& p) {
    constexpr i64 at_once = 16;  // lines
    const i64 padded = round_up(p.lines, i64{Width});
    for (i64 q = 0; q < items; ++q)
      for (i64 l = 0; l < padded; l += at_once) {
        const i64 live = max_of(min_of(p.lines - l, at_once), i64{0});
        typename Item::bytes row[Item::elements];
        for (int e = 0; e < Item::elements; ++e) {
          const i64 at = q * Item::elements + e;
          const u8* const from = reinterpret_cast<const u8*>(p.from + at * p.along + l);
          row[e] = typename Item::bytes{};
          if (at < p.depth && live == at_once)
            row[e] = Item::read(from);
          else if (at < p.depth)
            for (i64 n = 0; n < live; ++n) row[e][n] = from[n];
        }
        typename Item::items out[4];
        Item::from_rows(out, row);
        for (i64 g = 0; g < 4 && l + 4 * g < padded; ++g) {
          const i64 line = l + 4 * g;
          Item::write(to + line / Width * panel + q * Width + line % Width, out[g]);
        }
      }
  }

  template <class Isa>
  FLAGGEMS_HOST_INLINE static void sum(u32* panel, i64 items) {
    if constexpr (Head == panel_head::zero) {
      for (int c = 0; c < Width; ++c) panel[c] = 0;
    } else {
      using V = typename pack_register<Isa>::type;
      using loose = typename pack_register<Isa>::loose;
      constexpr int lanes = pack_register<Isa>::lanes;
      static_assert(Width % lanes == 0);
      for (int c = 0; c < Width; c += lanes) {
        V total{};
        const u32* item = panel + Width + c;
        for (i64 q = 0; q < items; ++q, item += Width) {
          const V x = *static_cast<const loose*>(static_cast<const void*>(item));
          total += (x << 24 >> 24) + (x << 16 >> 24) + (x << 8 >> 24) + (x >> 24);
        }
        *static_cast<loose*>(static_cast<void*>(panel + c)) = total * -128;
      }
    }
  }
};

/// Panels of AMX tiles: `Step` elements of a line are adjacent, followed by the other lines'. Depth
/// and lines are padded with zeros.
template <class T, int Width, int Step>
struct pack_byte_tiles {
  template <class Isa>
  FLAGGEMS_HOST_INLINE static void run(const pack_arguments<T>& p) {
    u8* const to = static_cast<u8*>(p.to);
    const i64 depth = round_up(p.depth, i64{Step});
    const i64 padded = round_up(p.lines, i64{Width});
    if (p.line == 1 && p.along != 1) return across(to, depth, padded, p);
    for (i64 l = 0; l < padded; ++l) {
      const T* const from = p.from + l * p.line;
      u8* const line = to + l / Width * Width * depth + l % Width * Step;
      for (i64 q = 0; q < depth; q += Step) {
        u8* const part = line + q * Width;
        if (l < p.lines && p.along == 1 && q + Step <= p.depth)
          __builtin_memcpy(part, from + q, Step);
        else
          for (i64 e = 0; e < Step; ++e)
            part[e] =
                l < p.lines && q + e < p.depth ? static_cast<u8>(from[(q + e) * p.along]) : u8(0);
      }
    }
  }

 private:
  /// 16 elements of 16 lines at a time, transposed.
  FLAGGEMS_HOST_INLINE static void across(u8* to, i64 depth, i64 padded,
                                          const pack_arguments<T>& p) {
    using item = item_of_quad<false>;
    for (i64 q = 0; q < depth; q += 16)
      for (i64 l = 0; l < padded; l += 16) {
        u32 rows[4][16];
        for (int four = 0; four < 4; ++four) {
          typename item::bytes row[4];
          for (int e = 0; e < 4; ++e) {
            const i64 at = q + 4 * four + e;
            const u8* const from = reinterpret_cast<const u8*>(p.from + at * p.along + l);
            row[e] = typename item::bytes{};
            if (at < p.depth && l + 16 <= p.lines)
              row[e] = item::read(from);
            else if (at < p.depth)
              for (i64 n = 0; l + n < p.lines && n < 16; ++n) row[e][n] = from[n];
          }
          typename item::items out[4];
          item::from_rows(out, row);
          for (int g = 0; g < 4; ++g) item::write(rows[four] + 4 * g, out[g]);
        }
        u8* const part =
            to + l / Width * Width * depth + l % Width * Step + q / Step * Step * Width + q % Step;
        for (int n = 0; n < 16; ++n)
          for (int four = 0; four < 4; ++four)
            __builtin_memcpy(part + n * Step + 4 * four, &rows[four][n], sizeof(u32));
      }
  }
};

}  // namespace flaggems::kernels
