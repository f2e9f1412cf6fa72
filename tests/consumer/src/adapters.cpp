// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A program that takes in the adapters alone, and no header of another library.
#include <flaggems/adapters/dlpack.hpp>
#include <flaggems/adapters/mdspan.hpp>
#include <flaggems/vendors/host.hpp>

#include <vector>

int main() {
  std::vector<float> values = {1, 2, 3, 4, 5, 6};
  const auto v = flaggems::from_span(values, {2, 3});
  const auto x =
      flaggems::from_dlpack(flaggems::stream_ref<flaggems::host>(), flaggems::to_dlpack(v.t(), 0));
  return x.view().as<const float>()(2, 1) == 6 ? 0 : 1;
}
