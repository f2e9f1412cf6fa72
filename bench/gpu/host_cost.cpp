// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What a call costs the host: each operator's time until it returns, beside the driver's own for
// the same launches (same function, grid and arguments), and what is left if launching took no
// time.
//
//   host_cost          nanoseconds a call, of 1x4096 bf16, as lines of JSON; "raw" is the driver's
//                      launch, "plain" the same without attributes (cuLaunchKernel)
//   host_cost loop NAME COUNT    only calls an operator so often, for profilers
//   host_cost first    microseconds of each operator's first call in this process
#include <flaggems/flaggems.hpp>
#include <flaggems/vendors/cuda.hpp>

#include <dlfcn.h>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace fg = flaggems;
using fg::bf16;
using fg::cuda;
using fg::i64;

namespace {

using fg::detail::driver_launch;
using launch_how = fg::detail::driver_launch;
using launch_function = int(const launch_how*, void*, void**, void**);
using plain_launch_function = int(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                  unsigned, void*, void**, void**);

/// A launch as the driver was asked for it, with arguments of its own.
struct recorded {
  launch_how how;
  std::vector<fg::detail::driver_launch_attribute> attributes;
  void* function;
  std::vector<std::vector<unsigned char>> values;
  std::vector<void*> arguments;
};
std::vector<recorded> launches;
launch_function* real_launch = nullptr;
plain_launch_function* plain_launch = nullptr;
int (*parameter_info)(void*, std::size_t, std::size_t*, std::size_t*) = nullptr;

int record(const launch_how* how, void* function, void** arguments, void** extra) {
  recorded r{*how, {how->attributes, how->attributes + how->attribute_count}, function, {}, {}};
  std::size_t offset = 0, size = 0;
  for (std::size_t k = 0; parameter_info(function, k, &offset, &size) == 0; ++k)
    r.values.emplace_back(static_cast<unsigned char*>(arguments[k]),
                          static_cast<unsigned char*>(arguments[k]) + size);
  launches.push_back(std::move(r));
  return real_launch(how, function, arguments, extra);
}
int nothing(const launch_how*, void*, void**, void**) { return 0; }

// The function that launches go through.
void launch_by(launch_function* f) {
  const auto& functions = fg::detail::driver<fg::detail::cuda_api>::get().functions();
  const_cast<fg::detail::driver_functions&>(functions).launch.call = f;
}

/// Nanoseconds a call; the queue is never full.
double cost(const fg::stream<cuda>& s, const std::function<void()>& call) {
  std::vector<double> times;
  for (int round = 0; round < 15; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    for (int k = 0; k < 200; ++k) call();
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    s.synchronize();
    times.push_back(took.count() / 200);
  }
  std::nth_element(times.begin(), times.begin() + 7, times.end());
  return times[7];
}

struct operator_call {
  const char* name;
  std::function<void()> call;
};

}  // namespace

int main(int count, char** words) try {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const bool first = count > 1 && std::strcmp(words[1], "first") == 0;
  if (cuda::device_count() == 0) {
    std::puts(std::string(std::string_view(cuda::unavailable_reason())).c_str());
    return 2;
  }
  const fg::stream<cuda> s;
  const i64 n = 4096, h = 32, d = 128;
  auto x = fg::empty<bf16>(s, {1, n}), y = fg::empty<bf16>(s, {1, n});
  auto w = fg::empty<bf16>(s, {n}), b = fg::empty<bf16>(s, {n});
  auto weight = fg::empty<bf16>(s, {64, n}), small = fg::empty<bf16>(s, {1, 64});
  auto out = fg::empty<bf16>(s, {1, n}), residual = fg::empty<bf16>(s, {1, n});
  auto two = fg::empty<bf16>(s, {2, n}), one = fg::empty<bf16>(s, {1}),
       some = fg::empty<bf16>(s, {64});
  auto index = fg::empty<i64>(s, {1}), places = fg::empty<i64>(s, {1, n});
  auto best = fg::empty<bf16>(s, {1, 8});
  auto best_places = fg::empty<i64>(s, {1, 8});
  const auto which = fg::from_values<i64>(s, {1});
  auto q = fg::empty<bf16>(s, {1, h, d}), k = fg::empty<bf16>(s, {1, 8, d});
  auto q_out = fg::empty<bf16>(s, {1, h, d}), k_out = fg::empty<bf16>(s, {1, 8, d});
  auto angles = fg::empty<bf16>(s, {1, d / 2});
  auto keys = fg::empty<bf16>(s, {1, 8, 32, d}), values = fg::empty<bf16>(s, {1, 8, 32, d});
  auto query = fg::empty<bf16>(s, {1, h, 1, d});
  auto attended = fg::empty<bf16>(s, {1, h, 1, d});
  const auto square = x.view().reshape({64, 64});
  auto turned = out.view().reshape({64, 64});
  for (auto* t : {&x, &y, &w, &b, &weight, &small, &q, &k, &angles, &keys, &values, &query})
    fg::zero_(s, t->view());

  const std::vector<operator_call> calls = {
      {"add", [&] { fg::add(s, x, y, out); }},
      {"add, new tensor", [&] { (void)fg::add(s, x, y); }},
      {"add_", [&] { fg::add_(s, out, x); }},
      {"silu", [&] { fg::silu(s, x, out); }},
      {"gelu(x) * 2 + y", [&] { fg::assign(s, out, fg::gelu(x) * 2 + y); }},
      {"add, broadcast", [&] { fg::add(s, two, w, two); }},
      {"silu_and_mul", [&] { fg::silu_and_mul(s, x, y, out); }},
      {"fill_", [&] { fg::fill_(s, out, 1); }},
      {"copy_", [&] { fg::copy_(s, out, x); }},
      {"copy_, transposed", [&] { fg::copy_(s, turned, square.t()); }},
      {"cat",
       [&] {
         fg::cat(s, {x.view(), y.view()}, two, 0);
       }},
      {"embedding", [&] { fg::embedding(s, weight, which, out); }},
      {"index_select", [&] { fg::index_select(s, weight, 0, which, out); }},
      {"softmax", [&] { fg::softmax(s, x, out, -1); }},
      {"softmax, new tensor", [&] { (void)fg::softmax(s, x, -1); }},
      {"log_softmax", [&] { fg::log_softmax(s, x, out, -1); }},
      {"layer_norm", [&] { fg::layer_norm(s, x, {n}, w, b, out); }},
      {"rms_norm", [&] { fg::rms_norm(s, x, {n}, w, out); }},
      {"fused_add_rms_norm", [&] { fg::fused_add_rms_norm(s, out, residual, w); }},
      {"apply_rotary_pos_emb",
       [&] { fg::apply_rotary_pos_emb(s, q, k, angles, angles, std::nullopt, q_out, k_out); }},
      {"sum", [&] { fg::sum(s, x, one, {1}); }},
      {"mean", [&] { fg::mean(s, x, one, {1}); }},
      {"amax", [&] { fg::amax(s, x, one, {1}); }},
      {"argmax", [&] { fg::argmax(s, x, index, 1); }},
      {"topk", [&] { fg::topk(s, x, 8, best, best_places); }},
      {"argsort", [&] { fg::argsort(s, x, places); }},
      {"mv", [&] { fg::mv(s, weight, w, some); }},
      {"linear", [&] { fg::linear(s, x, weight, small); }},
      {"mm", [&] { fg::mm(s, x, weight.view().t(), small); }},
      {"scaled_dot_product_attention",
       [&] {
         fg::scaled_dot_product_attention(s, query, keys, values, std::nullopt, attended,
                                          {.enable_gqa = true});
       }},
  };

  if (first) {
    for (const operator_call& c : calls) {
      s.synchronize();
      const auto begin = std::chrono::steady_clock::now();
      c.call();
      const std::chrono::duration<double, std::micro> took =
          std::chrono::steady_clock::now() - begin;
      std::printf("{\"op\": \"%s\", \"us\": %.0f}\n", c.name, took.count());
    }
    s.synchronize();
    return 0;
  }

  const char* const named = std::getenv("FLAGGEMS_CUDA_LIBRARY");
  if (count > 3 && std::strcmp(words[1], "loop") == 0) {
    for (const operator_call& c : calls)
      for (int times = std::strcmp(c.name, words[2]) == 0 ? std::atoi(words[3]) : 0; times > 0;
           --times)
        c.call();
    return 0;
  }

  void* const driver = dlopen(named != nullptr ? named : "libcuda.so.1", RTLD_NOW);
  if (driver == nullptr) return 2;
  parameter_info = reinterpret_cast<decltype(parameter_info)>(dlsym(driver, "cuFuncGetParamInfo"));
  real_launch = reinterpret_cast<launch_function*>(dlsym(driver, "cuLaunchKernelEx"));
  plain_launch = reinterpret_cast<plain_launch_function*>(dlsym(driver, "cuLaunchKernel"));
  if (parameter_info == nullptr || real_launch == nullptr || plain_launch == nullptr) return 2;
  for (const operator_call& c : calls) {
    c.call();
    launches.clear();
    launch_by(record);
    c.call();
    launch_by(real_launch);
    std::size_t bytes = 0;
    for (recorded& r : launches)
      for (auto& v : r.values) {
        r.arguments.push_back(v.data());
        bytes += v.size();
      }
    for (recorded& r : launches) r.how.attributes = r.attributes.data();
    const auto raw = [&] {
      for (recorded& r : launches) real_launch(&r.how, r.function, r.arguments.data(), nullptr);
    };
    const auto plain = [&] {
      for (recorded& r : launches)
        plain_launch(r.function, r.how.grid[0], 1, 1, r.how.block[0], 1, 1, r.how.shared_bytes,
                     r.how.stream, r.arguments.data(), nullptr);
    };
    // In turns, as the clock of a processor changes.
    double ours = 1e9, theirs = 1e9, without = 1e9, around = 1e9;
    for (int turn = 0; turn < 5; ++turn) {
      theirs = (std::min)(theirs, cost(s, raw));
      without = (std::min)(without, cost(s, plain));
      ours = (std::min)(ours, cost(s, c.call));
      launch_by(nothing);
      around = (std::min)(around, cost(s, c.call));
      launch_by(real_launch);
    }
    std::printf(
        "{\"op\": \"%s\", \"launches\": %zu, \"argument_bytes\": %zu, \"raw\": %.0f, \"plain\": "
        "%.0f, "
        "\"ours\": %.0f, \"without_driver\": %.0f}\n",
        c.name, launches.size(), bytes, theirs, without, ours, around);
  }
  return 0;
} catch (const std::exception& e) {
  std::puts(e.what());
  return 1;
}
