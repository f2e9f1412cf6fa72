// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/attention.hpp>
#include <support/attention.hpp>

#include <cstdint>
#include <cstring>
#include <optional>

namespace flaggems_test {
namespace {

template <class T>
tolerance attention_tolerance() {
  tolerance tol = tolerance_of<T>();
  tol.atol = sizeof(T) == 8 ? 1e-12 : sizeof(T) == 4 ? 4e-6 : 1e-3;
  return tol;
}

template <class D, class T, class Key = T>
void check(const problem& p, layout how = layout::contiguous) {
  SCOPED_TRACE(fg::to_string(p.q()) + " " + fg::to_string(p.k()) + " " + std::to_string(p.ev) +
               " " + to_string(how));
  test_tensor<T, D> q(p.q(), how, random_values(p.q())), out(p.out(), how);
  test_tensor<Key, D> k(p.k(), how, random_values(p.k())), v(p.v(), how, random_values(p.v()));
  fg::scaled_dot_product_attention(test_stream<D>(), q.in(), k.in(), v.in(), std::nullopt,
                                   out.view(), p.options);
  expect_close<T>(out.read(), reference(p, q.values(), k.values(), v.values(), {}),
                  attention_tolerance<T>());
  EXPECT_TRUE(out.gaps_untouched());
}

template <class Case>
class attention_test : public ::testing::Test {};
using attention_cases = unless_reduced<cases<on_host<f32, bf16, f64>, on_chips<f32>>>;
TYPED_TEST_SUITE(attention_test, attention_cases);

TYPED_TEST(attention_test, sizes) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  at_every_level<D>([] {
    for (const i64 queries : {1, 3, 9})
      for (const i64 keys : {1, 7, 64, 65, 150})
        for (const i64 e : {8, 33})
          check<D, T>({.batch = 2,
                       .heads = 2,
                       .key_heads = 2,
                       .queries = queries,
                       .keys = keys,
                       .e = e,
                       .ev = e == 8 ? 5 : e});
    for (const auto alignment :
         {fg::causal_alignment::top_left, fg::causal_alignment::bottom_right})
      for (const i64 queries : {1, 5, 70})
        check<D, T>(
            {.heads = 6,
             .key_heads = 2,
             .queries = queries,
             .keys = 71,
             .e = 16,
             .ev = 16,
             .options = {
                 .is_causal = true, .alignment = alignment, .scale = 0.3, .enable_gqa = true}});
  });
}

template <class Device>
class attention_device : public ::testing::Test {};
using devices = devices_and_own<host, chip32>;
TYPED_TEST_SUITE(attention_device, devices);

TYPED_TEST(attention_device, layouts) {
  at_every_level<TypeParam>([] {
    for (const layout how : output_layouts)
      check<TypeParam, f32>({.batch = 2,
                             .heads = 4,
                             .key_heads = 2,
                             .queries = 3,
                             .keys = 70,
                             .e = 20,
                             .ev = 12,
                             .options = {.enable_gqa = true}},
                            how);
  });
}

// A cache that has fewer bits than the queries.
TYPED_TEST(attention_device, dtypes_of_a_cache) {
  using D = TypeParam;
  at_every_level<D>([] {
    for (const i64 queries : {1, 6}) {
      const problem p{.heads = 6,
                      .key_heads = 2,
                      .queries = queries,
                      .keys = 71,
                      .e = 20,
                      .ev = 12,
                      .options = {.is_causal = true,
                                  .alignment = fg::causal_alignment::bottom_right,
                                  .enable_gqa = true}};
      check<D, f32, bf16>(p);
#if !FLAGGEMS_TEST_REDUCED
      check<D, f32, f16>(p);
      check<D, f32, f16>(p, layout::strided);
#endif
    }
  });
}

// One query and a cache: chips read keys and values by packs, in parts, and those with matrix units
// take tiles for 16 bits, with larger blocks where there are few heads.
TYPED_TEST(attention_device, decode) {
  using D = TypeParam;
  for (const i64 queries : {1, 3})
    for (const i64 e : {64, 128}) {
      const problem p{.batch = queries == 1 ? 2 : 9,
                      .heads = 4,
                      .key_heads = 2,
                      .queries = queries,
                      .keys = e == 64 ? 530 : 41,
                      .e = e,
                      .ev = e,
                      .options = {.is_causal = true,
                                  .alignment = fg::causal_alignment::bottom_right,
                                  .enable_gqa = true}};
      check<D, bf16>(p);
      if (e == 64) check<D, f32, bf16>(p);
      check<D, f32>(p);
    }
}

// Queries that begin no packs, beside keys that do.
TYPED_TEST(attention_device, decode_of_strided_queries) {
  using D = TypeParam;
  const problem p{.heads = 4,
                  .key_heads = 2,
                  .queries = 2,
                  .keys = 45,
                  .e = 64,
                  .ev = 64,
                  .options = {.enable_gqa = true}};
  test_tensor<bf16, D> q(p.q(), layout::strided, random_values(p.q())), out(p.out()),
      k(p.k(), layout::contiguous, random_values(p.k())),
      v(p.v(), layout::contiguous, random_values(p.v()));
  fg::scaled_dot_product_attention(test_stream<D>(), q.in(), k.in(), v.in(), std::nullopt,
                                   out.view(), p.options);
  expect_close<bf16>(out.read(), reference(p, q.values(), k.values(), v.values(), {}),
                     attention_tolerance<bf16>());
}

#if FLAGGEMS_TEST_HOST  // about the host
// Few queries and many keys: the host cuts the keys into parts.
TEST(attention, many_keys) {
  at_every_level<host>([] {
    for (const i64 queries : {1, 2})
      for (const i64 keys : {511, 512, 1100, 5000})
        check<host, f32, f16>({.batch = 2,
                               .heads = 4,
                               .key_heads = 2,
                               .queries = queries,
                               .keys = keys,
                               .e = 20,
                               .ev = 12,
                               .options = {.is_causal = true,
                                           .alignment = fg::causal_alignment::bottom_right,
                                           .enable_gqa = true}});
    // Parts that nobody sees, and none that is seen.
    for (const auto alignment :
         {fg::causal_alignment::top_left, fg::causal_alignment::bottom_right})
      check<host, f32>({.heads = 3,
                        .key_heads = 3,
                        .queries = 4,
                        .keys = 1024,
                        .e = 8,
                        .ev = 8,
                        .options = {.is_causal = true, .alignment = alignment}});
    check<host, bf16>({.queries = 150, .keys = 700, .e = 16, .ev = 16});
  });
}
#endif

TYPED_TEST(attention_device, masks) {
  using D = TypeParam;
  at_every_level<D>([] {
    const problem p{
        .batch = 2, .heads = 3, .key_heads = 3, .queries = 5, .keys = 70, .e = 16, .ev = 16};
    const shape all{2, 3, 5, 70};
    test_tensor<f32, D> q(p.q(), layout::contiguous, random_values(p.q())),
        k(p.k(), layout::contiguous, random_values(p.k())),
        v(p.v(), layout::contiguous, random_values(p.v())), out(p.out());
    for (const shape& sizes : {all, shape{5, 70}, shape{2, 1, 1, 70}, shape{3, 5, 1}, shape{1}}) {
      test_tensor<bool, D> takes(sizes, layout::strided, random_integers(sizes, 0, 1));
      test_tensor<f32, D> adds(sizes, layout::negative, random_values(sizes));
      // The masks at their full size, through the strides of a broadcast.
      const auto spread = [&](const std::vector<double>& values, bool boolean) {
        const auto strides = [&] {
          std::vector<i64> s(4, 0);
          i64 step = 1;
          for (int d = sizes.rank() - 1; d >= 0; --d) {
            const int to = 4 - sizes.rank() + d;
            if (sizes[d] != 1) s[index(to)] = step;
            step *= sizes[d];
          }
          return s;
        }();
        std::vector<double> r;
        for (i64 b = 0; b < 2; ++b)
          for (i64 h = 0; h < 3; ++h)
            for (i64 i = 0; i < 5; ++i)
              for (i64 j = 0; j < 70; ++j) {
                const double x = values[index(b * strides[0] + h * strides[1] + i * strides[2] +
                                              j * strides[3])];
                r.push_back(boolean ? (x != 0 ? 0 : -infinity) : x);
              }
        return r;
      };
      fg::scaled_dot_product_attention(test_stream<D>(), q.in(), k.in(), v.in(), takes.in(),
                                       out.view());
      expect_close<f32>(
          out.read(),
          reference(p, q.values(), k.values(), v.values(), spread(takes.values(), true)),
          attention_tolerance<f32>());
      fg::scaled_dot_product_attention(test_stream<D>(), q.in(), k.in(), v.in(), adds.in(),
                                       out.view());
      expect_close<f32>(
          out.read(),
          reference(p, q.values(), k.values(), v.values(), spread(adds.values(), false)),
          attention_tolerance<f32>());
    }
  });
}

// A mask makes a new tensor by with_mask; as an optional it may be absent.
TYPED_TEST(attention_device, returned_with_a_mask) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  const problem p{.batch = 2, .queries = 8, .keys = 8, .e = 8, .ev = 8};
  test_tensor<f32, D> q(p.q(), layout::contiguous, random_values(p.q())),
      k(p.k(), layout::contiguous, random_values(p.k())),
      v(p.v(), layout::contiguous, random_values(p.v())), out(p.out());
  test_tensor<f32, D> adds({8, 8}, layout::contiguous, random_values({8, 8}));
  test_tensor<bool, D> takes({8, 8}, layout::contiguous, random_integers({8, 8}, 0, 1));
  const auto twice = [](const std::vector<double>& x) {
    std::vector<double> all = x;
    all.insert(all.end(), x.begin(), x.end());
    return all;
  };
  std::vector<double> hidden;
  for (const double x : takes.values()) hidden.push_back(x != 0 ? 0 : -infinity);
  const auto want = reference(p, q.values(), k.values(), v.values(), twice(adds.values()));
  // The mask has the sizes of an output and can be written, and still is only read.
  expect_close<f32>(values_of(fg::scaled_dot_product_attention(s, q.in(), k.in(), v.in(),
                                                               fg::with_mask(adds.view()))),
                    want, attention_tolerance<f32>());
  expect_equal(adds.read(), adds.values());
  expect_close<f32>(values_of(fg::scaled_dot_product_attention(s, q.in(), k.in(), v.in(),
                                                               fg::with_mask(takes.in()))),
                    reference(p, q.values(), k.values(), v.values(), twice(hidden)),
                    attention_tolerance<f32>());
  std::optional<decltype(adds.in())> maybe;
  fg::scaled_dot_product_attention(s, q.in(), k.in(), v.in(), maybe, out.view());
  expect_close<f32>(out.read(), reference(p, q.values(), k.values(), v.values(), {}),
                    attention_tolerance<f32>());
  maybe.emplace(adds.in());
  fg::scaled_dot_product_attention(s, q.in(), k.in(), v.in(), maybe, out.view());
  expect_close<f32>(out.read(), want, attention_tolerance<f32>());
}

// What stands before positions and elements broadcasts: a query of rank 2 or 3 with all keys.
TYPED_TEST(attention_device, operands_of_other_ranks) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  const problem p{.batch = 2, .heads = 3, .key_heads = 3, .queries = 5, .keys = 7, .e = 8, .ev = 4};
  test_tensor<f32, D> q(p.q(), layout::contiguous, random_values(p.q())),
      k(p.k(), layout::contiguous, random_values(p.k())),
      v(p.v(), layout::contiguous, random_values(p.v()));
  const auto expect_as_expanded = [&](const auto& a, const auto& b, const auto& c) {
    const auto got = fg::scaled_dot_product_attention(s, a, b, c);
    const auto whole =
        fg::scaled_dot_product_attention(s, a.expand(p.q()), b.expand(p.k()), c.expand(p.v()));
    ASSERT_EQ(shape(got.view().sizes()), p.out());
    expect_close<f32>(values_of(got), values_of(whole), attention_tolerance<f32>());
  };
  const auto q3 = q.in().select(0, 1), k3 = k.in().select(0, 1), v3 = v.in().select(0, 0);
  expect_as_expanded(q3.select(0, 2), k.in(), v.in());
  expect_as_expanded(q3, k.in(), v.in());
  expect_as_expanded(q3.select(0, 0), k.in(), v3);
  expect_as_expanded(q.in(), k3.select(0, 1), v3);
  expect_as_expanded(q.in().narrow(1, 0, 1), k.in(), v3.narrow(0, 1, 1));
  // All of rank 2, and of rank 3.
  const auto two =
      fg::scaled_dot_product_attention(s, q3.select(0, 0), k3.select(0, 0), v3.select(0, 0));
  const auto three = fg::scaled_dot_product_attention(s, q3, k3, v3);
  ASSERT_EQ(shape(two.view().sizes()), (shape{5, 4}));
  ASSERT_EQ(shape(three.view().sizes()), (shape{3, 5, 4}));
  const auto all = values_of(three);
  expect_close<f32>(values_of(two), std::vector<double>(all.begin(), all.begin() + 20),
                    attention_tolerance<f32>());
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(attention, a_key_value_cache) {
  // A cache [1, room, heads, e] of which `used` positions are filled; the rest is NaN.
  const i64 room = 100, used = 77, heads = 2, e = 24;
  std::vector<double> values = random_values({1, room, heads, e});
  std::fill(values.begin() + used * heads * e, values.end(), std::nan(""));
  test_tensor<f32> cache({1, room, heads, e}, layout::contiguous, values);
  const auto keys = cache.in().narrow(1, 0, used).transpose(1, 2);
  const problem p{
      .heads = 6,
      .key_heads = heads,
      .queries = 2,
      .keys = used,
      .e = e,
      .ev = e,
      .options = {
          .is_causal = true, .alignment = fg::causal_alignment::bottom_right, .enable_gqa = true}};
  test_tensor<f32> q(p.q(), layout::contiguous, random_values(p.q()));
  std::vector<double> k;
  for (i64 h = 0; h < heads; ++h)
    for (i64 j = 0; j < used; ++j)
      for (i64 d = 0; d < e; ++d) k.push_back(cache.values()[index((j * heads + h) * e + d)]);
  const auto got =
      fg::scaled_dot_product_attention(test_stream<host>(), q.in(), keys, keys, p.options);
  expect_close<f32>(values_of(got), reference(p, q.values(), k, k, {}), attention_tolerance<f32>());
}
#endif

TYPED_TEST(attention_device, nothing_to_see) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  at_every_level<D>([&] {
    // Keys of three tiles; position 0 sees none of them, 1 only one of the last tile.
    const problem p{.batch = 2, .queries = 3, .keys = 150, .e = 8, .ev = 8};
    test_tensor<f32, D> q(p.q(), layout::contiguous, random_values(p.q())),
        k(p.k(), layout::contiguous, random_values(p.k())),
        v(p.v(), layout::contiguous, random_values(p.v())), out(p.out());
    std::vector<double> takes(450, 1), adds(450, 0);
    for (std::size_t j = 0; j < 300; ++j)
      if (j != 299) takes[j] = 0, adds[j] = -infinity;
    std::vector<double> all;
    for (int b = 0; b < 2; ++b) all.insert(all.end(), adds.begin(), adds.end());
    const auto want = reference(p, q.values(), k.values(), v.values(), all);
    EXPECT_EQ(want[0], 0);
    EXPECT_NE(want[8], 0);
    test_tensor<bool, D> boolean({3, 150}, layout::contiguous, takes);
    test_tensor<f32, D> number({3, 150}, layout::contiguous, adds);
    fg::scaled_dot_product_attention(s, q.in(), k.in(), v.in(), boolean.in(), out.view());
    expect_close<f32>(out.read(), want, attention_tolerance<f32>());
    fg::scaled_dot_product_attention(s, q.in(), k.in(), v.in(), number.in(), out.view());
    expect_close<f32>(out.read(), want, attention_tolerance<f32>());
    // All masked; bottom-right with more positions than keys: the first sees none; no keys.
    test_tensor<bool, D> hidden({1}, layout::contiguous, {0});
    fg::scaled_dot_product_attention(s, q.in(), k.in(), v.in(), hidden.in(), out.view());
    expect_equal(out.read(), std::vector<double>(48, 0.0));
    fg::scaled_dot_product_attention(
        s, q.in(), k.in().narrow(2, 0, 2), v.in().narrow(2, 0, 2), std::nullopt, out.view(),
        {.is_causal = true, .alignment = fg::causal_alignment::bottom_right});
    const auto y = out.read();
    for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i] == 0, i / 8 % 3 == 0) << i;
    const auto none = k.in().narrow(2, 0, 0);
    fg::scaled_dot_product_attention(s, q.in(), none, none, std::nullopt, out.view());
    expect_equal(out.read(), std::vector<double>(48, 0.0));
    // Scores that are -inf by themselves, and NaN, which stays.
    test_tensor<f32, D> low(p.k(), layout::contiguous, std::vector<double>(2400, -infinity)),
        ones(p.q(), layout::contiguous, std::vector<double>(48, 1.0)),
        nan(p.k(), layout::contiguous, std::vector<double>(2400, std::nan("")));
    fg::scaled_dot_product_attention(s, ones.in(), low.in(), v.in(), std::nullopt, out.view());
    expect_equal(out.read(), std::vector<double>(48, 0.0));
    fg::scaled_dot_product_attention(s, ones.in(), nan.in(), v.in(), std::nullopt, out.view());
    expect_equal(out.read(), std::vector<double>(48, std::nan("")));
  });
}

#if FLAGGEMS_TEST_HOST  // the rest is about the host

#if FLAGGEMS_MODEL_ISA
/// Both products by a model of AMX, for contiguous operands, by one worker of `workers` after the
/// other.
template <class Mask>
std::vector<bf16> by_modelled_tiles(const problem& p, test_tensor<bf16>& q, test_tensor<bf16>& k,
                                    test_tensor<bf16>& v, const Mask& mask, i64 workers) {
  namespace fk = fg::kernels;
  using kernel = fk::attention_tiles<Mask>;
  fk::attention_space space{};
  space.rank = 1;
  space.sizes[0] = space.batches = p.batch * p.key_heads;
  space.group = p.heads / p.key_heads;
  space.queries = p.queries;
  space.keys = p.keys;
  space.head_size = p.e;
  space.value_size = p.ev;
  space.diagonal = p.options.is_causal ? 0 : p.keys;
  std::vector<bf16> out(index(p.out().numel()));
  const auto arg = [&](auto data, i64 group, i64 positions, i64 size) {
    return fk::attention_arg<std::remove_pointer_t<decltype(data)>>{
        data, {group * positions * size}, positions * size, size, 1};
  };
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(p.e)));
  std::vector<unsigned char> scratch(index(kernel::scratch(p.e, p.ev)) + 64);
  unsigned char* aligned = scratch.data();
  while (reinterpret_cast<std::uintptr_t>(aligned) % 64 != 0) ++aligned;
  for (i64 w = 0; w < workers; ++w) {
    fk::host_block<fk::isa_amx> block(w, workers, aligned);
    kernel::run(block, space, arg(q.in().data(), space.group, p.queries, p.e),
                arg(k.in().data(), 1, p.keys, p.e), arg(v.in().data(), 1, p.keys, p.ev), mask,
                arg(out.data(), space.group, p.queries, p.ev), scale);
  }
  return out;
}

TEST(attention, modelled_tiles) {
  // The same numbers whichever tests ran before: weights of 16 bits are off by up to 2^-9, which
  // of some values is more than the tolerance.
  generator().seed(1);
  for (const problem& p :
       {problem{.batch = 2, .queries = 40, .keys = 33, .e = 32, .ev = 64},
        problem{.heads = 6, .key_heads = 2, .queries = 33, .keys = 300, .e = 24, .ev = 40},
        problem{.queries = 70, .keys = 290, .e = 64, .ev = 16, .options = {.is_causal = true}},
        problem{.queries = 600, .keys = 20, .e = 8, .ev = 8, .options = {.is_causal = true}}}) {
    SCOPED_TRACE(fg::to_string(p.q()) + " " + fg::to_string(p.k()));
    test_tensor<bf16> q(p.q(), layout::contiguous, random_values(p.q())),
        k(p.k(), layout::contiguous, random_values(p.k())),
        v(p.v(), layout::contiguous, random_values(p.v()));
    const auto one = by_modelled_tiles(p, q, k, v, fg::kernels::no_mask{}, 1);
    expect_close<bf16>(std::vector<double>(one.begin(), one.end()),
                       reference(p, q.values(), k.values(), v.values(), {}),
                       attention_tolerance<bf16>());
    const auto many = by_modelled_tiles(p, q, k, v, fg::kernels::no_mask{}, 7);
    EXPECT_EQ(std::memcmp(many.data(), one.data(), one.size() * sizeof(bf16)), 0);
    if (p.options.is_causal) continue;
    const shape scores{p.queries, p.keys};
    std::vector<double> taken;
    test_tensor<float> added(scores, layout::contiguous, random_values(scores));
    for (i64 h = 0; h < p.batch * p.heads; ++h)
      taken.insert(taken.end(), added.values().begin(), added.values().end());
    fg::kernels::attention_mask<float> mask{};
    mask.data = added.in().data();
    mask.position = p.keys;
    mask.element = 1;
    const auto masked = by_modelled_tiles(p, q, k, v, mask, 1);
    expect_close<bf16>(std::vector<double>(masked.begin(), masked.end()),
                       reference(p, q.values(), k.values(), v.values(), taken),
                       attention_tolerance<bf16>());
  }
}
#endif

TEST(attention, large_scores) {
  const auto& s = test_stream<host>();
  // Scores that overflow exp without the shift; rank 2.
  test_tensor<f32> large({3, 8}, layout::contiguous, std::vector<double>(24, 100.0)), row({3, 8});
  fg::scaled_dot_product_attention(s, large.in(), large.in(), large.in(), std::nullopt, row.view());
  expect_close<f32>(row.read(), std::vector<double>(24, 100.0));
}

template <class F>
fg::errc raised_code(F f) {
  const fg::error e = error_of(f);
  EXPECT_EQ(e.op(), "scaled_dot_product_attention");
  return e.code();
}

TEST(attention, bad_input) {
  const auto& s = test_stream<host>();
  test_tensor<f32> q({2, 6, 3, 8}), k({2, 6, 5, 8}), k4({2, 4, 5, 8}), wide({2, 6, 5, 9}),
      longer({2, 6, 7, 8}), out({2, 6, 3, 8}), flat({3, 7});
  test_tensor<bool> mask({3, 5}), other({3, 4});
  const auto mismatch = fg::errc::shape_mismatch;
  const auto call = [&](auto&&... x) {
    return raised_code([&] { fg::scaled_dot_product_attention(s, x...); });
  };
  EXPECT_EQ(call(q.in(), wide.in(), k.in(), std::nullopt, out.view()), mismatch);
  EXPECT_EQ(call(q.in(), k.in(), longer.in(), std::nullopt, out.view()), mismatch);
  EXPECT_EQ(call(q.in(), k4.in(), k4.in(), std::nullopt, out.view()), mismatch);
  EXPECT_EQ(call(q.in(), k4.in(), k4.in(), std::nullopt, out.view(),
                 fg::attention_options{.enable_gqa = true}),
            mismatch);
  EXPECT_EQ(call(flat.in(), k.in(), k.in(), std::nullopt, out.view()), mismatch);
  EXPECT_EQ(call(q.in(), k.in(), k.in(), std::nullopt, k.view()), mismatch);
  EXPECT_EQ(call(q.in(), k.in(), k.in(), other.in(), out.view()), mismatch);
  EXPECT_EQ(call(q.in(), k.in(), k.in(), std::nullopt, q.view()), fg::errc::overlap);
  EXPECT_EQ(
      call(q.in(), k.in(), k.in(), mask.in(), out.view(), fg::attention_options{.is_causal = true}),
      fg::errc::invalid_argument);
  const auto dropped = [&](double p) {
    return call(q.in(), k.in(), k.in(), std::nullopt, out.view(),
                fg::attention_options{.dropout_p = p});
  };
  EXPECT_EQ(dropped(0.5), fg::errc::not_supported);
  EXPECT_EQ(dropped(-1), fg::errc::invalid_argument);
  EXPECT_EQ(dropped(std::nan("")), fg::errc::invalid_argument);
  EXPECT_TRUE(out.untouched() && q.untouched() && k.untouched());
}

#endif

}  // namespace
}  // namespace flaggems_test
