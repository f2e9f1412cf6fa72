// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The comparison: rows that a family of operators describes, measured side by side with every
// library that offers the operation and with the machine's roof.
#pragma once

#include "peers.hpp"

#include <flaggems/device/tensor.hpp>
#include <flaggems/vendors/host.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace compare {

namespace fg = flaggems;
using fg::i64;

/// What bounds an operation: bytes of a stream that is read, copied (one read, one written) or
/// added (two read, one written), or multiplications of a type.
enum class roof { none, read, copy, triad, f32, f64, bf16, i8 };

/// One line of the table.
struct row {
  std::string op;               ///< as the table names it
  std::string shape;            ///< for the reader
  compare::request request;     ///< what the libraries are asked for; `op` of it is ATen's name
  std::function<void()> ours;   ///< writes `request.out`
  double bytes = 0, flops = 0;  ///< that the operation must move and compute
  roof bound = roof::none;
  double tolerance = 2e-5;  ///< |ours - theirs| <= tolerance * (|theirs| + scale)
  double scale = 1;
  bool in_place = false;  ///< the result is not compared: each call changes the operands
};

struct options {
  bool quick = false;
  int threads = 1;
  bool wall = false;  ///< counts the time on the wall even when one thread works
};

class session {
 public:
  explicit session(compare::options o) : options(o) {}

  const compare::options options;
  const fg::stream<fg::host> stream;

  /// A working set of a size class in bytes: of half the first cache, ...; the last is memory.
  struct size_class {
    const char* name;
    i64 bytes;
  };
  /// L1, L2, L3 and DRAM, or two of them when quick.
  [[nodiscard]] std::vector<size_class> size_classes() const;

  /// Uniform in [low, high); integers too.
  template <class T>
  [[nodiscard]] fg::tensor<T> random(const fg::shape& sizes, double low = -1, double high = 1) {
    auto x = fg::empty<T>(stream, sizes);
    static std::vector<float> pool = uniform(65521);  // a prime: rows of a matrix differ
    const std::size_t size = pool.size();
    std::size_t at = start_ = (start_ + 7919) % size;
    T* to = x.data();
    const i64 period = (std::min)(x.numel(), static_cast<i64>(size));
    for (i64 i = 0; i < period; ++i) {
      to[i] = T(static_cast<float>(low + (high - low) * static_cast<double>(pool[at])));
      if (++at == size) at = 0;
    }
    for (i64 i = period; i < x.numel(); i += period)
      std::copy_n(to, (std::min)(period, x.numel() - i), to + i);
    return x;
  }

  /// Measures it, checks the results, prints the line.
  void measure(const row& r);

  /// Rows whose results differed or whose side could not be run.
  [[nodiscard]] int errors() const { return errors_; }
  void add_errors(int n) { errors_ += n; }

 private:
  static std::vector<float> uniform(int count);
  std::size_t start_ = 0;
  int errors_ = 0;
};

template <class T>
constexpr dtype dtype_of() {
  if constexpr (std::is_same_v<T, fg::f32>) return dtype::f32;
  if constexpr (std::is_same_v<T, fg::f64>) return dtype::f64;
  if constexpr (std::is_same_v<T, fg::bf16>) return dtype::bf16;
  if constexpr (std::is_same_v<T, fg::f16>) return dtype::f16;
  if constexpr (std::is_same_v<T, fg::i8>) return dtype::i8;
  if constexpr (std::is_same_v<T, fg::u8>) return dtype::u8;
  if constexpr (std::is_same_v<T, fg::i32>) return dtype::i32;
  if constexpr (std::is_same_v<T, bool>) return dtype::boolean;
  return dtype::i64;
}

/// The memory of a tensor or view, for a request.
template <class X>
operand of(const X& x) {
  using T = std::remove_const_t<typename X::value_type>;
  operand o{const_cast<T*>(x.data()), dtype_of<T>(), {}, {}};
  for (int d = 0; d < x.rank(); ++d) {
    o.sizes.push_back(x.size(d));
    o.strides.push_back(x.stride(d));
  }
  return o;
}

/// What rounding two ways may differ by.
template <class T>
constexpr double tolerance_of() {
  return std::is_same_v<T, fg::bf16>  ? 0.017
         : std::is_same_v<T, fg::f16> ? 2e-3
         : std::is_same_v<T, fg::f64> ? 1e-9
                                      : 2e-5;
}

std::string text(const fg::shape& sizes);

/// Threads of all sides from now on.
void use_threads(int n);

// ---- roofs.cpp

/// A loop over `bytes` of memory of its own (or over registers), `threads` times at once; its
/// amount is what one call moves or computes.
struct roof_loop {
  std::function<void()> run;
  double amount = 0;
};
roof_loop make_roof(roof kind, i64 bytes, int threads);
/// Multiply-add rates of each instruction-set level, one thread: {name, GFLOP/s}.
std::vector<std::pair<std::string, double>> level_rates();

// ---- one translation unit of families/, linked into a program of its own

extern const char* const family_name;
void family(session& s);

}  // namespace compare
