// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A chip gets the bytes of an argument.
//
// expect: -DWRONG: flaggems: a kernel's argument is not trivially copyable
#include <flaggems/launch/launch.hpp>
#include <flaggems/vendors/host.hpp>

struct counted {
  int x = 0;
#ifdef WRONG
  counted() = default;
  counted(const counted& other) : x(other.x + 1) {}
#endif
};
struct nothing {
  template <class Block>
  FLAGGEMS_INLINE static void run(const Block&, const counted&) {}
};
void f(const flaggems::stream<flaggems::host>& s) { flaggems::launch<nothing>(s, {}, counted()); }
