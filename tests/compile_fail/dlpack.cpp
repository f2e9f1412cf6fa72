// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A view of a tensor of another library that ends with the statement, and a pointer to one that
// nobody owns.
//
// expect: -DTEMPORARY: flaggems: a temporary tensor ends with the statement, before its view
// expect: -DPOINTER: flaggems: from_dlpack takes a pointer that owns
#include <flaggems/adapters/dlpack.hpp>
#include <flaggems/vendors/host.hpp>

using namespace flaggems;

void f(stream<host>& s, dl_managed_tensor* managed) {
#if defined(POINTER)
  const auto x = from_dlpack(s, managed);
#elif defined(TEMPORARY)
  const auto v = from_dlpack(s, dlpack_ptr<dl_managed_tensor>(managed)).view();
#else
  const auto x = from_dlpack(s, dlpack_ptr<dl_managed_tensor>(managed));
  const auto v = x.view();
#endif
}
