// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Hot kernels whose instructions run.py counts: `kernels NAME CALLS` calls one so many times inside
// `measured`, which is what callgrind collects; `kernels` lists them, `kernels --compiler` says
// what the program was compiled with.
#include <flaggems/ops/attention.hpp>
#include <flaggems/ops/gemm.hpp>
#include <flaggems/ops/norm.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/quantized_linear.hpp>
#include <flaggems/ops/reduce.hpp>
#include <flaggems/ops/softmax.hpp>
#include <flaggems/ops/sort.hpp>
#include <flaggems/ops/topk.hpp>
#include <flaggems/vendors/host.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

namespace fg = flaggems;
namespace fk = fg::kernels;
using fg::f32;
using fg::i64;

const fg::stream<fg::host>& stream() {
  static const fg::stream<fg::host> s;
  return s;
}

/// Numbers in [-2, 2), the same in every run.
template <class T = f32>
fg::tensor<T> numbers(const fg::shape& sizes) {
  auto x = fg::empty<T>(stream(), sizes);
  fg::u32 state = 1;
  for (i64 k = 0; k < x.numel(); ++k) {
    state = state * 1664525U + 1013904223U;
    x.data()[k] = T(static_cast<float>(state >> 8) / 4194304.0F - 2.0F);
  }
  return x;
}

struct call {
  virtual ~call() = default;
  virtual void run() = 0;
};
template <class F>
struct call_of : call {
  F f;
  explicit call_of(F&& g) : f(static_cast<F&&>(g)) {}
  void run() override { f(); }
};
template <class F>
call* make(F f) {
  return new call_of<F>(static_cast<F&&>(f));
}

struct kernel {
  const char* name;
  call* (*prepare)();
};

call* add(i64 n) {
  return make([x = numbers({n}), y = numbers({n}), out = numbers({n})]() mutable {
    fg::add(stream(), x, y, out);
  });
}

const kernel all[] = {
    {"add, 64", [] { return add(64); }},
    {"add, 4096", [] { return add(4096); }},
    {"fused chain, 4096",
     [] {
       return make([x = numbers({4096}), y = numbers({4096}), out = numbers({4096})]() mutable {
         fg::assign(stream(), out, fg::silu(x) * y + 1);
       });
     }},
    {"softmax, 4 x 4096",
     [] {
       return make([x = numbers({4, 4096}), out = numbers({4, 4096})]() mutable {
         fg::softmax(stream(), x, out, 1);
       });
     }},
    {"rms_norm, 4 x 4096",
     [] {
       return make(
           [x = numbers({4, 4096}), w = numbers({4096}), out = numbers({4, 4096})]() mutable {
             fg::rms_norm(stream(), x, {4096}, w, out);
           });
     }},
    {"sum, 16384",
     [] {
       return make([x = numbers({16384})] {
         const auto y = fg::sum(stream(), x);
         static_cast<void>(y);
       });
     }},
    {"gemm, 128^3",
     [] {
       return make([a = numbers({128, 128}), b = numbers({128, 128}),
                    out = numbers({128, 128})]() mutable { fg::mm(stream(), a, b, out); });
     }},
    {"quantized_linear q4_1, 1 x 576 x 576",
     [] {
       constexpr i64 n = 576;
       return make([bytes = std::vector<fg::u8>(n * n / 32 * fk::q4_1::bytes, 0x21),
                    x = numbers({1, n}), out = numbers({1, n})]() mutable {
         fg::quantized_linear(stream(), x, fg::quantized_matrix<fk::q4_1>(bytes.data(), n, n), out);
       });
     }},
    {"attention, 1 query, 512 keys f16",
     [] {
       return make([q = numbers({1, 9, 1, 64}), k = numbers<fg::f16>({1, 3, 512, 64}),
                    out = numbers({1, 9, 1, 64})]() mutable {
         fg::scaled_dot_product_attention(stream(), q, k, k, std::nullopt, out,
                                          {.is_causal = true,
                                           .alignment = fg::causal_alignment::bottom_right,
                                           .enable_gqa = true});
       });
     }},
    {"topk, 50 of 16384",
     [] {
       return make([x = numbers({1, 16384}), values = numbers({1, 50}),
                    indices = fg::empty<i64>(stream(), {1, 50})]() mutable {
         fg::topk(stream(), x, 50, values, indices);
       });
     }},
    {"argsort, 16384",
     [] {
       return make([x = numbers({16384}), indices = fg::empty<i64>(stream(), {16384})]() mutable {
         fg::argsort(stream(), x, indices);
       });
     }},
};

}  // namespace

extern "C" FLAGGEMS_NOINLINE void measured(call& f, long calls) {
  for (long k = 0; k < calls; ++k) f.run();
}

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--compiler") == 0) {
#if defined(__clang__)
    std::printf("clang++ %d.%d.%d\n", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
    std::printf("g++ %d.%d.%d\n", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
    return 0;
  }
  for (const kernel& k : all) {
    if (argc < 3) {
      std::printf("%s\n", k.name);
    } else if (std::strcmp(argv[1], k.name) == 0) {
      call* const f = k.prepare();
      f->run();  // what happens once: detection, memory of the pool
      measured(*f, std::strtol(argv[2], nullptr, 10));
      delete f;
      return 0;
    }
  }
  if (argc < 3) return 0;
  std::fprintf(stderr, "no kernel '%s'\n", argv[1]);
  return 1;
}
