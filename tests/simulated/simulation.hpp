// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What a test program says to the simulated CUDA driver and runtime compiler, beside the symbols
// that NVIDIA's libraries have.
#pragma once

/// Runs a kernel's instance on the emulator, with so many bytes of scratch a block, and returns a
/// result of the driver; with -1 clusters, returns the bytes of its arguments.
using flaggems_sim_entry = int (*)(long clusters, int cluster, int threads, long scratch,
                                   void** arguments);

extern "C" {
/// `entry` runs the instance whose types are written so.
void flaggems_sim_register(const char* types, flaggems_sim_entry entry);
/// The nth call from now (from 1) of the driver's function `name` answers `result` and does nothing
/// else; "cuLaunchKernelEx later" fails when the work is waited for, and "a function's target" and
/// "a function's threads" answer what a function was compiled for. 0 takes all such orders back.
void flaggems_sim_fail(const char* name, int nth, int result);
/// How many bytes each device has from now on; 8 GiB at first.
void flaggems_sim_capacity(long bytes);
/// Shuts device memory while a piece of work runs, or opens it again.
void flaggems_sim_shut(bool shut);
/// What is alive: "bytes", "allocations", "pinned", "streams", "events", "modules", "graphs".
long flaggems_sim_live(const char* what);
/// Runs all that is queued; what a kernel that failed left, or 0.
int flaggems_sim_finish();
/// How often a function of the driver was called; "launches of clusters" were.
long flaggems_sim_calls(const char* name);
}
