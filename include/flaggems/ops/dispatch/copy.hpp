// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// How one layout is copied to another: blocks in a planned order on vector workers; flat,
// transposed or strided kernels on SIMT devices.
#pragma once

#include <flaggems/kernel/family/copy/simt/transpose.hpp>
#include <flaggems/kernel/family/copy/vector/blocks.hpp>
#include <flaggems/kernel/family/copy/vector/triangle.hpp>
#include <flaggems/launch/streaming.hpp>
#include <flaggems/launch/tuning.hpp>
#include <flaggems/ops/dispatch/gathered_copy.hpp>
#include <flaggems/ops/dispatch/pointwise.hpp>
#include <flaggems/ops/plan/copy.hpp>

namespace flaggems::detail {

/// Launches the kernel of a plan for elements of `Size` bytes, or rows of some.
template <int Size, class S>
void launch_copy(const S& stream, const launch_config& config, const copy_plan& plan,
                 unsigned char* to, const unsigned char* from) {
  if (plan.rows) return launch<kernels::copy_blocks_of_rows>(stream, config, plan.space, to, from);
  const auto by_elements = [&](auto size) {
    if constexpr (size >= Size) {
      if (plan.item == size)
        launch<kernels::copy_blocks_of_elements<kernels::uint_of_size<size>>>(stream, config,
                                                                              plan.space, to, from);
    }
  };
  by_elements(std::integral_constant<int, 1>{});
  by_elements(std::integral_constant<int, 2>{});
  by_elements(std::integral_constant<int, 4>{});
  by_elements(std::integral_constant<int, 8>{});
}

/// Whether two layouts of the same sizes are both contiguous.
inline bool are_contiguous(const memory_layout& a, const memory_layout& b) {
  i64 step = 1;
  for (int d = a.sizes.size() - 1; d >= 0; --d) {
    const i64 n = a.sizes[d];
    if (n != 1 && (a.strides[d] != step || b.strides[d] != step)) return false;
    step *= n;
  }
  return true;
}

/// The elements of an output, which its layout has as const like those of an input.
inline unsigned char* written(const memory_layout& out) {
  return const_cast<unsigned char*>(out.data);
}

/// Copies what is contiguous in both; part of a copy of `total` bytes.
template <class S>
void copy_contiguous(const char* op, const S& stream, const memory_layout& out,
                     const memory_layout& x, i64 bytes, i64 total) {
  launch_config config;
  config.op = op;
  config.tiles = kernels::ceil_div(bytes, kernels::copy_flat::piece);
  config.work = 2 * bytes;
  launch<kernels::copy_flat>(stream, config, bytes, is_streamed<device_of<S>>(2 * total),
                             written(out), x.data);
}

/// out = x on the host, of one dtype and of the same sizes, or x broadcasts; part of a copy of
/// `total` bytes. There are elements, and all checks have passed.
template <int Size, class S>
void copy_layout(const char* op, const S& stream, const memory_layout& out, const memory_layout& x,
                 i64 total) {
  copy_plan plan(out, x);
  plan.stage(is_streamed<device_of<S>>(2 * total));
  launch_config config;
  config.op = op;
  config.tiles = plan.space.blocks;
  config.work = 2 * plan.bytes;
  launch_copy<Size>(stream, config, plan, written(out), x.data);
}

/// Whether SIMT devices copy an iteration space by transposing tiles: the output is contiguous
/// along the last dimension, the input along the one before, and both fill a cache line or nearly.
template <class Device>
bool is_transposed(const iteration& it, i64 item) {
  constexpr i64 line = tuning<families::copy, Device>::line;
  const int inner = it.rank() - 1;
  return inner > 0 && it.stride(0, inner) == 1 && it.stride(1, inner - 1) == 1 &&
         it.size(inner) * item >= line && it.size(inner - 1) * item >= line;
}

/// The same space for its kernels, whose tiles have so many rows and columns, those in some rows up
/// to `shift` further to the left.
inline kernels::transposed_space transposed_space_of(const iteration& it, i64 rows, i64 columns,
                                                     i64 shift) {
  const int inner = it.rank() - 1;
  kernels::transposed_space space;
  space.rows = it.size(inner - 1);
  space.columns = it.size(inner);
  space.to_row = it.stride(0, inner - 1);
  space.from_column = it.stride(1, inner);
  const i64 wide = kernels::ceil_div(space.columns + shift, columns);
  const i64 high = kernels::ceil_div(space.rows, rows);
  space.wide = divider_by(wide);
  space.high = divider_by(high);
  space.rank = inner - 1;
  space.least = 0, space.behind = 1;
  for (int d = 0; d <= inner; ++d) {
    const i64 reach = (it.size(d) - 1) * it.stride(1, d);
    (reach < 0 ? space.least : space.behind) += reach;
  }
  i64 tiles = wide * high;
  for (int d = 0; d < space.rank; ++d) {
    space.sizes[d] = divider_by(it.size(d));
    space.to[d] = it.stride(0, d);
    space.from[d] = it.stride(1, d);
    tiles *= it.size(d);
  }
  space.tiles = static_cast<u32>(tiles);
  return space;
}
/// Whether vectors of 16 bytes lie along both sides of such a space.
inline bool is_vectorizable_across(const iteration& it, const memory_layout& out,
                                   const memory_layout& x) {
  const int inner = it.rank() - 1;
  u64 odd = reinterpret_cast<u64>(out.data) | reinterpret_cast<u64>(x.data);
  for (int d = 0; d <= inner; ++d)
    odd |= static_cast<u64>((d < inner ? it.stride(0, d) : it.size(d)) * out.item) |
           static_cast<u64>((d != inner - 1 ? it.stride(1, d) : it.size(d)) * x.item);
  return odd % 16 == 0;
}

/// The space of a copy.
FLAGGEMS_NOINLINE_ONCE iteration plan_copy(const memory_layout& out, const memory_layout& x) {
  iteration it(out.sizes);
  it.add(out.sizes, out.strides);
  it.add(x.sizes, x.strides);
  it.collapse();
  it.arrange_transposed();
  return it;
}

/// A copy of the layouts out and x that is_transposed, by Kernel, one of those in
/// kernel/family/copy/simt/transpose.hpp.
template <class Kernel, class S>
void copy_transposed(const S& stream, launch_config config, const iteration& it,
                     const memory_layout (&layouts)[2]) {
  using word = typename Kernel::word;
  const kernels::transposed_space space =
      transposed_space_of(it, Kernel::side, Kernel::columns, Kernel::shift);
  config.tiles = space.tiles;
  config.threads = Kernel::block_threads;
  config.blocks_per_unit = 0;
  config.scratch = Kernel::scratch_bytes;
  launch<Kernel>(stream, config, space, reinterpret_cast<word*>(written(layouts[0])),
                 reinterpret_cast<const word*>(layouts[1].data));
}

/// out = x on a SIMT device, n elements of Word's size; x has the same sizes, or broadcasts. There
/// are elements, and all checks have passed.
template <class Word, class S>
void simt_copy(const char* op, const S& stream, const memory_layout& out, const memory_layout& x,
               i64 n, bool flat) {
  auto* const written_words = reinterpret_cast<Word*>(written(out));
  const auto* const read_words = reinterpret_cast<const Word*>(x.data);
  launch_config config;
  config.op = op;
  config.work = work_of(n, sizeof(Word), 2);
  using flat_word = kernels::flat_arg<Word, Word>;
  if (flat) return launch_flat(stream, config, n, written_words, flat_word{read_words});
  const memory_layout layouts[] = {out, x};
  const iteration it = plan_copy(out, x);
  using numbers = tuning<families::copy, device_of<S>>;
  if (is_transposed<device_of<S>>(it, sizeof(Word))) {
    using shifted = kernels::transposed_shifted<Word>;
    if (is_vectorizable_across(it, layouts[0], layouts[1]))
      return copy_transposed<kernels::transposed_vectors<Word>>(stream, config, it, layouts);
    if (it.size(it.rank() - 1) >= 2 * shifted::columns &&
        n >= numbers::shifted_tiles * shifted::side * shifted::columns)
      return copy_transposed<shifted>(stream, config, it, layouts);
    return copy_transposed<kernels::transposed_singles<Word>>(stream, config, it, layouts);
  }
  if (copy_few_rows<Word>(op, stream, it, out, x, n)) return;
  if (it.rank() == 2 && it.stride(0, 1) == 1 && it.stride(1, 1) == 1) {
    const i64 sizes[] = {it.size(0), it.size(1)};
    const i64 strides[][2] = {{it.stride(0, 0), 1}, {it.stride(1, 0), 1}};
    row_joiner rows({out.data, out.item, sizes, strides[0]}, 1);
    const memory_layout row_input{x.data, x.item, sizes, strides[1]};
    rows.measure(row_input);
    if (rows.template settle<device_of<S>>()) {
      rows.add(stream, config, row_input);
      return rows.flush(stream, config);
    }
  }
  if constexpr (sizeof(Word) < 4) {  // stores of single ones would not keep the memory busy
    if (!is_vectorizable(it, 0, 16 / sizeof(Word), layouts) &&
        copy_scattered<Word>(op, stream, it, out, x, n))
      return;
  }
  kernels::target<Word> to{written_words, {}};
  kernels::arg<Word, Word> from{read_words, {}};
  it.copy_strides(0, to.strides);
  it.copy_strides(1, from.strides);
  launch_strided(stream, config, it, layouts, to, from);
}

/// Copies elements of `Size` bytes by the kernels that suit the device and the layouts; `flat`:
/// both are contiguous, n elements. All checks have passed.
template <int Size, class S>
void launch_copy_of(const char* op, const S& stream, const memory_layout& out,
                    const memory_layout& x, i64 n, bool flat, i64 total = 0) {
  const i64 bytes = n * Size;
  if constexpr (has_simt<device_of<S>>)
    simt_copy<kernels::uint_of_size<Size>>(op, stream, out, x, n, flat);
  else if (flat)
    copy_contiguous(op, stream, out, x, bytes, total != 0 ? total : bytes);
  else
    copy_layout<Size>(op, stream, out, x, total != 0 ? total : bytes);
}

/// Whether triangles of matrices are copied by rows, not computed by a formula of coordinates.
template <class D>
inline constexpr bool copies_triangles = has_vectors<D>;

/// out = the part of the matrices x where column - row >= diagonal, or <= it if `lower`, and zero
/// elsewhere, on vector workers: rows by copies. Words of W; there are elements, and all checks
/// have passed. Matrices that lie by columns are written as their transposes.
template <class W, class S, class D>
void copy_triangle(const char* op, const S& stream, const tensor_view<W, D>& given_out,
                   const tensor_view<const W, D>& given, i64 diagonal, bool lower) {
  const auto magnitude = [](i64 k) { return k < 0 ? -k : k; };
  const bool by_columns = magnitude(given_out.stride(-2)) < magnitude(given_out.stride(-1));
  const auto out = by_columns ? given_out.transpose(-2, -1) : given_out;
  const auto x = by_columns ? given.transpose(-2, -1) : given;
  const int last = out.rank() - 1;
  shape sizes = out.shape_of(), to_strides(out.strides()), from_strides(x.strides()), row(sizes);
  for (int d = 0; d < last; ++d) row[d] = d == last - 1 ? 1 : 0;
  sizes.erase(last), to_strides.erase(last), from_strides.erase(last), row.erase(last);
  iteration it(sizes);
  it.add(sizes, to_strides);
  it.add(sizes, from_strides);
  it.add(sizes, row);
  it.collapse();
  constexpr i64 rows_of_tile = 16;
  kernels::triangle_space space{it.tiles(rows_of_tile),
                                out.size(last),
                                out.stride(last),
                                x.stride(last),
                                {},
                                by_columns ? -diagonal : diagonal,
                                lower != by_columns};
  kernels::target<W> to{out.data(), {}};
  kernels::arg<W, W> from{x.data(), {}};
  it.copy_strides(0, to.strides);
  it.copy_strides(1, from.strides);
  it.copy_strides(2, space.row);
  launch_config config;
  config.op = op;
  config.tiles = space.rows.tiles;
  config.work = work_of(out.numel(), sizeof(W), 2);
  space.rows.streamed = out.data() != x.data() && is_streamed<D>(config.work);
  launch<kernels::triangle<W>>(stream, config, space, to, from);
}

}  // namespace flaggems::detail
