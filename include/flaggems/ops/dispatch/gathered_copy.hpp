// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Copies with what lies around the input: by rows on vector workers; on SIMT devices, as other
// copies too, by vectors of elements that are read one by one, or of runs of them.
#pragma once

#include <flaggems/kernel/family/copy/simt/shifted_rows.hpp>
#include <flaggems/kernel/family/copy/vector/padded.hpp>
#include <flaggems/launch/launch.hpp>
#include <flaggems/ops/dispatch/copy_rows.hpp>
#include <flaggems/ops/plan/copy.hpp>

namespace flaggems::detail {

/// Whether vectors of 16 bytes fill a contiguous output of `n` elements, which a kernel counts in
/// 32 bits.
inline bool takes_vectors(const memory_layout& out, i64 n) {
  i64 step = 1;
  for (int d = out.sizes.size() - 1; d >= 0; step *= out.sizes[d--])
    if (out.sizes[d] != 1 && out.strides[d] != step) return false;
  return reinterpret_cast<u64>(out.data) % 16 == 0 && n < i64{1} << 30;
}

/// The dimensions of a copy of x into the elements of `out` from low[d] on, with what lies around
/// them, for strided_source; those that need no place of their own are merged.
class padded_plan {
 public:
  padded_plan(const memory_layout& out, const memory_layout& x, const i64* low, pad_mode mode) {
    for (int d = 0; d < out.sizes.size(); ++d) {
      const i64 n = x.sizes[d], stride = x.strides[d];
      // (What passes 2^30 shows, and no product of two of them overflows.)
      narrow_ = narrow_ && n <= most && -most <= stride && stride <= most && -most <= low[d] &&
                low[d] <= most;
      if (!narrow_) return;
      (stride < 0 ? least_ : behind_) += (n - 1) * stride;
      narrow_ = behind_ - least_ <= most;
      const bool plain = n == out.sizes[d] && low[d] == 0;
      if (plain && n == 1) continue;
      if (rank_ > 0 && plain && last().plain && last().stride == n * stride)
        last() = {last().wide * n, 0, last().wide * n, stride, true};
      else
        dims_[rank_++] = {out.sizes[d], low[d], n, stride, plain};
    }
    mode_ = mode;
  }

  /// Sets what follows from the dimensions; false where rows are shorter than `width` elements.
  template <class Source>
  [[nodiscard]] bool fill(Source& source, i64 width) const {
    if (!narrow_ || rank_ == 0) return false;
    const dimension& inner = dims_[rank_ - 1];
    int rest = rank_ - 1;
    i64 columns = inner.wide;
    source.across = 0;
    if (!Source::is_padded && columns < width && rest > 0) {
      source.across = static_cast<i32>(dims_[--rest].stride);
      columns *= dims_[rest].wide;
    }
    if (columns < width) return false;
    source.columns = divider_by(columns);
    source.along = gathered(inner);
    source.rank = rest;
    for (int d = 0; d < rest; ++d) source.rows[d] = gathered(dims_[d]);
    return true;
  }
  /// Sets what vectors of a source that fill() has filled need besides; false where its rows are
  /// not contiguous, or shorter than a vector, or where it has none.
  template <class Word>
  [[nodiscard]] bool shift(kernels::shifted_source<Word>& source) const {
    constexpr i64 width = 16 / i64{sizeof(Word)};
    const dimension& inner = dims_[rank_ - 1];
    if (inner.stride != 1 || inner.size < width) return false;
    const Word* const data = source.rows.data;
    const auto skipped = static_cast<i64>(reinterpret_cast<u64>(data) / sizeof(Word) % width);
    const i64 first = kernels::round_up(skipped + least_ + most + 1, width) - (most + 1);
    const i64 last = (skipped + behind_ + 1) / width * width - width;
    if (first > last) return false;
    const i64 behind = kernels::max_of(inner.wide - inner.low - inner.size, i64{0});
    source.vectors = data - skipped;
    source.skipped = static_cast<i32>(skipped);
    source.first = static_cast<i32>(first);
    source.last = static_cast<i32>(last);
    const bool turns = mode_ == pad_mode::circular;
    source.turn = static_cast<i32>(inner.size);
    source.front = static_cast<i32>(turns ? inner.low - width : -width);
    source.back = static_cast<i32>(turns ? inner.low + inner.size : inner.wide);
    source.before = static_cast<i32>(inner.low);
    source.behind = static_cast<i32>(behind);
    source.seams = divider_by((inner.low + behind + 2 * width - 2) / width);
    return true;
  }

 private:
  static constexpr i64 most = (i64{1} << 30) - 1;
  struct dimension {
    i64 wide, low, size, stride;
    bool plain;  // all of the input's elements, and no others
  };
  dimension& last() { return dims_[rank_ - 1]; }
  [[nodiscard]] kernels::gathered_dimension gathered(const dimension& d) const {
    const auto size = static_cast<i32>(d.size);
    kernels::gathered_dimension r{
        divider_by(d.wide), static_cast<i32>(d.low), size, static_cast<i32>(d.stride), 0, 0, 0, 0};
    if (mode_ == pad_mode::reflect) {
      r.before_step = r.behind_step = -1;
      r.behind_start = 2 * (size - 1);
    } else if (mode_ == pad_mode::replicate) {
      r.behind_start = size - 1;
    } else if (mode_ == pad_mode::circular) {
      r.before_step = r.behind_step = 1;
      r.before_start = size, r.behind_start = -size;
    }
    return r;
  }

  bool narrow_ = true;
  i64 least_ = 0, behind_ = 0;  // how far the input reaches, in elements
  int rank_ = 0;
  pad_mode mode_ = pad_mode::constant;
  dimension dims_[max_rank];
};

/// Launches the copy of rows that are contiguous.
template <class Word, class S>
void copy_shifted(const S& stream, launch_config& config, i64 n,
                  const kernels::shifted_source<Word>& source, Word* out) {
  const auto run = [&](auto kernel) {
    using shift = decltype(kernel);
    plan_steps<device_of<S>>(config, kernels::ceil_div(n, i64{shift::width}), shift::each);
    config.scratch =
        shift::most_rows(config.threads, source.rows.columns.divisor) * i64{sizeof(i32)};
    launch<shift>(stream, config, static_cast<u32>(n), source, out);
  };
  if (source.rows.filled)
    run(kernels::shift_rows<Word, true>{});
  else
    run(kernels::shift_rows<Word, false>{});
}

/// Launches the copy of a plan, if there can be one; returns whether it did.
template <class Source, class S>
bool copy_gathered(const char* op, const S& stream, const memory_layout& out,
                   const memory_layout& x, i64 n, const padded_plan& plan, bool filled, u64 value) {
  using word = typename Source::word;
  using kernel = kernels::gather_vectors<Source>;
  Source source;
  if (!takes_vectors(out, n) || !plan.fill(source, kernel::width)) return false;
  source.data = reinterpret_cast<const word*>(x.data);
  source.filled = filled;
  source.value = static_cast<word>(value);
  launch_config config;
  config.op = op;
  config.work = work_of(n, sizeof(word), 2);
  auto* const to = reinterpret_cast<word*>(const_cast<unsigned char*>(out.data));
  const i64 vectors = kernels::ceil_div(n, i64{kernel::width});
  if constexpr (Source::is_padded) {
    kernels::shifted_source<word> shifted;
    shifted.rows = source;
    if (vectors >= tuning<families::copy, device_of<S>>::shifted_vectors && plan.shift(shifted))
      return copy_shifted(stream, config, n, shifted, to), true;
  }
  plan_steps<device_of<S>>(config, vectors);
  launch<kernel>(stream, config, static_cast<u32>(n), source, to);
  return true;
}

/// The same on vector workers, where elements are neighbours along the last dimension of both.
template <class W, class S>
bool copy_padded_rows(const char* op, const S& stream, const memory_layout& out,
                      const memory_layout& x, i64 n, const i64* low, pad_mode mode, u64 value) {
  const int last = out.sizes.size() - 1;
  const auto is_dense = [last](const memory_layout& v) {
    return last >= 0 && (v.strides[last] == 1 || v.sizes[last] == 1);
  };
  if (!is_dense(out) || !is_dense(x)) return false;
  kernels::padded_space space{last, 1, {}, {}};
  for (int d = 0; d <= last; ++d) {
    kernels::padded_dimension& own = d < last ? space.outer[d] : space.inner;
    const i64 size = x.sizes[d];
    own = {out.sizes[d], low[d], size, out.strides[d], x.strides[d], -1, 0, -1, 0};
    if (mode == pad_mode::reflect) {
      own.before_start = 0, own.before_step = own.behind_step = -1;
      own.behind_start = 2 * (size - 1);
    } else if (mode == pad_mode::replicate) {
      own.before_start = 0, own.behind_start = size - 1;
    } else if (mode == pad_mode::circular) {
      own.before_start = size, own.behind_start = -size;
      own.before_step = own.behind_step = 1;
    }
    if (d < last) space.rows *= own.wide;
  }
  launch_config config;
  config.op = op;
  config.tiles = space.rows;
  config.work = work_of(n, sizeof(W), 2);
  launch<kernels::padded_rows<W>>(stream, config, space,
                                  reinterpret_cast<W*>(const_cast<unsigned char*>(out.data)),
                                  reinterpret_cast<const W*>(x.data), static_cast<W>(value));
  return true;
}

/// out = x and what lies around it, by one launch if it can be; returns whether it was. x, of as
/// many dimensions and elements of the same size, begins at low[d] >= 0 of out; `value` has the
/// bits of what a constant padding is.
template <int Size, class S>
bool copy_padded(const char* op, const S& stream, const memory_layout& out, const memory_layout& x,
                 i64 n, const i64* low, pad_mode mode, u64 value = 0) {
  if constexpr (has_simt<device_of<S>> && Size <= 8) {
    return copy_gathered<kernels::strided_source<kernels::uint_of_size<Size>, true>>(
        op, stream, out, x, n, padded_plan(out, x, low, mode), mode == pad_mode::constant, value);
  } else if constexpr (has_vectors<device_of<S>> && Size <= 8) {
    return copy_padded_rows<kernels::uint_of_size<Size>>(op, stream, out, x, n, low, mode, value);
  } else {
    return false;
  }
}

/// out = x of an iteration space whose elements lie in no vectors of both; whether it could be.
template <class Word, class S>
bool copy_scattered(const char* op, const S& stream, const iteration& it, const memory_layout& out,
                    const memory_layout& x, i64 n) {
  i64 sizes[max_rank], steps[2][max_rank];
  constexpr i64 low[max_rank] = {};
  for (int d = 0; d < it.rank(); ++d) sizes[d] = it.size(d);
  it.copy_strides(0, steps[0]), it.copy_strides(1, steps[1]);
  const memory_layout to{out.data, out.item, {sizes, it.rank()}, {steps[0], it.rank()}};
  const memory_layout from{x.data, x.item, {sizes, it.rank()}, {steps[1], it.rank()}};
  return copy_gathered<kernels::strided_source<Word, false>>(
      op, stream, to, from, n, padded_plan(to, from, low, pad_mode::constant), false, 0);
}

/// out = x where that transposes a few contiguous rows; whether it does, and could be copied so.
template <class Word, class S>
bool copy_few_rows(const char* op, const S& stream, const iteration& it, const memory_layout& out,
                   const memory_layout& x, i64 n) {
  const int inner = it.rank() - 1;
  if (inner < 1 || it.size(inner) > 4 || it.stride(1, inner - 1) != 1) return false;
  i64 contiguous = 1;
  for (int d = inner; d >= 0; contiguous *= it.size(d--))
    if (it.stride(0, d) != contiguous) return false;
  return with_few_rows(it.size(inner), [&](auto count) {
    const i64 length = it.size(inner - 1);
    kernels::interleaved_space<Word, count> space;
    u64 odd = 0;
    space.rank = inner - 1;
    for (int d = 0; d < space.rank; ++d) {
      if (it.size(d) >= i64{1} << 31) return false;
      space.sizes[d] = divider_by(it.size(d));
      space.strides[d] = it.stride(1, d);
      odd |= static_cast<u64>(it.stride(1, d)) * sizeof(Word);
    }
    for (int k = 0; k < count; ++k)
      space.from[k] = reinterpret_cast<const Word*>(x.data) + k * it.stride(1, inner);
    launch_config config;
    config.op = op;
    config.work = work_of(n, sizeof(Word), 2);
    return length < i64{1} << 31 &&
           copy_interleaved(stream, config, n / (count * length), length, odd, space,
                            reinterpret_cast<Word*>(const_cast<unsigned char*>(out.data)));
  });
}

}  // namespace flaggems::detail
