// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Operands of products: their checks, and for matrix units rows of whole vectors of 16 bytes, or
// copies that are so.
#pragma once

#include <flaggems/device/checks.hpp>
#include <flaggems/device/tensor.hpp>
#include <flaggems/kernel/family/gemm/simt/results.hpp>
#include <flaggems/launch/launch.hpp>
#include <flaggems/launch/tuning.hpp>
#include <flaggems/ops/dispatch/copy.hpp>
#include <flaggems/ops/dispatch/matrix_units.hpp>
#include <flaggems/ops/plan/checks.hpp>
#include <flaggems/tensor/overlap.hpp>

#include <type_traits>

namespace flaggems {

/// A stream whose products of f32 may be of numbers rounded to tf32 (`allow_tf32`).
template <class Device>
struct tf32_stream {
  using device_type = Device;
  stream_ref<Device> on;
};
template <class Device>
[[nodiscard]] stream_ref<Device> ref(const tf32_stream<Device>& s) noexcept {
  return s.on;
}

namespace detail {

template <class View>
void check_matrix_rank(const char* op, const char* what, const View& v, int rank) {
  if (v.rank() != rank) [[unlikely]]
    raise(errc::shape_mismatch, op, detail::text(what) + " of rank " + detail::text(rank),
          "sizes " + to_string(v.shape_of()));
}
inline void check_size(const char* op, const char* what, i64 expected, i64 got) {
  if (expected != got) [[unlikely]]
    raise(errc::shape_mismatch, op, detail::text(what) + " " + detail::text(expected),
          detail::text(got));
}
template <class View>
void check_sizes(const char* op, const View& v, const shape& expected, const char* what = "out") {
  if (!same_sizes(v.sizes(), expected)) [[unlikely]]
    raise(errc::shape_mismatch, op, detail::text(what) + " of sizes " + to_string(expected),
          to_string(v.shape_of()));
}
template <class View>
void check_broadcasts(const char* op, const View& v, const shape& to) {
  bool fits = v.rank() <= to.rank();
  for (int d = 1; fits && d <= v.rank(); ++d) {
    const i64 size = v.size(-d);
    fits = size == 1 || size == to[to.rank() - d];
  }
  if (!fits) [[unlikely]]
    raise(errc::shape_mismatch, op, "sizes that broadcast to " + to_string(to),
          to_string(v.shape_of()));
}

/// The inputs of a product, for overlap checks with its output.
template <class T, class D>
void check_no_operand_overlap(const char* op, const placed_layout& out,
                              const tensor_view<T, D>& in) {
  check_no_overlap(op, out, layout_of(in));
}
/// Raises unless `out` can be written element by element and shares no memory with any input.
template <class Out, class... In>
void check_separate_output(const char* op, const Out& out, const In&... in) {
  static_assert(!std::is_const_v<typename Out::element_type>,
                "flaggems: expected an output that can be written, got a view of const elements");
  check_writable(op, layout_of(out));
  [[maybe_unused]] const placed_layout to(layout_of(out));
  (check_no_operand_overlap(op, to, in), ...);
}

template <class S>
inline constexpr bool allows_tf32 = false;
template <class Device>
inline constexpr bool allows_tf32<tf32_stream<Device>> = true;

template <class T>
inline constexpr bool is_f8 = std::is_same_v<T, f8e4m3> || std::is_same_v<T, f8e5m2>;

/// Lines in pieces of so many terms, each `lines` lines further on than the last one; 0 terms:
/// whole lines.
struct line_pieces {
  i64 terms = 0, lines = 0;
};

/// Whether T is one of some types.
template <class T, class... Types>
inline constexpr bool is_among = (std::is_same_v<T, Types> || ...);

/// Whether matrix units multiply T by T on a stream.
template <class S, class T>
inline constexpr bool has_matrix_unit_type = [] {
  switch (matrix_instructions_of<device_of<S>>) {
    case matrix_instructions::mma:
      return is_among<T, bf16, f16, f64, i8, u8> || is_f8<T> ||
             (std::is_same_v<T, f32> && allows_tf32<S>);
    case matrix_instructions::mfma: return is_among<T, bf16, f16, f32, f64, i8>;
    case matrix_instructions::wmma: return is_among<T, bf16, f16, i8, u8>;
    default: return false;
  }
}();
/// Whether they take only operands that lie along the sum.
template <class T>
inline constexpr bool is_multiplied_along = sizeof(T) != 2 && sizeof(T) != 8;

template <class T>
kernels::major major_of(const kernels::gemm_arg<T>& x, i64 lines) {
  const bool is_along = is_multiplied_along<T> || x.along == 1 || (x.line != 1 && lines > 1);
  return is_along ? kernels::major::along : kernels::major::across;
}
/// Whether an operand's rows, along the dimension that matrix units take as contiguous, are vectors
/// of 16 bytes.
template <class T>
bool is_aligned(const kernels::gemm_space& space, const kernels::gemm_arg<T>& x, i64 lines) {
  constexpr i64 vector = kernels::vec_size<T>;
  const bool by_terms = major_of(x, lines) == kernels::major::across;
  i64 odd = by_terms ? lines | x.along : space.k | x.line;
  for (int d = 0; d < space.rank; ++d) odd |= x.batch[d];
  return (by_terms ? x.line : x.along) == 1 && odd % vector == 0 &&
         kernels::is_vec_aligned<vector>(x.data);
}

/// Copies an operand of `lines` lines to `copy` so that it is; there are terms.
template <class S, class T>
kernels::major align_operand(const char* op, const S& stream, const kernels::gemm_space& space,
                             kernels::gemm_arg<T>& x, i64 lines, tensor<T, device_of<S>>& copy) {
  using device = device_of<S>;
  constexpr i64 vector = kernels::vec_size<T>;
  const kernels::major major = major_of(x, lines);
  if (is_aligned(space, x, lines)) return major;
  const bool by_terms = major == kernels::major::across;
  const i64 rows = by_terms ? space.k : lines, length = by_terms ? lines : space.k;
  const i64 pitch = kernels::round_up(length, vector);
  kernels::gemm_space batches;  // one if all have the same operand
  batches.rank = 0;
  batches.batches = 1;
  for (int d = 0; d < space.rank; ++d)
    if (x.batch[d] != 0) {
      batches.rank = space.rank;
      batches.batches = space.batches;
    }
  for (int d = 0; d < batches.rank; ++d) batches.sizes[d] = space.sizes[d];
  copy = empty<T>(stream, shape{batches.batches, rows, pitch}, op);
  i64 to_batch[max_rank];
  i64 stride = rows * pitch;
  for (int d = batches.rank; --d >= 0; stride *= batches.sizes[d]) to_batch[d] = stride;
  if (pitch == length && !by_terms && x.line == 1) {  // transposed
    i64 sizes[max_rank + 2], from[max_rank + 2], to[max_rank + 2];
    const int rank = batches.rank;
    for (int d = 0; d < rank; ++d)
      sizes[d] = batches.sizes[d], from[d] = x.batch[d], to[d] = to_batch[d];
    sizes[rank] = rows, from[rank] = x.line, to[rank] = pitch;
    sizes[rank + 1] = length, from[rank + 1] = x.along, to[rank + 1] = 1;
    const auto layout = [&](const T* data, const i64* strides) {
      return memory_layout{reinterpret_cast<const unsigned char*>(data), sizeof(T),
                           int_list(sizes, rank + 2), int_list(strides, rank + 2)};
    };
    launch_copy_of<sizeof(T)>(op, stream, layout(copy.data(), to), layout(x.data, from),
                              copy.numel(), false);
  } else {
    using numbers = tuning<families::gemm, device>;
    launch_config config{};
    config.op = op;
    config.threads = numbers::align_threads;
    config.tiles = kernels::ceil_div(copy.numel() / vector, i64{config.threads});
    launch<kernels::gemm_align<T>>(stream, config, batches, x, copy.data(), rows, length, by_terms);
  }
  x.data = copy.data();
  (by_terms ? x.along : x.line) = pitch;
  (by_terms ? x.line : x.along) = 1;
  for (int d = 0; d < batches.rank; ++d) x.batch[d] = to_batch[d];
  return major;
}

}  // namespace detail
}  // namespace flaggems
