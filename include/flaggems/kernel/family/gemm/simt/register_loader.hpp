// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Loads of operands on devices without asynchronous copies: vectors of a later step are staged in
// registers while a thread multiplies, and go to block-local memory before the step ends.
#pragma once

#include <flaggems/kernel/family/gemm/gemm.hpp>
#include <flaggems/kernel/lang/vector_access.hpp>

namespace flaggems::kernels {

/// As tile_loader (tiles.hpp), for units whose fragments are parts of lines. Boxes lie along the
/// sum in block-local memory, whatever the operand is: one that lies across is transposed in
/// registers, by blocks of as many lines and terms as a vector has elements.
template <class Unit, class T, major Major, int Lines, int Depth, int Threads>
class register_loader {
 public:
  using words = vec<u32, 4>;
  static constexpr bool along = Major == major::along;
  static constexpr int width = vec_size<T>;
  static constexpr int vectors = Depth / width;  // of a line
  static constexpr int size = Lines * vectors;

  /// For lines from `first` on, and terms [begin, end). Sizes along vectors are multiples of these.
  FLAGGEMS_INLINE register_loader(int thread, global_ptr<const T> matrix, const gemm_arg<T>& x,
                                  i64 lines, i64 first, i64 begin, i64 end)
      : line_(along ? thread / vectors : thread % line_blocks * width),
        vector_(along ? thread % vectors : thread / line_blocks) {
    const i64 line_at = first + line_, term_at = begin + vector_ * width;
    stride_ = along ? x.line : x.along;
    from_ = matrix + (along ? line_at * x.line + term_at : term_at * x.along + line_at);
    lines_left_ = count_of(lines - line_at);
    terms_left_ = count_of(end - term_at);
    if (thread >= items) lines_left_ = 0;
  }
  /// Loads the next box, in one part, which `store` takes to `slot`: zeros for what is outside.
  template <class Block>
  FLAGGEMS_INLINE void load(const Block&, const typename Block::template scratch_type<words>&,
                            int slot, int, int) {
    FLAGGEMS_SIMT_UNROLL
    for (int i = 0; i < count; ++i) {
      FLAGGEMS_SIMT_UNROLL
      for (int r = 0; r < rows; ++r) {
        const int row = i * step + r;
        const bool exists =
            along ? terms_left_ > 0 && row < lines_left_ : lines_left_ > 0 && row < terms_left_;
        staged_[i][r] = words{};
        if (exists) staged_[i][r] = load_words<T>(from_ + row * stride_);
      }
    }
    slot_ = slot;
  }
  FLAGGEMS_INLINE void advance() {
    from_ += along ? i64{Depth} : stride_ * Depth;
    terms_left_ -= Depth;
  }
  /// Writes the loaded box to its slot.
  template <class Block>
  FLAGGEMS_INLINE void store(const Block& block,
                             const typename Block::template scratch_type<words>& stages) const {
    if (items < Threads && block.thread() >= items) return;
    FLAGGEMS_SIMT_UNROLL
    for (int i = 0; i < count; ++i) {
      if constexpr (along) {
        stages.write(slot_ + place(line_ + i * step, vector_), staged_[i][0]);
      } else {
        FLAGGEMS_SIMT_UNROLL
        for (int l = 0; l < width; ++l)
          stages.write(slot_ + place(line_ + l, vector_ + i * (step / width)),
                       line_of(staged_[i], l));
      }
    }
  }
  /// A barrier, after which all boxes that were stored are there.
  template <int, class Block>
  FLAGGEMS_INLINE static void sync(const Block& block) {
    block.sync();
  }

  /// Fetches lines [first + 16 * j, + 16) and 32 bytes of terms, the q-th, of a box as an operand
  /// of the unit; `first` is a multiple of 16.
  template <bool, class Block>
  FLAGGEMS_INLINE static void fetch(const Block& block,
                                    const typename Block::template scratch_type<words>& stages,
                                    int slot, int first, int j, int q, u32 (&x)[Unit::words]) {
    constexpr int together = min_of(Unit::words, 4), pieces = 4 / together;  // of a vector
    using piece = vec<u32, together>;
    const auto found = stages.template as<piece>();
    const int lane = block.thread() % Unit::lanes, byte = Unit::byte(lane);
    const int line = first + 16 * j + Unit::line(lane);
    FLAGGEMS_SIMT_UNROLL
    for (int w = 0; w < Unit::words; w += together) {
      const int at = slot + place(line, 2 * q + (byte + 4 * w) / 16);
      const piece got = found.read(at * pieces + byte / (4 * together) % pieces);
      FLAGGEMS_SIMT_UNROLL
      for (int e = 0; e < together; ++e) x[w + e] = got.at[e];
    }
  }

 protected:
  static constexpr int line_blocks = Lines / width;
  static constexpr int items = along ? size : line_blocks * vectors;  // for one thread each
  static constexpr int count = ceil_div(items, Threads);              // of a thread
  static constexpr int rows = along ? 1 : width;                      // of memory, of an item
  /// From an item to the next one of a thread, in rows of memory.
  static constexpr int step = along ? Threads / vectors : Threads / line_blocks * width;
  static_assert(Lines % width == 0 && (items < Threads || items % Threads == 0));
  static_assert(vectors >= 4 && (vectors & (vectors - 1)) == 0);

  /// Line l of as many lines and terms, of which a vector has a term.
  FLAGGEMS_INLINE static words line_of(const words (&terms)[rows], int l) {
    vec<T, width> line;
    FLAGGEMS_SIMT_UNROLL
    for (int t = 0; t < rows; ++t) line.at[t] = bit_cast<vec<T, width>>(terms[t]).at[l];
    return bit_cast<words>(line);
  }
  /// Vectors of a line are permuted, so that neither lines nor every eighth line that threads read
  /// and write at once have bank conflicts.
  FLAGGEMS_INLINE static int place(int line, int v) {
    const int turn = (vectors >= 8 ? line : line >> 1) ^ line >> 3;
    return line * vectors + (v ^ (turn & (min_of(vectors, 8) - 1)));
  }
  FLAGGEMS_INLINE static i32 count_of(i64 n) { return static_cast<i32>(min_of(n, i64{1} << 30)); }

  int line_, vector_;
  global_ptr<const T> from_;
  i64 stride_;
  i32 lines_left_, terms_left_;
  int slot_ = 0;
  words staged_[count][rows];
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/gemm/simt/register_loader.hpp");
