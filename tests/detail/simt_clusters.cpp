// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Clusters of blocks and copies ahead on the emulator: what they share, and the mistakes it finds.
#include <flaggems/launch/launch.hpp>
#include <flaggems/vendors/simt.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace {

namespace fk = flaggems::kernels;
using flaggems::errc;
using flaggems::i64;

struct shared_kernel {
  template <class Block, class F>
  static void run(Block& block, const F& f) {
    f(block);
  }
};
template <class F>
void launch(i64 clusters, int cluster, const F& f) {
  fk::run_emulated_clusters<32, shared_kernel>("shared_op", clusters, cluster, 64, 256, f);
}
template <class F>
flaggems::error refused(const F& f) {
  try {
    launch(2, 4, f);
  } catch (const flaggems::error& e) {
    launch(2, 4, [](auto& block) { block.sync_cluster(); });  // usable at once
    EXPECT_EQ(e.code(), errc::driver_error) << e.what();
    return e;
  }
  ADD_FAILURE() << "no error was raised";
  return {errc::invalid_argument, "", "", ""};
}
bool contains(std::string_view text, const std::string& part) {
  return text.find(part) != text.npos;
}

TEST(simt_clusters, fold_over_their_blocks) {
  for (const int cluster : {1, 2, 3, 4, 8}) {
    std::vector<i64> sums(static_cast<std::size_t>(3 * cluster * 64), -1);
    launch(3, cluster, [&](auto& block) {
      EXPECT_EQ(block.clusters(), 3);
      EXPECT_EQ(block.cluster_blocks(), cluster);
      EXPECT_EQ(block.index(), block.cluster() * cluster + block.cluster_block());
      i64 sum = 0;
      for (int round = 0; round < 5; ++round)  // what one fold leaves is not the next one's
        sum += block.reduce_cluster(
            block.reduce_block(block.index() * 64 + block.thread(), i64{0}, fk::plus{}), i64{0},
            fk::plus{});
      sums[static_cast<std::size_t>(block.index() * 64 + block.thread())] = sum;
    });
    const i64 all = cluster * 64;
    for (i64 k = 0; k < 3 * all; ++k) {
      const i64 first = k / all * all;
      ASSERT_EQ(sums[static_cast<std::size_t>(k)], 5 * (first * all + all * (all - 1) / 2)) << k;
    }
  }
}

TEST(simt_clusters, blocks_reach_each_others_memory) {
  std::vector<int> got(4, -1);
  launch(1, 4, [&](auto& block) {
    const auto s = block.template scratch<int>(2);
    const int own = block.cluster_block();
    block.single([&] { s.write(0, 10 + own); });
    block.sync_cluster();
    block.single([&] { block.of_block(s, (own + 1) % 4).write(1, 100 + s.read(0)); });
    block.sync_cluster();
    block.single([&] { got[static_cast<std::size_t>(own)] = s.read(1); });
  });
  EXPECT_EQ(got, (std::vector<int>{113, 110, 111, 112}));
}

TEST(simt_clusters, races_between_blocks_are_refused) {
  int line = 0;
  // A barrier of the block orders nothing between blocks.
  auto e = refused([&](auto& block) {
    const auto s = block.template scratch<int>(1);
    block.sync_cluster();
    block.single([&] { s.write(0, 1); });
    block.sync();
    line = __LINE__, (void)block.of_block(s, block.cluster_block() ^ 1).read(0);
    block.sync_cluster();
  });
  EXPECT_TRUE(contains(e.got(), "uninitialised")) << e.what();  // block 1 has not been there
  EXPECT_TRUE(contains(e.got(), "line " + std::to_string(line))) << e.what();
  e = refused([&](auto& block) {
    const auto s = block.template scratch<int>(1);
    block.single([&] { s.write(0, 1); });
    block.sync_cluster();
    block.single([&] { line = __LINE__, s.write(0, 2); });
    block.sync();
    (void)block.of_block(s, block.cluster_block() ^ 1).read(0);
    block.sync_cluster();
  });
  EXPECT_TRUE(contains(e.expected(), "a barrier of the cluster")) << e.what();
  EXPECT_TRUE(contains(e.got(), "a race: block 0 reads")) << e.what();
  EXPECT_TRUE(contains(e.got(), "block 1 writes at line " + std::to_string(line))) << e.what();
}

TEST(simt_clusters, blocks_that_are_not_there_are_refused) {
  const auto next = [](auto& block) { return (block.cluster_block() + 3) % 4; };
  auto e = refused([&](auto& block) {
    const auto s = block.template scratch<int>(1);
    block.single([&] { block.of_block(s, next(block)).write(0, 1); });
    block.sync_cluster();
  });
  EXPECT_TRUE(contains(e.got(), "before any barrier")) << e.what();
  e = refused([&](auto& block) {
    const auto s = block.template scratch<int>(1);
    block.single([&] { s.write(0, 1); });
    block.sync_cluster();
    if (block.cluster_block() > 0) (void)block.of_block(s, next(block)).read(0);
  });
  EXPECT_TRUE(contains(e.got(), "block 1 of it reaching block 0")) << e.what();
  EXPECT_TRUE(contains(e.got(), "after that has ended")) << e.what();
}

TEST(simt_clusters, divergence_is_refused) {
  auto e = refused([](auto& block) {
    if (block.cluster_block() != 2) block.sync_cluster();
  });
  EXPECT_TRUE(contains(e.expected(), "all threads of a cluster")) << e.what();
  EXPECT_TRUE(contains(e.got(), "threads 128-191 returned")) << e.what();
  e = refused([](auto& block) {
    if (block.cluster_block() == 3 && block.thread() < 32)
      block.sync();
    else
      block.sync_cluster();
  });
  EXPECT_TRUE(contains(e.expected(), "all threads of a block")) << e.what();
  EXPECT_TRUE(contains(e.got(), "threads 0-31 at the barrier")) << e.what();
  EXPECT_THROW(launch(1, 16, [](auto&) {}), flaggems::error);
}

// A device without clusters runs a block of as many threads in the place of one.
struct count_threads {
  template <class Block>
  static void run(Block& block, i64* threads, int* blocks) {
    *blocks = block.cluster_blocks();
    if (block.cluster_block() == 0 && block.thread() == 0)
      threads[block.cluster()] = block.threads() * block.cluster_blocks();
    block.sync_cluster();
  }
};
template <class Device>
int clusters_of(i64 tiles) {
  int blocks = 0;
  std::vector<i64> threads(static_cast<std::size_t>(tiles), 0);
  flaggems::launch_config config;
  config.tiles = tiles;
  config.threads = 128;
  config.cluster = 4;
  Device::template launch<count_threads>(Device::default_stream(), config, threads.data(), &blocks);
  EXPECT_EQ(threads, std::vector<i64>(static_cast<std::size_t>(tiles), 512));
  return blocks;
}
TEST(simt_clusters, are_a_devices_property) {
  EXPECT_EQ(clusters_of<flaggems::simt32>(3), 4);
  EXPECT_EQ(clusters_of<flaggems::simt64>(3), 1);
  EXPECT_EQ(flaggems::simt32::properties(0).max_cluster, 8);
  EXPECT_EQ(flaggems::simt64::properties(0).max_cluster, 1);
  flaggems::stream<flaggems::simt32> clustered;
  flaggems::stream<flaggems::simt64> alone;
  EXPECT_EQ(flaggems::most_cluster<count_threads>(clustered, {}), 8);
  EXPECT_EQ(flaggems::most_cluster<count_threads>(alone, {}), 1);
}

TEST(simt_async_copies, arrive_when_they_are_awaited) {
  struct alignas(16) words {
    int at[4];
  };
  const words from[3] = {{{1}}, {{2}}, {{3}}};
  constexpr i64 bytes = 3 * 16 * 64;
  const auto run = [&](const auto& f) {
    fk::run_emulated<32, shared_kernel>("copying_op", 2, 64, bytes, [&](auto& block) {
      const auto to = block.template scratch<words>(3 * block.threads());
      for (int k = 0; k < 3; ++k) {
        block.template copy_async<words>(to, 3 * block.thread() + k, from + k, k != 1);
        block.commit_copies();
      }
      f(block, to);
    });
  };
  run([](auto& block, const auto& to) {
    const int other = block.threads() - 1 - block.thread();
    block.template wait_copies<1>();
    EXPECT_EQ(to.read(3 * other).at[0], 1);
    EXPECT_EQ(to.read(3 * other + 1).at[0], 0);  // it does not exist
    block.template wait_copies<0>();
    EXPECT_EQ(to.read(3 * other + 2).at[0], 3);
  });
  std::string got;
  try {
    run([](auto& block, const auto& to) {
      block.template wait_copies<2>();
      (void)to.read(3 * block.thread() + 1);
    });
  } catch (const flaggems::error& e) {
    got = e.got();
  }
  EXPECT_TRUE(contains(got, "thread 0 reads uninitialised element 1")) << got;
}

}  // namespace
