// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The operators under C names, for the script that measures them beside PyTorch in one process: on
// its tensors, in its streams.
#pragma once

#include <flaggems/tensor/view.hpp>
#include <flaggems/vendors/cuda.hpp>

#include <span>
#include <type_traits>

namespace bridge {

namespace fg = flaggems;
using fg::i64;
using stream = fg::stream_ref<fg::cuda>;

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
    return fg::tensor_view<T, fg::cuda>(static_cast<T*>(x.data), fg::int_list(x.sizes, rank),
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
  if (dtype == 1) return f(fg::bf16{});
  fg::raise(fg::errc::dtype_mismatch, "bench", "f32 or bf16", "another");
}

}  // namespace bridge
