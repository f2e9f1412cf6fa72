// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/registry/families/copy.hpp>
#include <flaggems/registry/families/creation.hpp>
#include <registry/support.hpp>

FLAGGEMS_REGISTRY_FAMILY(flaggems::operator_families::copy, flaggems::host, flaggems::f32,
                         flaggems::f64, flaggems::i64, flaggems::i32, bool, flaggems::c64);
FLAGGEMS_REGISTRY_FAMILY(flaggems::operator_families::creation, flaggems::host, flaggems::f32,
                         flaggems::i64, bool);

namespace flaggems_test {
namespace {

const auto& s = stream_of<host>();
const auto& at(const char* key) {
  const auto& op = fg::registry<host>::at(key);
  note(op);
  return op;
}

TEST(registry_copy, copies) {
  const auto a = numbers({2, 3});
  const view<host> x(a), turned(x.t());
  check("clone", {x}, [&] { return fg::clone(s, a); });
  check("contiguous", {turned}, [&] { return fg::contiguous(s, a.t()); });
  check("to.dtype", {x, fg::dtype::i64}, [&] { return fg::to<i64>(s, a); });
  check("to.dtype", {x, fg::dtype::f32}, [&] { return fg::to<f32>(s, a); });
  // None keeps the strides, as in ATen.
  EXPECT_EQ(at("clone")(s, {turned}).strides()[0], 1);
  const auto target = garbage<host>(fg::dtype::i64, {2, 3});
  at("copy_")(s, {target, x});
  expect_same(target.view(), boxed_results(fg::to<i64>(s, a))[0], "copy_");
  EXPECT_ERROR(at("copy_")(s, {x, x}), invalid_argument, "written");
  EXPECT_ERROR(at("to.dtype")(s, {x, fg::dtype::f16}), dtype_mismatch, "to.dtype", "f16");
}

TEST(registry_copy, cat) {
  const auto a = numbers({2, 3}), b = numbers({1, 3});
  const auto i = numbers<i64>({1, 3});
  const std::vector<view<host>> list{a, b}, mixed{a, i};
  const std::span<const view<host>> both(list), several(mixed);
  for (const char* const name : {"cat", "concat", "concatenate"})
    check(name, {both}, [&] { return fg::cat(s, {a.view(), b.view()}); });
  check("cat", {several, 0}, [&] { return fg::cat(s, std::tie(a, i)); });
  EXPECT_ERROR(at("cat")(s, {view<host>(a)}), invalid_argument, "Tensor[] for argument tensors",
               "a tensor");
}

TEST(registry_creation, of_sizes) {
  const i64 two_three[] = {2, 3}, one_two[] = {1, 2};
  const fg::int_list sizes(two_three), strides(one_two);
  check("zeros", {sizes}, [&] { return fg::zeros(s, {2, 3}); });
  check("zeros", {sizes, fg::dtype::i64}, [&] { return fg::zeros<i64>(s, {2, 3}); });
  check("ones", {sizes, fg::dtype::bool_}, [&] { return fg::ones<bool>(s, {2, 3}); });
  check("full", {sizes, 2.5}, [&] { return fg::full<f32>(s, {2, 3}, 2.5); });
  check("full", {sizes, 7}, [&] { return fg::full<i64>(s, {2, 3}, 7); });
  check("full", {sizes, 2.5, fg::dtype::i64}, [&] { return fg::full<i64>(s, {2, 3}, 2.5); });
  EXPECT_EQ(at("empty.memory_format")(s, {sizes, fg::dtype::i64}).strides()[0], 3);
  EXPECT_EQ(at("empty_strided")(s, {sizes, strides}).strides()[0], 1);
  // With gaps, and with elements in one place.
  constexpr i64 nine_zero[] = {9, 0}, below[] = {-1, 2};
  const auto spread = at("empty_strided")(s, {sizes, fg::int_list(nine_zero), fg::dtype::i64});
  EXPECT_EQ(shape(spread.strides()), (shape{9, 0}));
  EXPECT_FALSE(spread.is_view());
  spread.as<i64>()(1, 2) = 7;  // the last place there is
  EXPECT_EQ(spread.as<i64>()(1, 0), 7);
  EXPECT_ERROR(at("empty_strided")(s, {sizes, fg::int_list(below)}), invalid_argument,
               "empty_strided");
  EXPECT_ERROR(at("zeros")(s, {sizes, fg::dtype::f64}), dtype_mismatch, "zeros", "f64");
  EXPECT_ERROR(at("full")(s, {sizes, 1e30, fg::dtype::i64}), invalid_argument, "i64 can hold");
}

TEST(registry_creation, like_another) {
  const auto a = numbers({2, 3});
  const view<host> x(a), turned(x.t());
  check("zeros_like", {x}, [&] { return fg::zeros_like(s, a); });
  check("ones_like", {x, fg::dtype::i64}, [&] { return fg::ones_like<i64>(s, a); });
  check("full_like", {x, 3}, [&] { return fg::full_like(s, a, 3); });
  const auto like = at("empty_like")(s, {turned, fg::dtype::i64});
  EXPECT_EQ(like.view().stride(0), 1);
  EXPECT_EQ(like.dtype(), fg::dtype::i64);
}

TEST(registry_creation, sequences_and_values) {
  check("arange", {5}, [&] { return fg::arange(s, 5); });
  check("arange", {4.5}, [&] { return fg::arange(s, 4.5); });
  check("arange.start", {1, 4}, [&] { return fg::arange(s, 1, 4); });
  check("arange.start_step", {1, 4, 0.5}, [&] { return fg::arange(s, 1, 4, 0.5); });
  check("arange.start_step", {1, 9, 2, fg::dtype::f32},
        [&] { return fg::arange<f32>(s, 1, 9, 2); });
  const auto memory = garbage<host>(fg::dtype::i64, {4});
  at("arange.start_out")(s, {1, 9, 2, memory});
  expect_same(memory.view(), boxed_results(fg::arange(s, 1, 9, 2))[0], "arange.start_out");
  at("fill_.Scalar")(s, {memory, 2.9});
  expect_same(memory.view(), boxed_results(fg::full<i64>(s, {4}, 2))[0], "fill_");
  const auto one = fg::full<f32>(s, {}, 3.5);
  const view<host> value(one);
  at("fill_.Tensor")(s, {memory, value});
  expect_same(memory.view(), boxed_results(fg::full<i64>(s, {4}, 3))[0], "fill_.Tensor");
  at("zero_")(s, {memory});
  expect_same(memory.view(), boxed_results(fg::zeros<i64>(s, {4}))[0], "zero_");
}

TEST(registry_creation, of_sizes_and_sequences) {
  const auto& s = stream_of<host>();
  const auto a = numbers({2, 3});
  const view<host> x(a);
  const i64 two_two[] = {2, 2};
  const fg::int_list sizes(two_two);
  check("scalar_tensor", {2.5}, [&] { return fg::scalar_tensor(s, 2.5); });
  check("new_full", {x, sizes, 2.5}, [&] { return fg::new_full(s, a, {2, 2}, 2.5); });
  check("new_zeros", {x, sizes}, [&] { return fg::new_zeros(s, a, {2, 2}); });
  check("new_ones", {x, sizes}, [&] { return fg::new_ones(s, a, {2, 2}); });
  check("eye", {3}, [&] { return fg::eye(s, 3); });
  check("eye.m", {3, 2}, [&] { return fg::eye(s, 3, 2); });
  check("linspace", {0, 1, 5}, [&] { return fg::linspace(s, 0, 1, 5); });
  // Numbers keep their fractions for a dtype that is given.
  check("linspace", {-2.5, 3.75, 6, fg::dtype::i64},
        [&] { return fg::linspace<i64>(s, -2.5, 3.75, 6); });
  check("range.step", {0.5, 4, 1.5, fg::dtype::i64},
        [&] { return fg::range<i64>(s, 0.5, 4, 1.5); });
  check("logspace", {0, 1.5, 3, 10.0, fg::dtype::i64},
        [&] { return fg::logspace<i64>(s, 0, 1.5, 3); });
  check("logspace", {0, 1, 5, 2}, [&] { return fg::logspace(s, 0, 1, 5, 2); });
  check("range", {1, 4}, [&] { return fg::range(s, 1, 4); });
  check("range.step", {1, 4, 0.5}, [&] { return fg::range(s, 1, 4, 0.5); });
  check("hann_window", {7}, [&] { return fg::hann_window(s, 7); });
  check("hann_window.periodic", {7, false}, [&] { return fg::hann_window(s, 7, false); });
  check("hamming_window", {7}, [&] { return fg::hamming_window(s, 7); });
  check("hamming_window.periodic", {7, false}, [&] { return fg::hamming_window(s, 7, false); });
  check("hamming_window.periodic_alpha", {7, true, 0.6},
        [&] { return fg::hamming_window(s, 7, true, 0.6); });
  check("hamming_window.periodic_alpha_beta", {7, false, 0.6, 0.3},
        [&] { return fg::hamming_window(s, 7, false, 0.6, 0.3); });
  check("blackman_window", {7}, [&] { return fg::blackman_window(s, 7); });
  check("blackman_window.periodic", {7, false}, [&] { return fg::blackman_window(s, 7, false); });
  check("bartlett_window", {7}, [&] { return fg::bartlett_window(s, 7); });
  check("bartlett_window.periodic", {7, false}, [&] { return fg::bartlett_window(s, 7, false); });
}

TEST(registry_creation, tokens_and_orders) {
  const auto made =
      at("empty_permuted")(s, {fg::int_list{2, 3, 4}, fg::int_list{0, 2, 1}, fg::dtype::i64});
  EXPECT_EQ(fg::to_string(made.view().dtype()), fg::to_string(fg::dtype::i64));
  EXPECT_EQ(std::string(fg::to_string(fg::int_list(made.view().strides()))), "[12, 1, 3]");
  const auto token = at("_make_dep_token")(s, {});
  EXPECT_EQ(token.view().rank(), 0);
  const i64 list[] = {3, -1};
  check("_list_to_tensor", {fg::int_list(list)}, [&] { return fg::list_to_tensor(s, list); });
  const auto t = numbers({2});
  for (const char* const name :
       {"_functional_sym_constrain_range", "_functional_sym_constrain_range_for_size"})
    check(name, {5, 1, 9, view<host>(t)}, [&] { return fg::clone(s, t); });
  EXPECT_ERROR(at("_functional_sym_constrain_range")(s, {5, 6, std::nullopt, view<host>(t)}),
               invalid_argument, "at least 6");
}

}  // namespace
}  // namespace flaggems_test
