// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Every operation of a block, for the compilers of the chips.
#include <flaggems/kernel/block/simt/cluster_reduce.hpp>
#include <flaggems/kernel/block/simt/entry.hpp>

namespace flaggems::kernels {

template <class T>
struct every_block_operation {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, i64 rows, i64 n, global_ptr<const T> in,
                                  global_ptr<T> out, global_ptr<i64> totals) {
    const auto row = block.template scratch<T>(n);
    const auto bins = block.template scratch<i32>(16);
    const auto sum = block.template scratch<f32>(1);
    const auto others = block.template scratch<f32>(1);
    cluster_reduction<Block, true> across(block, true);
    for (i64 r = block.cluster(); r < rows; r += block.clusters()) {
      const global_ptr<const T> x = in + r * n;
      const global_ptr<T> y = out + r * n;
      block.for_each(16, [&](i64 k) FLAGGEMS_LAMBDA { bins.write(k, 0); });
      block.single([&]() FLAGGEMS_LAMBDA { sum.write(0, 0.0F); });
      const auto largest = block.reduce(
          n, indexed<f32, i64>{lowest<f32>(), n},
          [](const auto& a, const auto& b)
              FLAGGEMS_LAMBDA { return select(b.value > a.value, b, a); },
          [&](auto lane) FLAGGEMS_LAMBDA {
            const auto v = load<f32>(x, lane);
            store(row, lane, v);
            return indexed<lane_value<decltype(lane), f32>, lane_value<decltype(lane), i64>>{
                v, iota<i64>(lane)};
          });
      f32 moments[2];
      block.template accumulate<2>(n, moments, [&](auto lane, auto& acc) FLAGGEMS_LAMBDA {
        const auto v = load<f32>(row, lane);
        acc[0] = acc[0] + v;
        acc[1] = acc[1] + v * v;
      });
      block.sync();
      block.for_each(n, [&](i64 i) FLAGGEMS_LAMBDA {
        block.template atomic_add<i32>(bins, i % 16, 1);
        block.template atomic_add<f32>(sum, 0, number_cast<f32>(row.from(i).read(0)));
      });
      block.sync();
      const i32 total = block.template exclusive_scan<i32>(
          16, 0, [&](i64 k) FLAGGEMS_LAMBDA { return bins.read(k); },
          [&](i64 k, i32 before) FLAGGEMS_LAMBDA { bins.write(k, before); });
      block.sync();
      block.single([&]() FLAGGEMS_LAMBDA { others.write(0, moments[0]); });
      const f32 all = block.reduce_cluster(across(moments[1], 0.0F, plus{}), 0.0F, plus{});
      block.sync_cluster();
      const int next = (block.cluster_block() + 1) % block.cluster_blocks();
      const f32 scale = all + block.of_block(others, next).read(0) + largest.value + sum.read(0);
      block.sync_cluster();
      block.for_each_lane(
          n, [&](auto lane) FLAGGEMS_LAMBDA { store(y, lane, load<f32>(row, lane) * scale); });
      block.single([&]() FLAGGEMS_LAMBDA { totals[r] = total + bins.read(15) + largest.index; });
      block.sync();
    }
    block.for_each_tile(0, [](i64) FLAGGEMS_LAMBDA {});
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_INSTANCE(block_f32, flaggems::kernels::every_block_operation<float>, flaggems::i64,
                  flaggems::i64, flaggems::kernels::global_ptr<const float>,
                  flaggems::kernels::global_ptr<float>,
                  flaggems::kernels::global_ptr<flaggems::i64>)
