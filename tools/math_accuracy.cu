// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The greatest error of elementary functions of f32 on an NVIDIA GPU, for all 2^32 inputs, against
// CUDA's functions of f64; tools/math_accuracy.cpp measures the host's.
//
//   nvcc -std=c++20 -O2 -arch=native -Iinclude tools/math_accuracy.cu -o math_accuracy
#include <flaggems/kernel/family/pointwise/tables/activation_backward.hpp>
#include <flaggems/kernel/math/arc.hpp>
#include <flaggems/kernel/math/erf_inverse.hpp>
#include <flaggems/kernel/math/hyperbolic.hpp>
#include <flaggems/kernel/math/math.hpp>

#include <cstdio>

namespace {

namespace fk = flaggems::kernels;

struct found {
  unsigned long long error_and_bits;  // the error in thousandths of an ulp above the input's bits
  unsigned long long wrong;           // NaN or infinite where the other is not
};

/// The error in ulp of the result that is nearest to `want`.
__device__ double ulp_error(float got, double want) {
  const float nearest = static_cast<float>(want);
  if (got == nearest || (isnan(got) && isnan(nearest))) return 0;
  if (isnan(got) != isnan(nearest) || (isinf(got) && fabs(want) < 0x1.fffffep127)) return 1e9;
  const float finite = isinf(nearest) ? 0x1.fffffep127F : fabsf(nearest);
  const int exponent = finite < 0x1p-126F ? -126 : ilogbf(finite);
  return fabs(static_cast<double>(got) - want) / ldexp(1.0, exponent - 23);
}

template <class F>
__global__ void measure(F f, found* best) {
  const unsigned long long threads = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
  unsigned long long worst = 0, wrong = 0;
  for (unsigned long long i =
           static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < 1ull << 32; i += threads) {
    const float x = __uint_as_float(static_cast<unsigned>(i));
    const double error = ulp_error(f(x), f.wide(static_cast<double>(x)));
    if (error > 1e8) {
      ++wrong;
      continue;
    }
    const unsigned long long all = static_cast<unsigned long long>(error * 1000) << 32 | i;
    if (all > worst) worst = all;
  }
  atomicMax(&best->error_and_bits, worst);
  atomicAdd(&best->wrong, wrong);
}

__device__ double wide_sinc(double x) {
  if (x == 0) return 1;
  const double turned = x - 2 * nearbyint(x / 2);
  return sinpi(turned) / (3.14159265358979323846 * x);
}
__device__ double wide_softplus(double x) { return fmax(x, 0.0) + log1p(exp(-fabs(x))); }

#define FUNCTION(name, narrow_form, wide_form)                         \
  struct name##_pair {                                                 \
    __device__ float operator()(float x) const { return narrow_form; } \
    __device__ double wide(double x) const { return wide_form; }       \
  };
FUNCTION(exp, fk::exp(x), exp(x))
FUNCTION(log, fk::log(x), log(x))
FUNCTION(log1p, fk::log1p(x), log1p(x))
FUNCTION(softplus, fk::softplus(x), isnan(x) ? x : wide_softplus(x))
FUNCTION(sin, fk::sin(x), sin(x))
FUNCTION(tan, fk::tan(x), tan(x))
FUNCTION(sinc, fk::sinc(x), wide_sinc(x))
FUNCTION(asin, fk::asin(x), asin(x))
FUNCTION(acos, fk::acos(x), acos(x))
FUNCTION(atan, fk::atan(x), atan(x))
FUNCTION(atan2_one, fk::atan2(x, 1.0F), atan2(x, 1.0))
FUNCTION(atan2_left, fk::atan2(-3e38F, x), atan2(static_cast<double>(-3e38F), x))
FUNCTION(asinh, fk::asinh(x), asinh(x))
FUNCTION(acosh, fk::acosh(x), acosh(x))
FUNCTION(atanh, fk::atanh(x), atanh(x))
FUNCTION(erf, fk::erf(x), erf(x))
FUNCTION(erfc, fk::erfc(x), erfc(x))
FUNCTION(erfinv, fk::erfinv(x), erfinv(x))
FUNCTION(tanh, fk::tanh(x), tanh(x))
FUNCTION(gelu, fk::gelu(x), x*(erfc(-x * 0.70710678118654752440) / 2))
FUNCTION(gelu_slope, fk::gelu_slope(x),
         erfc(-x * 0.70710678118654752440) / 2 + x * 0.39894228040143267794 * exp(x * x / -2))
#undef FUNCTION

template <class F>
void report(const char* name, F f) {
  found* best = nullptr;
  cudaMallocManaged(&best, sizeof(found));
  *best = {0, 0};
  measure<<<1056, 256>>>(f, best);
  const cudaError_t status = cudaDeviceSynchronize();
  const unsigned bits = static_cast<unsigned>(best->error_and_bits);
  float x;
  __builtin_memcpy(&x, &bits, sizeof(x));
  std::printf("%-12s %8.3f ulp at %.9g, %llu wrong limits%s\n", name,
              static_cast<double>(best->error_and_bits >> 32) / 1000, static_cast<double>(x),
              best->wrong, status == cudaSuccess ? "" : cudaGetErrorString(status));
  cudaFree(best);
}

}  // namespace

int main() {
#define REPORT(name) report(#name, name##_pair());
  REPORT(exp)
  REPORT(log)
  REPORT(log1p)
  REPORT(softplus)
  REPORT(sin)
  REPORT(tan)
  REPORT(sinc)
  REPORT(asin)
  REPORT(acos)
  REPORT(atan)
  REPORT(atan2_one)
  REPORT(atan2_left)
  REPORT(asinh)
  REPORT(acosh)
  REPORT(atanh)
  REPORT(erf)
  REPORT(erfc)
  REPORT(erfinv)
  REPORT(tanh)
  REPORT(gelu)
  REPORT(gelu_slope)
#undef REPORT
}
