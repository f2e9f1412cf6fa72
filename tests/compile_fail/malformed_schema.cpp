// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A line of the registry whose schema is malformed.
//
// expect: -DWRONG=1: raise_schema
// expect: -DWRONG=2: raise_schema
// expect: -DWRONG=3: raise_schema
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/registry/bind.hpp>
#include <flaggems/vendors/host.hpp>

struct family {
  static constexpr auto lines() {
    return std::tuple(
#if WRONG == 1
        FLAGGEMS_BIND(flaggems::exp, flaggems::floating_types, "exp(Tenor self) -> Tensor")
#elif WRONG == 2
        FLAGGEMS_BIND(flaggems::exp, flaggems::floating_types, "exp(Tensor self)")
#elif WRONG == 3
        FLAGGEMS_BIND(flaggems::exp, flaggems::floating_types, "exp(Tensor self) -> Tensor"),
        FLAGGEMS_BIND(flaggems::exp, flaggems::floating_types, "exp(Tensor other) -> Tensor")
#else
        FLAGGEMS_BIND(flaggems::exp, flaggems::floating_types, "exp(Tensor self) -> Tensor")
#endif
    );
  }
};

FLAGGEMS_REGISTRY_FAMILY(family, flaggems::host, float);
