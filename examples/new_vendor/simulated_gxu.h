// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What a program says to the simulated runtime, besides what the documents have.
#pragma once

/// Runs a kernel's instance on the emulator; not 0 if it failed.
using gxu_simulated_entry = int (*)(unsigned blocks, unsigned threads, unsigned shared_bytes,
                                    void** arguments);

extern "C" void gxu_simulated_register(const char* types, gxu_simulated_entry entry);
