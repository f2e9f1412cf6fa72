// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Functors that vectors do not suit: one of numbers alone, and one that would lose a fraction.
//
// expect: -DNUMBERS: flaggems: the host calls a functor with vectors: let it take any values,
// [](auto x) { ... } expect: -DFRACTION: deleted
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/vendors/host.hpp>

using namespace flaggems;

void f([[maybe_unused]] stream<host>& s) {
#ifdef NUMBERS
  (void)evaluate(s, apply([](float x) { return x * 2; }, ones(s, {3})));
#elif defined(FRACTION)
  (void)evaluate(s, apply([](auto x) { return x * 0.5; }, ones<i64>(s, {3})));
#endif
}
