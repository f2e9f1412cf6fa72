// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/registry/families/scatter.hpp>
#include <registry/support.hpp>

FLAGGEMS_REGISTRY_FAMILY(flaggems::operator_families::scatter, flaggems::host, flaggems::f32,
                         flaggems::i64);

namespace flaggems_test {
namespace {

using list = fg::int_list;
using reduction = fg::scatter_reduction;

TEST(registry_scatter, reads) {
  const auto& s = stream_of<host>();
  const auto a = numbers({3, 4});
  const auto i = fg::from_values<i64>(s, {3, 0, 1, 1}, {2, 2}),
             j = fg::from_values<i64>(s, {2, -1});
  const auto m = fg::from_values<bool>(s, {true, false, true, true});
  const view<host> x(a), square(i), row(j), mask(m);
  check("gather", {x, 1, square}, [&] { return fg::gather(s, a, 1, i); });
  check("take", {x, row}, [&] { return fg::take(s, a, j); });
  const view<host> second[] = {view<host>(), row};
  check("index.Tensor", {x, std::span<const view<host>>(second)},
        [&] { return fg::index(s, a, std::tuple(std::nullopt, j.view())); });
  check("masked_select", {x, mask}, [&] { return fg::masked_select(s, a, m); });
  check("nonzero", {x}, [&] { return fg::nonzero(s, a); });
  {
    const auto& op = fg::registry<host>::at("nonzero_numpy");
    note(op);
    fg::any_results<host> got;
    op.call(fg::ref(s), arguments<host>{x}, got);
    const auto want = fg::nonzero_numpy(s, a);
    ASSERT_EQ(got.tensors.size(), 2U);
    for (std::size_t k = 0; k < 2; ++k) expect_same(got.tensors[k], view<host>(want[k]), "part");
  }
  check("nonzero_static", {x, 5, 7}, [&] { return fg::nonzero_static(s, a, 5, 7); });
  check("isin.Tensor_Tensor", {x, x, false, true}, [&] { return fg::isin(s, a, a, false, true); });
  const auto k = fg::from_values<i64>(s, {2, 0});
  check("one_hot", {view<host>(k)}, [&] { return fg::one_hot(s, k); });
  // Masks are indices, too, and other integers than i64.
  const auto of_rows = fg::from_values<bool>(s, {true, false, true}),
             of_all = fg::from_values<bool>(
                 s,
                 {false, true, true, false, false, false, true, false, false, false, false, true},
                 {3, 4}),
             yes = fg::full<bool>(s, {}, true);
  const auto small = fg::from_values<fg::i32>(s, {1, -2});
  const view<host> rows[] = {view<host>(of_rows), view<host>(small)}, all[] = {view<host>(of_all)},
                   whole[] = {view<host>(yes)};
  check("index.Tensor", {x, std::span<const view<host>>(rows)},
        [&] { return fg::index(s, a, std::tuple(of_rows.view(), small.view())); });
  check("index.Tensor", {x, std::span<const view<host>>(all)},
        [&] { return fg::index(s, a, std::tuple(of_all.view())); });
  check("index.Tensor", {x, std::span<const view<host>>(whole)},
        [&] { return fg::index(s, a, std::tuple(yes.view())); });
  EXPECT_ERROR(fg::registry<host>::at("gather")(s, {x, 1, view<host>(of_all)}), dtype_mismatch,
               "integers for argument index");
  const view<host> wrong[] = {x};  // floats
  EXPECT_ERROR(fg::registry<host>::at("index.Tensor")(s, {x, std::span<const view<host>>(wrong)}),
               dtype_mismatch, "masks of bool for argument indices", "f32");
  const auto bytes = fg::from_values<fg::u8>(s, {1, 0, 1});
  const view<host> unclear[] = {view<host>(bytes)};
  EXPECT_ERROR(fg::registry<host>::at("index.Tensor")(s, {x, std::span<const view<host>>(unclear)}),
               dtype_mismatch, "masks of bool for argument indices", "u8");
}

TEST(registry_scatter, writes) {
  const auto& s = stream_of<host>();
  const auto a = numbers({3, 4}), b = numbers({2, 4}, -2, 2, 2);
  const auto i = fg::from_values<i64>(s, {3, 0, 1, 1}, {2, 2}), j = fg::from_values<i64>(s, {2, 0});
  const auto m = fg::from_values<bool>(s, {true, false, true, true});
  const auto v = fg::full<f32>(s, {}, 3);
  const view<host> x(a), src(b), square(i), row(j), mask(m), value(v);
  check("scatter.src", {x, 1, square, src}, [&] { return fg::scatter(s, a, 1, i, b); });
  check("scatter.value", {x, 1, square, 2.5}, [&] { return fg::scatter(s, a, 1, i, 2.5); });
  check("scatter.reduce", {x, 1, square, src, "multiply"},
        [&] { return fg::scatter(s, a, 1, i, b, reduction::prod); });
  check("scatter.value_reduce", {x, 1, square, 2, "add"},
        [&] { return fg::scatter(s, a, 1, i, 2, reduction::sum); });
  check("scatter_add", {x, 1, square, src}, [&] { return fg::scatter_add(s, a, 1, i, b); });
  check("scatter_reduce.two", {x, 1, square, src, "amax", false},
        [&] { return fg::scatter_reduce(s, a, 1, i, b, reduction::amax, false); });
  check("index_add", {x, 0, row, src, 2}, [&] { return fg::index_add(s, a, 0, j, b, 2); });
  check("index_copy", {x, 0, row, src}, [&] { return fg::index_copy(s, a, 0, j, b); });
  check("index_fill.int_Scalar", {x, 0, row, 1.5}, [&] { return fg::index_fill(s, a, 0, j, 1.5); });
  check("index_reduce", {x, 0, row, src, "mean"},
        [&] { return fg::index_reduce(s, a, 0, j, b, reduction::mean); });
  const view<host> first[] = {row}, masks[] = {view<host>(), mask};
  check("index_put", {x, std::span<const view<host>>(masks), value},
        [&] { return fg::index_put(s, a, std::tuple(std::nullopt, m.view()), v); });
  check("index_put", {x, std::span<const view<host>>(first), src, true},
        [&] { return fg::index_put(s, a, std::tuple(j.view()), b, true); });
  {
    const auto& op = fg::registry<host>::at("_index_put_impl_");
    note(op);
    const auto got = copy_of(x);
    op(s, {got, std::span<const view<host>>(first), src, true, true});
    expect_same(got, fg::any_tensor<host>(fg::index_put(s, a, std::tuple(j.view()), b, true)),
                "_index_put_impl_");
  }
  check("masked_fill.Scalar", {x, mask, 4}, [&] { return fg::masked_fill(s, a, m, 4); });
  check("masked_fill.Tensor", {x, mask, value}, [&] { return fg::masked_fill(s, a, m, v); });
  const auto many = numbers({12});
  check("masked_scatter", {x, mask, view<host>(many)},
        [&] { return fg::masked_scatter(s, a, m, many); });
  EXPECT_ERROR(fg::registry<host>::at("scatter.reduce")(s, {x, 1, square, src, "median"}),
               invalid_argument, "median");
}

TEST(registry_scatter, views_and_gradients) {
  const auto& s = stream_of<host>();
  const auto a = numbers({3, 4}), b = numbers({4}, -2, 2, 2), c = numbers({1, 4}), d = numbers({3}),
             e = numbers({2, 2});
  const view<host> x(a), row(b), one(c), line(d), square(e);
  check("slice_scatter", {x, one, 0, std::nullopt, 1},
        [&] { return fg::slice_scatter(s, a, c, 0, {}, 1); });
  check("select_scatter", {x, row, 0, 1}, [&] { return fg::select_scatter(s, a, b, 0, 1); });
  check("diagonal_scatter", {x, line, 1}, [&] { return fg::diagonal_scatter(s, a, d, 1); });
  check("as_strided_scatter", {x, square, list{2, 2}, list{4, 1}, 1}, [&] {
    return fg::as_strided_scatter(s, a, e, {2, 2}, {4, 1}, 1);
  });
  check("slice_backward", {one, list{3, 4}, 0, 1, 2, 1}, [&] {
    return fg::slice_backward(s, c, {3, 4}, 0, 1, 2, 1);
  });
  check("select_backward", {row, list{3, 4}, 0, 1}, [&] {
    return fg::select_backward(s, b, {3, 4}, 0, 1);
  });
  check("diagonal_backward", {line, list{3, 4}, 0, 0, 1}, [&] {
    return fg::diagonal_backward(s, d, {3, 4}, 0, 0, 1);
  });
  const auto i = fg::from_values<i64>(s, {1, 0, 1});
  const auto many = fg::from_values<i64>(s, {1, 0, 2, 1, 0, 2, 1, 1, 0, 0, 2, 2}, {3, 4});
  const auto mask = fg::evaluate(s, a > 0);
  const view<host> at(many);
  check("index_select_backward", {x, list{5, 4}, 0, view<host>(i)}, [&] {
    return fg::index_select_backward(s, a, {5, 4}, 0, i);
  });
  check("gather_backward", {x, x, 0, at, false},
        [&] { return fg::gather_backward(s, a, a, 0, many, false); });
  check("cummaxmin_backward", {x, x, at, 0},
        [&] { return fg::cummaxmin_backward(s, a, a, many, 0); });
  check("value_selecting_reduction_backward", {line, 1, view<host>(i), list{3, 2}, false}, [&] {
    return fg::value_selecting_reduction_backward(s, d, 1, i, {3, 2}, false);
  });
  check("masked_scatter_backward", {x, view<host>(mask), list{2, 6}}, [&] {
    return fg::masked_scatter_backward(s, a, mask, {2, 6});
  });
  check("embedding_dense_backward", {x, view<host>(i), 4, 0, true},
        [&] { return fg::embedding_dense_backward(s, a, i, 4, 0, true); });
  const auto rows = numbers({2, 3}), table = numbers({4, 3}, -1, 1, 2);
  const auto bags = fg::from_values<i64>(s, {0, 0, 1}), each = fg::from_values<i64>(s, {2, 1}),
             which = fg::from_values<i64>(s, {0, 3, 1}), best = fg::zeros<i64>(s, {2, 3});
  const view<host> grads(rows), samples(which), of_bags(bags);
  check("_embedding_bag_dense_backward",
        {grads, samples, of_bags, view<host>(each), view<host>(best), 4, false, 1, std::nullopt, 3},
        [&] {
          return fg::embedding_bag_dense_backward(s, rows, which, bags, each, best, 4, false, 1,
                                                  std::nullopt, 3);
        });
  check("_embedding_bag_per_sample_weights_backward",
        {grads, view<host>(table), samples, view<host>(each), of_bags, 0}, [&] {
          return fg::embedding_bag_per_sample_weights_backward(s, rows, table, which, each, bags,
                                                               0);
        });
  check("embedding_backward", {x, view<host>(i), 4, -1, false, false},
        [&] { return fg::embedding_backward(s, a, i, 4); });
}

TEST(registry_scatter, masked_indices) {
  const auto& s = stream_of<host>();
  const auto a = numbers({4, 3}), v = numbers({2}, -1, 1, 3);
  const auto rows = fg::from_values<i64>(s, {1, 900}), columns = fg::from_values<i64>(s, {-1, 2});
  const auto m = fg::from_values<bool>(s, {true, false});
  const view<host> indices[] = {view<host>(rows), view<host>(columns)};
  const std::span<const view<host>> both(indices);
  const auto typed = std::tuple(rows.view(), columns.view());
  check("_unsafe_masked_index", {view<host>(a), view<host>(m), both, 7},
        [&] { return fg::unsafe_masked_index(s, a, m, typed, 7); });
  check("_unsafe_masked_index_put_accumulate", {view<host>(a), view<host>(m), both, view<host>(v)},
        [&] { return fg::unsafe_masked_index_put_accumulate(s, a, m, typed, v); });
}

}  // namespace
}  // namespace flaggems_test
