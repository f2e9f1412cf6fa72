// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// Singular values alone on the host: reflections from both sides leave two diagonals (Golub and
// Kahan 1965), of which rotations leave one.
#pragma once

#include <flaggems/kernel/family/factor/svd.hpp>
#include <flaggems/kernel/family/factor/vector/bidiagonal.hpp>
#include <flaggems/kernel/family/factor/vector/workspace.hpp>

namespace flaggems::kernels {

/// The singular values of matrices of m rows and n columns, m >= n, in descending order. `info` is
/// 0; 1 if a matrix is not finite, 2 if the rotations did not converge.
template <class T>
struct bidiagonal_svd {
  static constexpr i64 scratch(i64 m, i64 n) {
    return workspace_elements(m, n) + 2 * workspace_row(n) + workspace_row(m) + 2 * n;
  }

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const row_space& space, i64 m, i64 n,
                                  const matrices<const T>& from, const matrices<T>& values,
                                  const matrices<i32>& infos) {
    using work = steps<typename Block::isa>;
    work w(block.template scratch<T>(scratch(m, n)).data, m, n);
    for_each_row(block, space, [&](const coordinates& c) FLAGGEMS_LAMBDA {
      w.load(from.at(c));
      const T greatest = w.greatest();
      const bool finite = greatest - greatest == T(0);
      i32 info = finite ? 0 : 1;
      if (finite) {
        const T scale = scale_of(greatest);
        if (scale != T(1)) w.scale(scale);
        w.reduce();
        if (!bidiagonal_values<T>::find(w.diagonal, w.beside, n)) info = 2;
        for (i64 k = 0; k < n; ++k) w.diagonal[k] = w.diagonal[k] / scale;
      }
      const auto to = values.at(c).down(0, 0);
      for (i64 k = 0; k < n; ++k) to.write(k, finite ? w.diagonal[k] : greatest - greatest);
      infos.at(c).write(0, 0, info);
    });
  }

 private:
  template <class Isa>
  struct steps {
    using lines = workspace_lines<T, Isa>;
    using V = typename lines::V;
    static constexpr i64 lanes = Isa::lanes;
    i64 m, n, row;
    T *a, *along, *across, *down, *diagonal, *beside;

    FLAGGEMS_HOST_INLINE steps(T* memory, i64 height, i64 width)
        : m(height), n(width), row(workspace_row(width)), a(memory) {
      along = a + workspace_elements(m, n);
      across = along + row;
      down = across + row;
      diagonal = down + workspace_row(m);
      beside = diagonal + n;
    }
    /// Zeros lie behind the columns, so that vectors of them add nothing.
    FLAGGEMS_HOST_INLINE void load(const matrix<const T>& from) const {
      move_matrix<T>({a, row, 1}, from, m, n);
      for (i64 i = 0; i < m; ++i)
        for (i64 j = n; j < row; ++j) a[i * row + j] = T(0);
    }
    FLAGGEMS_HOST_INLINE T greatest() const {
      T all = T(0);
      for (i64 i = 0; i < m; ++i) all = maximum_of{}(all, lines::greatest(a + i * row, n));
      return all;
    }
    FLAGGEMS_HOST_INLINE void scale(T by) const {
      for (i64 i = 0; i < m; ++i) lines::scale(a + i * row, by, n);
    }

    /// H = 1 - tau v v^T, which makes length, 0, ... of x; v, which begins with 1, is put there.
    struct reflection {
      T length, tau;
    };
    FLAGGEMS_HOST_INLINE static reflection reflect(T* x, i64 count) {
      T unit = T(1), first = x[0], rest = squares(x + 1, count - 1);
      if (first * first + rest < smallest_square<T>) {  // or it might vanish, or have few digits
        unit = enlarged<T>;
        lines::scale(x, unit, count);
        first = x[0];
        rest = squares(x + 1, count - 1);
      }
      x[0] = T(1);
      if (rest == T(0)) return {first / unit, T(0)};
      const T size = sqrt(first * first + rest), length = first > T(0) ? -size : size;
      const T by = T(1) / (first - length);
      lines::scale(x + 1, by, count - 1);
      return {length / unit, (length - first) / length};
    }
    FLAGGEMS_HOST_INLINE static T squares(const T* x, i64 count) {
      V sum(T(0));
      i64 j = 0;
      for (; j + lanes <= count; j += lanes) sum = sum + lines::read(x + j) * lines::read(x + j);
      T all = j > 0 ? horizontal(sum, plus{}) : T(0);
      for (; j < count; ++j) all += x[j] * x[j];
      return all;
    }

    /// Two passes over the rest of the matrix for each column and row: the first one finds
    /// across = -tau v^T A, the second one updates from both sides and gives the next column.
    FLAGGEMS_HOST_INLINE void reduce() const {
      for (i64 i = 0; i < m; ++i) down[i] = a[i * row];
      for (i64 k = 0; k < n; ++k) {
        const reflection left = reflect(down + k, m - k);
        diagonal[k] = left.length;
        if (k + 1 == n) break;
        const i64 begin = (k + 1) / lanes * lanes, width = round_up(n, lanes) - begin;
        T* const top = a + k * row;
        for (i64 j = begin; j < begin + width; ++j) across[j] = T(0);
        outlined<Isa>::template call<add_rows<T, T, 1>>(add_arguments<T, T>{
            down + k, top + begin, row, static_cast<int>(m - k), across + begin, 0, width});
        lines::scale(across + begin, -left.tau, width);
        lines::add(top + begin, T(1), across + begin, width);
        for (i64 j = begin; j < begin + width; ++j) along[j] = j > k ? top[j] : T(0);
        const reflection right = reflect(along + k + 1, n - k - 1);
        beside[k] = right.length;
        i64 i = k + 1;
        for (; i + 4 <= m; i += 4) update<4>(i, k + 1, begin, width, right.tau);
        for (; i < m; ++i) update<1>(i, k + 1, begin, width, right.tau);
      }
    }
    template <int Rows>
    FLAGGEMS_HOST_INLINE void update(i64 i, i64 next, i64 begin, i64 width, T tau) const {
      T* const first = a + i * row + begin;
      V sums[Rows], by[Rows];
      FLAGGEMS_UNROLL
      for (int r = 0; r < Rows; ++r) {
        sums[r] = V(T(0));
        by[r] = V(down[i + r]);
      }
      for (i64 j = 0; j < width; j += lanes) {
        const V x = lines::read(across + begin + j), y = lines::read(along + begin + j);
        FLAGGEMS_UNROLL
        for (int r = 0; r < Rows; ++r) {
          T* const place = first + r * row + j;
          const V z = lines::read(place) + by[r] * x;
          lines::write(place, z);
          sums[r] = sums[r] + z * y;
        }
      }
      FLAGGEMS_UNROLL
      for (int r = 0; r < Rows; ++r) by[r] = V(-tau * horizontal(sums[r], plus{}));
      for (i64 j = 0; j < width; j += lanes) {
        const V y = lines::read(along + begin + j);
        FLAGGEMS_UNROLL
        for (int r = 0; r < Rows; ++r) {
          T* const place = first + r * row + j;
          lines::write(place, lines::read(place) + by[r] * y);
        }
      }
      FLAGGEMS_UNROLL
      for (int r = 0; r < Rows; ++r) down[i + r] = a[(i + r) * row + next];
    }
  };
};

}  // namespace flaggems::kernels
