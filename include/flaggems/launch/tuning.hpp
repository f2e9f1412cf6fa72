// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The numbers by which kernels are chosen and cut: for each family of operators, by execution
// model. A vendor sets those that were measured on its devices in a header of its own, as
// vendors/cuda/tuning.hpp does, and leaves the others as they are.
#pragma once

#include <flaggems/device/execution.hpp>

namespace flaggems {

/// The families of operators that have numbers of their own; `any` has what they share.
namespace families {
struct any {};
struct pointwise {};
struct copy {};
struct index {};
struct reduce {};
struct row {};
struct sort {};
struct topk {};
struct gemm {};
struct attention {};
struct quantized {};
struct scan {};
struct factor {};
}  // namespace families

/// The numbers of a family where the device's vendor has said nothing. A number that follows from
/// another one asks tuning<..., Device> for that, so it follows the vendor's, too.
template <class Family, class Device, execution Model = execution_model<Device>>
struct default_tuning;

/// The numbers of a family on a device. A vendor, or a user, specialises it before an operator of
/// the family is first used, best in the header of the device type:
///
///     template <>
///     struct flaggems::tuning<flaggems::families::reduce, my_chip>
///         : flaggems::default_tuning<flaggems::families::reduce, my_chip> {
///       static constexpr i64 vectors_per_thread = 8;  // my_chip X1, 2^26 floats: 40 us, by 16 47
///     };
template <class Family, class Device>
struct tuning : default_tuning<Family, Device> {};

// The numbers for threads in warps. Those marked H200 were found on that GPU of NVIDIA's, by
// bench/gpu, and nowhere else; docs/device-guide.md says how to measure yours.

/// What is the device's own, by which several families cut their launches.
template <class Device, execution Model>
struct default_tuning<families::any, Device, Model> {
  static constexpr i64 units = 128;                  ///< compute units: a large GPU has 100 to 200
  static constexpr i64 busy_threads = i64{1} << 17;  ///< threads that keep all of them busy (H200)
};

/// Operators that move each element once, by one step a thread.
template <class Device, execution Model>
struct default_tuning<families::pointwise, Device, Model> {
  /// Steps; fewer go in small blocks (H200: 4 KiB of gelu in 1.15 us, by blocks of 256 in 1.28).
  static constexpr i64 few_steps = i64{1} << 14;
  static constexpr i64 many_steps = i64{1} << 17;  ///< steps from which on they are many (H200)
  static constexpr int threads_of_few = 64;        ///< threads a block of few steps (H200)
  static constexpr int threads = 256;              ///< threads a block: the usual size
  static constexpr int threads_of_many = 256;      ///< threads a block of many steps
  /// Vectors from which a thread takes several; with fewer, more threads finish sooner (H200).
  static constexpr i64 many_vectors = i64{1} << 20;
};
template <class Device>
struct default_tuning<families::pointwise, Device, execution::vector_workers> {
  static constexpr i64 tile = 8192;  ///< elements: a few pages, to share out among workers
};

/// Scans along one dimension.
template <class Device, execution Model>
struct default_tuning<families::scan, Device, Model> {
  static constexpr i64 few_rows = 64;            ///< fewer rows are cut into chunks,
  static constexpr i64 long_row = i64{1} << 16;  ///< if they are as long as this,
  static constexpr i64 least_chunk = 4096;       ///< of as many elements at least,
  static constexpr i64 most_chunks = 1024;       ///< and at most so many of a row
  static constexpr int threads = 256, threads_of_few = 32;
  /// Whether blocks that have begun go on while others wait for them, so that long rows are read
  /// once; fewer rows than these, of more tiles than these (by a model of an H200).
  static constexpr bool looks_back = true;
  static constexpr i64 rows_looked_back = 256, tiles_of_block = 2;
  /// Rows that are many: warps have them up to so many elements, in blocks of so many threads.
  static constexpr i64 many_short_rows = 8 * tuning<families::any, Device>::units;
  static constexpr i64 short_row = 1024;
  static constexpr int threads_of_short = 256;
};

/// Factorizations of matrices on the host; a SIMT device has a block for each matrix.
template <class Device>
struct default_tuning<families::factor, Device, execution::vector_workers> {
  static constexpr i64 least_group = 8;  ///< matrices that are factored side by side, at least
  static constexpr i64 group_bytes = i64{1} << 16;  ///< of 16 of them at most: they stay near L1
  static constexpr i64 many_sides = 8;  ///< right sides from which on they are solved together
};

/// Copies between layouts.
template <class Device, execution Model>
struct default_tuning<families::copy, Device, Model> {
  static constexpr i64 line = 32;  ///< bytes along both sides that make a transposition pay (H200)
  /// Tiles from which on assembling misaligned vectors pays (H200, f32, element by element and so:
  /// 81 tiles in 2.5 and 3.0 us, 1,139 in 13.4 and 11.4).
  static constexpr i64 shifted_tiles = 512;
  static constexpr i64 least_rows = 8;  ///< rows joined by less than vectors: a thread has so many
  /// Vectors of an output, from which on a thread assembles four of them from the input's; of fewer
  /// a thread has one (not timed).
  static constexpr i64 shifted_vectors = i64{1} << 14;
};

/// Lookups of elements and rows.
template <class Device, execution Model>
struct default_tuning<families::index, Device, Model> {
  static constexpr i64 access = 32;  ///< bytes that memory gives at least: a sector of NVIDIA's L2
  static constexpr i64 many_picks = 32;  ///< a thread's picks of a row; more need least_rows (H200)
  static constexpr i64 least_rows = 128;           ///< rows: about a block a unit
  static constexpr i64 line_bytes = i64{1} << 15;  ///< of a line that a block joins, at most
  static constexpr i64 line_share = 8;  ///< times as many elements as are joined a line may have
};
template <class Device>
struct default_tuning<families::index, Device, execution::vector_workers> {
  static constexpr i64 tile = 8192;     ///< elements: as of pointwise operators
  static constexpr i64 written = 1024;  ///< elements of a tile that is written at indices
  static constexpr i64 widened = 8;     ///< times as many may be copied as are joined, not sorted
  static constexpr i64 checked_at_once = 256;      ///< indices that a launch of their own checks
  static constexpr i64 line_bytes = i64{1} << 17;  ///< of a line's sums, which stay in the cache
};

/// Reductions. What is the same input gives the same bits: nothing here may depend on the machine
/// that a program finds.
template <class Device, execution Model>
struct default_tuning<families::reduce, Device, Model> {
  static constexpr int threads = 256;  ///< threads a block, 2^n: its kernels are compiled for them
  static constexpr i64 busy_threads = tuning<families::any, Device>::busy_threads;
  /// Blocks that are resident at once: results are cut into no more parts (H200: 4 a unit).
  static constexpr i64 resident_blocks = 4 * tuning<families::any, Device>::units;
  static constexpr i64 vectors_per_thread = 16;  ///< of a row, before it has more threads (H200)
  static constexpr i64 long_weight = 4;          ///< of vectors of a formula with many instructions
  static constexpr i64 short_row_vectors = 16;   ///< of a row that a thread reads alone (H200)
  static constexpr i64 columns_of_vectors = 16;  ///< vectors in a block's row: 256 bytes (H200)
  static constexpr i64 columns_of_elements = 32;  ///< the same where there are no vectors (H200)
  /// Vectors of a row's operands that a cluster's blocks share: with fewer one block is as soon
  /// done, with more all units are (by a model of an H200: a unit reads 64 bytes a cycle).
  static constexpr i64 shared_vectors = 2048, most_shared_vectors = 16384;
  static constexpr int cluster = 8;  ///< blocks of such a cluster
};
template <class Device>
struct default_tuning<families::reduce, Device, execution::vector_workers> {
  static constexpr i64 columns = 1024;    ///< adjacent columns that a tile reduces
  static constexpr i64 few_results = 64;  ///< results: fewer are cut, whatever the workers are
  static constexpr i64 parts = 64;        ///< parts of one of few results: workers of a large host
};

/// Operators along one dimension.
template <class Device, execution Model>
struct default_tuning<families::row, Device, Model> {
  static constexpr i64 threads = 256;  ///< threads a block of rotary's strided kernel, at most
  // How rows are held in registers (ops/dispatch/register_rows.hpp), all of H100 and H200.
  /// Vectors of all rows that do not keep a large device busy: what counts is how soon a row is
  /// done, and up to vectors_of_few of a row have threads with two vectors.
  static constexpr i64 few_vectors = i64{1} << 18, vectors_of_few = 1024;
  static constexpr i64 subwarp_vectors = 64;  ///< of a row that a warp or less has, whatever rows
  /// Vectors of one of few rows that a warp has, if there are more than so many.
  static constexpr i64 warp_vectors = 128, warp_rows = 512;
  /// Rows of a warp from which on larger blocks begin sooner (2048 rows of 1024 gained a twentieth;
  /// of fewer rows units would have unequal shares), and the threads of a block.
  static constexpr i64 many_warp_rows = 1600;
  static constexpr int threads_of_many_warps = 256, threads_of_warps = 128;
  /// Vectors of a row that blocks may share, and rows that are few enough for that.
  static constexpr i64 long_row_vectors = 2048, few_long_rows = 64;
  static constexpr int threads_of_cluster = 256;  ///< threads a block of those, at least
  /// Vectors of a row, part of which is staged by blocks of so many threads.
  static constexpr i64 staged_vectors = 8192;
  static constexpr int threads_of_staged = 128;
  /// Rows from which on long ones have a block each, where they are read once, and its threads.
  static constexpr i64 rows_read_once = 256;
  static constexpr int threads_read_once = 512;
  /// Threads a unit of blocks that keep parameters of pairs of rows, and of such a block, at most.
  static constexpr int resident_threads = 512, threads_of_pairs = 128;
};

/// Sorting. Workspaces are those of any kernel that has one row a block.
template <class Device, execution Model>
struct default_tuning<families::sort, Device, Model> {
  static constexpr i64 workspace_rows = 64;                ///< rows: enough for any blocks
  static constexpr i64 workspace_elements = i64{1} << 20;  ///< elements: fit a last-level cache
  static constexpr i64 elements_per_pass = i64{1} << 25;   ///< elements that a pass sorts (H200)
  static constexpr i64 scan_threads = 1024;  ///< threads a block that adds up tiles' counts
};
template <class Device>
struct default_tuning<families::sort, Device, execution::vector_workers> {
  static constexpr i64 workspace_rows = 64;                ///< rows: enough for any workers
  static constexpr i64 workspace_elements = i64{1} << 20;  ///< elements: fit a last-level cache
  static constexpr i64 least_part = 16384;  ///< elements of a row's part that pays for a merger
  static constexpr i64 piece = 8192;        ///< elements of a merger that a worker takes
};

/// The first k of rows.
template <class Device, execution Model>
struct default_tuning<families::topk, Device, Model> {
  static constexpr i64 short_threads = 64;  ///< threads of a row that read little each (H200)
  static constexpr int threads = 256;       ///< threads a block of short rows, or of few firsts
  static constexpr int most_threads = 512;  ///< threads a block of others, up to 512 (H200)
  static constexpr i64 multiple = 64;  ///< elements: of a part of a row, so that vectors begin it
  static constexpr i64 firsts = 512;   ///< k that 256 threads find in a short row (H200)
  static constexpr i64 firsts_of_long = 64;  ///< k that they find in a long one (H200)
  /// Elements of all rows; of fewer, long rows go in more parts (H200).
  static constexpr i64 few_elements = i64{1} << 21;
};

namespace detail {
/// Products by the kernels that run anywhere.
struct portable_gemm_tuning {
  static constexpr i64 cached = 256 * 1024;   ///< bytes of rows that a group of tiles reads again
  static constexpr int most_threads = 256;    ///< threads a block of long sums
  static constexpr int panel_threads = 128;   ///< threads a block of panels
  static constexpr i64 panel_bytes = 512;     ///< bytes of a line of a panel
  static constexpr i64 pairs_at_once = 1024;  ///< results of pairs of a row that a block makes
  static constexpr i64 wide_bytes = 2048;     ///< the same of few rows, at most
  static constexpr i64 wide_columns = 64;     ///< columns of few rows, at least
};
}  // namespace detail

/// A tile of a product on matrix units (kernels::mma_tile): results, terms of a step (of 16 bits;
/// twice as many bytes whatever the type), steps in block-local memory, warps, blocks of a unit.
/// Tiles are chosen by what they reach of the best one's speed, and by the terms that they could
/// multiply while they begin and end.
struct gemm_tile {
  int rows, columns, depth, stages, warp_rows, warp_columns, blocks, percent, begin = 0;
};
/// A tile of a product in full precision (kernels::fma_tile), and what it reaches.
struct gemm_fma_numbers {
  int row_groups, column_groups, stages, blocks, percent;
};
/// What decides whether sums are cut into parts, in hundreds of multiplications of a unit with the
/// best tile.
struct split_costs {
  double launch;       ///< of the second launch, which adds parts up
  double part;         ///< of a part of a result, stored and read
  double alone;        ///< the share of a tile's speed that one of several blocks of a unit reaches
  double gain = 0.95;  ///< the share of the time without parts below which they pay
};
/// A tile of products by warp groups (kernel/family/gemm/simt/warp_groups.hpp), which a device with
/// those lists as tuning<families::gemm, Device>::warp_group_tiles. A round of all units takes
/// m * n * (terms + begin) / rate, in units of time of no importance.
struct warp_group_numbers {
  int m, n, stages, cluster;
  bool ping_pong;
  int rate, begin;
  bool is_plain = false;   ///< for products that nothing is added to: it has no registers for more
  bool is_single = false;  ///< where each unit has one tile at most, so that no other one waits
};
/// What else takes time, in those units, as tuning<families::gemm, Device>::warp_group_other_costs.
struct warp_group_costs {
  double byte;      ///< of the operands, if nothing else takes longer
  double launch;    ///< the second one of split-K
  double part;      ///< of a result, which that reads
  int least_terms;  ///< of a part
};

/// Matrix products.
template <class Device, execution Model>
struct default_tuning<families::gemm, Device, Model> : detail::portable_gemm_tuning {
  static constexpr gemm_tile tiles[] = {{64, 64, 32, 3, 2, 2, 2, 100}};
  static constexpr gemm_tile f64_tiles[] = {{64, 64, 32, 3, 2, 2, 2, 100}};
  static constexpr gemm_fma_numbers fma_tiles[] = {{2, 4, 4, 2, 100}, {1, 2, 4, 4, 75}};
  static constexpr bool large_register_tiles = true;  ///< of 128 x 128 results, besides 64 x 64
  static constexpr i64 tile_group = 8;       ///< rows of tiles that pass over all columns together
  static constexpr i64 terms_of_part = 256;  ///< terms of a part of a sum, at least
  /// Of matrix units for 8 and 16 bits, and of others (H100).
  static constexpr split_costs split_of_small = {57e3, 0.065, 0.76},
                               split_of_full = {6e3, 0.007, 0.6};
  /// Multiplications from which on operands are copied to rows of whole vectors.
  static constexpr f64 work_to_align = 1e7;
  static constexpr int align_threads = 256;  ///< threads a block of such a copy
  static constexpr int merge_threads = 64;   ///< threads a block that adds up parts of sums
  /// Grouped products: with fewer rows of a group on average than the first has, or more.
  static constexpr gemm_tile few_of_group = {16, 64, 64, 3, 1, 4, 4, 100},
                             many_of_group = {64, 128, 32, 3, 2, 2, 2, 100};
  static constexpr int grouped_rows = 32, grouped_columns = 128, grouped_depth = 32;
  static constexpr i64 few_rows = 16;           ///< rows that kernels of few rows take (H200)
  static constexpr i64 rows_without_tiles = 1;  ///< rows; more go to matrix units (H200)
  static constexpr i64 units = tuning<families::any, Device>::units;
  static constexpr i64 busy_blocks = 4 * units;  ///< blocks that keep the memory busy (H200)
  static constexpr int threads = 256;  ///< threads a block of few rows, for which it is compiled
  /// Vectors of a line that two subwarps share; twice and four times as many are shared by four
  /// and eight (H200).
  static constexpr i64 shared_vectors = 128;
};
/// The host's blocks follow its caches (ops/dispatch/gemm/policy.hpp).
template <class Device>
struct default_tuning<families::gemm, Device, execution::vector_workers>
    : detail::portable_gemm_tuning {
  static constexpr i64 few_columns = 64;  ///< columns from which on rows of few are read whole
  static constexpr int grouped_rows = 32, grouped_columns = 64, grouped_depth = 128;  ///< in L1, L2
};

/// A tile of attention over latent keys: so many keys at a time, and warps, of which two have the
/// same 16 rows.
struct attention_latent_tile {
  int keys, warps;
};
/// A tile of attention by warp groups (kernels::attention_warp_tile), which a device with those
/// lists as tuning<families::attention, Device>::warp_group_tiles: of heads of up to `size`
/// elements, with a mask or without, from so many keys and tiles of the launch on.
struct attention_warp_numbers {
  int size, keys, consumers, stages;
  bool streams, is_masked;
  i64 least_keys, least_causal_keys, least_tiles;
};

/// The tiles of attention's gradients by warp groups (kernels::attention_gradient_tile): the pass
/// over queries takes so many keys at a time, the one over keys so many queries. Listed as
/// tuning<families::attention, Device>::warp_group_gradient_tiles by the size of heads.
struct attention_gradient_numbers {
  int size, consumers;
  int keys, key_stages;
  int queries, query_stages;
};

/// Attention.
template <class Device, execution Model>
struct default_tuning<families::attention, Device, Model> {
  static constexpr int threads = 64;  ///< threads a block of the portable kernel: a head's elements
  static constexpr i64 few_queries = 16;  ///< queries that share keys and are few (H200)
  static constexpr i64 units = tuning<families::any, Device>::units;
  static constexpr int decode_threads = 128;  ///< threads a block of few queries (H200)
  static constexpr int tile_threads = 256;  ///< threads a block where there are matrix units (H200)
  // What decides how keys are cut, in steps of a block (H200).
  static constexpr i64 steps_to_begin = 2;    ///< steps in the time that a block takes to begin
  static constexpr i64 steps_of_cluster = 1;  ///< the same of a cluster, besides
  static constexpr i64 steps_of_merge = 3;    ///< the same of a launch that merges parts
  static constexpr i64 cluster_quarters = 3;  ///< quarters of the units that large clusters fill
  static constexpr i64 most_rounds = 4;       ///< rounds of blocks that are considered
  static constexpr int prefill_warps = 4;     ///< warps a block of many queries (H200)
  /// Bytes of keys and values that blocks with many queries read at a time: of an L2 cache, half.
  static constexpr i64 prefill_bytes = i64{24} << 20;
  static constexpr i64 gradient_bytes = i64{40} << 20;  ///< the same of a pass of gradients
  static constexpr int gradient_others = 32;  ///< others that a pass of gradients takes at a time
  /// Tiles over latent keys, in 144 and 72 KiB of block-local memory (not measured).
  static constexpr attention_latent_tile latent_of_many = {32, 8}, latent_of_few = {16, 4};
  /// Keys that such a block takes at a time, of heads of 64 * blocks elements (H200).
  static constexpr int prefill_keys(int blocks) { return blocks <= 2 ? 64 : 32; }
};
template <class Device>
struct default_tuning<families::attention, Device, execution::vector_workers> {
  static constexpr int threads = 64;        ///< as above
  static constexpr i64 many_batches = 64;   ///< batches, of which keys are not cut
  static constexpr i64 keys_of_part = 256;  ///< keys of a part, at least
  static constexpr i64 parts = 16;          ///< parts of the keys, at most
};

/// Products with quantised weights, by the kernels that run anywhere.
template <class Device, execution Model>
struct default_tuning<families::quantized, Device, Model> {
  static constexpr i64 cached = 256 * 1024;  ///< bytes of rows that a group of tiles reads again
  static constexpr i64 few_blocks = 8;       ///< blocks of a row, for which few threads do
  static constexpr int threads_of_few = 64;  ///< threads a block of those, and of activations
  static constexpr int threads = 128;        ///< threads a block of others
};

}  // namespace flaggems
