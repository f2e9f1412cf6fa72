// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Calls on few elements: what counts is the way to the kernel.
#include "../compare.hpp"

#include <flaggems/ops/activation.hpp>
#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/gemm.hpp>
#include <flaggems/ops/norm.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/reduce.hpp>
#include <flaggems/ops/softmax.hpp>

namespace compare {

const char* const family_name = "small";

void family(session& s) {
  if (s.options.threads != 1) return;  // so little is done by one thread anyway
  for (const i64 n : {1, 64, 256, 1024}) {
    if (s.options.quick && n != 256) continue;
    const auto a = s.random<float>({n}), b = s.random<float>({n}), weight = s.random<float>({n});
    auto out = s.random<float>({n}), one = s.random<float>({});
    const double item = 4.0 * static_cast<double>(n);
    const std::string shape = text({n});
    const auto line = [&](const char* op, std::vector<operand> in, auto& to, double bytes,
                          std::vector<double> numbers, auto f) {
      s.measure({op, shape, {op, std::move(in), {of(to)}, std::move(numbers)}, f, bytes});
    };
    line("add", {of(a), of(b)}, out, 3 * item, {}, [&] { fg::add(s.stream, a, b, out); });
    line("mul_scalar", {of(a)}, out, 2 * item, {1.5}, [&] { fg::mul(s.stream, a, 1.5F, out); });
    line("silu", {of(a)}, out, 2 * item, {}, [&] { fg::silu(s.stream, a, out); });
    line("copy", {of(a)}, out, 2 * item, {}, [&] { fg::copy_(s.stream, out, a); });
    line("sum", {of(a)}, one, item, {}, [&] { fg::sum(s.stream, a, one); });
    line("softmax", {of(a)}, out, 2 * item, {-1}, [&] { fg::softmax(s.stream, a, out, -1); });
    line("rms_norm", {of(a), of(weight)}, out, 2 * item, {},
         [&] { fg::rms_norm(s.stream, a, {n}, weight, out, 1e-5); });
  }
  for (const i64 n : {1, 4, 8}) {
    const auto a = s.random<float>({n, n}), b = s.random<float>({n, n});
    auto out = s.random<float>({n, n});
    s.measure({"mm",
               text({n, n, n}),
               {"mm", {of(a), of(b)}, {of(out)}, {}},
               [&] { fg::mm(s.stream, a, b, out); },
               0,
               2.0 * static_cast<double>(n * n * n)});
  }
}

}  // namespace compare
