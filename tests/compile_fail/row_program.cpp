// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Row programs with a function that does not suit the operands: one message, and no kernel.
//
// errors: 2
// bytes: 8192
//
// expect: -DSUM: a row program's sum(f, x...) takes an element of each input, then x..., and gives
// expect: -DWEIGHTED: weighted_sum(f, x...) takes an element of each input and of each parameter
// expect: -DEACH: flaggems: the function of a row program's each(f, x...) takes x...
// expect: -DSTORE: store<K>(f, x...) takes an element of each input and of each parameter, then x
// expect: -DOUTPUT: a row program names an output, number or result that row_operands_of does not
// expect: -DBODY: flaggems: the function of a row program's sum(f, x...) takes
// expect: -DPARAMETER: flaggems: the function of a row program's store<K>(f, x...) takes
// expect: -DSUM -DEMULATOR: flaggems: the function of a row program's sum(f, x...) takes
#include <flaggems/ops/rows.hpp>
#include <flaggems/vendors/host.hpp>
#include <flaggems/vendors/simt.hpp>

#if defined(EMULATOR)
using device = flaggems::simt32;
#else
using device = flaggems::host;
#endif

namespace fk = flaggems::kernels;

/// out = (x + y) w / sqrt(sum(x y))
template <class C>
struct program {
  using compute = C;
  using terms = fk::plain_terms;
  static constexpr fk::row_traits traits = fk::row_traits();
  FLAGGEMS_INLINE static constexpr int neutral(int) { return 1; }

  template <class Row>
  FLAGGEMS_INLINE constexpr void run(Row& r) const {
#if defined(SUM)
    const auto sum = r.sum([](const auto& x) FLAGGEMS_LAMBDA { return x; });
#elif defined(WEIGHTED)
    const auto sum =
        r.weighted_sum([](const auto& x, const auto& y) FLAGGEMS_LAMBDA { return x * y; });
#elif defined(BODY)
    const auto sum =
        r.sum([](const auto& x, const auto& y) FLAGGEMS_LAMBDA { return x.square() * y; });
#else
    const auto sum = r.sum([](const auto& x, const auto& y) FLAGGEMS_LAMBDA { return x * y; });
#endif
#if defined(EACH)
    const auto by = r.each([]() FLAGGEMS_LAMBDA { return 1.0F; }, sum);
#else
    const auto by = r.each([](const auto& s) FLAGGEMS_LAMBDA { return fk::rsqrt(s); }, sum);
#endif
#if defined(STORE)
    r.template store<0>([](const auto& x, const auto& y, const auto& w)
                            FLAGGEMS_LAMBDA { return fk::scaled(x + y, w); },
                        by);
#elif defined(PARAMETER)
    r.template store<0>([](const auto& x, const auto& y, const auto& w, const auto& s)
                            FLAGGEMS_LAMBDA { return (x + y) * s * w; },
                        by);
#elif defined(OUTPUT)
    r.template store<1>([](const auto& x, const auto& y, const auto& w, const auto& s)
                            FLAGGEMS_LAMBDA { return fk::scaled((x + y) * s, w); },
                        by);
#else
    r.template store<0>([](const auto& x, const auto& y, const auto& w, const auto& s)
                            FLAGGEMS_LAMBDA { return fk::scaled((x + y) * s, w); },
                        by);
#endif
  }
};

using input = flaggems::tensor_view<const float, device>;

void f(const flaggems::stream<device>& stream, const input& x, const input& y, const input& w,
       const flaggems::tensor_view<float, device>& out) {
  flaggems::row_plan plan(x.sizes(), 1);
  plan.add(x);
  plan.add(y);
  plan.add(w);
  plan.add(out);
  flaggems::launch_config config;
  config.op = "program";
  const auto space = plan.space();
  flaggems::launch_rows(
      stream, config, space,
      flaggems::row_operands_of(flaggems::row_inputs(plan.arg(0, x), plan.arg(1, y)),
                                flaggems::row_outputs(plan.target(3, out)),
                                flaggems::row_inputs(plan.arg(2, w))),
      program<float>{});
}
