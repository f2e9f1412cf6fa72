// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The operators under C names, for the scripts that measure them beside PyTorch in one process: on
// its tensors, in its streams. bench/compare/surface.py compiles some of them for the host.
#pragma once

#include <flaggems/tensor/view.hpp>
#include <flaggems/vendors/cuda.hpp>
#include <flaggems/vendors/host.hpp>

#include <span>
#include <type_traits>

#ifndef FLAGGEMS_BENCH_DEVICE
#define FLAGGEMS_BENCH_DEVICE cuda
#endif
/// 0: of floats f32 alone, in half the time of the compiler.
#ifndef FLAGGEMS_BENCH_BF16
#define FLAGGEMS_BENCH_BF16 1
#endif

namespace bridge {

namespace fg = flaggems;
using fg::i64;
using device = fg::FLAGGEMS_BENCH_DEVICE;
using stream = fg::stream_ref<device>;

/// A tensor as cases.py lays it out; `dtype` is an index of its DTYPES.
struct operand {
  void* data;
  i64 dtype, rank;
  i64 sizes[8], strides[8];
};

/// What a call is given: tensors, the results last, and numbers.
struct call {
  stream on;
  std::span<const operand> tensors;
  std::span<const double> numbers;

  template <class T>
  [[nodiscard]] auto view(std::size_t k) const {
    const operand& x = tensors[k];
    const auto rank = static_cast<int>(x.rank);
    return fg::tensor_view<T, device>(static_cast<T*>(x.data), fg::int_list(x.sizes, rank),
                                      fg::int_list(x.strides, rank));
  }
  [[nodiscard]] double number(std::size_t k) const { return numbers[k]; }
  [[nodiscard]] i64 integer(std::size_t k) const { return static_cast<i64>(numbers[k]); }
};

using operation = void (*)(const call&);

/// Registers an operation by its name when the program starts.
struct entry {
  entry(const char* name, operation run);
};

/// f(T{}) for the dtype of tensor k: f32 or bf16.
template <class F>
void with_float(const call& c, std::size_t k, F&& f) {
  const i64 dtype = c.tensors[k].dtype;
  if (dtype == 0) return f(fg::f32{});
#if FLAGGEMS_BENCH_BF16
  if (dtype == 1) return f(fg::bf16{});
#endif
  fg::raise(fg::errc::dtype_mismatch, "bench", "f32 or bf16", "another");
}

}  // namespace bridge
