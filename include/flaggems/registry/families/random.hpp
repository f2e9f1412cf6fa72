// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/dropout.hpp>
#include <flaggems/ops/multinomial.hpp>
#include <flaggems/ops/random.hpp>

#include <flaggems/registry/bind.hpp>
#include <flaggems/registry/dtypes.hpp>

namespace flaggems::operator_families {

/// Random numbers.
struct random {
  static constexpr auto lines() {
    using bindings::line;
    // clang-format off
    return std::tuple(
        FLAGGEMS_BIND_IN_PLACE(flaggems::uniform, floating_types, line("uniform(Tensor self, float from=0, float to=1, *, Generator? generator=None) -> Tensor").outputs_after(4)),
        FLAGGEMS_BIND_IN_PLACE(flaggems::log_normal, floating_types, line("log_normal(Tensor self, float mean=1, float std=2, *, Generator? generator=None) -> Tensor").outputs_after(4)),
        FLAGGEMS_BIND_IN_PLACE(flaggems::cauchy, floating_types, line("cauchy(Tensor self, float median=0, float sigma=1, *, Generator? generator=None) -> Tensor").outputs_after(4)),
        FLAGGEMS_BIND_IN_PLACE(flaggems::exponential, floating_types, line("exponential(Tensor self, float lambd=1, *, Generator? generator=None) -> Tensor").outputs_after(3)),
        FLAGGEMS_BIND_IN_PLACE(flaggems::geometric, numeric_types, line("geometric(Tensor self, float p, *, Generator? generator=None) -> Tensor").outputs_after(3)),
        FLAGGEMS_BIND(flaggems::normal, floating_types, line("normal_functional(Tensor self, float mean=0, float std=1, *, Generator? generator=None) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::normal_, floating_types, line("normal_(Tensor(a!) self, float mean=0, float std=1, *, Generator? generator=None) -> Tensor(a!)")),
        FLAGGEMS_BIND(flaggems::normal, floating_types, line("normal.Tensor_float(Tensor mean, float std=1, *, Generator? generator=None) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::normal, floating_types, line("normal.float_Tensor(float mean, Tensor std, *, Generator? generator=None) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::normal, floating_types, line("normal.Tensor_Tensor(Tensor mean, Tensor std, *, Generator? generator=None) -> Tensor").promotes().without_out()),
        FLAGGEMS_BIND(flaggems::bernoulli, floating_types, line("bernoulli(Tensor self, *, Generator? generator=None) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::bernoulli, numeric_types, line("bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::bernoulli_, numeric_types, line("bernoulli_.float(Tensor(a!) self, float p=0.5, *, Generator? generator=None) -> Tensor(a!)")),
        FLAGGEMS_BIND(flaggems::bernoulli_, floating_types, line("bernoulli_.Tensor(Tensor(a!) self, Tensor p, *, Generator? generator=None) -> Tensor(a!)")),
        FLAGGEMS_BIND(flaggems::random_, numeric_types, line("random_.from(Tensor(a!) self, int from, int? to, *, Generator? generator=None) -> Tensor(a!)")),
        FLAGGEMS_BIND(flaggems::random_, numeric_types, line("random_.to(Tensor(a!) self, int to, *, Generator? generator=None) -> Tensor(a!)")),
        FLAGGEMS_BIND(flaggems::random_, numeric_types, line("random_(Tensor(a!) self, *, Generator? generator=None) -> Tensor(a!)")),
        FLAGGEMS_BIND(flaggems::poisson, floating_types, line("poisson(Tensor self, Generator? generator=None) -> Tensor").without_out()),
        FLAGGEMS_BIND_RESULT(flaggems::rand, floating_types, line("rand.generator(SymInt[] size, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor").without_out()),
        FLAGGEMS_BIND_RESULT(flaggems::randn, floating_types, line("randn.generator(SymInt[] size, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor").without_out()),
        FLAGGEMS_BIND_RESULT(flaggems::randint, numeric_types, line("randint.generator(SymInt high, SymInt[] size, *, Generator? generator, ScalarType? dtype=long, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor").without_out()),
        FLAGGEMS_BIND_RESULT(flaggems::randint, numeric_types, line("randint.low_generator(SymInt low, SymInt high, SymInt[] size, *, Generator? generator, ScalarType? dtype=long, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor").without_out()),
        FLAGGEMS_BIND_RESULT(flaggems::randperm, arithmetic_types, line("randperm.generator(SymInt n, *, Generator? generator, ScalarType? dtype=long, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor").without_out()),
        FLAGGEMS_BIND_RESULT(flaggems::rand_like, floating_types, line("rand_like.generator(Tensor self, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor").sized_as("self").without_out().none_is(memory_format::preserve_format)),
        FLAGGEMS_BIND_RESULT(flaggems::randn_like, floating_types, line("randn_like.generator(Tensor self, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor").sized_as("self").without_out().none_is(memory_format::preserve_format)),
        FLAGGEMS_BIND_RESULT(flaggems::randint_like, numeric_types, line("randint_like.low_generator_dtype(Tensor self, SymInt low, SymInt high, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor").sized_as("self").without_out().none_is(memory_format::preserve_format)),
        // (ATen's have no generator, and so its own one.)
        FLAGGEMS_BIND_IN_PLACE(flaggems::dropout, floating_types, line("flaggems::dropout(Tensor input, float p, bool train, *, Generator? generator=None) -> Tensor").outputs_after(4)),
        FLAGGEMS_BIND_IN_PLACE(flaggems::feature_dropout, floating_types, line("flaggems::feature_dropout(Tensor input, float p, bool train, *, Generator? generator=None) -> Tensor").outputs_after(4)),
        FLAGGEMS_BIND_IN_PLACE(flaggems::alpha_dropout, floating_types, line("flaggems::alpha_dropout(Tensor input, float p, bool train, *, Generator? generator=None) -> Tensor").outputs_after(4)),
        FLAGGEMS_BIND_IN_PLACE(flaggems::feature_alpha_dropout, floating_types, line("flaggems::feature_alpha_dropout(Tensor input, float p, bool train, *, Generator? generator=None) -> Tensor").outputs_after(4)),
        FLAGGEMS_BIND(flaggems::native_dropout, floating_types, line("flaggems::native_dropout(Tensor input, float p, bool? train, *, Generator? generator=None) -> (Tensor, Tensor)").outputs_after(4)),
        FLAGGEMS_BIND(flaggems::rrelu_with_noise, floating_types, line("rrelu_with_noise(Tensor self, Tensor(b!) noise, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False, Generator? generator=None) -> Tensor").outputs_after(6)),
        FLAGGEMS_BIND(flaggems::rrelu_with_noise_functional, floating_types, line("rrelu_with_noise_functional(Tensor self, Tensor noise, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False, Generator? generator=None) -> (Tensor, Tensor noise_out)").without_out()),
        FLAGGEMS_BIND(flaggems::rrelu, floating_types, line("rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False, Generator? generator=None) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::multinomial, floating_types, line("multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, Generator? generator=None) -> Tensor").outputs_after(4)));
    // clang-format on
  }
};

}  // namespace flaggems::operator_families
