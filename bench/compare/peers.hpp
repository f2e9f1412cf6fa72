// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What the comparison asks of a library: to do one operation on given memory. Each library is a
// translation unit of peers/ that registers itself when it is linked; operations have ATen's names.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace compare {

enum class dtype { f32, f64, bf16, f16, i8, u8, i32, i64, boolean };

/// A tensor in memory, by element strides.
struct operand {
  void* data;
  dtype type;
  std::vector<std::int64_t> sizes, strides;
};

/// `op(in..., numbers...) -> out...` with as many threads.
struct request {
  std::string op;
  std::vector<operand> in, out;
  std::vector<double> numbers;
  int threads = 1;
};

/// How a library does it. `note` says what the name of the library does not: that it has no such
/// operator and the result is composed of others, for instance. `finish`, if any, copies the result
/// to the request's memory when `run` can only leave it elsewhere; it is not timed.
struct offer {
  std::function<void()> run;
  std::string note;
  std::function<void()> finish = {};
  explicit operator bool() const { return static_cast<bool>(run); }
};

struct library {
  std::string name, version;
  /// Threads of all that it does from now on.
  void (*set_threads)(int);
  /// Empty if the library has no such operation.
  offer (*offer_for)(const request&);
};

/// Those that are linked, in the order of their names.
std::vector<library>& libraries();

struct registered {
  explicit registered(library l);
};

}  // namespace compare
