// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What kernels call of a language with CUDA's names (FLAGGEMS_LANGUAGE_DIALECT), as declarations:
// a vendor's compiler has them. Included before anything else.
#pragma once

#define __device__ __attribute__((device))

struct flaggems_dim3 {
  unsigned x, y, z;
};
extern __device__ const flaggems_dim3 threadIdx, blockIdx, blockDim, gridDim;
using flaggems_lanes = unsigned long long;
extern "C" {
__device__ void __syncthreads();
__device__ unsigned __shfl_xor_sync(flaggems_lanes lanes, unsigned x, int mask);
__device__ unsigned __shfl_up_sync(flaggems_lanes lanes, unsigned x, unsigned delta);
__device__ unsigned __shfl_sync(flaggems_lanes lanes, unsigned x, int lane);
__device__ flaggems_lanes __ballot_sync(flaggems_lanes lanes, int x);
}
__device__ int atomicAdd(int* at, int x);
__device__ unsigned atomicAdd(unsigned* at, unsigned x);
__device__ unsigned long long atomicAdd(unsigned long long* at, unsigned long long x);
__device__ float atomicAdd(float* at, float x);
__device__ double atomicAdd(double* at, double x);

#undef __device__
