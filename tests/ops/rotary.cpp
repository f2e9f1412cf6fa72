// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/rotary.hpp>
#include <support/ops.hpp>

namespace flaggems_test {
namespace {

using values = std::vector<double>;

/// Every head of x [tokens, heads, dim] rotated by the angles of its token's position.
values reference(const values& x, std::size_t heads, std::size_t dim, const values& positions,
                 const values& cos, const values& sin, std::size_t half, bool interleaved) {
  values y = x;
  for (std::size_t token = 0; token < positions.size(); ++token)
    for (std::size_t head = 0; head < heads; ++head)
      for (std::size_t j = 0; j < half; ++j) {
        const std::size_t start = (token * heads + head) * dim;
        const std::size_t first = start + (interleaved ? 2 * j : j);
        const std::size_t second = start + (interleaved ? 2 * j + 1 : j + half);
        const std::size_t angle = static_cast<std::size_t>(positions[token]) * half + j;
        y[first] = x[first] * cos[angle] - x[second] * sin[angle];
        y[second] = x[second] * cos[angle] + x[first] * sin[angle];
      }
  return y;
}

template <class D, class T, class W = T>
void check(i64 dim, i64 rotary_dim, layout in, layout to, layout of_table, bool with_ids) {
  const i64 batch = 2, sequence = 5, most = 9;
  const shape q_sizes{batch, sequence, 3, dim}, k_sizes{batch, sequence, 1, dim};
  const shape table{most, rotary_dim / 2}, tokens{batch, sequence};
  const auto half = static_cast<std::size_t>(rotary_dim / 2);
  const auto& stream = test_stream<D>();
  test_tensor<T, D> q(q_sizes, in, random_values(q_sizes)), k(k_sizes, in, random_values(k_sizes));
  test_tensor<W, D> cos(table, of_table, random_values(table, -1, 1));
  test_tensor<W, D> sin(table, of_table, random_values(table, -1, 1));
  test_tensor<i64, D> ids(tokens, of_table, random_integers(tokens, 0, most - 1));
  values positions = ids.values();
  if (!with_ids)
    for (std::size_t n = 0; n < positions.size(); ++n) positions[n] = static_cast<double>(n % 5);
  tolerance tol = tolerance_of<T>();
  if (sizeof(T) >= 4) tol = {1e-6, sizeof(T) == 8 ? 1e-14 : 1e-6};
  std::optional<fg::tensor_view<const i64, D>> maybe;
  if (with_ids) maybe = ids.in();
  for (const bool interleaved : {false, true}) {
    SCOPED_TRACE(std::string(to_string(in)) + " to " + to_string(to) + ", table " +
                 to_string(of_table) + ", dim " + std::to_string(dim) + ", rotary " +
                 std::to_string(rotary_dim) + (interleaved ? ", interleaved" : "") +
                 (with_ids ? ", ids" : ""));
    const values q_want = reference(q.values(), 3, static_cast<std::size_t>(dim), positions,
                                    cos.values(), sin.values(), half, interleaved);
    const values k_want = reference(k.values(), 1, static_cast<std::size_t>(dim), positions,
                                    cos.values(), sin.values(), half, interleaved);
    test_tensor<T, D> q_out(q_sizes, to), k_out(k_sizes, to);
    fg::apply_rotary_pos_emb(stream, q.in(), k.in(), cos.in(), sin.in(), maybe, q_out.view(),
                             k_out.view(), interleaved);
    expect_close<T>(q_out.read(), q_want, tol);
    expect_close<T>(k_out.read(), k_want, tol);
    EXPECT_TRUE(q_out.gaps_untouched() && k_out.gaps_untouched());
    EXPECT_TRUE(q.untouched() && k.untouched());

    test_tensor<T, D> q_inout(q_sizes, to, q.values()), k_inout(k_sizes, to, k.values());
    fg::apply_rotary_pos_emb_(stream, q_inout.view(), k_inout.view(), cos.in(), sin.in(), maybe,
                              interleaved);
    expect_close<T>(q_inout.read(), q_want, tol);
    expect_close<T>(k_inout.read(), k_want, tol);
    EXPECT_TRUE(q_inout.gaps_untouched() && k_inout.gaps_untouched());
  }
}

template <class Case>
class rotary_test : public ::testing::Test {};
TYPED_TEST_SUITE(rotary_test, float_cases);

TYPED_TEST(rotary_test, contiguous) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  at_every_level<D>([] {
    for (const i64 dim : {2, 16, 64, 70})
      for (const i64 rotary_dim : {i64{2}, dim})
        for (const bool with_ids : {false, true})
          check<D, T>(dim, rotary_dim, layout::contiguous, layout::contiguous, layout::contiguous,
                      with_ids);
  });
}

template <class Device>
class rotary_layouts : public ::testing::Test {};
using devices = elementwise_devices<chip32, simt64>;
TYPED_TEST_SUITE(rotary_layouts, devices);

TYPED_TEST(rotary_layouts, all) {
  at_every_level<TypeParam>([] {
    for (const layout in : input_layouts)
      for (const layout to : output_layouts)
        check<TypeParam, f32>(22, 18, in, to, layout::contiguous, true);
    check<TypeParam, f32>(22, 0, layout::contiguous, layout::contiguous, layout::contiguous, false);
    for (const layout of_table : input_layouts) {
      check<TypeParam, f32>(34, 34, layout::transposed, layout::contiguous, of_table, true);
      check<TypeParam, f32>(34, 34, layout::contiguous, layout::contiguous, of_table, false);
    }
  });
}

TYPED_TEST(rotary_layouts, three_positions) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  const std::size_t tokens = 4, dim = 14, pairs = 6;
  const auto axis_of = [](int form, std::size_t k) -> std::size_t {
    if (form == 0) return k < 3 ? 0 : k < 5 ? 1 : 2;  // sections of 3, 2 and 1
    if (form == 1) return k % 3 == 1 && k < 6 ? 1 : k % 3 == 2 && k < 3 ? 2 : 0;
    return k * k % 3;  // as a map says
  };
  at_every_level<D>([&] {
    for (const layout how : output_layouts)
      for (const int form : {0, 1, 2})
        for (const bool neox : {false, true}) {
          test_tensor<f32, D> q({4, 2 * 14}, how, random_values({4, 2 * 14})),
              k({4, 14}, how, random_values({4, 14})), table({9, 12}, how, random_values({9, 12}));
          test_tensor<i64, D> ids({3, 4}, how, random_integers({3, 4}, 0, 8));
          values axes, cos, sin, rows;
          for (std::size_t j = 0; j < pairs; ++j)
            axes.push_back(static_cast<double>(axis_of(2, j)));
          test_tensor<i64, D> given({6}, how, axes);
          for (std::size_t t = 0; t < tokens; ++t) {
            rows.push_back(static_cast<double>(t));
            for (std::size_t j = 0; j < pairs; ++j) {
              const double at = ids.values()[axis_of(form, j) * tokens + t];
              const std::size_t first = static_cast<std::size_t>(at) * 12 + j;
              cos.push_back(table.values()[first]), sin.push_back(table.values()[first + 6]);
            }
          }
          const values q_want = reference(q.values(), 2, dim, rows, cos, sin, pairs, !neox),
                       k_want = reference(k.values(), 1, dim, rows, cos, sin, pairs, !neox);
          if (form == 2)
            fg::mrope(s, q.view(), k.view(), table.in(), ids.in(), 0, 0, 0, 14, 12, true, true,
                      neox, given.in());
          else
            fg::mrope(s, q.view(), k.view(), table.in(), ids.in(), 3, 2, 1, 14, 12, form == 1,
                      false, neox);
          expect_close<f32>(q.read(), q_want, {1e-6, 1e-6});
          expect_close<f32>(k.read(), k_want, {1e-6, 1e-6});
          EXPECT_TRUE(q.gaps_untouched() && k.gaps_untouched());
        }
  });
}

// No chip's steps hold such a stride: the kernel of the host runs there.
TYPED_TEST(rotary_layouts, stride_beyond_32_bits) {
  const auto& stream = test_stream<TypeParam>();
  const shape sizes{3, 1, 4};
  test_tensor<f32, TypeParam> q(sizes, layout::contiguous, random_values(sizes)), q_out(sizes),
      k_out(sizes), table({3, 2}, layout::contiguous, random_values({3, 2}));
  const auto far = q.in().as_strided(sizes, {4, i64{1} << 40, 1});
  fg::apply_rotary_pos_emb(stream, far, q.in(), table.in(), table.in(), std::nullopt, q_out.view(),
                           k_out.view());
  const values want =
      reference(q.values(), 1, 4, {0, 1, 2}, table.values(), table.values(), 2, false);
  expect_close<f32>(q_out.read(), want, {1e-6, 1e-6});
  expect_close<f32>(k_out.read(), want, {1e-6, 1e-6});
}

#if FLAGGEMS_TEST_HOST  // the rest is about the host

TEST(rotary, wide_table_and_returned_tensors) {
  check<host, bf16, f32>(32, 32, layout::contiguous, layout::contiguous, layout::contiguous, true);
  const auto& stream = test_stream<host>();
  test_tensor<f32> q({3, 2, 4}, layout::contiguous, random_values({3, 2, 4}));
  test_tensor<f32> k({3, 1, 4}, layout::contiguous, random_values({3, 1, 4}));
  test_tensor<f32> cos({3, 2}, layout::contiguous, {1, 1, 0, 1, 1, 0});
  test_tensor<f32> sin({3, 2}, layout::contiguous, {0, 0, 1, 0, 0, 1});
  const auto [q_out, k_out] = fg::apply_rotary_pos_emb(stream, q.in(), k.in(), cos.in(), sin.in());
  expect_equal(values_of(q_out),
               reference(q.values(), 2, 4, {0, 1, 2}, cos.values(), sin.values(), 2, false));
  EXPECT_EQ(k_out.shape_of(), (shape{3, 1, 4}));
}

TEST(rotary, broadcast_ids_and_empty) {
  const auto& stream = test_stream<host>();
  const shape sizes{2, 3, 1, 4};
  test_tensor<f32> q(sizes, layout::contiguous, random_values(sizes)), k(sizes), none({2, 0, 1, 4});
  test_tensor<f32> table({5, 2}, layout::contiguous, random_values({5, 2}));
  test_tensor<fg::i32> ids({3}, layout::contiguous, {4, 0, 2});
  const auto out =
      fg::apply_rotary_pos_emb(stream, q.in(), k.in(), table.in(), table.in(), ids.in());
  expect_close<f32>(
      values_of(out.first),
      reference(q.values(), 1, 4, {4, 0, 2, 4, 0, 2}, table.values(), table.values(), 2, false),
      {1e-6, 1e-6});
  fg::apply_rotary_pos_emb_(stream, none.view(), none.view(), table.in(), table.in());
  EXPECT_TRUE(none.untouched());
}

TEST(rotary, refuses_bad_arguments) {
  const auto& stream = test_stream<host>();
  const char* op = "apply_rotary_pos_emb";
  const shape sizes{4, 2, 8};
  test_tensor<f32> q(sizes, layout::contiguous, random_values(sizes)), k(sizes), q_out(sizes),
      k_out(sizes), other({3, 2, 8}), table({6, 4}), wide({6, 5}), few({3, 4});
  test_tensor<i64> ids({4}), high({4}, layout::contiguous, {0, 1, 6, 2}), five({5});
  const auto call = [&](auto q_in, auto k_in, auto cos, auto sin, auto positions, auto to_q,
                        auto to_k) {
    fg::apply_rotary_pos_emb(stream, q_in, k_in, cos, sin, positions, to_q, to_k);
  };
  const auto t = table.in();
  EXPECT_RAISES(call(q.in(), other.in(), t, t, ids.in(), q_out.view(), k_out.view()),
                shape_mismatch, op);
  EXPECT_RAISES(call(q.in(), k.in(), t, wide.in(), ids.in(), q_out.view(), k_out.view()),
                shape_mismatch, op);
  EXPECT_RAISES(call(q.in(), k.in(), wide.in(), wide.in(), ids.in(), q_out.view(), k_out.view()),
                shape_mismatch, op);
  const auto no_rows = t.slice(0, 0, 0).narrow(1, 0, 1).expand({0, i64{1} << 62});
  EXPECT_RAISES(call(q.in(), k.in(), no_rows, no_rows, ids.in(), q_out.view(), k_out.view()),
                shape_mismatch, op);
  EXPECT_RAISES(call(q.in(), k.in(), t, t, high.in(), q_out.view(), k_out.view()), out_of_range,
                op);
  EXPECT_RAISES(call(q.in(), k.in(), few.in(), few.in(), std::nullopt, q_out.view(), k_out.view()),
                out_of_range, op);
  EXPECT_RAISES(call(q.in(), k.in(), t, t, five.in(), q_out.view(), k_out.view()), shape_mismatch,
                op);
  EXPECT_RAISES(call(q.in(), k.in(), t, t, ids.in(), other.view(), k_out.view()), shape_mismatch,
                op);
  EXPECT_RAISES(call(q.in(), k.in(), t, t, ids.in(), q_out.view(), q_out.view()), overlap, op);
  EXPECT_RAISES(call(q.in(), k.in(), t, t, ids.in(), k.view(), k_out.view()), overlap, op);
  EXPECT_RAISES(call(q.in(), k.in(), t, t, ids.in(), q.view().flip({0}), k_out.view()), overlap,
                op);
  EXPECT_RAISES(
      call(q.in().select(0, 0).select(0, 0), k.in(), t, t, ids.in(), q_out.view(), k_out.view()),
      invalid_argument, op);
  EXPECT_TRUE(q.untouched() && k.untouched() && q_out.untouched() && k_out.untouched());

  test_tensor<f32> heads({2, 8}), others({2, 4}), angles({5, 4});
  test_tensor<i64> three({3, 2}), beyond({3, 2}, layout::contiguous, {5}), map({2});
  const auto turn = [&](auto at, i64 section, i64 size, i64 rotary, bool glm) {
    fg::mrope(stream, heads.view(), others.view(), angles.in(), at, section, 1, 0, size, rotary,
              false, glm);
  };
  EXPECT_RAISES(turn(beyond.in(), 1, 4, 4, false), out_of_range, "mrope");
  EXPECT_RAISES(turn(three.in(), 2, 4, 4, false), invalid_argument, "mrope");
  EXPECT_RAISES(turn(three.in(), 1, 4, 4, true), invalid_argument, "mrope");
  EXPECT_RAISES(turn(three.in(), 1, 4, 6, false), invalid_argument, "mrope");
  EXPECT_RAISES(turn(three.in(), 0, 4, 2, false), shape_mismatch, "mrope");
  EXPECT_RAISES(turn(map.in(), 1, 4, 4, false), shape_mismatch, "mrope");
  EXPECT_RAISES(
      fg::mrope(stream, heads.view(), heads.view(), angles.in(), three.in(), 1, 1, 0, 4, 4),
      overlap, "mrope");
  EXPECT_TRUE(heads.untouched() && others.untouched());
}

#endif

}  // namespace
}  // namespace flaggems_test
