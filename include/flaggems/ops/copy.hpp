// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/kernel/family/copy/simt/transpose.hpp>
#include <flaggems/kernel/family/copy/vector/blocks.hpp>
#include <flaggems/ops/dispatch/copy_rows.hpp>
#include <flaggems/ops/expr.hpp>

namespace flaggems {

namespace detail {

/// How the host copies bits from one layout to another: which two dimensions are a block's, and in
/// which order the blocks come. Where the input has another dimension next to each other than the
/// output, the reads, the writes or both leave their order; what was measured (GB/s, one core of a
/// Zen 3, rows of 128 bytes):
///
///                                  out of memory, streamed       2 MiB
///   innermost                      output's  input's   8 rows    output's  input's   8 rows
///   8 heads brought to the front    9.8      22.0      20.5       16.6     50.9      46.0
///   32 heads                       12.1      20.5      30.6       26.4     50.0      57.2
///   8 heads brought back           25.6      20.3      24.9       61.5     50.8      62.8
///   1024 x 768 rows                 9.1      19.2      24.8
///
/// So a dimension of few rows is innermost, and of many, eight of the output's are.
class copy_plan {
 public:
  kernels::copy_space space;
  int item;          // bytes of an element
  bool rows = true;  // what is side by side in the output is so in the input

  i64 bytes;  // to copy

  /// Both have elements of one size; x broadcasts to the sizes of `out`.
  copy_plan(const memory_layout& out, const memory_layout& x)
      : item(static_cast<int>(out.item)), bytes(out.item) {
    space.transposed = false;
    const i64 size = out.item;
    const int missing = out.sizes.size() - x.sizes.size();
    for (int d = 0; d < out.sizes.size(); ++d) {
      const i64 n = out.sizes[d];
      if (n == 1) continue;
      const bool repeats = d < missing || x.sizes[d - missing] == 1;
      insert({n, out.strides[d] * size, repeats ? 0 : x.strides[d - missing] * size, -1});
      bytes *= n;
    }
    merge();
    rows = rank_ == 0 || (last().to == size && last().from == size);
    if (rows) {
      const i64 length = rank_ == 0 ? size : dims_[--rank_].size * size;
      // A short row is an element of its own, of which there are transpositions.
      rows = rank_ == 0 || length > 8 || (length & (length - 1)) != 0;
      if (!rows) item = static_cast<int>(length);
      if (rows) plan_rows(length);
    }
    if (!rows) plan_elements();
    finish();
  }

  /// A transposition goes by way of a buffer where its lines would not stay in the caches, or
  /// evict each other (GB/s, one core of a Zen 3: f32 of 360 x 360 37 directly, 20 by the buffer;
  /// 512 x 512 10 and 17, 1024 x 1024 7 and 12; bf16 of 720 x 720 26 and 18).
  void stage(bool streamed) {
    constexpr i64 large = i64{2} << 20, medium = i64{1} << 18, pages = 1024;
    space.streamed = streamed;
    space.staged =
        streamed || bytes >= large ||
        (bytes >= medium && (space.to_step[0] % pages == 0 || space.from_step[1] % pages == 0));
  }

 private:
  struct dimension {
    i64 size, to, from;
    int cut;  // the block's dimension whose pieces this one counts, or -1
  };
  /// Bytes of a row, or rows, of one block; elements of one; rows that are few.
  static constexpr i64 most_bytes = 32768, most_elements = 2048, few_rows = 16;
  static constexpr i64 whole = i64{1} << 62;

  [[nodiscard]] const dimension& last() const { return dims_[rank_ - 1]; }
  static i64 magnitude(i64 x) { return x < 0 ? -x : x; }
  /// The dimension along which the input has its smallest step.
  [[nodiscard]] int nearest() const {
    int best = rank_ - 1;
    for (int d = rank_ - 1; d >= 0; --d) {
      const i64 step = magnitude(dims_[d].from), least = magnitude(dims_[best].from);
      if (step != 0 && (least == 0 || step < least)) best = d;
    }
    return best;
  }
  dimension taken(int d) {
    const dimension x = dims_[d];
    for (--rank_; d < rank_; ++d) dims_[d] = dims_[d + 1];
    return x;
  }
  void move_last(int d) {
    const dimension x = taken(d);
    dims_[rank_++] = x;
  }
  /// Makes `d` the block's outer (0) or inner (1) dimension. What is longer than `piece` is cut,
  /// and the pieces become the last dimension of the grid.
  void set(int k, const dimension& d, i64 piece) {
    space.to_step[k] = d.to;
    space.from_step[k] = d.from;
    space.count[k] = space.rest[k] = d.size;
    space.cut[k] = -1;
    if (d.size <= piece) return;
    const i64 pieces = kernels::ceil_div(d.size, piece);
    space.count[k] = piece;
    space.rest[k] = d.size - (pieces - 1) * piece;
    dims_[rank_++] = {pieces, d.to * piece, d.from * piece, k};
  }
  /// What remains is the grid.
  void finish() {
    if (rank_ == 0) dims_[rank_++] = {1, 0, 0, -1};
    space.rank = rank_;
    space.blocks = 1;
    for (int d = 0; d < rank_; ++d) {
      space.sizes[d] = dims_[d].size;
      space.to[d] = dims_[d].to;
      space.from[d] = dims_[d].from;
      space.blocks *= dims_[d].size;
      if (dims_[d].cut >= 0) space.cut[dims_[d].cut] = d;
    }
  }

  /// Puts a dimension where it belongs: those of large steps in the output come first.
  void insert(const dimension& x) {
    int at = rank_++;
    for (; at > 0; --at) {
      const i64 step = magnitude(x.to), outer = magnitude(dims_[at - 1].to);
      if (step < outer || (step == outer && magnitude(x.from) <= magnitude(dims_[at - 1].from)))
        break;
      dims_[at] = dims_[at - 1];
    }
    dims_[at] = x;
  }
  /// Makes one of neighbours that both sides cross with one step.
  void merge() {
    int last = 0;
    for (int d = 1; d < rank_; ++d) {
      const dimension &outer = dims_[last], &inner = dims_[d];
      i64 to = 0, from = 0;  // too large a one is no step
      if (multiply(inner.to, inner.size, to) && multiply(inner.from, inner.size, from) &&
          to == outer.to && from == outer.from)
        dims_[last] = {outer.size * inner.size, inner.to, inner.from, -1};
      else
        dims_[++last] = inner;
    }
    if (rank_ > 0) rank_ = last + 1;
  }

  void plan_rows(i64 length) {
    if (rank_ == 0 || length > most_bytes) {
      set(0, {1, 0, 0, -1}, whole);
      return set(1, {length, 1, 1, -1}, most_bytes);
    }
    set(1, {length, 1, 1, -1}, whole);
    const int closest = nearest(), inner = rank_ - 1;
    if (closest == inner) return set(0, taken(inner), most_bytes / length);
    if (dims_[closest].size <= few_rows) return set(0, taken(closest), whole);
    if (dims_[inner].size <= few_rows)
      set(0, taken(inner), whole);
    else
      set(0, taken(inner), kernels::max_of(i64{8}, 512 / length));
    move_last(closest);
  }

  void plan_elements() {
    const int closest = nearest(), inner = rank_ - 1, side = 16 / item;
    const dimension x = dims_[closest], y = dims_[inner];
    if (closest != inner && y.to == item && x.from == item && x.size >= side && y.size >= side) {
      space.transposed = true;
      taken(inner), taken(closest);
      set(0, x, even_piece(x.size, kernels::transposed_bytes / item, side));
      return set(1, y, even_piece(y.size, kernels::transposed_elements, side));
    }
    if (closest != inner && y.size < 8 && x.size > y.size) {
      taken(inner), taken(closest);
      set(0, y, whole);
      return set(1, x, most_elements);
    }
    taken(inner);
    if (rank_ == 0 || y.size >= most_elements)
      set(0, {1, 0, 0, -1}, whole);
    else
      set(0, taken(rank_ - 1), most_elements / y.size);
    set(1, y, most_elements);
  }
  /// Pieces of `most` at the most, multiples of `side`, none of which is much shorter.
  static i64 even_piece(i64 size, i64 most, i64 side) {
    if (size <= most) return most;
    return kernels::min_of(
        most, kernels::round_up(kernels::ceil_div(size, kernels::ceil_div(size, most)), side));
  }

  int rank_ = 0;
  dimension dims_[max_rank + 2];
};

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

FLAGGEMS_NOINLINE inline void check_copy(const char* op, const memory_layout& out,
                                         const memory_layout& x) {
  if (!same_sizes(x.sizes, out.sizes) &&
      broadcast_shapes(shape(x.sizes), shape(out.sizes), op) != shape(out.sizes)) [[unlikely]]
    raise_output_sizes(op, x.sizes, out.sizes);
  check_writable(op, out);
  check_apart_or_same(op, out, x);
}

template <tensor_like X>
auto input_of(const X& x) {
  return tensor_view<const value_t<const X&>, device_t<const X&>>(as_view(x));
}

/// Whether chips copy an iteration space by tiles that transpose it: along its last dimension the
/// output is contiguous, along the one before it the input, and both fill a line or nearly.
inline bool is_transposed(const iteration& it, i64 item) {
  const int inner = it.rank() - 1;
  return inner > 0 && it.stride(0, inner) == 1 && it.stride(1, inner - 1) == 1 &&
         it.size(inner) * item >= 32 && it.size(inner - 1) * item >= 32;
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
/// Whether packs of 16 bytes lie along both sides of such a space.
inline bool has_packs_across(const iteration& it, const memory_layout& out,
                             const memory_layout& x) {
  const int inner = it.rank() - 1;
  u64 odd = reinterpret_cast<u64>(out.data) | reinterpret_cast<u64>(x.data);
  for (int d = 0; d <= inner; ++d)
    odd |= static_cast<u64>((d < inner ? it.stride(0, d) : it.size(d)) * out.item) |
           static_cast<u64>((d != inner - 1 ? it.stride(1, d) : it.size(d)) * x.item);
  return odd % 16 == 0;
}

/// The space of a copy.
FLAGGEMS_NOINLINE inline iteration plan_copy(const memory_layout& out, const memory_layout& x) {
  iteration it(out.sizes);
  it.add(out.sizes, out.strides);
  it.add(x.sizes, x.strides);
  it.collapse();
  it.arrange_transposed();
  return it;
}

/// The tiles from which on transposed_shifted is faster than element by element, if tiles are whole
/// (H200, f32: 81 in 3.0 instead of 2.5 us, 1,139 in 11.4 instead of 13.4).
inline constexpr int shifted_tiles = 512;

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

/// out = x on a chip, n elements of Word's size; x has the same sizes, or broadcasts. There are
/// elements, and all checks have passed.
template <class Word, class S>
void copy_on_chip(const char* op, const S& stream, const memory_layout& out, const memory_layout& x,
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
  if (is_transposed(it, sizeof(Word))) {
    using shifted = kernels::transposed_shifted<Word>;
    if (has_packs_across(it, layouts[0], layouts[1]))
      return copy_transposed<kernels::transposed_packs<Word>>(stream, config, it, layouts);
    if (it.size(it.rank() - 1) >= 2 * shifted::columns &&
        n >= i64{shifted_tiles} * shifted::side * shifted::columns)
      return copy_transposed<shifted>(stream, config, it, layouts);
    return copy_transposed<kernels::transposed_singles<Word>>(stream, config, it, layouts);
  }
  if (it.rank() == 2 && it.stride(0, 1) == 1 && it.stride(1, 1) == 1) {
    const i64 sizes[] = {it.size(0), it.size(1)};
    const i64 strides[][2] = {{it.stride(0, 0), 1}, {it.stride(1, 0), 1}};
    row_joiner rows({out.data, out.item, sizes, strides[0]}, 1);
    const memory_layout row_input{x.data, x.item, sizes, strides[1]};
    rows.measure(row_input);
    if (rows.settle()) {
      rows.add(stream, config, row_input);
      return rows.flush(stream, config);
    }
  }
  kernels::target<Word> to{written_words, {}};
  kernels::arg<Word, Word> from{read_words, {}};
  it.copy_strides(0, to.strides);
  it.copy_strides(1, from.strides);
  launch_strided(stream, config, it, layouts, to, from);
}

/// out = x, converted.
template <class S, class T, class D, class X, class From>
void copy_into(const char* op, const S& stream, const tensor_view<T, D>& out,
               const tensor_view<const X, From>& x) {
  static_assert(std::is_same_v<D, From>,
                "flaggems: the output is on another device than the operands");
  if constexpr (std::is_same_v<T, X> && sizeof(T) <= 8) {
    flat_operands<tensor_view<T, D>> flat(out);
    flat(x);
    const i64 bytes = flat.n * i64{sizeof(T)};
    if (!flat.all) check_copy(op, layout_of(out), layout_of(x));
    if (bytes == 0 || replaced<operators::copy_>(op, stream, x, out)) return;
    if constexpr (has_simt<D>)
      copy_on_chip<kernels::uint_of_size<int{sizeof(T)}>>(op, stream, layout_of(out), layout_of(x),
                                                          flat.n, flat.all);
    else if (flat.all)
      copy_contiguous(op, stream, layout_of(out), layout_of(x), bytes, bytes);
    else
      copy_layout<sizeof(T)>(op, stream, layout_of(out), layout_of(x), bytes);
  } else {
    using node = as_type<T, leaf<X, D>>;
    assign_node(op, stream, out, node{{x}});
  }
}

}  // namespace detail

/// dst = src, converted to dst's dtype as C++ converts; src broadcasts to dst's sizes.
///
/// Any strides on both sides; the dtypes are independent. Anything but zero is true. Floats lose
/// their fraction when they become integers; what the integer type cannot hold becomes the nearest
/// value that it can, NaN becomes 0, on every device (PyTorch leaves these cases to the processor).
/// dst may be src itself; any other overlap raises. Raises shape_mismatch or overlap
/// before anything is written. aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False)
template <stream_like S, tensor_like Dst, tensor_like Src>
void copy_(const S& stream, Dst&& dst, const Src& src) {
  same_device<S, Dst>();
  detail::copy_into("copy_", stream, as_view(dst), detail::input_of(src));
}

namespace detail {
template <class T, class S, class X>
auto copied(const char* op, const S& stream, const X& x,
            memory_format format = memory_format::contiguous_format) {
  auto out = empty_as<T>(stream, x, format, op);
  copy_into(op, stream, as_view(out), input_of(x));
  return out;
}
}  // namespace detail

/// The elements of x in a new tensor, in row-major order unless a format says another. Raises
/// device_mismatch if x is a tensor, not a view, of another device than the stream's, and
/// invalid_argument if x is not of the rank that the format is for.
/// aten::clone(Tensor self, *, MemoryFormat? memory_format=contiguous_format)
template <stream_like S, tensor_like X>
[[nodiscard]] auto clone(const S& stream, const X& x,
                         memory_format format = memory_format::contiguous_format) {
  detail::require_on_device("clone", ref(stream), x);
  return detail::copied<value_t<X>>("clone", stream, as_view(x), format);
}

/// x with its elements in the order of a format, in a new tensor. (A view that is contiguous
/// already needs no copy: test `is_contiguous()` first.) Raises invalid_argument for
/// preserve_format, or if x is not of the rank that the format is for.
/// aten::contiguous(Tensor self, *, MemoryFormat memory_format=contiguous_format)
template <stream_like S, tensor_like X>
[[nodiscard]] auto contiguous(const S& stream, const X& x,
                              memory_format format = memory_format::contiguous_format) {
  if (format == memory_format::preserve_format) [[unlikely]]
    raise(errc::invalid_argument, "contiguous", "a format of its own", "preserve_format");
  return detail::copied<value_t<X>>("contiguous", stream, as_view(x), format);
}

/// x converted to dtype T, as copy_ converts, in a new contiguous tensor.
/// aten::to.dtype(Tensor self, ScalarType dtype, bool non_blocking=False, bool copy=True)
template <element T, stream_like S, tensor_operand X>
[[nodiscard]] auto to(const S& stream, const X& x) {
  if constexpr (!is_expr<X> && std::is_same_v<T, value_t<X>>)
    return detail::copied<T>("to", stream, as_view(x));
  else
    return evaluate(stream, cast<T>(x), "to");
}
/// The same in a memory format. Raises invalid_argument if x is not of the rank that it is for.
/// aten::to.dtype(Tensor self, ScalarType dtype, bool non_blocking=False, bool copy=True,
/// MemoryFormat? memory_format=None)
template <element T, stream_like S, tensor_like X>
[[nodiscard]] auto to(const S& stream, const X& x, memory_format format) {
  return detail::copied<T>("to", stream, as_view(x), format);
}

}  // namespace flaggems
