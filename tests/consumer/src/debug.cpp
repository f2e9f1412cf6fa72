// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Built without optimisation: loads and stores of complex numbers, of which g++ has warned there.
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/fft.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/vendors/host.hpp>

int main() {
  const flaggems::stream<flaggems::host> stream;
  const auto ones = flaggems::ones<float>(stream, {7});
  const auto spectrum = flaggems::fft(stream, ones);
  const auto twice = flaggems::add(stream, spectrum, spectrum);
  const auto power = flaggems::evaluate(stream, flaggems::square(flaggems::abs(twice)));
  return power.data()[0] == 196 && power.data()[1] < 1e-6F ? 0 : 1;
}
