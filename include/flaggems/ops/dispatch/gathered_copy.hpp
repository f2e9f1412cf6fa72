// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Copies on a SIMT device that store vectors of elements read one by one.
#pragma once

#include <flaggems/kernel/family/copy/simt/gathered.hpp>
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
    i64 reach = 0;
    for (int d = 0; d < out.sizes.size(); ++d) {
      const i64 n = x.sizes[d], stride = x.strides[d];
      // (What passes 2^30 shows, and no product of two of them overflows.)
      narrow_ = narrow_ && n <= most && -most <= stride && stride <= most && -most <= low[d] &&
                low[d] <= most;
      if (!narrow_) return;
      reach += (n - 1) * (stride < 0 ? -stride : stride);
      narrow_ = reach <= most;
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
  int rank_ = 0;
  pad_mode mode_ = pad_mode::constant;
  dimension dims_[max_rank];
};

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
  plan_steps<device_of<S>>(config, kernels::ceil_div(n, i64{kernel::width}));
  launch<kernel>(stream, config, static_cast<u32>(n), source,
                 reinterpret_cast<word*>(const_cast<unsigned char*>(out.data)));
  return true;
}

/// out = x and what lies around it, by one launch of a SIMT device if it can be; returns whether it
/// was. x, of as many dimensions and elements of the same size, begins at low[d] >= 0 of out;
/// `value` has the bits of what a constant padding is.
template <int Size, class S>
bool copy_padded(const char* op, const S& stream, const memory_layout& out, const memory_layout& x,
                 i64 n, const i64* low, pad_mode mode, u64 value = 0) {
  if constexpr (has_simt<device_of<S>> && Size <= 8) {
    return copy_gathered<kernels::strided_source<kernels::uint_of_size<Size>, true>>(
        op, stream, out, x, n, padded_plan(out, x, low, mode), mode == pad_mode::constant, value);
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

}  // namespace flaggems::detail
