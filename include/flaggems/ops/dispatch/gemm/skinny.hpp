// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Matrix products of few rows on SIMT devices: the choice among the kernels of
// kernel/family/gemm/simt/skinny.hpp, and split-K.
#pragma once

#include <flaggems/device/tensor.hpp>
#include <flaggems/kernel/family/gemm/simt/skinny_mma.hpp>
#include <flaggems/launch/launch.hpp>
#include <flaggems/launch/tuning.hpp>
#include <flaggems/ops/dispatch/steps.hpp>

#include <type_traits>

namespace flaggems::detail {

template <class A, class B, class Out, class Added>
struct gemm_call;

/// Whether an operand and its steps of `step` elements are aligned to vectors of Count elements.
template <int Count, class T>
bool are_vec_aligned(const kernels::gemm_arg<T>& x, i64 step) {
  return kernels::is_vec_aligned<Count>(x.data) && step % Count == 0 && x.batch[0] % Count == 0;
}

template <class S, class A, class B, class Out, class Added>
class skinny_product {
 public:
  using numbers = tuning<families::gemm, device_of<S>>;
  using call_type = gemm_call<A, B, Out, Added>;
  using C = typename call_type::C;
  using stored = typename call_type::stored;
  using bias = typename call_type::kernel_bias;
  static constexpr int width = kernels::vec_size<B>;
  /// Limits of 32-bit counts: results, terms of a sum, elements from a line to the next.
  static constexpr i64 most = i64{1} << 30;
  static constexpr int a_width = kernels::min_of(width, kernels::vec_size<A>);
  static constexpr bool has_tiles =
      matrix_instructions_of<device_of<S>> == matrix_instructions::mma && std::is_same_v<A, B> &&
      (std::is_same_v<B, bf16> || std::is_same_v<B, f16>)&&std::is_same_v<C, f32>;

  skinny_product(const S& stream, call_type& call, const Added& aux)
      : stream_(stream), call_(call), aux_(aux) {}

  /// Runs the product; false, having done nothing, if no kernel applies.
  bool run() {
    kernels::gemm_space& space = call_.space;
    if constexpr (call_type::can_exchange)
      if (space.n <= numbers::few_rows && space.m > space.n) call_.exchange();
    if (space.m > numbers::few_rows || space.rank > 1 || space.k >= most || space.n >= most ||
        space.batches * space.m >= most / space.n)
      return false;
    call_.give_batch();
    const bool a_along = call_.a.along == 1;
    if (call_.b.along == 1 && a_along && space.k > 0 && space.k % width == 0 &&
        are_vec_aligned<width>(call_.b, call_.b.line) &&
        are_vec_aligned<a_width>(call_.a, call_.a.line)) {
      if constexpr (has_tiles)
        if (space.m > numbers::rows_without_tiles && call_.b.line < most && -call_.b.line < most)
          return by_tiles(), true;
      return along(), true;
    }
    if (call_.b.line == 1 && space.n % width == 0 && are_vec_aligned<width>(call_.b, call_.b.along))
      return across(), true;
    return false;
  }

 private:
  void along() {
    const i64 vectors = call_.space.k / width;
    // Subwarps that do not share lines find the rows in L1, where others brought them; with several
    // rows they share lines only where there are too few.
    const bool is_tall = call_.space.m > 1;
    int sharing = 0;
    while (!is_tall && sharing < 3 && vectors >= numbers::shared_vectors << sharing) ++sharing;
    const i64 wanted = is_tall ? numbers::units * 3 / 2 : numbers::busy_blocks / 2;
    const auto few_lines = [&] { return call_.space.n << sharing < wanted * 32; };
    // One vector of each line per thread, for more blocks.
    while (sharing < 3 && vectors > i64{32} << sharing && few_lines()) ++sharing;
    if (call_.space.m > 4)
      along_of<8, 4, 1, 32>(sharing);
    else if (is_tall)
      along_of<4, 4, 1, 32>(sharing);
    else if (sharing > 0 || few_lines())
      along_of<1, 4, 2, 32>(sharing);
    else
      along_of<1, 4, 2, 8>(0);
  }

  /// The product for kernels of few rows, in tiles of `rows` x `columns`; 2^sharing subwarps share
  /// lines.
  kernels::skinny_space cut(i64 rows, i64 columns, int sharing = 0) const {
    const kernels::gemm_space& space = call_.space;
    const auto narrow = [](i64 x) { return static_cast<i32>(x); };
    const i64 row_tiles = kernels::ceil_div(space.m, rows);
    const i64 column_tiles = kernels::ceil_div(space.n, columns);
    return {narrow(space.batches),
            narrow(space.m),
            narrow(space.n),
            narrow(space.k),
            narrow(rows),
            narrow(columns),
            divider_by(row_tiles),
            divider_by(column_tiles),
            static_cast<u32>(space.batches * row_tiles * column_tiles),
            sharing};
  }

  template <class T>
  static kernels::skinny_arg<T> narrow(const kernels::gemm_arg<T>& x) {
    return {x.data, x.line, x.along, x.batch[0]};
  }
  kernels::skinny_arg<A> a() const { return narrow(call_.a); }
  kernels::skinny_arg<B> b() const { return narrow(call_.b); }
  kernels::skinny_out<stored, C> out() const {
    const auto& to = call_.out;
    return {to.data, to.row, to.column, to.batch[0], to.alpha};
  }

  /// 2^sharing subwarps share a line.
  template <int Rows, int Columns, int Unroll, int Lanes>
  void along_of(int sharing) {
    using kernel =
        kernels::gemm_skinny<A, B, stored, C, bias, Rows, Columns, Lanes, Unroll, numbers::threads>;
    constexpr int subwarps = numbers::threads / Lanes;
    const kernels::skinny_space space = cut(Rows, (subwarps >> sharing) * Columns, sharing);
    launch_config& config = call_.config;
    config.tiles = space.tiles;
    config.threads = numbers::threads;
    config.scratch = scratch_bytes<C>(kernel::found);
    launch<kernel>(stream_, config, space, a(), b(), out(), call_.finish(aux_));
  }

  void by_tiles() {
    if (call_.space.m <= 8)
      by_tiles_of<1>();
    else
      by_tiles_of<2>();
  }
  template <int Wide>
  void by_tiles_of() {
    // 32 lines at once, but 16 where that saves a fifth of the rounds of blocks.
    const auto rounds = [&](i64 lines) {
      return kernels::ceil_div(kernels::ceil_div(call_.space.n, lines), numbers::units);
    };
    if (rounds(16) * 10 <= rounds(32) * 16)
      by_tiles_of<Wide, 1, 3>();
    else
      by_tiles_of<Wide, 2, 2>();
  }
  template <int Wide, int Blocks, int Stages>
  void by_tiles_of() {
    using kernel =
        kernels::gemm_skinny_tiles<B, stored, bias, Wide, Blocks, Stages, numbers::threads>;
    constexpr int subwarps = numbers::threads / 32;
    // Short sums leave some subwarps without a step: with many lines, those take other lines.
    const i64 steps = kernels::ceil_div(call_.space.k, i64{kernel::chunk});
    int sharing = 3;
    while (sharing > 0 &&
           (1 << sharing >= 2 * steps ||
            (1 << sharing > steps / 2 &&
             call_.space.n > 4 * numbers::units * kernel::lines * (subwarps >> sharing))))
      --sharing;
    const kernels::skinny_space space =
        cut(kernel::rows, (subwarps >> sharing) * kernel::lines, sharing);
    launch_config& config = call_.config;
    config.tiles = kernels::min_of(i64{space.tiles}, numbers::units);
    config.threads = numbers::threads;
    config.scratch = scratch_bytes<f32>(subwarps * kernel::count) +
                     scratch_bytes<kernels::vec<u32, 4>>(subwarps * Stages * kernel::stage);
    launch<kernel>(stream_, config, space, a(), b(), out(), call_.finish(aux_));
  }

  void across() {
    if (call_.space.m == 1)
      across_of<1, 16, 4>(numbers::busy_blocks);
    else
      across_of<4, 8, 8>(numbers::busy_blocks / 2);
  }

  template <int Rows, int Lanes, int Depth>
  void across_of(i64 blocks) {
    using kernel =
        kernels::gemm_skinny_across<A, B, stored, C, bias, Rows, Lanes, Depth, numbers::threads>;
    const kernels::skinny_space space = cut(Rows, kernel::columns);
    launch_config& config = call_.config;
    // Split-K into as many parts as blocks are wanted, but none so short that a thread is idle.
    constexpr i64 shortest = numbers::threads / Lanes * Depth;
    const i64 wanted = kernels::ceil_div(blocks, i64{space.tiles}), k = space.k;
    const i64 length =
        kernels::round_up(kernels::max_of(kernels::ceil_div(k, wanted), shortest), i64{shortest});
    const i64 parts = kernels::max_of(kernels::ceil_div(k, length), i64{1});
    const i64 results = i64{space.batches} * space.m * space.n;
    auto partial = empty<C>(stream_, shape{parts > 1 ? parts * results : 0}, config.op);
    const bool vectorized =
        call_.a.along == 1 &&
        are_vec_aligned<kernels::min_of(Depth, kernels::vec_size<A>)>(call_.a, call_.a.line);
    config.tiles = space.tiles * parts;
    config.threads = numbers::threads;
    config.scratch = scratch_bytes<C>(kernel::scratch(numbers::threads));
    launch<kernel>(stream_, config, space, a(), b(), out(), call_.finish(aux_), vectorized,
                   divider_by(parts), static_cast<i32>(length), partial.data());
    if (parts > 1) call_.merge_parts(stream_, aux_, parts, partial.data());
  }

  const S& stream_;
  call_type& call_;
  const Added& aux_;
};

}  // namespace flaggems::detail
