// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Macros that users' other headers define (complex.h, termios.h, sys/sysmacros.h, windows.h, X11)
// and that our headers must survive. The lint check `traps` defines them behind the standard
// headers and in front of ours; wherever one is used, what follows cannot be parsed.
#pragma once

#define FLAGGEMS_TRAP *** / a macro of the user was used / ***

#undef I
#undef min
#undef max
#undef major
#undef minor
#undef B0
#define I FLAGGEMS_TRAP
#define N FLAGGEMS_TRAP
#define B0 FLAGGEMS_TRAP
#define B1 FLAGGEMS_TRAP
#define L1 FLAGGEMS_TRAP
#define L2 FLAGGEMS_TRAP
#define min(a, b) FLAGGEMS_TRAP
#define max(a, b) FLAGGEMS_TRAP
#define major(a) FLAGGEMS_TRAP
#define minor(a) FLAGGEMS_TRAP
#define small FLAGGEMS_TRAP
#define near FLAGGEMS_TRAP
#define far FLAGGEMS_TRAP
#define interface FLAGGEMS_TRAP
#define IN FLAGGEMS_TRAP
#define OUT FLAGGEMS_TRAP
#define ERROR FLAGGEMS_TRAP
#define None FLAGGEMS_TRAP
#define Success FLAGGEMS_TRAP
#define Status FLAGGEMS_TRAP
#define Bool FLAGGEMS_TRAP
#define True FLAGGEMS_TRAP
#define False FLAGGEMS_TRAP
#define DELETE FLAGGEMS_TRAP
#define PAGE_SIZE FLAGGEMS_TRAP
#define DOMAIN FLAGGEMS_TRAP
#define OVERFLOW FLAGGEMS_TRAP
