// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/creation.hpp>
#include <flaggems/registry/families/index.hpp>
#include <flaggems/registry/families/order.hpp>
#include <registry/support.hpp>

FLAGGEMS_REGISTRY_FAMILY(flaggems::operator_families::order, flaggems::host, flaggems::f32,
                         flaggems::i64);
FLAGGEMS_REGISTRY_FAMILY(flaggems::operator_families::index, flaggems::host, flaggems::f32);

namespace flaggems_test {
namespace {

TEST(registry_order, sort_and_topk) {
  const auto& s = stream_of<host>();
  const auto a = numbers({3, 7});
  const view<host> x(a);
  check("topk", {x, 2}, [&] { return fg::topk(s, a, 2); });
  check("topk", {x, 2, 0, false, false}, [&] { return fg::topk(s, a, 2, 0, false); });
  check("sort", {x, -1, true}, [&] { return fg::sort(s, a, -1, true); });
  check("sort.stable", {x, std::nullopt, 0}, [&] { return fg::sort(s, a, 0); });
  check("argsort", {x}, [&] { return fg::argsort(s, a); });
  check("argsort.stable", {x, true, 0, true}, [&] { return fg::argsort(s, a, 0, true); });
  const auto& topk = fg::registry<host>::at("topk");
  EXPECT_ERROR(topk(s, {x, 2}), invalid_argument, "topk", "2 new tensors", "1");
  EXPECT_ERROR(check("topk", {x, 8}, [&] { return fg::topk(s, a, 2); }), out_of_range, "topk");
}

TEST(registry_order, choices) {
  const auto& s = stream_of<host>();
  const auto a = numbers({3, 7}), q = numbers({2}, 0, 1);
  const view<host> x(a), points(q);
  check("kthvalue", {x, 2, 0, true}, [&] { return fg::kthvalue(s, a, 2, 0, true); });
  check("median", {x}, [&] { return fg::median(s, a); });
  check("median.dim", {x, 1}, [&] { return fg::median(s, a, 1); });
  check("nanmedian", {x}, [&] { return fg::nanmedian(s, a); });
  check("nanmedian.dim", {x, 0, true}, [&] { return fg::nanmedian(s, a, 0, true); });
  check("mode", {x, 0}, [&] { return fg::mode(s, a, 0); });
  check("quantile", {x, points, 1}, [&] { return fg::quantile(s, a, q, 1); });
  check("quantile.scalar", {x, 0.3, 0, true, "lower"},
        [&] { return fg::quantile(s, a, 0.3, 0, true, fg::quantile_interpolation::lower); });
  check("nanquantile", {x, points}, [&] { return fg::nanquantile(s, a, q); });
  check("nanquantile.scalar", {x, 1}, [&] { return fg::nanquantile(s, a, 1); });
  EXPECT_ERROR(fg::registry<host>::at("quantile.scalar")(s, {x, 0.5, {}, {}, "cubic"}),
               invalid_argument, "linear");
}

TEST(registry_order, sets) {
  const auto& s = stream_of<host>();
  const auto a = fg::from_values<i64>(s, {4, 4, 1, 4, 1, 1}, {3, 2});
  const auto row = fg::from_values<i64>(s, {0, 2, 5}), order = fg::from_values<i64>(s, {2, 0, 1}),
             mixed = fg::from_values<i64>(s, {2, 5, 0});
  const auto b = numbers({3}, 0, 5), w = numbers({3}, 0, 1, 3);
  const view<host> x(a), borders(row), perm(order), unsorted(mixed), v(b), weights(w);
  check("_unique2", {x, true, true, true}, [&] { return fg::unique2(s, a, true, true, true); });
  check("unique_dim", {x, 1, true, false, true},
        [&] { return fg::unique_dim(s, a, 1, true, false, true); });
  check("unique_consecutive", {x, true, true},
        [&] { return fg::unique_consecutive(s, a, true, true); });
  check("searchsorted.Tensor", {borders, v}, [&] { return fg::searchsorted(s, row, b); });
  check("searchsorted.Tensor", {unsorted, borders, false, true, "right", perm},
        [&] { return fg::searchsorted(s, mixed, row, true, fg::search_side::right, order); });
  check("searchsorted.Scalar", {borders, 2.5}, [&] { return fg::searchsorted(s, row, 2.5); });
  check("bucketize.Tensor", {v, borders, false, true},
        [&] { return fg::bucketize(s, b, row, true); });
  check("bucketize.Scalar", {2, borders}, [&] { return fg::bucketize(s, 2, row); });
  check("searchsorted.Tensor", {borders, v, true},
        [&] { return fg::searchsorted<fg::i32>(s, row, b); });
  check("searchsorted.Scalar", {borders, 2.5, true},
        [&] { return fg::searchsorted<fg::i32>(s, row, 2.5); });
  check("bucketize.Tensor", {v, borders, true}, [&] { return fg::bucketize<fg::i32>(s, b, row); });
  check("bucketize.Scalar", {2, borders, true}, [&] { return fg::bucketize<fg::i32>(s, 2, row); });
  const auto wide = fg::empty<i64>(s, {3});
  EXPECT_ERROR(fg::registry<host>::at("bucketize.Tensor_out")(
                   s, {v, borders, true, false, view<host>(wide.view())}),
               dtype_mismatch, "i32");
  check("bincount", {borders}, [&] { return fg::bincount(s, row); });
  check("bincount", {borders, weights, 8}, [&] { return fg::bincount(s, row, w, 8); });
  check("histc", {v, 4, 0, 5}, [&] { return fg::histc(s, b, 4, 0, 5); });
}

TEST(registry_order, segments) {
  using by = fg::segment_reduction;
  const auto& s = stream_of<host>();
  const auto a = numbers({4, 2}), g = numbers({2, 2}, -1, 1, 4);
  const auto l = fg::from_values<i64>(s, {1, 3}), o = fg::from_values<i64>(s, {0, 1, 4});
  const view<host> x(a), lengths(l), offsets(o), grad(g);
  check("segment_reduce", {x, "max", lengths},
        [&] { return fg::segment_reduce(s, a, by::max, l); });
  const auto y = fg::segment_reduce(s, a, by::mean, std::nullopt, std::nullopt, o);
  check("segment_reduce", {x, "mean", std::nullopt, std::nullopt, offsets, 0, true, 2}, [&] {
    return fg::segment_reduce(s, a, by::mean, std::nullopt, std::nullopt, o, 0, true, 2.0);
  });
  check("_segment_reduce_backward", {grad, view<host>(y), x, "mean", std::nullopt, offsets},
        [&] { return fg::segment_reduce_backward(s, g, y, a, by::mean, std::nullopt, o); });
  EXPECT_ERROR(fg::registry<host>::at("segment_reduce")(s, {x, "median", lengths}),
               invalid_argument, "sum, mean");
}

// Outputs of another dtype get their results by copies: all of them are checked before the first.
TEST(registry_order, outputs_of_another_dtype) {
  const auto& s = stream_of<host>();
  const auto a = numbers({3, 7});
  const view<host> x(a);
  const auto& op = fg::registry<host>::at("topk.values");
  auto values = fg::full<f32>(s, {3, 2}, 7), places = fg::full<f32>(s, {3, 2}, 7);
  const view<host> to(values.view()), indices(places.view());
  op.call(s, {x, 2, {}, {}, {}, to, indices}, {});
  const auto want = fg::topk(s, a, 2);
  expect_same(to, view<host>(want.values), "values");
  expect_same(indices, view<host>(fg::to<f32>(s, want.indices)), "indices");
  auto kept = fg::full<f32>(s, {3, 2}, 7);
  const view<host> untouched(kept.view()), folded(places.view().narrow(0, 0, 1).expand({3, 2})),
      constant(std::as_const(places).view());
  EXPECT_ERROR(op.call(s, {x, 2, {}, {}, {}, untouched, untouched}, {}), overlap, "topk.values");
  EXPECT_ERROR(op.call(s, {x, 2, {}, {}, {}, untouched, folded}, {}), overlap, "topk.values");
  EXPECT_ERROR(op.call(s, {x, 2, {}, {}, {}, untouched, constant}, {}), invalid_argument,
               "topk.values", "const");
  auto others = fg::full<fg::f16>(s, {3, 2}, 7);
  const view<host> not_compiled(others.view());
  EXPECT_ERROR(op.call(s, {x, 2, {}, {}, {}, untouched, not_compiled}, {}), dtype_mismatch,
               "topk.values", "f16");
  expect_same(untouched, view<host>(fg::full<f32>(s, {3, 2}, 7)), "what is not written");
}

TEST(registry_index, lookups) {
  const auto& s = stream_of<host>();
  const auto a = numbers({5, 3});
  const auto i = fg::from_values<i64>(s, {4, 0, 4});
  const view<host> x(a), index(i);
  check("index_select", {x, 0, index}, [&] { return fg::index_select(s, a, 0, i); });
  check("embedding", {x, index}, [&] { return fg::embedding(s, a, i); });
  // An index of other integers is converted, if the program has their dtype.
  const auto small = fg::from_values<fg::i32>(s, {4, 0, 4});
  check("embedding", {x, view<host>(small)}, [&] { return fg::embedding(s, a, i); });
  const auto smaller = fg::from_values<fg::i16>(s, {4, 0, 4});
  const view<host> small_index(smaller);
  EXPECT_ERROR(fg::registry<host>::at("embedding")(s, {x, small_index}), dtype_mismatch, "i16");
  const auto floats = numbers<f32>({2}, 0, 4);
  const view<host> float_index(floats);
  EXPECT_ERROR(fg::registry<host>::at("index_select")(s, {x, 0, float_index}), dtype_mismatch,
               "integers for argument index");

  const auto got = copy_of(x), want = copy_of(x);
  const auto& renorm = fg::registry<host>::at("embedding_renorm_");
  note(renorm);
  renorm(s, {got, index, 0.5, 2});
  fg::embedding_renorm_(s, want.as<f32>(), i, 0.5, 2);
  expect_same(got.view(), want.view(), "embedding_renorm_");
}

}  // namespace
}  // namespace flaggems_test
