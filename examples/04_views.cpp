// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// docs/use.md: views, tensors, streams, files, errors, settings.
#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/softmax.hpp>
#include <flaggems/tensor/npy.hpp>
#include <flaggems/tensor/print.hpp>
#include <flaggems/tensor/safetensors.hpp>
#include <flaggems/vendors/host.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <iostream>
#include <string>
#include <vector>

using flaggems::i64;

void views() {
  // [views]
  std::array<float, 12> memory{};
  flaggems::tensor_view<float> a(memory.data(), {3, 4});  // on the host, row-major
  a(1, 2) = 5;
  auto column = a.select(1, 2);              // [3], stride 4: the same memory
  auto upper = a.slice(0, 0, 2);             // rows 0 and 1
  auto every = a.slice(1, 0, 4, 2);          // columns 0 and 2
  auto turned = a.t();                       // [4, 3]
  auto back = a.flip({0});                   // a negative stride
  auto many = column.broadcast_to({10, 3});  // stride 0
  auto flat = a.reshape({-1});               // raises where it would need a copy
  for (auto part : a.split(2, 1)) part(0, 0) = 1;
  flaggems::tensor_view<float, flaggems::host, flaggems::extents<3, 4>> fixed(memory.data());
  static_assert(sizeof fixed < sizeof a);  // sizes that stand in the type take no room
  // [/views]
  std::cout << a << '\n';
  std::cout << column.numel() + upper.numel() + every.numel() + turned.numel() + back.numel() +
                   many.numel() + flat.numel()
            << '\n';
}

void tensors() {
  // [tensors]
  using device = flaggems::host;
  flaggems::stream<device> stream;
  auto a = flaggems::empty<float>(stream, {2, 3});  // owning, from the pool, in stream order
  flaggems::fill_(stream, a, 1.5);
  auto b = flaggems::from_values<float>(stream, {1, 2, 3, 4, 5, 6}, {2, 3});
  auto half = flaggems::to<flaggems::bf16>(stream, b);  // converted, in a new tensor
  flaggems::copy_(stream, a, half.t().t());             // into memory one has, any strides
  auto there = flaggems::from_host(stream, b);          // to the stream's device and back: the
  auto here = flaggems::to_host(stream, there);         // same text for every device type
  stream.synchronize();
  // [/tensors]
  std::cout << a << '\n' << here << '\n';
}

void events() {
  // [events]
  using device = flaggems::host;
  flaggems::stream<device> one, two;
  flaggems::event<device> begin, done;
  begin.record(one);
  auto x = flaggems::ones(one, {1000});
  done.record(one);
  two.wait(done);        // what is queued in `two` from now on comes after
  x.record_stream(two);  // x's memory is not used again before `two` is done with it
  auto y = flaggems::softmax(two, x, 0);
  done.synchronize();  // the host waits
  const double ms = flaggems::elapsed_ms(begin, done);
  // [/events]
  std::cout << (ms >= 0) << ' ' << y.numel() << '\n';
}

void threads() {
  // [threads]
  using device = flaggems::host;
  flaggems::stream<device> one, two;
  flaggems::event<device> done;
  auto made = std::async(std::launch::async, [&] {
    auto x = flaggems::ones(one, {1000});
    done.record(one);
    return x;
  });
  auto x = made.get();   // orders the threads: the event is recorded now
  two.wait(done);        // and this the streams
  x.record_stream(two);  // x came from `one`
  auto y = flaggems::softmax(two, x, 0);
  // [/threads]
  std::cout << y.numel() << '\n';
}

void files(const std::string& folder) {
  // [files]
  flaggems::stream<flaggems::host> stream;
  auto a = flaggems::arange<float>(stream, 6);
  flaggems::save_npy(folder + "/a.npy", flaggems::as_view(a).reshape({2, 3}));
  const flaggems::npy_array array = flaggems::load_npy(folder + "/a.npy");
  const flaggems::any_view<> view = array.view();  // its dtype is known at run time
  const auto floats = view.as<const float>();      // a view; raises if the file has another dtype
  const auto x = flaggems::from_host(stream, floats);  // a tensor on the stream's device
  flaggems::visit<float, double>(
      view, [](auto typed) { std::cout << typed.size(0) << " rows\n"; }, "example");

  const std::vector<flaggems::named_view> weights = {{"layer.weight", view}};
  flaggems::save_safetensors(folder + "/w.safetensors", weights);
  const auto file = flaggems::load_safetensors(folder + "/w.safetensors");  // mapped, not read
  const auto w = flaggems::from_host(stream, file.at("layer.weight").as<const float>());
  // [/files]
  std::cout << x << '\n' << w << '\n';
}

int errors() {
  // [errors]
  flaggems::stream<flaggems::host> stream;
  auto x = flaggems::ones(stream, {2, 3});
  auto out = flaggems::zeros(stream, {3, 2});
  try {
    flaggems::softmax(stream, x, out, -1);
  } catch (const flaggems::error& failure) {
    std::cout << failure.what() << '\n';
    // softmax: expected sizes [2, 3], got [3, 2] [shape_mismatch]
    return failure.code() == flaggems::errc::shape_mismatch && failure.op() == "softmax" ? 0 : 1;
  }
  // [/errors]
  return 1;
}

void settings() {
  // [settings]
  flaggems::host::set_num_threads(1);  // as FLAGGEMS_NUM_THREADS=1 at the start
  std::cout << flaggems::to_string(flaggems::isa()) << '\n';       // what FLAGGEMS_ISA may lower
  const flaggems::isa_guard guard(flaggems::isa_level::baseline);  // for a scope, in tests
  flaggems::set_launch_hook([](const flaggems::launch_event& e) {
    std::cout << e.op << " on " << e.device << ": " << e.tiles << " tiles\n";
  });
  flaggems::stream<flaggems::host> stream;
  auto x = flaggems::ones(stream, {4});
  flaggems::set_launch_hook(nullptr);
  // [/settings]
}

void statistics() {
  // [memory]
  using device = flaggems::host;
  flaggems::stream<device> stream;
  flaggems::reset_peak_memory_stats<device>();
  { auto x = flaggems::zeros(stream, {1024, 1024}); }
  const flaggems::memory_statistics s = flaggems::memory_stats<device>();
  std::cout << s.allocated_bytes.peak << " bytes at most, " << s.allocated_bytes.current
            << " in use, " << (s.cached_bytes() >= (1 << 22) ? "cached" : "given back") << '\n';
  flaggems::empty_cache<device>();  // to the system
  // [/memory]
}

int main() {
  // [handler]
  // Of use only with -fno-exceptions, where there is nothing to catch. It must not return.
  flaggems::set_error_handler([](const flaggems::error& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    std::_Exit(3);
  });
  // [/handler]
  views();
  tensors();
  events();
  threads();
  const auto folder = std::filesystem::temp_directory_path() / "flaggems_example_04";
  std::filesystem::create_directories(folder);
  files(folder.string());
  std::filesystem::remove_all(folder);
  settings();
  statistics();
  return errors();
}
