// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// Fourier transforms of rows on the host. Lanes are several rows, or the columns of one row seen as
// a matrix, whose columns are transformed, turned, and then its rows. Lengths with a large prime
// are convolved with a chirp, after Bluestein.
#pragma once

#include <flaggems/kernel/block/vector/block.hpp>
#include <flaggems/kernel/expr/rows.hpp>
#include <flaggems/kernel/family/transform/vector/columns.hpp>

namespace flaggems::kernels {

/// How rows of n elements are transformed: each as a matrix of `rows` by `columns`; with one
/// column, several rows in the lanes. `padded` elements are convolved where that is not 0.
struct fourier_plan {
  i64 n, rows, columns, padded;

  /// The elements that the stages see.
  FLAGGEMS_HOST_INLINE i64 length() const { return rows * columns; }
  FLAGGEMS_HOST_INLINE bool rows_in_lanes() const { return columns == 1; }
};

/// The bytes of `count` vectors of complex numbers, of the widest registers.
FLAGGEMS_HOST_INLINE constexpr i64 fourier_vectors(i64 count) { return count * 128; }
/// The vectors that hold n lanes: the last one overlaps with the one before.
FLAGGEMS_HOST_INLINE constexpr i64 fourier_blocks(i64 n, i64 lanes) { return ceil_div(n, lanes); }
FLAGGEMS_HOST_INLINE constexpr i64 fourier_block_start(i64 block, i64 n, i64 lanes) {
  return max_of(i64(0), min_of(block * lanes, n - lanes));
}

/// to[k] = exp(-2 pi i at(k) / order) for k < n, where at(k) = k or, of a chirp, k^2.
template <class C>
struct fourier_list_roots {
  struct arguments {
    i64 n, order;
    bool squares;
    complex<C>* to;
  };
  template <class Level>
  FLAGGEMS_HOST_INLINE static void run(const arguments& p) {
    using V = simd<C, fourier_isa<C, Level>>;
    using W = rebind<V, f64>;
    i64 square = 0;  // k^2 modulo the order
    for (i64 k = 0; k < p.n; k += V::lanes) {
      W at;
      FLAGGEMS_UNROLL
      for (int e = 0; e < V::lanes; ++e) {
        at.v[e] = static_cast<f64>(p.squares ? square : k + e);
        if (!p.squares) continue;
        square += 2 * (k + e) + 1;
        square -= square < p.order ? 0 : p.order;
      }
      const complex<W> z = root_of_unity(at, static_cast<f64>(p.order));
      write_numbers(p.to + k, complex<V>(convert<C>(z.re), convert<C>(z.im)),
                    min_of(p.n - k, i64(V::lanes)));
    }
  }
};

/// The roots that turn a matrix of `rows` by `columns` between its two transforms: exp(-2 pi i j k
/// / (rows * columns)) of row k and column j, by blocks of columns.
template <class C>
struct fourier_list_turns {
  struct arguments {
    i64 rows, columns;
    void* to;
  };
  template <class Level>
  FLAGGEMS_HOST_INLINE static void run(const arguments& p) {
    using V = simd<C, fourier_isa<C, Level>>;
    using W = rebind<V, f64>;
    // Products of roots from one that is computed, so that f32 is rounded once, and f64 a few
    // times.
    constexpr i64 products = is_same<C, f32> ? 64 : 4;
    const f64 order = static_cast<f64>(p.rows) * static_cast<f64>(p.columns);
    auto* to = static_cast<complex<V>*>(p.to);
    for (i64 b = 0; b < fourier_blocks(p.columns, V::lanes); ++b) {
      W column;
      FLAGGEMS_UNROLL
      for (int e = 0; e < V::lanes; ++e)
        column.v[e] = static_cast<f64>(
            min_of(fourier_block_start(b, p.columns, V::lanes) + e, p.columns - 1));
      const complex<W> one = root_of_unity(column, order);
      complex<W> now = one;
      for (i64 k = 0; k < p.rows; ++k, ++to) {
        if (k % products == 0) now = root_of_unity(W(column * W(static_cast<f64>(k))), order);
        *to = complex<V>(convert<C>(now.re), convert<C>(now.im));
        now = turned(now, one);
      }
    }
  }
};

/// to = scale * the transforms of `count` rows of n elements, one a lane, whose elements are
/// neighbours; or, with strides, of neighbours whose elements lie so far apart.
template <class C>
struct fourier_lanes {
  struct arguments {
    const complex<C>* const* from;
    complex<C>* const* to;
    i64 from_stride, to_stride;  // 0: elements are neighbours
    i64 count, n;
    const complex<C>* roots;
    void* memory;
    C scale;
    bool fetches;  // whether lines that will be written are asked for early
  };
  template <class Level>
  FLAGGEMS_HOST_INLINE static void run(const arguments& p) {
    using V = simd<C, fourier_isa<C, Level>>;
    using Z = complex<V>;
    constexpr i64 lanes = V::lanes, line = 64 / i64(sizeof(complex<C>));
    Z* const one = static_cast<Z*>(p.memory);
    if (p.from_stride != 0) {
      for (i64 k = 0; k < p.n; ++k)
        one[k] = read_numbers<V>(p.from[0] + k * p.from_stride, p.count);
    } else {
      for (i64 k = 0; k < p.n; k += lanes) {
        const i64 some = min_of(lanes, p.n - k);
        for (i64 r = 0; p.fetches && r < p.count; ++r)
          for (i64 e = 0; e < some; e += line) __builtin_prefetch(p.to[r] + k + e, 1);
        V re[lanes], im[lanes];
        FLAGGEMS_UNROLL
        for (i64 r = 0; r < lanes; ++r) {
          const Z z = read_numbers<V>(p.from[min_of(r, p.count - 1)] + k, some);
          re[r] = z.re, im[r] = z.im;
        }
        transpose_lanes(re);
        transpose_lanes(im);
        for (i64 e = 0; e < some; ++e) one[k + e] = Z(re[e], im[e]);
      }
    }
    const Z* const done = transform_columns<Level>(p.n, p.roots, one, one + p.n, one);
    const V scale(p.scale);
    if (p.to_stride != 0) {
      for (i64 k = 0; k < p.n; ++k)
        write_numbers(p.to[0] + k * p.to_stride, Z(done[k].re * scale, done[k].im * scale),
                      p.count);
      return;
    }
    for (i64 k = 0; k < p.n; k += lanes) {
      V re[lanes], im[lanes];
      FLAGGEMS_UNROLL
      for (i64 e = 0; e < lanes; ++e) {
        const Z& z = done[min_of(k + e, p.n - 1)];
        re[e] = z.re * scale, im[e] = z.im * scale;
      }
      transpose_lanes(re);
      transpose_lanes(im);
      for (i64 r = 0; r < p.count; ++r)
        write_numbers(p.to[r] + k, Z(re[r], im[r]), min_of(lanes, p.n - k));
    }
  }
};

/// to = scale * the transform of one row, a matrix of `rows` by `columns`: its columns are
/// transformed, element k of column j is turned by j k, and what results in each row is transformed
/// to elements that lie `rows` apart.
template <class C>
struct fourier_matrix {
  struct arguments {
    const complex<C>* from;
    complex<C>* to;
    i64 rows, columns;
    const complex<C>*row_roots, *column_roots;
    const void* turns;
    void* memory;
    C scale;
  };
  template <class Level>
  FLAGGEMS_HOST_INLINE static void run(const arguments& p) {
    using V = simd<C, fourier_isa<C, Level>>;
    using Z = complex<V>;
    constexpr i64 lanes = V::lanes;
    const i64 rows = p.rows, columns = p.columns;
    Z* const one = static_cast<Z*>(p.memory);
    Z* const other = one + max_of(rows, columns);
    Z* const between = other + max_of(rows, columns);  // by blocks of rows
    const Z* turns = static_cast<const Z*>(p.turns);
    const i64 row_blocks = fourier_blocks(rows, lanes);
    for (i64 b = 0; b < fourier_blocks(columns, lanes); ++b, turns += rows) {
      const i64 first = fourier_block_start(b, columns, lanes), count = min_of(lanes, columns);
      for (i64 k = 0; k < rows; ++k) one[k] = read_numbers<V>(p.from + k * columns + first, count);
      const Z* const done = transform_columns<Level>(rows, p.row_roots, one, other, one);
      for (i64 block = 0; block < row_blocks; ++block) {
        const i64 start = fourier_block_start(block, rows, lanes);
        V re[lanes], im[lanes];
        FLAGGEMS_UNROLL
        for (i64 e = 0; e < lanes; ++e) {
          const i64 k = min_of(start + e, rows - 1);
          const Z z = turned(done[k], turns[k]);
          re[e] = z.re, im[e] = z.im;
        }
        transpose_lanes(re);
        transpose_lanes(im);
        Z* const to = between + block * columns + first;
        for (i64 e = 0; e < count; ++e) to[e] = Z(re[e], im[e]);
      }
    }
    const V scale(p.scale);
    for (i64 block = 0; block < row_blocks; ++block) {
      const i64 start = fourier_block_start(block, rows, lanes), count = min_of(lanes, rows);
      const Z* const done =
          transform_columns<Level>(columns, p.column_roots, between + block * columns, one, other);
      for (i64 k = 0; k < columns; ++k)
        write_numbers(p.to + k * rows + start, Z(done[k].re * scale, done[k].im * scale), count);
    }
  }
};

/// The n elements of a row as neighbours: the first `given` are read, the others are 0.
template <class T>
struct fourier_read {
  using C = real_of<T>;
  struct arguments {
    const T* from;
    i64 stride, given, n;
    complex<C>* to;
  };
  template <class Level>
  FLAGGEMS_HOST_INLINE static void run(const arguments& p) {
    using V = simd<C, fourier_isa<C, Level>>;
    i64 k = 0;
    if constexpr (!is_complex<T>) {
      for (; p.stride == 1 && k + V::lanes <= p.given; k += V::lanes) {
        V re;
        read_vector(re, p.from + k);
        write_complex(p.to + k, complex<V>(re, V(C(0))));
      }
    }
    for (; k < p.given; ++k) {
      if constexpr (is_complex<T>)
        p.to[k] = p.from[k * p.stride];
      else
        p.to[k] = complex<C>(p.from[k * p.stride], C(0));
    }
    for (; k < p.n; ++k) p.to[k] = complex<C>(C(0), C(0));
  }
};

/// to = (a or its conjugate) * b, or the conjugate of that, for n numbers; `to` may be a.
template <class C>
struct fourier_multiply {
  struct arguments {
    const complex<C>*a, *b;
    complex<C>* to;
    i64 n;
    bool of_conjugate, conjugated;
  };
  template <class Level>
  FLAGGEMS_HOST_INLINE static void run(const arguments& p) {
    using V = simd<C, fourier_isa<C, Level>>;
    const V of(C(p.of_conjugate ? -1 : 1)), to(C(p.conjugated ? -1 : 1));
    for (i64 k = 0; k < p.n; k += V::lanes) {
      const i64 count = min_of(p.n - k, i64(V::lanes));
      const complex<V> a = read_numbers<V>(p.a + k, count), b = read_numbers<V>(p.b + k, count);
      const complex<V> z = turned(complex<V>(a.re, a.im * of), b);
      write_numbers(p.to + k, complex<V>(z.re, z.im * to), count);
    }
  }
};

/// out = scale * the transforms of rows of n elements, whose first `given` are x's; the others
/// count as 0.
template <class T>
struct fourier_rows {
  using C = real_of<T>;
  using Z = complex<C>;
  static constexpr bool has_parts = true;
  static constexpr i64 most_lanes = 16;
  // Results of one group stay in the first cache, those of all would not in the second.
  static constexpr i64 cached_lines = 160, cached_numbers = 1 << 16;

  /// The bytes of scratch that a launch needs.
  static constexpr i64 scratch(const fourier_plan& plan) {
    const i64 size = i64(sizeof(Z)), apart = 256;  // of arrays
    const i64 copies =
        2 * (plan.rows_in_lanes() ? most_lanes : 1) * max_of(plan.n, plan.padded) * size;
    const i64 chirp = plan.padded == 0 ? 0 : (plan.n + 2 * plan.padded) * size;
    const i64 tables = (plan.rows + plan.columns) * size +
                       (plan.rows_in_lanes() ? 0 : (plan.columns + most_lanes) * plan.rows * size);
    const i64 work = fourier_vectors(2 * max_of(plan.rows, plan.columns)) +
                     (plan.rows_in_lanes() ? 0 : (plan.rows + most_lanes) * plan.columns * size);
    return copies + chirp + tables + work + 10 * apart;
  }

  template <class Block>
  FLAGGEMS_HOST_INLINE static void run(Block& block, row_space space, fourier_plan plan, i64 given,
                                       row_arg<T> from, row_target<Z> out, C scale) {
    if (plan.rows_in_lanes())
      run_lanes(block, space, plan, given, from, out, scale);
    else
      run_matrices(block, space, plan, given, from, out, scale);
  }

 private:
  template <class Part, class Block>
  FLAGGEMS_HOST_INLINE static void call(const Block& block, const typename Part::arguments& p) {
    block.template part<Part, typename Part::arguments>().call(p);
  }
  template <class Block>
  FLAGGEMS_HOST_INLINE static Z* roots_of(Block& block, i64 n) {
    Z* const roots = block.template scratch<Z>(n).data;
    call<fourier_list_roots<C>>(block, {n, n, false, roots});
    return roots;
  }
  template <class Block>
  FLAGGEMS_HOST_INLINE static void* bytes_of(Block& block, i64 bytes) {
    return block.template scratch<unsigned char>(bytes).data;
  }

  /// Several rows, one in each lane.
  template <class Block>
  FLAGGEMS_HOST_INLINE static void run_lanes(Block& block, const row_space& space,
                                             const fourier_plan& plan, i64 given,
                                             const row_arg<T>& from, const row_target<Z>& out,
                                             C scale) {
    using part = fourier_lanes<C>;
    const auto transform = block.template part<part, typename part::arguments>();
    const i64 n = plan.n;
    const i64 lanes = fourier_width<C>(transform.lanes);
    void* const memory = bytes_of(block, fourier_vectors(2 * n));
    const Z* const roots = roots_of(block, n);
    const bool fetches = n < cached_lines && space.rows * n > cached_numbers;
    Z* const copied = block.template scratch<Z>(lanes * n).data;
    Z* const written = block.template scratch<Z>(lanes * n).data;
    block.for_each_share(ceil_div(space.rows, lanes), [&](i64 begin, i64 end) FLAGGEMS_LAMBDA {
      for (i64 group = begin; group < end; ++group) {
        const i64 first = group * lanes, count = min_of(lanes, space.rows - first);
        const coordinates c = space.locate(first);
        const bool together = c.rank > 0 && c.at[c.rank - 1] + count <= space.sizes[c.rank - 1];
        const auto x = from.at(c);
        const auto to = out.at(c);
        const i64 x_step = group_step(c, from.strides), to_step = group_step(c, out.strides);
        const bool whole = is_complex<T> && given == n;  // may be read where it lies
        const bool reads = whole && x.stride == 1, writes = to.stride == 1;
        const bool reads_lanes = !reads && whole && together && x_step == 1 && x.stride != 0;
        const bool writes_lanes = !writes && together && to_step == 1 && to.stride != 0;
        const Z* sources[most_lanes];
        Z *results[most_lanes], *targets[most_lanes];
        for (i64 r = 0; r < count; ++r) {
          const coordinates own = together ? c : space.locate(first + r);
          const T* const row = together ? x.data + r * x_step : from.at(own).data;
          results[r] = together ? to.data + r * to_step : out.at(own).data;
          targets[r] = writes || writes_lanes ? results[r] : written + r * n;
          sources[r] = copied + r * n;
          if constexpr (is_complex<T>)
            if (reads || reads_lanes) sources[r] = row;
          if (!reads && !reads_lanes)
            call<fourier_read<T>>(block, {row, x.stride, given, n, copied + r * n});
        }
        transform.call({sources, targets, reads_lanes ? x.stride : 0, writes_lanes ? to.stride : 0,
                        count, n, roots, memory, scale, fetches});
        if (writes || writes_lanes) continue;
        for (i64 r = 0; r < count; ++r)
          for (i64 k = 0; k < n; ++k) results[r][k * to.stride] = written[r * n + k];
      }
    });
  }

  /// Row by row, each a matrix.
  template <class Block>
  FLAGGEMS_HOST_INLINE static void run_matrices(Block& block, const row_space& space,
                                                const fourier_plan& plan, i64 given,
                                                const row_arg<T>& from, const row_target<Z>& out,
                                                C scale) {
    const i64 n = plan.n, rows = plan.rows, columns = plan.columns, length = plan.length();
    typename fourier_matrix<C>::arguments p{};
    p.rows = rows, p.columns = columns;
    p.memory = bytes_of(block, fourier_vectors(2 * max_of(rows, columns)) +
                                   (rows + most_lanes) * columns * i64(sizeof(Z)));
    p.row_roots = roots_of(block, rows);
    p.column_roots = rows == columns ? p.row_roots : roots_of(block, columns);
    void* const turns = bytes_of(block, (columns + most_lanes) * rows * i64(sizeof(Z)));
    call<fourier_list_turns<C>>(block, {rows, columns, turns});
    p.turns = turns;
    const auto transform = [&](const Z* source, Z* to, C by) FLAGGEMS_LAMBDA {
      p.from = source, p.to = to, p.scale = by;
      call<fourier_matrix<C>>(block, p);
    };
    Z* const copied = block.template scratch<Z>(length).data;
    Z* const written = block.template scratch<Z>(length).data;
    Z *chirp = nullptr, *filter = nullptr;
    if (plan.padded != 0) {
      chirp = block.template scratch<Z>(n).data;
      filter = block.template scratch<Z>(length).data;
      call<fourier_list_roots<C>>(block, {n, 2 * n, true, chirp});
      for (i64 k = 0; k < length; ++k) copied[k] = Z(C(0), C(0));
      for (i64 k = 0; k < n; ++k)
        copied[k] = copied[k == 0 ? 0 : length - k] = Z(chirp[k].re, -chirp[k].im);
      transform(copied, filter, C(1) / static_cast<C>(length));
    }
    for_each_row(block, space, [&](const coordinates& c) FLAGGEMS_LAMBDA {
      const auto x = from.at(c);
      const auto to = out.at(c);
      const Z* source = copied;
      bool in_place = false;
      if constexpr (is_complex<T>) in_place = plan.padded == 0 && x.stride == 1 && given == n;
      if constexpr (is_complex<T>)
        if (in_place) source = x.data;
      if (!in_place) call<fourier_read<T>>(block, {x.data, x.stride, given, length, copied});
      Z* const result = to.stride == 1 && plan.padded == 0 ? to.data : written;
      if (plan.padded == 0) {
        transform(source, result, scale);
      } else {
        // The convolution's inverse transform is the conjugate of that of the conjugate.
        using product = fourier_multiply<C>;
        call<product>(block, {copied, chirp, copied, n, false, false});
        transform(copied, written, C(1));
        call<product>(block, {written, filter, copied, length, false, true});
        transform(copied, written, scale);
        call<product>(block, {written, chirp, written, n, true, false});
      }
      if (result == to.data) return;
      for (i64 k = 0; k < n; ++k) to.data[k * to.stride] = written[k];
    });
  }
};

}  // namespace flaggems::kernels
