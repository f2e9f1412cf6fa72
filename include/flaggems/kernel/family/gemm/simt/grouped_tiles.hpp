// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Grouped products on matrix units: the main loop of tiles.hpp with loaders that gather lines, and
// that make numbers of 16 bits of codes.
#pragma once

#include <flaggems/kernel/family/gemm/grouped.hpp>
#include <flaggems/kernel/family/gemm/simt/tiles.hpp>

namespace flaggems::kernels {

/// As Base, the loader of a unit, for lines of Ts that lie anywhere; each has whole vectors of
/// terms. LineOf gives the line in the operand of one in the box, or -1: zeros.
template <class Base, class Unit, class T, int Lines, int Depth, int Threads, class LineOf>
class gathered_loader : public Base {
 public:
  using words = vec<u32, 4>;

  FLAGGEMS_INLINE gathered_loader(int thread, const coded_lines& x, i64 group, i64 terms,
                                  const LineOf& line_of)
      : Base(thread, first_of(x), gemm_arg<T>{first_of(x), 0, 1, {}}, Lines, 0, 0, terms),
        term_(thread % Base::vectors * vec_size<T>),
        terms_(terms) {
    FLAGGEMS_SIMT_UNROLL
    for (int i = 0; i < count; ++i) {
      const int line = thread / Base::vectors + i * step;
      const i64 from = line < Lines ? line_of(line) : i64{-1};
      exists_[i] = from >= 0;
      from_[i] = first_of(x) + (from < 0 ? i64{0} : group * x.group + from * x.line);
    }
  }
  template <class Block>
  FLAGGEMS_INLINE void load(const Block& block,
                            const typename Block::template scratch_type<words>& stages, int slot,
                            int part, int parts) {
    if constexpr (Unit::takes_loaded_tiles) {
      FLAGGEMS_SIMT_UNROLL
      for (int i = count * part / parts; i < count * (part + 1) / parts; ++i) {
        const bool exists = exists_[i] && term_ < terms_;
        block.template copy_async<words>(
            stages, slot + this->to_ + i * (step * Base::vectors),
            reinterpret_cast<global_ptr<const words>>(from_[i] + (exists ? term_ : i64{0})),
            exists);
      }
    } else {
      FLAGGEMS_SIMT_UNROLL
      for (int i = 0; i < count; ++i) {
        this->staged_[i][0] = words{};
        if (exists_[i] && term_ < terms_) this->staged_[i][0] = load_words<T>(from_[i] + term_);
      }
      this->slot_ = slot;
    }
  }
  FLAGGEMS_INLINE void advance() {
    Base::advance();
    term_ += Depth;
  }

 private:
  static constexpr int step = Threads / Base::vectors;  // lines from one to the thread's next
  static constexpr int count = ceil_div(Lines, step);
  FLAGGEMS_INLINE static global_ptr<const T> first_of(const coded_lines& x) {
    return reinterpret_cast<global_ptr<const T>>(x.data);
  }

  global_ptr<const T> from_[count];
  bool exists_[count];
  i64 term_, terms_;
};

/// The same of lines in any coding, which are Ts in block-local memory. All of a box is loaded with
/// its first part: the code is long.
template <class Base, class Unit, class T, int Lines, int Depth, int Threads, class LineOf>
class coded_loader : public Base {
 public:
  using words = vec<u32, 4>;
  static constexpr int width = vec_size<T>;
  static_assert(width == coded_lines::run);

  FLAGGEMS_INLINE coded_loader(int thread, const coded_lines& x, i64 group, i64 terms,
                               const LineOf& line_of)
      : Base(thread, reinterpret_cast<global_ptr<const T>>(x.data),
             gemm_arg<T>{reinterpret_cast<global_ptr<const T>>(x.data), 0, 1, {}}, 0, 0, 0, 0),
        x_(x),
        line_of_(line_of),
        group_(group),
        term_(thread % Base::vectors * width),
        terms_(terms),
        line_(thread / Base::vectors) {}
  template <class Block>
  FLAGGEMS_INLINE void load(const Block&,
                            const typename Block::template scratch_type<words>& stages, int slot,
                            int part, int) {
    if (part > 0) return;
    if constexpr (Unit::takes_loaded_tiles) {
      FLAGGEMS_SIMT_NO_UNROLL
      for (int i = 0; i < count; ++i)
        stages.write(slot + this->to_ + i * (step * Base::vectors), decoded(i, term_));
    } else {
      this->slot_ = slot;
    }
  }
  FLAGGEMS_INLINE void advance() { term_ += Depth; }
  /// Of units for which loads are staged in registers: codes are read here, not before.
  template <class Block>
  FLAGGEMS_INLINE void store(const Block&,
                             const typename Block::template scratch_type<words>& stages) const {
    FLAGGEMS_SIMT_NO_UNROLL
    for (int i = 0; i < count; ++i)
      if (line_ + i * step < Lines)
        stages.write(this->slot_ + Base::place(line_ + i * step, this->vector_),
                     decoded(i, term_ - Depth));
  }

 private:
  static constexpr int step = Threads / Base::vectors, count = ceil_div(Lines, step);

  FLAGGEMS_INLINE words decoded(int i, i64 term) const {
    const int own = line_ + i * step;
    const i64 line = own < Lines && term < terms_ ? line_of_(own) : i64{-1};
    if (line < 0) return words{};
    f32 numbers[width];
    x_.read(group_, line, term, width, numbers);
    vec<T, width> v;
    FLAGGEMS_SIMT_UNROLL
    for (int e = 0; e < width; ++e) v.at[e] = number_cast<T>(numbers[e]);
    return bit_cast<words>(v);
  }

  const coded_lines& x_;
  const LineOf& line_of_;
  i64 group_, term_, terms_;
  int line_;
};

/// How the second operand of a grouped product lies: Ts along the sum or across it, or codes.
enum class grouped_weights { along, across, coded };

/// The results of a tile, some of a row at a time, of sums of C.
template <class Out, class C>
struct grouped_vectors {
  using sum_type = C;
  static constexpr int count = sums_together<Out>;
  const grouped_results<Out>& all;
  FLAGGEMS_INLINE void store(i64 i, i64 j, const C (&sums)[count]) const {
    if (i >= all.tile.end - all.tile.begin) return;
    f32 numbers[count];
    FLAGGEMS_SIMT_UNROLL
    for (int e = 0; e < count; ++e) numbers[e] = sum_as_f32(sums[e]);
    all.store(i, j, numbers, count);
  }
};

/// The scales of a tile's steps of Depth terms: of its rows, times the one of all its columns. Both
/// operands have scales of f32 that vary by whole steps.
template <class Tile, class Unit, int Depth>
class scaled_steps {
 public:
  static constexpr bool are_scaled = true;
  static constexpr int high = Tile::rows / Tile::warp_rows / 16;
  struct factors {
    f32 at[high][Unit::own_rows];
  };

  /// RowOf as tile_product::row_of, of a thread.
  template <class Out, class RowOf>
  FLAGGEMS_INLINE scaled_steps(const grouped_results<Out>& results, i64 column, const RowOf& row_of)
      : last_(static_cast<i32>(ceil_div(results.terms(), i64{Depth})) - 1),
        a_each_(static_cast<u32>(results.a.terms_each / Depth)),
        b_each_(static_cast<u32>(results.b.terms_each / Depth)),
        a_step_(results.a.scales.term),
        b_step_(results.b.scales.term) {
    const i64 group = results.is_zero() ? 0 : results.tile.group;
    b_ = of_line(results.b, group, column);
    FLAGGEMS_SIMT_UNROLL
    for (int i = 0; i < high; ++i) {
      FLAGGEMS_SIMT_UNROLL
      for (int h = 0; h < Unit::own_rows; ++h)
        a_[i][h] = of_line(results.a, group, max_of(results.line(row_of(i, h)), i64{0}));
    }
  }
  /// Behind the last step, those of the last one.
  FLAGGEMS_INLINE factors at(int step) const {
    factors r{};
    if (last_ < 0) return r;
    const u32 own = static_cast<u32>(min_of(step, last_));
    const f32 of_columns = b_[i64{own / b_each_} * b_step_];
    const i64 part = i64{own / a_each_} * a_step_;
    FLAGGEMS_SIMT_UNROLL
    for (int i = 0; i < high; ++i) {
      FLAGGEMS_SIMT_UNROLL
      for (int h = 0; h < Unit::own_rows; ++h) r.at[i][h] = a_[i][h][part] * of_columns;
    }
    return r;
  }

 private:
  FLAGGEMS_INLINE static global_ptr<const f32> of_line(const coded_lines& x, i64 group, i64 line) {
    const i64 part = static_cast<u32>(line) / static_cast<u32>(x.lines_each);
    return reinterpret_cast<global_ptr<const f32>>(x.scales.data) + group * x.scales.group +
           part * x.scales.line;
  }

  global_ptr<const f32> a_[high][Unit::own_rows], b_;
  i32 last_;
  u32 a_each_, b_each_;  // steps that share a scale
  i64 a_step_, b_step_;
};

/// How the operands of a grouped product come to be multiplied as T: the first one, and the second
/// one, as they lie or decoded, with scales by step.
template <bool IsCoded, grouped_weights Weights, bool AreScaled>
struct grouped_forms {
  static constexpr bool is_coded = IsCoded, are_scaled = AreScaled;
  static constexpr grouped_weights weights = Weights;
};

/// As gemm_grouped, of Ts of 16 or 8 bits; rows are grouped, not terms.
template <class T, class Out, class Tile, class Unit, class Forms>
struct gemm_grouped_tiles {
  static constexpr int depth = depth_of<T, Tile>;
  static constexpr bool codes = Forms::weights == grouped_weights::coded;
  static constexpr major lies =
      Forms::weights == grouped_weights::across ? major::across : major::along;
  using a_base = unit_loader<Unit, T, major::along, Tile::rows, depth, Tile::threads>;
  using b_base = unit_loader<Unit, T, lies, Tile::columns, depth, Tile::threads>;

  /// The line of the first operand, and of the second one, of a line in a box.
  struct row_lines {
    const grouped_results<Out>& results;
    FLAGGEMS_INLINE i64 operator()(int i) const { return results.line(i); }
  };
  struct column_lines {
    i64 first, n;
    FLAGGEMS_INLINE i64 operator()(int i) const { return first + i < n ? first + i : i64{-1}; }
  };
  template <template <class, class, class, int, int, int, class> class Loader, class Base,
            int Lines, class LineOf>
  using loader = Loader<Base, Unit, T, Lines, depth, Tile::threads, LineOf>;
  using steps = conditional<Forms::are_scaled, scaled_steps<Tile, Unit, depth>, plain_steps>;
  using a_loader = conditional<Forms::is_coded, loader<coded_loader, a_base, Tile::rows, row_lines>,
                               loader<gathered_loader, a_base, Tile::rows, row_lines>>;
  using b_loader =
      conditional<codes, loader<coded_loader, b_base, Tile::columns, column_lines>, b_base>;
  using product = tile_product<T, Tile, Unit, a_loader, b_loader, steps>;
  using words = typename product::words;
  static constexpr int max_threads = product::max_threads, exact_threads = max_threads;
  static constexpr int min_blocks = Tile::blocks, vectors = product::vectors;
  static constexpr int most_scratch = product::most_scratch;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const grouped_space& space, const coded_lines& a,
                                  const coded_lines& b, const grouped_out<Out>& out) {
    const auto stages = block.template scratch<words>(vectors);
    block.for_each_tile(space.row_tiles * space.column_tiles, [&](i64 index) FLAGGEMS_LAMBDA {
      const i64 column = index / space.row_tiles, j = column * Tile::columns;
      const grouped_tile tile =
          space.rows.find(index - column * space.row_tiles, Tile::rows, space.k);
      if (tile.begin >= tile.end) return;
      const grouped_results<Out> results{space, a, b, out, tile};
      const i64 terms = results.terms(), group = results.is_zero() ? 0 : tile.group;
      const row_lines rows{results};
      a_loader next_a(block.thread(), a, group, terms, rows);
      const grouped_vectors<Out, typename product::C> to{results};
      if constexpr (codes) {
        const column_lines columns{j, space.n};
        b_loader next_b(block.thread(), b, group, terms, columns);
        product::run(block, stages, next_a, next_b, terms, j, to);
      } else {
        const auto matrix = reinterpret_cast<global_ptr<const T>>(b.data) + group * b.group;
        const gemm_arg<T> regular{matrix, b.line, b.along, {}};
        b_loader next_b(block.thread(), matrix, regular, space.n, j, 0, terms);
        if constexpr (Forms::are_scaled) {
          const int thread = block.thread();
          const steps scales(results, j, [&](int i, int h) FLAGGEMS_LAMBDA {
            return product::row_of(thread, i, h);
          });
          product::run(block, stages, next_a, next_b, terms, j, to, scales);
        } else {
          product::run(block, stages, next_a, next_b, terms, j, to);
        }
      }
    });
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/gemm/simt/grouped_tiles.hpp");
