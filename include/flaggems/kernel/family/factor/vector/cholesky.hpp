// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// Factors of Cholesky on the host. Both kernels make U of A = U^T U in a workspace, whose rows are
// the columns of L, and leave zeros in the other triangle. Of A the lower triangle counts; the
// factors may be in its place.
#pragma once

#include <flaggems/kernel/family/factor/vector/workspace.hpp>

namespace flaggems::kernels {

/// A matrix at a time, by panels of rows, which take what is above them when it is their turn.
template <class T>
struct cholesky_blocks {
  static constexpr i64 scratch(i64 n) { return workspace_elements(n, n); }

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const row_space& space, i64 n,
                                  const matrices<const T>& from, const matrices<T>& factors,
                                  const matrices<i32>& infos) {
    const i64 row = workspace_row(n);
    T* const u = block.template scratch<T>(scratch(n)).data;
    for_each_row(block, space, [&](const coordinates& c) FLAGGEMS_LAMBDA {
      move_matrix<T>({u, row, 1}, from.at(c).transposed(), n, n);
      infos.at(c).write(0, 0, factor<typename Block::isa>(u, row, n));
      for (i64 k = 1; k < n; ++k)
        __builtin_memset(static_cast<void*>(u + k * row), 0, static_cast<u64>(k) * sizeof(T));
      move_matrix<T>(factors.at(c).transposed(), {u, row, 1}, n, n);
    });
  }

 private:
  /// Gives the matrix's `info`.
  template <class Isa>
  FLAGGEMS_HOST_INLINE static i32 factor(T* u, i64 row, i64 n) {
    using lines = workspace_lines<T, Isa>;
    constexpr i64 lanes = Isa::lanes;
    for (i64 k = 0; k < n; k += panel_columns) {
      const i64 end = min_of(n, k + panel_columns);
      const subtracted_product<T> above{k, u + k, 1, row, u + k, row, u + k * row + k, row};
      if (k > 0) above.template run<Isa>(end - k, n - k);
      for (i64 p = k; p < end; ++p) {
        T* const line = u + p * row;
        const T pivot = line[p];
        if (!(pivot > T(0))) return static_cast<i32>(p + 1);
        const T root = sqrt(pivot);
        const i64 first = p / lanes * lanes;  // what is before the diagonal does not matter
        lines::divide(line + first, root, n - first);
        line[p] = root;
        for (i64 q = p + 1; q < end; ++q) {
          const i64 begin = q / lanes * lanes;
          lines::add(u + q * row + begin, -line[q], line + begin, n - begin);
        }
      }
    }
    return 0;
  }
};

/// Many small matrices, one in each lane of a vector.
template <class T>
struct cholesky_groups {
  static constexpr i64 scratch(i64 n) { return n * n * matrices_at_once; }

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const row_space& space, i64 n,
                                  const matrices<const T>& from, const matrices<T>& factors,
                                  const matrices<i32>& infos) {
    using Isa = typename Block::isa;
    using V = typename matrix_group<T, Isa>::V;
    using J = typename simd_type<i32, Isa>::type;
    T* const memory = block.template scratch<T>(scratch(n)).data;
    for_each_group(block, space, memory, n, [&](const auto& u) FLAGGEMS_LAMBDA {
      u.load(from.transposed(), n);
      J info(0);
      for (i64 k = 0; k < n; ++k) {
        const V pivot = u.read(k, k);
        info = select(!(pivot > V(T(0))) & (info == J(0)), J(static_cast<i32>(k + 1)), info);
        const V root = sqrt(pivot);
        u.write(k, k, root);
        for (i64 j = k + 1; j < n; ++j) u.write(k, j, u.read(k, j) / root);
        for (i64 i = k + 1; i < n; ++i) u.subtract(i, i, n, k, u.read(k, i));
      }
      for (i64 i = 1; i < n; ++i)
        for (i64 j = 0; j < i; ++j) u.write(i, j, V(T(0)));
      u.store(factors.transposed(), n);
      for (int k = 0; k < u.count; ++k) infos.at(u.places[k]).write(0, 0, info[k]);
    });
  }
};

}  // namespace flaggems::kernels
