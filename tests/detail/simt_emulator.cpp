// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The emulator of a chip's block: each of its checks is triggered by a planted mistake, and stays
// silent on correct kernels.
#include <support/emulated_kernel.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace fk = flaggems::kernels;
using flaggems::errc;
using flaggems::i64;
using flaggems::u32;

using flaggems_test::contains;
using flaggems_test::kernel_of;
using flaggems_test::line_text;
using flaggems_test::planted;

template <class Warp>
class SimtEmulator : public flaggems_test::simt_emulator_test<Warp> {};
TYPED_TEST_SUITE(SimtEmulator, flaggems_test::warp_sizes);

// ---- correct kernels

template <class Warp>
class SimtBlock : public flaggems_test::simt_emulator_test<Warp> {};
TYPED_TEST_SUITE(SimtBlock, flaggems_test::all_warp_sizes);

TYPED_TEST(SimtBlock, ReducesForAllSizesAndThreadCounts) {
  for (int threads : {64, 128, 256, 320, 1024})
    for (i64 n : {0, 1, 31, 32, 33, 63, 64, 65, 127, 1000, 1024, 4097}) {
      std::vector<i64> x(static_cast<std::size_t>(n));
      std::iota(x.begin(), x.end(), 7);
      const i64 expected = std::accumulate(x.begin(), x.end(), i64{0});
      std::vector<i64> sums(static_cast<std::size_t>(threads), -1);
      std::vector<float> largest(static_cast<std::size_t>(threads), -1);
      this->launch(3, threads, 0, [&](auto& block) {
        const i64 sum = block.reduce(n, i64{0}, fk::plus{},
                                     [&](auto lane) { return x[std::size_t(lane.begin)]; });
        const float most = block.reduce(n, fk::lowest<float>(), fk::maximum_of{}, [&](auto lane) {
          return static_cast<float>(x[std::size_t(n - 1 - lane.begin)]);
        });
        sums[static_cast<std::size_t>(block.thread())] = sum;
        largest[static_cast<std::size_t>(block.thread())] = most;
      });
      for (int t = 0; t < threads; ++t) {
        ASSERT_EQ(sums[std::size_t(t)], expected) << n << " elements, " << threads << " threads";
        ASSERT_EQ(largest[std::size_t(t)],
                  n == 0 ? fk::lowest<float>() : static_cast<float>(n + 6));
      }
    }
}

TYPED_TEST(SimtBlock, ReducesValuesWithIndices) {
  using state = fk::indexed<float, i64>;  // 16 bytes, the most an exchange takes
  for (i64 n : {1, 40, 64, 999}) {
    for (i64 where : {i64{0}, n / 2, n - 1}) {
      state best{};
      this->launch(1, 256, 0, [&](auto& block) {
        const auto larger = [](const state& a, const state& b) {
          return b.value > a.value || (b.value == a.value && b.index < a.index) ? b : a;
        };
        const state r = block.reduce(n, state{fk::lowest<float>(), n}, larger, [&](auto lane) {
          return state{lane.begin == where ? 5.0F : float(lane.begin % 3), lane.begin};
        });
        block.single([&] { best = r; });
      });
      EXPECT_EQ(best.value, 5.0F);
      EXPECT_EQ(best.index, where);
    }
  }
}

TYPED_TEST(SimtBlock, AccumulatesSeveralSums) {
  for (int threads : {64, 192, 512})
    for (i64 n : {0, 1, 63, 65, 777}) {
      std::vector<double> got(4, -1);
      this->launch(1, threads, 0, [&](auto& block) {
        double sums[3];
        block.template accumulate<3>(n, sums, [&](auto lane, auto& acc) {
          acc[0] += 1;
          acc[1] += double(lane.begin);
          acc[2] += double(lane.begin * lane.begin);
        });
        if (block.thread() == block.threads() - 1) got = {sums[0], sums[1], sums[2], 0};
      });
      double squares = 0;
      for (i64 i = 0; i < n; ++i) squares += double(i * i);
      EXPECT_EQ(got, (std::vector<double>{double(n), double(n) * double(n - 1) / 2, squares, 0}));
    }
}

TYPED_TEST(SimtBlock, ScansForAllSizesAndThreadCounts) {
  for (int threads : {64, 128, 384, 1024})
    for (i64 n : {0, 1, 31, 64, 65, 500, 1024, 1025, 5000}) {
      std::vector<int> out(static_cast<std::size_t>(n), -1);
      std::vector<int> totals(static_cast<std::size_t>(threads), -1);
      const auto in = [](i64 i) { return static_cast<int>(i % 7 - 2); };
      this->launch(1, threads, 0, [&](auto& block) {
        totals[std::size_t(block.thread())] = block.template exclusive_scan<int>(
            n, 100, in, [&](i64 i, int x) { out[std::size_t(i)] = x; });
      });
      int sum = 100;
      for (i64 i = 0; i < n; ++i) {
        ASSERT_EQ(out[std::size_t(i)], sum) << i << " of " << n << ", " << threads << " threads";
        sum += in(i);
      }
      for (int total : totals) ASSERT_EQ(total, sum);
    }
}

TYPED_TEST(SimtBlock, ScratchHoldsWhatWasWritten) {
  std::vector<int> out(200, -1);
  this->launch(1, 128, 200 * 4 + 16 + 64 * 2, [&](auto& block) {
    auto a = block.template scratch<int>(200);
    auto b = block.template scratch<short>(64);
    block.for_each(200, [&](i64 i) { a.write(i, static_cast<int>(i * i)); });
    block.for_each(64, [&](i64 i) { b.write(i, static_cast<short>(i)); });
    block.sync();
    block.for_each_lane(200, [&](auto lane) {
      const i64 i = 199 - lane.begin;
      const int x = fk::load<int>(a.from(i), fk::lane_scalar{0});
      out[std::size_t(i)] = x + b.read(i % 64);
    });
  });
  for (int i = 0; i < 200; ++i) EXPECT_EQ(out[std::size_t(i)], i * i + i % 64);
}

TYPED_TEST(SimtBlock, AtomicsCountAndDoNotRace) {
  int bins[5] = {};
  this->launch(1, 256, 64, [&](auto& block) {
    auto count = block.template scratch<int>(5);
    block.for_each(5, [&](i64 i) { count.write(i, 0); });
    block.sync();
    block.for_each(1003, [&](i64 i) { block.template atomic_add<int>(count, i % 5, 1); });
    block.sync();
    block.for_each(5, [&](i64 i) { bins[i] = count.read(i); });
  });
  EXPECT_EQ(std::vector<int>(bins, bins + 5), (std::vector<int>{201, 201, 201, 200, 200}));
}

TYPED_TEST(SimtBlock, ThreadsOfAWarpCountInTurn) {
  const int w = this->warp, threads = 192, rounds = 3;
  const auto entry = [](int thread, int round) { return (thread * thread + round) % 7; };
  std::vector<u32> got(rounds * threads), expected;
  this->launch(1, threads, threads / w * 8 * 4, [&](auto& block) {
    const auto counts = block.template scratch<u32>(threads / w * 8);
    block.for_each(threads / w * 8, [&](i64 i) { counts.write(i, 0); });
    block.sync();
    const auto own = counts.from(block.thread() / w * 8);
    for (int round = 0; round < rounds; ++round)
      got[std::size_t(round * threads + block.thread())] =
          block.template count_in_turn<3>(own, entry(block.thread(), round));
  });
  std::vector<u32> counts(std::size_t(threads / w * 8));
  for (int k = 0, t = 0; k < rounds * threads; ++k, t = k % threads)
    expected.push_back(counts[std::size_t(t / w * 8 + entry(t, k / threads))]++);
  EXPECT_EQ(got, expected);
}

TYPED_TEST(SimtBlock, TilesAreStridedOverBlocks) {
  std::vector<int> visits(100, 0);
  this->launch(3, this->warp, 0, [&](auto& block) {
    EXPECT_EQ(block.count(), 3);
    block.for_each_tile(100, [&](i64 tile) {
      EXPECT_EQ(tile % 3, block.index());
      block.single([&] { ++visits[std::size_t(tile)]; });
      block.sync();
    });
  });
  EXPECT_EQ(visits, std::vector<int>(100, 1));
}

TYPED_TEST(SimtBlock, ManyBarriersAreFast) {
  i64 steps = 0;
  this->launch(4, 256, 1024, [&](auto& block) {
    auto s = block.template scratch<int>(256);
    s.write(block.thread(), 0);
    for (int k = 0; k < 300; ++k) {
      block.sync();
      const int x = s.read((block.thread() + k) % 256);
      block.sync();
      s.write(block.thread(), x + 1);
    }
    block.sync();
    block.single([&] { steps += s.read(17); });
  });
  EXPECT_EQ(steps, 4 * 300);
}

TYPED_TEST(SimtBlock, OneThreadMayReadAndWriteItsOwn) {
  this->launch(1, 64, 4096, [](auto& block) {
    auto s = block.template scratch<int>(64);
    for (int k = 0; k < 10; ++k) {
      s.write(block.thread(), k);
      EXPECT_EQ(s.read(block.thread()), k);
      block.template atomic_add<int>(s, block.thread(), 1);
      EXPECT_EQ(s.read(block.thread()), k + 1);
    }
  });
}

TYPED_TEST(SimtEmulator, ExceptionsOfAKernelPass) {
  struct mine {};
  EXPECT_THROW(this->launch(1, 128, 0,
                            [](auto& block) {
                              if (block.thread() == 77) throw mine{};
                              block.sync();
                            }),
               mine);
  this->launch(1, 128, 0, [](auto& block) { block.sync(); });
}

// ---- planted mistakes

TYPED_TEST(SimtEmulator, BarriersOfDifferentLinesAreRefused) {
  const int w = this->warp;
  int first = 0, second = 0;
  const auto e = this->refused([&, w](auto& block) {
    if (block.thread() < w)
      first = __LINE__, block.sync();
    else
      second = __LINE__, block.sync();
  });
  EXPECT_EQ(e.code(), errc::driver_error);
  EXPECT_TRUE(e.op().rfind("planted_op (kernel ", 0) == 0 && contains(e.op(), "kernel_of<") &&
              contains(e.op(), "planted"))
      << e.op();
  EXPECT_FALSE(contains(e.op(), "Kernel =")) << e.op();
  EXPECT_TRUE(contains(
      e.got(), "threads 0-" + std::to_string(w - 1) + " at the barrier of " + line_text(first)))
      << e.what();
  EXPECT_TRUE(contains(e.got(), "threads " + std::to_string(w) + "-" + std::to_string(2 * w - 1) +
                                    " at the barrier of " + line_text(second)))
      << e.what();
}

TYPED_TEST(SimtEmulator, ABarrierThatSomeDoNotReachIsRefused) {
  int line = 0;
  const auto e = this->refused([&](auto& block) {
    if (block.thread() != 5) line = __LINE__, block.sync();
  });
  EXPECT_TRUE(contains(e.got(), "thread 5 returned")) << e.what();
  EXPECT_TRUE(contains(e.got(), "threads 0-4 at the barrier of " + line_text(line))) << e.what();
}

TYPED_TEST(SimtEmulator, DivergenceInALoopOfBarriersIsRefused) {
  const auto e = this->refused([](auto& block) {
    for (int k = 0; k < (block.thread() == 1 ? 3 : 2); ++k) block.sync();
  });
  EXPECT_TRUE(contains(e.got(), "thread 1 at the barrier")) << e.what();
}

TYPED_TEST(SimtEmulator, AShuffleByAPartOfAWarpIsRefused) {
  const int w = this->warp;
  const auto e = this->refused([w](auto& block) {
    if (block.thread() % w < w / 2) {
      const auto zero = [](auto) { return 0; };
      block.reduce(1, 0, fk::plus{}, zero);
    }
  });
  EXPECT_EQ(e.code(), errc::driver_error);
  EXPECT_TRUE(contains(e.expected(), "shuffle")) << e.what();
  EXPECT_TRUE(contains(e.got(), "threads 0-" + std::to_string(w / 2 - 1) + " in shuffle_xor("))
      << e.what();
  EXPECT_TRUE(contains(e.got(), "returned")) << e.what();
}

using LoneLanes = flaggems_test::simt_emulator_test<std::integral_constant<int, 1>>;
TEST_F(LoneLanes, AShuffleByAPartOfABlockIsRefused) {
  const auto e = refused([](auto& block) {
    if (block.thread() < warp) (void)block.shuffle_xor(1U, 1);  // all lanes of a warp of the block
  });
  EXPECT_TRUE(contains(e.what(), "all threads of a block at the same barrier")) << e.what();
  const auto far_lane = refused([](auto& block) { (void)block.shuffle_xor(1U, 32); });
  EXPECT_EQ(far_lane.code(), errc::out_of_range);
}

TYPED_TEST(SimtEmulator, ShufflesOfDifferentLinesAreRefused) {
  const int w = this->warp;
  int first = 0, second = 0;
  // Both halves of a warp reduce, but not together: a chip would mix their values.
  const auto e = this->refused([&, w](auto& block) {
    const auto one = [](auto) { return 1; };
    if (block.thread() % w < w / 2)
      first = __LINE__, block.reduce(1, 0, fk::plus{}, one);
    else
      second = __LINE__, block.reduce(1, 0, fk::plus{}, one);
  });
  EXPECT_EQ(e.code(), errc::driver_error);
  const std::string shuffle = " in shuffle_xor(" + std::to_string(w / 2) + ") at ";
  EXPECT_TRUE(
      contains(e.got(), "threads 0-" + std::to_string(w / 2 - 1) + shuffle + line_text(first)))
      << e.what();
  EXPECT_TRUE(contains(e.got(), shuffle + line_text(second))) << e.what();
}

TYPED_TEST(SimtEmulator, EveryReportNamesALine) {
  const int w = this->warp;
  int line = 0, other = 0;
  auto e = this->refused([&, w](auto& block) {
    if (block.thread() % w == 0) return;
    line = __LINE__, block.template exclusive_scan<int>(
                         9, 0, [](i64) { return 1; }, [](i64, int) {});
  });
  EXPECT_TRUE(contains(e.got(), "in shuffle_up(1) at " + line_text(line))) << e.what();
  e = this->refused([&](auto& block) {
    const auto s = block.template scratch<u32>(block.threads());
    s.write(block.thread(), 0);
    if (block.thread() % w != 0) line = __LINE__, (void)block.template count_in_turn<1>(s, 0);
  });
  EXPECT_TRUE(contains(e.got(), "in ballot_match at " + line_text(line))) << e.what();
  e = this->refused([&](auto& block) {
    auto s = block.template scratch<int>(1);
    block.single([&] { s.write(0, 0); });
    block.sync();
    line = __LINE__, block.template atomic_add<int>(s, 0, 1);
    if (block.thread() == 1) other = __LINE__, s.write(0, 2);
  });
  EXPECT_TRUE(contains(e.got(), "atomically updates at " + line_text(line))) << e.what();
  EXPECT_TRUE(contains(e.got(), "writes at " + line_text(other))) << e.what();
  e = this->refused([&](auto& block) {
    auto s = block.template scratch<int>(10);
    line = __LINE__, (void)s.from(11);
  });
  EXPECT_TRUE(contains(e.got(), line_text(line))) << e.what();
}

TYPED_TEST(SimtEmulator, RacesAreRefused) {
  int first = 0, second = 0;
  // A missing barrier between a write and a read of another thread.
  auto e = this->refused([](auto& block) {
    auto s = block.template scratch<int>(block.threads());
    s.write(block.thread(), 1);
    (void)s.read(block.threads() - 1 - block.thread());
    block.sync();
  });
  // Thread 0 reads what nobody has written so far: the same mistake, seen from the other side.
  EXPECT_TRUE(contains(e.got(), "uninitialised")) << e.what();

  e = this->refused([&](auto& block) {
    auto s = block.template scratch<int>(block.threads());
    first = __LINE__, s.write(block.thread(), 1);
    if (block.thread() > 0) second = __LINE__, (void)s.read(block.thread() - 1);
    block.sync();
  });
  EXPECT_EQ(e.code(), errc::driver_error);
  EXPECT_TRUE(contains(e.got(), "a race: thread 0 writes at " + line_text(first) +
                                    ", thread 1 reads at " + line_text(second)))
      << e.what();

  // ... between a read and the next write,
  e = this->refused([&](auto& block) {
    auto s = block.template scratch<int>(1);
    block.single([&] { s.write(0, 1); });
    block.sync();
    first = __LINE__, (void)s.read(0);
    if (block.thread() == 3) second = __LINE__, s.write(0, 2);
  });
  EXPECT_TRUE(contains(e.got(), "reads at " + line_text(first))) << e.what();
  EXPECT_TRUE(contains(e.got(), "thread 3 writes at " + line_text(second))) << e.what();

  // ... two writes, even of equal values,
  e = this->refused([](auto& block) {
    auto s = block.template scratch<int>(1);
    s.write(0, 1);
  });
  EXPECT_TRUE(contains(e.got(), "thread 0 writes")) << e.what();

  // ... a half of an element against the whole,
  e = this->refused([](auto& block) {
    auto s = block.template scratch<short>(2);
    const fk::emulated_array<int> wide{s.group, s.thread, s.offset, 1};
    if (block.thread() < 2) s.write(block.thread(), short(1));
    if (block.thread() == 2) (void)wide.read(0);
  });
  EXPECT_TRUE(contains(e.got(), "thread 0 writes")) << e.what();
  EXPECT_TRUE(contains(e.got(), "thread 2 reads")) << e.what();

  // ... an atomic against a plain access. A shuffle is no barrier.
  e = this->refused([&](auto& block) {
    auto s = block.template scratch<int>(1);
    block.single([&] { s.write(0, 0); });
    block.sync();
    block.template atomic_add<int>(s, 0, 1);
    if (block.thread() == 9) second = __LINE__, (void)s.read(0);
  });
  EXPECT_TRUE(contains(e.got(), "atomically updates")) << e.what();
  EXPECT_TRUE(contains(e.got(), "thread 9 reads at " + line_text(second))) << e.what();
}

TYPED_TEST(SimtEmulator, AShuffleOrdersNothing) {
  const int w = this->warp;
  const auto e = this->refused(
      [](auto& block) {
        auto s = block.template scratch<int>(1);
        block.single([&] { s.write(0, 1); });
        block.reduce(1, 0, fk::plus{}, [](auto) { return 0; });  // one warp: shuffles alone
        (void)s.read(0);
      },
      64, w);
  EXPECT_TRUE(contains(e.got(), "a race: thread 0 writes")) << e.what();
}

TYPED_TEST(SimtEmulator, UninitialisedReadsAreRefused) {
  int line = 0;
  auto e = this->refused([&](auto& block) {
    auto s = block.template scratch<float>(10);
    if (block.thread() < 9) s.write(block.thread(), 1);
    block.sync();
    block.single([&] { line = __LINE__, (void)s.read(9); });
  });
  EXPECT_EQ(e.code(), errc::driver_error);
  EXPECT_TRUE(contains(e.got(), "thread 0 reads uninitialised element 9")) << e.what();
  EXPECT_TRUE(contains(e.got(), line_text(line))) << e.what();

  // What an earlier block left is no value.
  bool raised = false;
  try {
    this->launch(2, 64, 64, [](auto& block) {
      auto s = block.template scratch<int>(1);
      block.single([&] {
        if (block.index() == 0) s.write(0, 1);
        (void)s.read(0);
      });
    });
  } catch (const flaggems::error& error) {
    raised = contains(error.got(), "uninitialised");
  }
  EXPECT_TRUE(raised);
}

TYPED_TEST(SimtEmulator, IndicesOutsideAnArrayAreRefused) {
  for (i64 i : {i64{-1}, i64{10}, i64{1} << 40}) {
    int line = 0;
    const auto e = this->refused([&](auto& block) {
      auto s = block.template scratch<int>(10);
      auto other = block.template scratch<int>(10);
      (void)other;
      block.single([&] { line = __LINE__, s.write(i, 1); });
    });
    EXPECT_EQ(e.code(), errc::out_of_range);
    EXPECT_TRUE(contains(e.expected(), "below 10")) << e.what();
    EXPECT_TRUE(
        contains(e.got(), "index " + std::to_string(i) + " by thread 0 at " + line_text(line)))
        << e.what();
  }
  const auto e = this->refused([](auto& block) {
    auto s = block.template scratch<int>(10);
    s.from(6).write(4, 1);
  });
  EXPECT_TRUE(contains(e.expected(), "below 4")) << e.what();
  EXPECT_EQ(
      this->refused([](auto& block) { (void)block.template scratch<int>(10).from(11); }).code(),
      errc::out_of_range);
}

TYPED_TEST(SimtEmulator, MoreScratchThanAskedForIsRefused) {
  const auto use = [](auto& block) {
    (void)block.template scratch<int>(4);
    (void)block.template scratch<double>(8);
  };
  this->launch(1, 64, 80, use);
  const auto e = this->refused(use, 79);
  EXPECT_EQ(e.code(), errc::out_of_range);
  EXPECT_TRUE(contains(e.expected(), "79 bytes")) << e.what();
}

TYPED_TEST(SimtEmulator, ThreadsThatAreNoWholeWarpsAreRefused) {
  for (int threads : {0, -64, 1, 48, 65, 1088}) {
    try {
      this->launch(1, threads, 0, [](auto&) {});
      ADD_FAILURE() << threads;
    } catch (const flaggems::error& e) {
      EXPECT_EQ(e.code(), errc::invalid_argument);
      EXPECT_TRUE(contains(e.got(), std::to_string(threads))) << e.what();
    }
  }
}

TYPED_TEST(SimtEmulator, StatesOfMoreThanSixteenBytesAreRefused) {
  struct wide {
    double a, b, c;
  };
  const auto e = this->refused([](auto& block) {
    block.reduce(
        1, wide{}, [](const wide& a, const wide&) { return a; }, [](auto) { return wide{}; });
  });
  EXPECT_TRUE(contains(e.expected(), "16 bytes")) << e.what();
  EXPECT_EQ(e.got(), "24");
}

TYPED_TEST(SimtEmulator, ALaunchFromAKernelIsRefused) {
  const auto e = this->refused([this](auto&) { this->launch(1, 64, 0, [](auto&) {}); });
  EXPECT_EQ(e.code(), errc::not_supported);
}

// ---- the device type

template <class Device>
class SimtDevice : public testing::Test {};
using devices = testing::Types<flaggems::simt1, flaggems::simt32, flaggems::simt64>;
TYPED_TEST_SUITE(SimtDevice, devices);

struct count_visits {
  template <class Block>
  static void run(Block& block, i64 tiles, int* visits, i64* grid, int* threads) {
    block.for_each_tile(tiles, [&](i64 tile) { block.single([&] { ++visits[tile]; }); });
    block.single([&] {
      *grid = block.count();
      *threads = block.threads();
    });
  }
};

TYPED_TEST(SimtDevice, TheGridIsNotTheNumberOfTiles) {
  i64 grid = 0;
  int threads = 0;
  std::vector<int> visits;
  const auto run = [&](i64 tiles, int wanted) {
    visits.assign(static_cast<std::size_t>(tiles), 0);
    TypeParam::template launch<count_visits>(TypeParam::default_stream(),
                                             {"count", tiles, 0, 0, wanted}, tiles, visits.data(),
                                             &grid, &threads);
    EXPECT_EQ(visits, std::vector<int>(static_cast<std::size_t>(tiles), 1));
  };
  run(10, 100);
  EXPECT_EQ(grid, 3);
  EXPECT_EQ(threads, 128);
  run(2, 1);
  EXPECT_EQ(grid, 2);
  EXPECT_EQ(threads, fk::block_warp(TypeParam::geometry::warp_size));
  run(1, 5000);
  EXPECT_EQ(threads, 1024);
  EXPECT_EQ(TypeParam::set_max_grid(1000), 3);
  run(10, 64);
  EXPECT_EQ(grid, 10);
  EXPECT_EQ(TypeParam::set_max_grid(3), 1000);
  EXPECT_THROW(TypeParam::set_max_grid(0), flaggems::error);
}

TYPED_TEST(SimtDevice, MemoryIsPoisonedAndAligned) {
  auto* p = static_cast<unsigned char*>(TypeParam::allocate(1000, 0));
  ASSERT_NE(p, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % 256, 0U);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(p[i], 0xCD);
  TypeParam::fill(p, 7, 10, 0);
  TypeParam::copy(p + 5, p, 10, flaggems::copy_kind::device_to_device, 0);
  EXPECT_EQ(p[14], 7);
  EXPECT_EQ(p[15], 0xCD);
  TypeParam::deallocate(p, 1000, 0);
}

TYPED_TEST(SimtDevice, EventsAndStreams) {
  const auto s = TypeParam::create_stream(0);
  EXPECT_NE(s, TypeParam::default_stream());
  auto* a = TypeParam::create_event();
  auto* b = TypeParam::create_event();
  EXPECT_THROW((void)TypeParam::elapsed_ms(a, b), flaggems::error);
  TypeParam::record(a, s);
  TypeParam::wait(s, a);
  TypeParam::record(b, s);
  EXPECT_GE(TypeParam::elapsed_ms(a, b), 0.0);
  EXPECT_TRUE(TypeParam::query_event(b) && TypeParam::query(s));
  TypeParam::destroy_event(a);
  TypeParam::destroy_event(b);
  TypeParam::destroy_stream(s);
  EXPECT_EQ(TypeParam::device_count(), 1);
  EXPECT_EQ(TypeParam::properties(0).warp_size, TypeParam::geometry::warp_size);
  EXPECT_THROW((void)TypeParam::properties(1), flaggems::error);
}

}  // namespace
