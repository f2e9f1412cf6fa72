// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Matrix products side by side with a BLAS library that is opened at run time: both sides take the
// same random buffers in turn, and the median of each side's times counts. Prints JSON; see
// gemm.py.
#include <flaggems/ops/gemm.hpp>
#include <flaggems/vendors/host.hpp>

#include <dlfcn.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace {

namespace fg = flaggems;
using fg::i64;

// ---- the peer: CBLAS with 32-bit integers
constexpr int row_major = 101, plain = 111, transposed = 112;
using sgemm_function = void (*)(int, int, int, int, int, int, float, const float*, int,
                                const float*, int, float, float*, int);
using dgemm_function = void (*)(int, int, int, int, int, int, double, const double*, int,
                                const double*, int, double, double*, int);
struct peer {
  sgemm_function sgemm = nullptr;
  dgemm_function dgemm = nullptr;
  void (*set_threads)(int) = nullptr;
  const char* config = "none";
};

peer open_peer(const char* library) {
  peer p;
  void* handle = dlopen(library, RTLD_NOW);
  if (handle == nullptr) {
    std::fprintf(stderr, "no peer: %s\n", dlerror());
    return p;
  }
  p.sgemm = reinterpret_cast<sgemm_function>(dlsym(handle, "cblas_sgemm"));
  p.dgemm = reinterpret_cast<dgemm_function>(dlsym(handle, "cblas_dgemm"));
  p.set_threads = reinterpret_cast<void (*)(int)>(dlsym(handle, "openblas_set_num_threads"));
  if (auto* config = reinterpret_cast<char* (*)()>(dlsym(handle, "openblas_get_config")))
    p.config = config();
  return p;
}

/// Of the clock on the wall; of the thread's processor time while one thread works, which other
/// programs of a busy machine disturb less.
bool one_thread = false;
double seconds() {
  timespec t{};
  clock_gettime(one_thread ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// ---- the roof: independent products and sums in registers, on each thread
struct fma_loop {
  static constexpr int chains = 24, steps = 20000;
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, float* out) {
    using isa = typename Block::isa;
    using vector = typename fg::kernels::register_vector<float, isa>::type;
    constexpr int count = isa::bytes == 64 ? chains : 12;
    block.for_each_tile(block.count(), [&](i64 t) FLAGGEMS_LAMBDA {
      vector x[count];
      const vector m = vector{} + out[1000], c = vector{} + out[1001];
      fg::kernels::static_for<count>([&](auto k) FLAGGEMS_LAMBDA { x[k] = vector{} + out[k]; });
      for (int s = 0; s < steps; ++s)
        fg::kernels::static_for<count>([&](auto k) FLAGGEMS_LAMBDA { x[k] = x[k] * m + c; });
      vector sum{};
      fg::kernels::static_for<count>([&](auto k) FLAGGEMS_LAMBDA { sum += x[k]; });
      out[t * 16] = sum[0];
    });
  }
};
double roof_gflops(const fg::stream<fg::host>& s, int threads) {
  std::vector<float> out(2048, 0.5F);
  fg::launch_config config;
  config.tiles = threads;
  config.work = i64{1} << 40;
  const bool wide = fg::isa() >= fg::isa_level::avx512;
  const double flops = 2.0 * fma_loop::steps * threads *
                       (wide                               ? 16 * fma_loop::chains
                        : fg::isa() == fg::isa_level::avx2 ? 96
                                                           : 48);
  double best = 1e9;
  for (int i = 0; i < 200; ++i) {
    const double start = seconds();
    fg::launch<fma_loop>(s, config, out.data());
    best = (std::min)(best, seconds() - start);
  }
  return flops / best * 1e-9;
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

template <class T>
fg::tensor<T> random_matrix(const fg::stream<fg::host>& s, i64 m, i64 n) {
  static std::mt19937 engine(1);
  std::normal_distribution<float> normal;
  auto x = fg::empty<T>(s, {m, n});
  for (i64 i = 0; i < x.numel(); ++i) x.data()[i] = T(normal(engine));
  return x;
}

template <class T, class Ours, class Theirs>
void compare(const char* type, const char* form, i64 m, i64 n, i64 k, int threads, double roof,
             const Ours& ours, const Theirs& theirs, bool has_peer) {
  const double flops =
      2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  ours();
  if (has_peer) theirs();
  const double start = seconds();
  ours();
  const double once = seconds() - start;
  const int inner = static_cast<int>((std::max)(1.0, 2e-4 / (once + 1e-9)));
  const int rounds = once > 0.05 ? 9 : once > 0.005 ? 25 : 101;
  std::vector<double> mine, other;
  for (int r = 0; r < rounds; ++r) {
    double from = seconds();
    for (int i = 0; i < inner; ++i) ours();
    mine.push_back((seconds() - from) / inner);
    if (!has_peer) continue;
    from = seconds();
    for (int i = 0; i < inner; ++i) theirs();
    other.push_back((seconds() - from) / inner);
  }
  const auto rate = [&](double t) { return flops / t * 1e-9; };
  const double best = *std::min_element(mine.begin(), mine.end());
  std::printf(
      "{\"type\": \"%s\", \"form\": \"%s\", \"m\": %lld, \"n\": %lld, \"k\": %lld, "
      "\"threads\": %d, \"seconds\": %.3g, \"gflops\": %.1f, \"best_gflops\": %.1f, "
      "\"share_of_roof\": %.3f",
      type, form, static_cast<long long>(m), static_cast<long long>(n), static_cast<long long>(k),
      threads, median(mine), rate(median(mine)), rate(best),
      rate(best) / roof / (sizeof(T) == 8 ? 0.5 : 1.0));
  if (has_peer)
    std::printf(", \"peer_gflops\": %.1f, \"peer_best_gflops\": %.1f, \"ratio\": %.3f",
                rate(median(other)), rate(*std::min_element(other.begin(), other.end())),
                median(other) / median(mine));
  std::printf("}\n");
  std::fflush(stdout);
}

template <class T, class F>
void product(const fg::stream<fg::host>& s, const char* type, const char* form, i64 m, i64 n, i64 k,
             int threads, double roof, F peer_gemm) {
  const bool ta = form[0] == 't', tb = form[1] == 't';
  const auto a = ta ? random_matrix<T>(s, k, m) : random_matrix<T>(s, m, k);
  const auto b = tb ? random_matrix<T>(s, n, k) : random_matrix<T>(s, k, n);
  auto out = fg::empty<T>(s, {m, n});
  const auto va = ta ? a.view().t() : a.view();
  const auto vb = tb ? b.view().t() : b.view();
  const auto theirs = [&] {
    if constexpr (!std::is_same_v<F, std::nullptr_t>)
      peer_gemm(row_major, ta ? transposed : plain, tb ? transposed : plain, static_cast<int>(m),
                static_cast<int>(n), static_cast<int>(k), T(1), a.data(),
                static_cast<int>(ta ? m : k), b.data(), static_cast<int>(tb ? k : n), T(0),
                out.data(), static_cast<int>(n));
  };
  bool has_peer = false;
  if constexpr (!std::is_same_v<F, std::nullptr_t>) has_peer = peer_gemm != nullptr;
  compare<T>(
      type, form, m, n, k, threads, roof, [&] { fg::mm(s, va, vb, out); }, theirs, has_peer);
}

}  // namespace

/// gemm PEER_LIBRARY THREADS...; FLAGGEMS_COMPARE=quick leaves most sizes out.
int main(int count, char** argument) {
  const fg::stream<fg::host> s;
  const peer blas = open_peer(count > 1 ? argument[1] : "libopenblas.so.0");
  std::printf("{\"processor\": \"%s\", \"level\": \"%s\", \"peer\": \"%s\"}\n",
              std::string(fg::detail::processor_name().view()).c_str(),
              std::string(fg::to_string(fg::isa())).c_str(), blas.config);
  for (int i = 2; i < count; ++i) {
    const int threads = std::atoi(argument[i]);
    fg::host::set_num_threads(threads);
    one_thread = threads == 1;
    if (blas.set_threads != nullptr) blas.set_threads(threads);
    const double roof = roof_gflops(s, threads);
    std::printf("{\"threads\": %d, \"fma_roof_gflops\": %.1f}\n", threads, roof);
    if (std::getenv("FLAGGEMS_COMPARE") != nullptr) {
      for (const char* form : {"nn", "nt", "tn"})
        for (const i64 n : {32, 64, 128, 256, 1000, 1024})
          product<float>(s, "f32", form, n, n, n, threads, roof, blas.sgemm);
      product<double>(s, "f64", "nn", 512, 512, 512, threads, roof, blas.dgemm);
      continue;
    }
    for (const char* form : {"nn", "nt", "tn", "tt"})
      for (const i64 n : {1024, 2048})
        if (n == 1024 || form[0] == 'n')
          product<float>(s, "f32", form, n, n, n, threads, roof, blas.sgemm);
    for (const i64 n : {16, 32, 64, 100, 128, 256, 511})
      for (const char* form : {"nn", "nt"})
        product<float>(s, "f32", form, n, n, n, threads, roof, blas.sgemm);
    for (const i64 m : {1, 4, 16})
      for (const char* form : {"nn", "nt"}) {
        product<float>(s, "f32", form, m, 4096, 4096, threads, roof, blas.sgemm);
        product<float>(s, "f32", form, 4096, m, 4096, threads, roof, blas.sgemm);
      }
    for (const i64 n : {128, 1024})
      product<double>(s, "f64", "nn", n, n, n, threads, roof, blas.dgemm);
    for (const i64 n : {64, 256, 1024, 2048})
      for (const char* form : {"nn", "nt"}) {
        product<fg::bf16>(s, "bf16", form, n, n, n, threads, roof, nullptr);
        if (n == 1024) product<fg::f16>(s, "f16", form, n, n, n, threads, roof, nullptr);
      }
  }
  return 0;
}
