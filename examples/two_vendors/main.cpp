// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Several vendors in one program: the same softmax on each device that this machine has, with
// copies from one to the next, and what a call costs on each and in PyTorch. FLAGGEMS_DEVICE names
// the one that the sum runs on.
#include "calls.hpp"

#include <flaggems/flaggems.hpp>
#include <flaggems/vendors/any_device.hpp>
#include <flaggems/vendors/cuda.hpp>
#include <flaggems/vendors/opencl.hpp>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

namespace {

namespace fg = flaggems;

constexpr fg::i64 rows = 8, columns = 100;

/// The tensor's numbers, on the host.
template <class D>
std::vector<float> numbers(const fg::stream<D>& s, const fg::tensor<float, D>& x) {
  const auto on_host = fg::to_host(s, x);
  s.synchronize();
  return {on_host.data(), on_host.data() + on_host.numel()};
}

/// What the host pays for a call: the device works meanwhile, but where calls are synchronous.
template <class D>
call_costs costs_on(const fg::stream<D>& s) {
  const auto cost_of = [&](fg::i64 n, const auto& call) {
    auto y = fg::ones(s, {n});
    call(y);
    s.synchronize();
    const double queued = nanoseconds([&] { call(y); });
    s.synchronize();
    return queued;
  };
  const auto add = [&](auto& y) { fg::add(s, y, y, y); };
  return {D::name, cost_of(4, add), cost_of(1000, add),
          cost_of(4, [&](auto& y) { fg::silu(s, y, y); })};
}

/// The row-wise softmax of `x` on a device of type D; false if it differs from `expected`.
template <class D>
bool run(std::vector<float>& x, const std::vector<float>& expected,
         std::vector<call_costs>& costs) {
  if (D::device_count() == 0) {
    std::printf("%-8s none: %s\n", D::name, std::string(D::unavailable_reason()).c_str());
    return true;
  }
  const fg::stream<D> s;
  const auto in = fg::from_values<float>(s, x, {rows, columns});
  const std::vector<float> out = numbers(s, fg::softmax(s, in, 1));
  bool good = out.size() == expected.size();
  for (std::size_t k = 0; good && k < out.size(); ++k)
    good = std::abs(out[k] - expected[k]) <= 1e-6F;

  std::printf("%-8s %s: %s\n", D::name, std::string(D::properties(0).name).c_str(),
              good ? "agrees" : "DIFFERS");
  costs.push_back(costs_on(s));
  x = numbers(s, in);  // for the next device
  return good;
}

/// The same; a device that no compiler is here for says so.
template <class D>
bool run_if_possible(std::vector<float>& x, const std::vector<float>& expected,
                     std::vector<call_costs>& costs) {
  try {
    return run<D>(x, expected, costs);
  } catch (const fg::error& e) {
    if (e.code() != fg::errc::not_supported) throw;
    std::printf("%-8s cannot run: %s\n", D::name, e.what());
    return true;
  }
}

}  // namespace

int main() {
  std::vector<float> x(rows * columns), expected(rows * columns);
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = static_cast<float>((k * 37) % 101) / 20.0F;
  for (std::size_t row = 0; row < rows; ++row) {
    double sum = 0;
    for (std::size_t k = 0; k < columns; ++k) sum += std::exp(double{x[row * columns + k]});
    for (std::size_t k = row * columns; k < (row + 1) * columns; ++k)
      expected[k] = static_cast<float>(std::exp(double{x[k]}) / sum);
  }
  std::vector<call_costs> costs;
  bool good = run<fg::host>(x, expected, costs);
  good &= run_if_possible<fg::opencl>(x, expected, costs);
  good &= run_if_possible<fg::cuda>(x, expected, costs);

  // [any_device]
  using any = fg::any_device<fg::cuda, fg::opencl, fg::host>;
  const fg::any_stream<fg::cuda, fg::opencl, fg::host> stream(any::chosen());
  const float sum = stream.visit([](const auto& s) {
    const auto ones = fg::ones(s, {1000});
    const auto total = fg::to_host(s, fg::sum(s, ones));
    s.synchronize();
    return total.data()[0];
  });
  std::printf("a sum of 1000 ones on %s: %g\n", stream.device().name(), double{sum});
  // [/any_device]
  const double choice = nanoseconds([&] { stream.visit([](const auto& s) { (void)s.handle(); }); });
  std::printf("choosing the device of a call takes %.1f ns\n", choice);

  call_costs::print_title();
  for (const call_costs& row : costs) row.print();
  print_torch();
  return good && sum == 1000 ? 0 : 1;
}
