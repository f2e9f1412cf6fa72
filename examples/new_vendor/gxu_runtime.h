// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The documents of the GXU runtime: libgxu_runtime.so. Every function that returns an int returns
// 0, or what went wrong.
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

int gxuGetDeviceCount(int* count);
int gxuGetDevice(int* device); /* of the calling thread */
int gxuSetDevice(int device);
int gxuGetDeviceCapability(int* first, int* second, int device);
int gxuMalloc(void** address, size_t bytes);
int gxuFree(void* address);
int gxuMemcpy(void* to, const void* from, size_t bytes,
              int kind); /* 1 to, 2 from, 3 on the device */
int gxuModuleLoad(void** module, const void* image);
int gxuModuleGetFunction(void** function, void* module, const char* name);
int gxuModuleUnload(void* module);
/* A grid of at most 48 blocks or a multiple of 48; kernelParams points to each argument. */
int gxuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                    unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                    void* stream, void** kernelParams, void** extra);
int gxuGetLastError(void);
const char* gxuGetErrorString(int result);

#ifdef __cplusplus
}
#endif
