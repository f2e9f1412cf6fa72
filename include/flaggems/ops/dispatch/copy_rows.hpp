// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Launches that copy rows of several operands on a SIMT device.
#pragma once

#include <flaggems/kernel/family/copy/simt/gathered.hpp>
#include <flaggems/kernel/family/copy/simt/interleaved.hpp>
#include <flaggems/launch/launch.hpp>
#include <flaggems/launch/tuning.hpp>
#include <flaggems/ops/dispatch/steps.hpp>

namespace flaggems::detail {

/// A tensor as rows of contiguous bytes with a constant step.
struct byte_rows {
  i64 rows = 1, bytes = 0, step = 0;
  bool fits = false;

  /// Its dimensions from `dim` on are a row.
  FLAGGEMS_NOINLINE byte_rows(const memory_layout& x, int dim) {
    i64 run = 1;
    for (int d = x.sizes.size() - 1; d >= dim; --d) {
      if (x.sizes[d] != 1 && x.strides[d] != run) return;
      run *= x.sizes[d];
    }
    for (int d = dim - 1; d >= 0; --d) {
      if (x.sizes[d] == 1) continue;
      // (Modulo 2^64, as addresses are.)
      const auto own = static_cast<i64>(static_cast<u64>(x.strides[d]) * static_cast<u64>(x.item));
      if (rows == 1)
        step = own;
      else if (static_cast<u64>(own) != static_cast<u64>(step) * static_cast<u64>(rows))
        return;
      rows *= x.sizes[d];
    }
    fits = multiply(run, x.item, bytes);
  }
};

/// Calls f(count, as a constant) if that is how many rows a kernel takes in turns; returns whether
/// it did.
template <class F>
bool with_few_rows(i64 count, const F& f) {
  if (count == 2) return f(std::integral_constant<int, 2>{});
  if (count == 3) return f(std::integral_constant<int, 3>{});
  if (count == 4) return f(std::integral_constant<int, 4>{});
  return false;
}
/// Launches the copy of rows in turns, whose groups and their rows are set; false if one of the
/// first group's, or `odd`, is not aligned.
template <class S, class Word, int Count>
bool copy_interleaved(const S& stream, launch_config& config, i64 groups, i64 length, u64 odd,
                      kernels::interleaved_space<Word, Count>& space, Word* out) {
  using kernel = kernels::interleave_rows<Word, Count>;
  constexpr i64 part = kernel::part;
  for (const Word* from : space.from) odd |= reinterpret_cast<u64>(from);
  const i64 steps = kernels::ceil_div(length, part);
  if (odd % (static_cast<u64>(part) * sizeof(Word)) != 0 || reinterpret_cast<u64>(out) % 16 != 0 ||
      (groups > 1 && length % part != 0) || groups * steps >= i64{1} << 31)
    return false;
  space.length = static_cast<u32>(length);
  space.columns = divider_by(steps);
  space.steps = static_cast<u32>(groups * steps);
  plan_steps<device_of<S>>(config, groups * steps);
  launch<kernel>(stream, config, space, out);
  return true;
}

/// Copies rows of several operands side by side into rows of one output, by as few launches as the
/// kernel's operands permit. First all operands are measured, then all are added.
class row_joiner {
 public:
  row_joiner(const memory_layout& out, int dim) : to_(out, dim), dim_(dim), out_(out.data) {
    note(out, to_);
    space_.count = 0;
  }
  /// Whether the kernel is for operands like this, too.
  void measure(const memory_layout& x) { note(x, byte_rows(x, dim_)); }
  /// Whether it is for all that were measured. Rows must be many if they are not vectors: a thread
  /// finds its place once for several.
  template <class Device>
  bool settle() {
    while (odd_ % static_cast<u64>(bytes_) != 0) bytes_ /= 2;
    i64 units = 0;
    return fits_ && multiply(to_.bytes / bytes_, to_.rows, units) && units < i64{1} << 31 &&
           (bytes_ == 16 || to_.rows >= tuning<families::copy, Device>::least_rows);
  }
  template <class S>
  void add(const S& stream, launch_config& config, const memory_layout& x) {
    const byte_rows from(x, dim_);
    space_.operands[space_.count++] = {x.data, from.step, static_cast<u32>(columns_)};
    columns_ += from.bytes / bytes_;
    if (space_.count == kernels::joined_space::most_operands) flush(stream, config);
  }
  /// Launches what has been added since the last launch.
  template <class S>
  void flush(const S& stream, launch_config& config) {
    if (space_.count == 0) return;
    auto* const out = const_cast<unsigned char*>(out_);
    out_ += columns_ * bytes_;
    const auto run = [&]<int Bytes>(std::integral_constant<int, Bytes>) {
      using kernel = kernels::join_rows<Bytes>;
      // Thread coarsening: as many rows per thread as leave enough threads for a SIMT device.
      const i64 each =
          kernels::min_of(i64{kernel::in_flight},
                          columns_ * to_.rows / tuning<families::any, device_of<S>>::busy_threads);
      space_.to_row = to_.step;
      space_.rows = static_cast<u32>(to_.rows);
      space_.each = static_cast<u32>(kernels::max_of(i64{1}, kernels::min_of(each, to_.rows)));
      space_.columns = divider_by(columns_);
      space_.steps = static_cast<u32>(columns_ * kernels::ceil_div(to_.rows, i64{space_.each}));
      plan_steps<device_of<S>>(config, space_.steps);
      launch<kernel>(stream, config, space_, out);
    };
    // Whole rows of less than two vectors: a thread stores vectors of several rows.
    const bool gathers = columns_ * bytes_ == to_.bytes && to_.bytes < 32 && bytes_ < 16 &&
                         to_.step == to_.bytes && reinterpret_cast<u64>(out) % 16 == 0;
    const auto gather = [&]<int Bytes>(std::integral_constant<int, Bytes>) {
      if (take_turns<kernels::uint_of_size<Bytes>>(stream, config, out)) return;
      using source = kernels::joined_source<kernels::uint_of_size<Bytes>>;
      using kernel = kernels::gather_vectors<source>;
      space_.columns = divider_by(columns_);
      const i64 units = columns_ * to_.rows;
      plan_steps<device_of<S>>(config, kernels::ceil_div(units, i64{kernel::width}));
      launch<kernel>(stream, config, static_cast<u32>(units), source{space_},
                     reinterpret_cast<typename source::word*>(out));
    };
    const auto either = [&](auto bytes) {
      if constexpr (bytes < 16) {
        if (gathers) return gather(bytes);
      }
      run(bytes);
    };
    if (bytes_ == 16)
      either(std::integral_constant<int, 16>{});
    else if (bytes_ == 8)
      either(std::integral_constant<int, 8>{});
    else if (bytes_ == 4)
      either(std::integral_constant<int, 4>{});
    else if (bytes_ == 2)
      either(std::integral_constant<int, 2>{});
    else
      either(std::integral_constant<int, 1>{});
    columns_ = 0;
    space_.count = 0;
  }

 private:
  /// Launches what has been added if it has one unit of each operand in a row.
  template <class Word, class S>
  bool take_turns(const S& stream, launch_config& config, unsigned char* out) const {
    if (columns_ != space_.count) return false;
    for (int k = 0; k < space_.count; ++k)
      if (space_.operands[k].step != i64{sizeof(Word)}) return false;
    return with_few_rows(space_.count, [&](auto count) {
      kernels::interleaved_space<Word, count> space;
      space.rank = 0;
      for (int k = 0; k < count; ++k)
        space.from[k] = reinterpret_cast<const Word*>(space_.operands[k].data);
      return copy_interleaved(stream, config, 1, to_.rows, 0, space, reinterpret_cast<Word*>(out));
    });
  }
  void note(const memory_layout& x, const byte_rows& r) {
    fits_ = fits_ && r.fits;
    odd_ |= reinterpret_cast<u64>(x.data) | static_cast<u64>(r.bytes) | static_cast<u64>(r.step);
  }

  byte_rows to_;
  int dim_;
  const unsigned char* out_;
  bool fits_ = true;
  u64 odd_ = 0;  // what has to be a multiple of a unit's bytes
  i64 bytes_ = 16, columns_ = 0;
  kernels::joined_space space_;  // of whose operands only those in use are set
};

/// Joins the tensors of the output's dtype that `each(f)` passes to f, by one launch on a SIMT
/// device, if they and the output consist of rows; returns whether it did.
template <class S, class Each>
bool join_rows(const char* op, const S& stream, const memory_layout& out, int dim, i64 work,
               const Each& each) {
  if constexpr (has_simt<device_of<S>>) {
    row_joiner rows(out, dim);
    each([&](const auto& x) {
      if (!x.empty()) rows.measure(layout_of(x));
    });
    if (!rows.template settle<device_of<S>>()) return false;
    launch_config config;
    config.op = op;
    config.work = work;
    each([&](const auto& x) {
      if (!x.empty()) rows.add(stream, config, layout_of(x));
    });
    rows.flush(stream, config);
    return true;
  } else {
    return false;
  }
}

}  // namespace flaggems::detail
