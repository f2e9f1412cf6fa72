// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// How products of quantised weights are computed.
#pragma once

#include <flaggems/detail/cpu.hpp>
#include <flaggems/kernel/family/quantized/linear.hpp>
#include <flaggems/kernel/family/quantized/vector/bytes.hpp>
#include <flaggems/kernel/family/quantized/vector/linear.hpp>
#include <flaggems/launch/tuning.hpp>
#include <flaggems/ops/plan/rows.hpp>

namespace flaggems {

/// A view of a matrix in blocks of `Format` (kernels::q4_0, q4_1, q8_0): row after row, each of
/// columns / 32 blocks, as GGUF stores them. Any alignment. Owns nothing.
template <class Format, class Device = host>
class quantized_matrix {
 public:
  using format = Format;
  using device_type = Device;

  /// `data` has bytes() bytes. Raises invalid_argument unless rows >= 0, columns is a multiple of
  /// 32 and `data` is not null (but for 0 bytes).
  quantized_matrix(const void* data, i64 rows, i64 columns)
      : data_(static_cast<const u8*>(data)), rows_(rows), columns_(columns) {
    if (rows < 0 || columns < 0 || columns % kernels::quantized_block != 0) [[unlikely]]
      raise(errc::invalid_argument, "quantized_matrix",
            "rows of a multiple of 32 columns, and sizes that are not negative",
            to_string(shape{rows, columns}));
    i64 row = 0, all = 0;
    if (!detail::multiply(columns / kernels::quantized_block, i64{Format::bytes}, row) ||
        !detail::multiply(rows, row, all)) [[unlikely]]
      raise(errc::invalid_argument, "quantized_matrix", "fewer than 2^63 bytes",
            to_string(shape{rows, columns}));
    if (data == nullptr && all != 0) [[unlikely]]
      detail::raise_null("quantized_matrix", shape{rows, columns});
  }

  [[nodiscard]] const u8* data() const noexcept { return data_; }
  [[nodiscard]] i64 rows() const noexcept { return rows_; }
  [[nodiscard]] i64 columns() const noexcept { return columns_; }
  [[nodiscard]] i64 row_bytes() const noexcept {
    return columns_ / kernels::quantized_block * Format::bytes;
  }
  [[nodiscard]] i64 bytes() const noexcept { return rows_ * row_bytes(); }
  /// The rows [start, start + length). Raises out_of_range.
  [[nodiscard]] quantized_matrix narrow(i64 start, i64 length) const {
    if (start < 0 || length < 0 || start > rows_ - length) [[unlikely]]
      raise(errc::out_of_range, "quantized_matrix", "rows within " + detail::text(rows_),
            detail::text(length) + " from " + detail::text(start) + " on");
    return {data_ + start * row_bytes(), length, columns_};
  }

 private:
  const u8* data_;
  i64 rows_, columns_;
};

}  // namespace flaggems

namespace flaggems::detail {

template <class Format, class D, class X, class Out>
struct quantized_linear_call {
  using T = typename X::value_type;
  using O = typename Out::value_type;
  kernels::gemm_space space{};
  kernels::gemm_arg<T> x{};
  kernels::gemm_out<O, f32> out{};
  launch_config config{};

  template <class S>
  void run(const S& stream, const X& from, const quantized_matrix<Format, D>& w, const Out& to) {
    plan(from, w, to);
    if constexpr (has_thread_pool<D>)
      go_on_host(stream, w);
    else if (w.columns() > 1 && x.along != 1)
      go<1, 4, kernels::stepping::strided>(stream, w);
    else if (space.m == 1)
      go<1, 4, kernels::stepping::contiguous>(stream, w);
    else
      go<8, 1, kernels::stepping::contiguous>(stream, w);
  }

  /// With activations of 8 bits, in integers.
  template <class S>
  void run_in_bytes(const S& stream, const X& from, const quantized_matrix<Format, D>& w,
                    const Out& to) {
    using kernel = kernels::quantized_linear_bytes<Format, T, O>;
    using rounding = kernels::byte_rows_host<Format, T>;
    plan(from, w, to);
    const i64 k = w.columns(), count = space.m == 1 ? 0 : space.batches * space.m;
    // Of several rows the integers are made once, not by each thread.
    const auto rows =
        empty<u8>(stream, {count > 0 ? rounding::bytes(space.batches, space.m, k) : 0}, config.op);
    if (count > 0) {
      launch_config first = config;
      first.tiles = count;
      first.work = work_of(4, count, k);
      first.scratch = scratch_bytes<f32>(k);
      launch<rounding>(stream, first, space, x, const_cast<u8*>(rows.data()));
    }
    config.tiles = kernel::tiles(space);
    config.scratch = kernel::scratch(k, space.m == 1);
    launch<kernel>(stream, config, space, x, w.data(), out, rows.data());
  }

 private:
  void plan(const X& from, const quantized_matrix<Format, D>& w, const Out& to) {
    const auto front = [](const auto& list) { return list.first(list.size() - 1); };
    iteration it(front(to.sizes()));
    it.add(front(to.sizes()), front(to.strides()));
    it.add(front(to.sizes()), front(from.strides()));
    it.collapse();
    // The innermost of the leading dimensions has the rows that share decoded weights.
    space.rank = it.rank() > 0 ? it.rank() - 1 : 0;
    space.batches = 1;
    for (int d = 0; d < space.rank; ++d) {
      space.sizes[d] = it.size(d);
      space.batches *= it.size(d);
      out.batch[d] = it.stride(0, d);
      x.batch[d] = it.stride(1, d);
    }
    const bool several = it.rank() > 0;
    space.m = several ? it.size(space.rank) : 1;
    space.n = w.rows();
    space.k = w.columns() / kernels::quantized_block;
    x.data = from.data();
    x.line = several ? it.stride(1, space.rank) : 0;
    x.along = from.stride(-1);
    out.data = to.data();
    out.row = several ? it.stride(0, space.rank) : 0;
    out.column = to.stride(-1);
    out.alpha = 1;
    config.op = "quantized_linear";
    config.work = work_of(w.bytes(), space.m, space.batches);
  }

  template <class S>
  void go_on_host(const S& stream, const quantized_matrix<Format, D>& w) {
    using kernel = kernels::quantized_linear_host<Format, T, O>;
    space.row_tiles = space.column_tiles = space.group = 1;
    config.tiles = space.batches * kernels::ceil_div(space.n, i64{4});  // workers at most
    config.scratch = kernel::scratch(
        w.columns(),
        {.one_row = space.m == 1, .wide = FLAGGEMS_ARCH_X86 && isa() >= isa_level::avx512});
    launch<kernel>(stream, config, space, x, w.data(), out);
  }

  template <int Rows, int Columns, kernels::stepping Steps, class S>
  void go(const S& stream, const quantized_matrix<Format, D>& w) {
    space.tile_rows = Rows;
    space.tile_columns = Columns;
    space.row_tiles = kernels::ceil_div(space.m, Rows);
    space.column_tiles = kernels::ceil_div(space.n, Columns);
    const i64 bytes = w.columns() * static_cast<i64>(sizeof(T)) * Rows;
    using numbers = tuning<families::quantized, D>;
    space.group = bytes > 0 && bytes < numbers::cached ? numbers::cached / bytes : 1;
    if (space.group > space.row_tiles) space.group = space.row_tiles;
    config.tiles = space.tiles();
    config.threads = space.k <= numbers::few_blocks ? numbers::threads_of_few : numbers::threads;
    launch<kernels::quantized_linear<Format, T, O, Rows, Columns, Steps>>(stream, config, space, x,
                                                                          w.data(), out);
  }
};

/// x rounded to 8 bits a block, as f32.
template <class S, class X>
auto round_activations(const S& stream, const X& x) {
  constexpr const char* op = "quantized_linear";
  auto rounded = empty<f32>(stream, x.shape_of(), op);
  row_plan rows(x.sizes(), x.rank() - 1);
  rows.add(rounded.view());
  rows.add(x);
  launch_config config;
  config.op = op;
  kernels::row_space space = rows.space();
  space.length /= kernels::quantized_block;
  config.tiles = space.rows;
  config.work = work_of(8, x.numel());
  config.threads = tuning<families::quantized, device_of<S>>::threads_of_few;
  using T = typename X::value_type;
  launch<kernels::rounded_activations<T>>(stream, config, space, rows.arg(1, x),
                                          rows.target(0, rounded.view()));
  return rounded;
}

/// The product with activations of 8 bits, in integers where the processor has what that takes.
template <class Format, class D, class S, class X, class Out>
void launch_rounded_linear(const S& stream, const X& from, const quantized_matrix<Format, D>& w,
                           const Out& to) {
  if constexpr (has_thread_pool<D> && FLAGGEMS_ARCH_X86) {
    if (isa() >= isa_level::avx2) {
      using call = quantized_linear_call<Format, D, X, Out>;
      return call().run_in_bytes(stream, from, w, to);
    }
  }
  const auto rounded = round_activations(stream, from);
  using call = quantized_linear_call<Format, D, decltype(rounded.view()), Out>;
  call().run(stream, rounded.view(), w, to);
}

}  // namespace flaggems::detail
