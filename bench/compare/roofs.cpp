// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The machine's limits: bytes read, copied and added a second, products and sums a second. Written
// with compiler vectors for each level, independently of the library's kernels; only the library's
// threads are used.
#include "compare.hpp"

#include <immintrin.h>

#include <chrono>
#include <cstring>
#include <memory>

namespace compare {

namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

using part = void (*)(float* out, const float* a, const float* b, i64 n, i64 repeats);

// The loops of one level: V is its vector of floats, `stream` its store that passes the caches by.
#define FLAGGEMS_ROOFS(level, words, V, stream)                                                    \
  struct level {                                                                                   \
    static constexpr i64 lanes = sizeof(V) / 4;                                                    \
    /* as many streams at once, eight sums in all */                                               \
    template <int Streams>                                                                         \
    __attribute__((target(words))) static void read(float* out, const float* a, const float*,      \
                                                    i64 n, i64 repeats) {                          \
      const i64 own = n / Streams;                                                                 \
      constexpr int wide = 8 / Streams;                                                            \
      for (i64 r = 0; r < repeats; ++r) {                                                          \
        V s[8] = {};                                                                               \
        for (i64 i = 0; i + wide * lanes <= own; i += wide * lanes)                                \
          _Pragma("GCC unroll 8") for (int k = 0; k < 8; ++k) s[k] =                               \
              s[k] + *reinterpret_cast<const V*>(a + k / wide * own + i + k % wide * lanes);       \
        for (int k = 1; k < 8; ++k) s[0] = s[0] + s[k];                                            \
        *reinterpret_cast<V*>(out) = s[0];                                                         \
      }                                                                                            \
    }                                                                                              \
    __attribute__((target(words))) static void copy(float* out, const float* a, const float*,      \
                                                    i64 n, i64 repeats) {                          \
      for (i64 r = 0; r < repeats; ++r) {                                                          \
        for (i64 i = 0; i + 4 * lanes <= n; i += 4 * lanes)                                        \
          _Pragma("GCC unroll 8") for (int k = 0; k < 4; ++k) *                                    \
              reinterpret_cast<V*>(out + i + k * lanes) =                                          \
              *reinterpret_cast<const V*>(a + i + k * lanes);                                      \
        __asm__ __volatile__("" ::: "memory");                                                     \
      }                                                                                            \
    }                                                                                              \
    __attribute__((target(words))) static void copy_past(float* out, const float* a, const float*, \
                                                         i64 n, i64 repeats) {                     \
      for (i64 r = 0; r < repeats; ++r)                                                            \
        for (i64 i = 0; i + 4 * lanes <= n; i += 4 * lanes)                                        \
          _Pragma("GCC unroll 8") for (int k = 0; k < 4; ++k)                                      \
              stream(out + i + k * lanes, *reinterpret_cast<const V*>(a + i + k * lanes));         \
      _mm_sfence();                                                                                \
    }                                                                                              \
    __attribute__((target(words))) static void triad(float* out, const float* a, const float* b,   \
                                                     i64 n, i64 repeats) {                         \
      const V c = V{} + 1.5F;                                                                      \
      for (i64 r = 0; r < repeats; ++r) {                                                          \
        for (i64 i = 0; i + 4 * lanes <= n; i += 4 * lanes)                                        \
          _Pragma("GCC unroll 8") for (int k = 0; k < 4; ++k) *                                    \
              reinterpret_cast<V*>(out + i + k * lanes) =                                          \
              *reinterpret_cast<const V*>(a + i + k * lanes) +                                     \
              c * *reinterpret_cast<const V*>(b + i + k * lanes);                                  \
        __asm__ __volatile__("" ::: "memory");                                                     \
      }                                                                                            \
    }                                                                                              \
    __attribute__((target(words))) static void triad_past(float* out, const float* a,              \
                                                          const float* b, i64 n, i64 repeats) {    \
      const V c = V{} + 1.5F;                                                                      \
      for (i64 r = 0; r < repeats; ++r)                                                            \
        for (i64 i = 0; i + 4 * lanes <= n; i += 4 * lanes)                                        \
          _Pragma("GCC unroll 8") for (int k = 0; k < 4; ++k)                                      \
              stream(out + i + k * lanes, *reinterpret_cast<const V*>(a + i + k * lanes) +         \
                                              c * *reinterpret_cast<const V*>(b + i + k * lanes)); \
      _mm_sfence();                                                                                \
    }                                                                                              \
  }

FLAGGEMS_ROOFS(sse_loops, "sse2", __m128, _mm_stream_ps);
FLAGGEMS_ROOFS(avx2_loops, "avx2,fma", __m256, _mm256_stream_ps);
FLAGGEMS_ROOFS(avx512_loops, "avx512f", __m512, _mm512_stream_ps);
#undef FLAGGEMS_ROOFS

// ---- chains of multiply-adds in registers; `n` steps
template <class T, class V, int Chains>
__attribute__((always_inline)) inline void multiply_add(void* out, i64 n) {
  V x[Chains], m = V{} + 1, c = V{};
  __asm__ __volatile__("" : "+x"(m), "+x"(c));
  for (int k = 0; k < Chains; ++k) x[k] = V{} + static_cast<T>(k);
  for (i64 s = 0; s < n; ++s) {
#pragma GCC unroll 32
    for (int k = 0; k < Chains; ++k) x[k] = x[k] * m + c;
  }
  for (int k = 1; k < Chains; ++k) x[0] = x[0] + x[k];
  std::memcpy(out, &x[0], sizeof(V));
}
template <class T, int Bytes>
struct vector_of;
#define FLAGGEMS_VECTOR(T, bytes)                       \
  template <>                                           \
  struct vector_of<T, bytes> {                          \
    using type __attribute__((vector_size(bytes))) = T; \
  }
FLAGGEMS_VECTOR(float, 16);
FLAGGEMS_VECTOR(float, 32);
FLAGGEMS_VECTOR(float, 64);
FLAGGEMS_VECTOR(double, 16);
FLAGGEMS_VECTOR(double, 32);
FLAGGEMS_VECTOR(double, 64);
#undef FLAGGEMS_VECTOR

template <class T>
void fma_sse(void* out, i64 n) {
  multiply_add<T, typename vector_of<T, 16>::type, 12>(out, n);
}
template <class T>
__attribute__((target("avx2,fma"))) void fma_avx2(void* out, i64 n) {
  multiply_add<T, typename vector_of<T, 32>::type, 12>(out, n);
}
template <class T>
__attribute__((target("avx512f"))) void fma_avx512(void* out, i64 n) {
  multiply_add<T, typename vector_of<T, 64>::type, 24>(out, n);
}

__attribute__((target("avx512f,avx512bf16"))) void dot_bf16(void* out, i64 n) {
  __m512 x[24];
  __m512i bits = _mm512_set1_epi32(0x3f803f80);
  __asm__ __volatile__("" : "+v"(bits));
  const __m512bh m = reinterpret_cast<__m512bh>(bits);
  for (auto& v : x) v = _mm512_setzero_ps();
  for (i64 s = 0; s < n; ++s) {
#pragma GCC unroll 24
    for (int k = 0; k < 24; ++k) x[k] = _mm512_dpbf16_ps(x[k], m, m);
  }
  for (int k = 1; k < 24; ++k) x[0] = _mm512_add_ps(x[0], x[k]);
  std::memcpy(out, &x[0], 64);
}
__attribute__((target("avx512f,avx512vnni"))) void dot_i8(void* out, i64 n) {
  __m512i x[24], m = _mm512_set1_epi8(1);
  __asm__ __volatile__("" : "+v"(m));
  for (auto& v : x) v = _mm512_setzero_si512();
  for (i64 s = 0; s < n; ++s) {
#pragma GCC unroll 24
    for (int k = 0; k < 24; ++k) x[k] = _mm512_dpbusd_epi32(x[k], m, m);
  }
  for (int k = 1; k < 24; ++k) x[0] = _mm512_add_epi32(x[0], x[k]);
  std::memcpy(out, &x[0], 64);
}
/// Pairs of bytes multiplied into 16 bits, those into 32: three instructions for 32 products.
__attribute__((target("avx2"))) void pairs_i8(void* out, i64 n) {
  __m256i x[8], m = _mm256_set1_epi8(1), ones = _mm256_set1_epi16(1);
  __asm__ __volatile__("" : "+x"(m), "+x"(ones));
  for (auto& v : x) v = _mm256_setzero_si256();
  for (i64 s = 0; s < n; ++s) {
#pragma GCC unroll 8
    for (int k = 0; k < 8; ++k) {
      __m256i product = _mm256_maddubs_epi16(m, m);
      __asm__ __volatile__("" : "+x"(product));
      x[k] = _mm256_add_epi32(x[k], _mm256_madd_epi16(product, ones));
    }
  }
  for (int k = 1; k < 8; ++k) x[0] = _mm256_add_epi32(x[0], x[k]);
  std::memcpy(out, &x[0], 32);
}

#if defined(__x86_64__) && __GNUC__ >= 11
/// Four tiles of sums, two of each factor, as a block of a product has them.
struct alignas(64) tile_config {
  unsigned char palette = 1, start = 0, reserved[14] = {};
  unsigned short bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  unsigned char rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
#define FLAGGEMS_TILE_LOOP(name, word, instruction)                       \
  __attribute__((target("amx-tile," word))) void name(void* out, i64 n) { \
    const tile_config config;                                             \
    alignas(64) static const unsigned char zeros[1024] = {};              \
    alignas(64) unsigned char sums[1024];                                 \
    _tile_loadconfig(&config);                                            \
    _tile_zero(0);                                                        \
    _tile_zero(1);                                                        \
    _tile_zero(2);                                                        \
    _tile_zero(3);                                                        \
    _tile_loadd(4, zeros, 64);                                            \
    _tile_loadd(5, zeros, 64);                                            \
    _tile_loadd(6, zeros, 64);                                            \
    _tile_loadd(7, zeros, 64);                                            \
    for (i64 s = 0; s < n; ++s) {                                         \
      instruction(0, 4, 6);                                               \
      instruction(1, 4, 7);                                               \
      instruction(2, 5, 6);                                               \
      instruction(3, 5, 7);                                               \
    }                                                                     \
    _tile_stored(0, sums, 64);                                            \
    _tile_release();                                                      \
    std::memcpy(out, sums, 64);                                           \
  }
FLAGGEMS_TILE_LOOP(tiles_bf16, "amx-bf16", _tile_dpbf16ps)
FLAGGEMS_TILE_LOOP(tiles_i8, "amx-int8", _tile_dpbssd)
#undef FLAGGEMS_TILE_LOOP
#endif

struct arithmetic {
  void (*run)(void* out, i64 n);
  double flops;  // of a step
};
arithmetic best_arithmetic(roof kind) {
  const auto level = fg::isa();
  const bool wide = level >= fg::isa_level::avx512, avx2 = level >= fg::isa_level::avx2;
  const bool dots = level >= fg::isa_level::avx512_bf16, tiles = level >= fg::isa_level::amx;
  if (kind == roof::bf16 && tiles) return {tiles_bf16, 4 * 2.0 * 16 * 16 * 32};
  if (kind == roof::i8 && tiles) return {tiles_i8, 4 * 2.0 * 16 * 16 * 64};
  if (kind == roof::bf16 && dots) return {dot_bf16, 24 * 2.0 * 32};
  if (kind == roof::i8 && dots) return {dot_i8, 24 * 2.0 * 64};
  if (kind == roof::i8 && avx2) return {pairs_i8, 8 * 2.0 * 32};
  if (kind == roof::f64) {
    if (wide) return {fma_avx512<double>, 24 * 2.0 * 8};
    if (avx2) return {fma_avx2<double>, 12 * 2.0 * 4};
    return {fma_sse<double>, 12 * 2.0 * 2};
  }
  if (wide) return {fma_avx512<float>, 24 * 2.0 * 16};
  if (avx2) return {fma_avx2<float>, 12 * 2.0 * 8};
  return {fma_sse<float>, 12 * 2.0 * 4};
}

/// Each worker runs f(worker): as the library's launches do.
void on_threads(int threads, const std::function<void(int)>& f) {
  if (threads == 1)
    f(0);
  else
    fg::detail::host_thread_pool().run(threads, [&](int worker, int) { f(worker); });
}

}  // namespace

roof_loop make_roof(roof kind, i64 bytes, int threads) {
  if (kind == roof::none) return {};
  if (kind >= roof::f32) {
    const arithmetic a = best_arithmetic(kind);
    const i64 steps = threads > 1 ? 40000 : 4000;  // the start of the threads must not count
    return {[=] {
              on_threads(threads, [&](int) {
                alignas(64) unsigned char out[64];
                a.run(out, steps);
                __asm__ __volatile__("" ::"r"(out) : "memory");
              });
            },
            a.flops * static_cast<double>(steps) * threads};
  }
  const auto level = fg::isa();
  const bool wide = level >= fg::isa_level::avx512, avx2 = level >= fg::isa_level::avx2;
  const auto choose = [&](part a, part b, part c) { return wide ? c : avx2 ? b : a; };
  const int streams = kind == roof::read ? 1 : kind == roof::copy ? 2 : 3;
  // Whole cache lines for each thread; so many repeats in a call that its start does not count.
  const i64 own = (std::max)(bytes / streams / 4 / threads / 128 * 128, i64{128});
  const i64 repeats = (std::max)(i64{1}, (i64{1} << 21) / (own * streams * 4));
  const double amount = 4.0 * static_cast<double>(own * streams * repeats) * threads;
  struct memory {
    std::vector<std::unique_ptr<float, void (*)(void*)>> parts;
    float* get(i64 n) {
      const std::size_t size = static_cast<std::size_t>(n) * 4 + 4096;
      auto* p = static_cast<float*>(std::aligned_alloc(4096, (size + 4095) / 4096 * 4096));
      std::memset(p, 0, size);
      parts.emplace_back(p, &std::free);
      return p;
    }
  };
  const auto buffers = std::make_shared<memory>();
  const i64 total = own * threads;
  float* out = buffers->get(kind == roof::read ? threads * 1024 : total);
  const float* a = buffers->get(total);
  const float* b = kind == roof::triad ? buffers->get(total) : a;
  const auto loop = [=](part f) {
    return [=, keep = buffers] {
      on_threads(threads, [&](int w) {
        f(out + w * (kind == roof::read ? 1024 : own), a + w * own, b + w * own, own, repeats);
      });
    };
  };
  std::function<void()> best;
  double least = 1e9;
  const auto consider = [&](part f) {
    const std::function<void()> candidate = loop(f);
    candidate();
    double t = 1e9;
    for (int i = 0; i < 3; ++i) {
      const double start = now();
      candidate();
      t = (std::min)(t, now() - start);
    }
    if (t < least) {
      least = t;
      best = candidate;
    }
  };
  if (kind == roof::read) {
    consider(choose(sse_loops::read<1>, avx2_loops::read<1>, avx512_loops::read<1>));
    consider(choose(sse_loops::read<4>, avx2_loops::read<4>, avx512_loops::read<4>));
    consider(choose(sse_loops::read<8>, avx2_loops::read<8>, avx512_loops::read<8>));
  }
  if (kind == roof::copy) {
    consider(choose(sse_loops::copy, avx2_loops::copy, avx512_loops::copy));
    consider(choose(sse_loops::copy_past, avx2_loops::copy_past, avx512_loops::copy_past));
    consider([](float* to, const float* from, const float*, i64 n, i64 count) {
      for (i64 r = 0; r < count; ++r) {
        std::memcpy(to, from, static_cast<std::size_t>(n) * 4);
        __asm__ __volatile__("" ::: "memory");
      }
    });
  }
  if (kind == roof::triad) {
    consider(choose(sse_loops::triad, avx2_loops::triad, avx512_loops::triad));
    consider(choose(sse_loops::triad_past, avx2_loops::triad_past, avx512_loops::triad_past));
  }
  return {best, amount};
}

std::vector<std::pair<std::string, double>> level_rates() {
  std::vector<std::pair<std::string, double>> rates;
  const auto level = fg::isa();
  const auto measure = [&](const char* name, arithmetic a) {
    alignas(64) unsigned char out[64];
    double best = 1e9;
    for (int i = 0; i < 50; ++i) {
      const double start = now();
      a.run(out, 4000);
      best = (std::min)(best, now() - start);
    }
    rates.emplace_back(name, a.flops * 4000 / best * 1e-9);
  };
  measure("f32 baseline", {fma_sse<float>, 12 * 2.0 * 4});
  if (level >= fg::isa_level::avx2) {
    measure("f32 avx2", {fma_avx2<float>, 12 * 2.0 * 8});
    measure("i8 avx2", {pairs_i8, 8 * 2.0 * 32});
  }
  if (level >= fg::isa_level::avx512) measure("f32 avx512", {fma_avx512<float>, 24 * 2.0 * 16});
  if (level >= fg::isa_level::avx512_bf16) {
    measure("bf16 avx512_bf16", {dot_bf16, 24 * 2.0 * 32});
    measure("i8 avx512_bf16", {dot_i8, 24 * 2.0 * 64});
  }
  if (level >= fg::isa_level::amx) {
    measure("bf16 amx", {tiles_bf16, 4 * 2.0 * 16 * 16 * 32});
    measure("i8 amx", {tiles_i8, 4 * 2.0 * 16 * 16 * 64});
  }
  return rates;
}

}  // namespace compare
