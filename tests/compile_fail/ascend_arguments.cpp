// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What a kernel of Ascend's cannot take: numbers of other sizes, double, structures.
//
// expect: -DWRONG=2.0: flaggems: an argument of a kernel of ascend is a pointer or a number
// expect: -DWRONG=short(2): flaggems: an argument of a kernel of ascend is a pointer or a number
// expect: -DWRONG=true: flaggems: an argument of a kernel of ascend is a pointer or a number
// expect: -DWRONG=bf16(2): flaggems: an argument of a kernel of ascend is a pointer or a number
// expect: -DWRONG=pair(): flaggems: an argument of a kernel of ascend is a pointer or a number
//
// errors: 1
#include <flaggems/vendors/ascend.hpp>

using namespace flaggems;

struct pair {
  float a = 0, b = 0;
};
#ifndef WRONG
#define WRONG 2.0F
#endif

void f(ascend::stream_handle s, const ascend_kernel& kernel, float* x) {
  ascend::invoke(s, kernel, 1, x, 7, i64{8}, WRONG);
}
