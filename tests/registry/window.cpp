// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/registry/families/window.hpp>
#include <registry/support.hpp>

FLAGGEMS_REGISTRY_FAMILY(flaggems::operator_families::window, flaggems::host, flaggems::f32);

namespace flaggems_test {
namespace {

using list = fg::int_list;

TEST(registry_window, pools) {
  const auto& s = stream_of<host>();
  const auto row = numbers({2, 3, 7}), a = numbers({2, 3, 6, 7}), b = numbers({1, 2, 4, 5, 6});
  const view<host> r(row), x(a), y(b);
  const list two{2}, one{1}, none{0};
  check("avg_pool1d", {r, 3, 2, 1, true},
        [&] { return fg::avg_pool1d(s, row, {3}, {2}, {1}, true); });
  check("avg_pool2d", {x, list{3, 2}, two, 1, false, false, 5}, [&] {
    return fg::avg_pool2d(s, a, {3, 2}, {2}, {1}, false, false, 5);
  });
  check("avg_pool3d", {y, 2}, [&] { return fg::avg_pool3d(s, b, {2}); });
  const auto g2 = fg::avg_pool2d(s, a, {2}), g3 = fg::avg_pool3d(s, b, {2});
  const view<host> grad2(g2), grad3(g3);
  check("avg_pool2d_backward", {grad2, x, two, two, none, false, true, std::nullopt},
        [&] { return fg::avg_pool2d_backward(s, g2, a, {2}, {2}, {0}, false, true, {}); });
  check("avg_pool3d_backward", {grad3, y, two, two, none, false, true, 3},
        [&] { return fg::avg_pool3d_backward(s, g3, b, {2}, {2}, {0}, false, true, 3); });
  check("max_pool2d_with_indices", {x, 2}, [&] { return fg::max_pool2d_with_indices(s, a, {2}); });
  check("max_pool3d_with_indices", {y, 2, 1, 1, 1, true},
        [&] { return fg::max_pool3d_with_indices(s, b, {2}, {1}, {1}, {1}, true); });
  const auto i2 = fg::max_pool2d_with_indices(s, a, {2}).indices;
  const auto i3 = fg::max_pool3d_with_indices(s, b, {2}).indices;
  const view<host> at2(i2), at3(i3);
  check("max_pool2d_with_indices_backward", {grad2, x, two, two, none, one, false, at2}, [&] {
    return fg::max_pool2d_with_indices_backward(s, g2, a, {2}, {2}, {0}, {1}, false, i2);
  });
  check("max_pool3d_with_indices_backward", {grad3, y, two, two, none, one, false, at3}, [&] {
    return fg::max_pool3d_with_indices_backward(s, g3, b, {2}, {2}, {0}, {1}, false, i3);
  });
}

TEST(registry_window, resampling) {
  const auto& s = stream_of<host>();
  const auto a1 = numbers({2, 3, 4}), a2 = numbers({1, 2, 3, 4}), a3 = numbers({1, 2, 3, 2, 4});
  const view<host> x1(a1), x2(a2), x3(a3);
#define CHECK(of, exact)                                                                 \
  check(#of "1d", {x1, 7, 1.75}, [&] { return fg::exact##1d(s, a1, {7}, 1.75); });       \
  check(#of "2d", {x2, list{5, 3}}, [&] { return fg::exact##2d(s, a2, {5, 3}); });       \
  check(#of "3d", {x3, list{5, 3, 2}}, [&] { return fg::exact##3d(s, a3, {5, 3, 2}); }); \
  check(#of "1d_backward", {x1, 4, list{2, 3, 2}}, [&] {                                 \
    return fg::exact##1d_backward(s, a1, {4}, {2, 3, 2});                                \
  });                                                                                    \
  check(#of "2d_backward", {x2, list{3, 4}, list{1, 2, 2, 3}}, [&] {                     \
    return fg::exact##2d_backward(s, a2, {3, 4}, {1, 2, 2, 3});                          \
  });                                                                                    \
  check(#of "3d_backward", {x3, list{3, 2, 4}, list{1, 2, 2, 2, 3}}, [&] {               \
    return fg::exact##3d_backward(s, a3, {3, 2, 4}, {1, 2, 2, 2, 3});                    \
  })
  CHECK(upsample_nearest, upsample_nearest);
  CHECK(_upsample_nearest_exact, upsample_nearest_exact);
#undef CHECK
}

TEST(registry_window, parts) {
  const auto& s = stream_of<host>();
  const auto a1 = numbers({2, 3, 7}), a2 = numbers({2, 3, 4, 5}), a3 = numbers({1, 2, 3, 4, 5});
  const view<host> x1(a1), x2(a2), x3(a3);
  const list two{2, 3}, three{2, 3, 2};
  check("adaptive_avg_pool1d", {x1, 3}, [&] { return fg::adaptive_avg_pool1d(s, a1, {3}); });
  check("adaptive_max_pool1d", {x1, 3}, [&] { return fg::adaptive_max_pool1d(s, a1, {3}); });
  for (const char* const name : {"_adaptive_avg_pool2d", "adaptive_avg_pool2d"})
    check(name, {x2, two}, [&] { return fg::adaptive_avg_pool2d(s, a2, {2, 3}); });
  for (const char* const name : {"_adaptive_avg_pool3d", "adaptive_avg_pool3d"})
    check(name, {x3, three}, [&] { return fg::adaptive_avg_pool3d(s, a3, {2, 3, 2}); });
  check("adaptive_max_pool2d", {x2, two}, [&] { return fg::adaptive_max_pool2d(s, a2, {2, 3}); });
  check("adaptive_max_pool3d", {x3, three}, [&] {
    return fg::adaptive_max_pool3d(s, a3, {2, 3, 2});
  });
  const auto m2 = fg::adaptive_max_pool2d(s, a2, {2, 3}),
             m3 = fg::adaptive_max_pool3d(s, a3, {2, 3, 2});
  const view<host> g2(m2.values), g3(m3.values), i2(m2.indices), i3(m3.indices);
  check("_adaptive_avg_pool2d_backward", {g2, x2},
        [&] { return fg::adaptive_avg_pool2d_backward(s, m2.values, a2); });
  check("_adaptive_avg_pool3d_backward", {g3, x3},
        [&] { return fg::adaptive_avg_pool3d_backward(s, m3.values, a3); });
  check("adaptive_max_pool2d_backward", {g2, x2, i2},
        [&] { return fg::adaptive_max_pool2d_backward(s, m2.values, a2, m2.indices); });
  check("adaptive_max_pool3d_backward", {g3, x3, i3},
        [&] { return fg::adaptive_max_pool3d_backward(s, m3.values, a3, m3.indices); });
  const auto kept = fg::max_pool2d_with_indices(s, a2, {2});
  check("max_pool2d_backward", {view<host>(kept.values), x2, 2},
        [&] { return fg::max_pool2d_backward(s, kept.values, a2, {2}); });
  const auto deep = fg::max_pool3d_with_indices(s, a3, {2});
  check("flaggems::max_pool3d_backward",
        {view<host>(deep.values), x3, view<host>(deep.indices), 2, 2, 0, 1, false}, [&] {
          return fg::max_pool3d_backward(s, deep.values, a3, deep.indices, {2}, {2}, {0}, {1},
                                         false);
        });
}

TEST(registry_window, lines_and_cubics) {
  const auto& s = stream_of<host>();
  const auto a1 = numbers({2, 3, 4}), a2 = numbers({1, 2, 3, 4}), a3 = numbers({1, 2, 3, 2, 4});
  const view<host> x1(a1), x2(a2), x3(a3);
  check("upsample_linear1d", {x1, 7, false, 1.75},
        [&] { return fg::upsample_linear1d(s, a1, {7}, false, 1.75); });
  check("upsample_linear1d_backward", {x1, 4, list{2, 3, 2}, true}, [&] {
    return fg::upsample_linear1d_backward(s, a1, {4}, {2, 3, 2}, true);
  });
  check("upsample_trilinear3d", {x3, list{5, 3, 2}, true}, [&] {
    return fg::upsample_trilinear3d(s, a3, {5, 3, 2}, true);
  });
  check("upsample_trilinear3d_backward", {x3, list{3, 2, 4}, list{1, 2, 2, 2, 3}, false}, [&] {
    return fg::upsample_trilinear3d_backward(s, a3, {3, 2, 4}, {1, 2, 2, 2, 3}, false);
  });
#define CHECK(of, name)                                                               \
  check(of, {x2, list{5, 3}, false}, [&] { return fg::name(s, a2, {5, 3}, false); }); \
  check(of "_backward", {x2, list{3, 4}, list{1, 2, 2, 3}, true, 1.5, 2.0}, [&] {     \
    return fg::name##_backward(s, a2, {3, 4}, {1, 2, 2, 3}, true, 1.5, 2.0);          \
  })
  CHECK("upsample_bilinear2d", upsample_bilinear2d);
  CHECK("upsample_bicubic2d", upsample_bicubic2d);
  CHECK("_upsample_bilinear2d_aa", upsample_bilinear2d_aa);
  CHECK("_upsample_bicubic2d_aa", upsample_bicubic2d_aa);
#undef CHECK
}

TEST(registry_window, transposed) {
  const auto& s = stream_of<host>();
  const auto a1 = numbers({2, 4, 3}), w1 = numbers({4, 2, 3}), a2 = numbers({1, 2, 3, 4}),
             w2 = numbers({2, 3, 2, 2}), a3 = numbers({1, 2, 2, 3, 4}),
             w3 = numbers({2, 1, 2, 2, 2}), b = numbers({4});
  const list two{2}, one{1};
  check("conv_transpose1d", {view<host>(a1), view<host>(w1), view<host>(b), two, one, one, 2, one},
        [&] { return fg::conv_transpose1d(s, a1, w1, b, {2}, {1}, {1}, 2, {1}); });
  check("conv_transpose2d.input", {view<host>(a2), view<host>(w2)},
        [&] { return fg::conv_transpose2d(s, a2, w2); });
  check("conv_transpose3d.input", {view<host>(a3), view<host>(w3), std::nullopt, two},
        [&] { return fg::conv_transpose3d(s, a3, w3, std::nullopt, {2}); });
  const auto outer = numbers({1, 3, 4, 5}, -1, 1, 4);
  const bool all[] = {true, true, true};
  check("_convolution_double_backward",
        {view<host>(a2), view<host>(w2), std::nullopt, view<host>(outer), view<host>(w2),
         view<host>(a2), one, list{0}, one, true, list{0}, 1, std::span<const bool>(all)},
        [&] {
          return fg::convolution_double_backward(s, a2, w2, std::nullopt, outer, w2, a2, {1}, {0},
                                                 {1}, true, {0}, 1);
        });
  const auto chance = numbers({1, 2, 2}, 0, 1, 5);
  check("fractional_max_pool2d", {view<host>(a2), two, list{2, 3}, view<host>(chance)}, [&] {
    return fg::fractional_max_pool2d(s, a2, {2}, {2, 3}, chance);
  });
  const auto chosen = fg::fractional_max_pool2d(s, a2, {2}, {2, 3}, chance);
  check(
      "fractional_max_pool2d_backward",
      {view<host>(chosen.first), view<host>(a2), two, list{2, 3}, view<host>(chosen.second)}, [&] {
        return fg::fractional_max_pool2d_backward(s, chosen.first, a2, {2}, {2, 3}, chosen.second);
      });
  const auto p2 = fg::max_pool2d_with_indices(s, a2, {2});
  const auto p3 = fg::max_pool3d_with_indices(s, a3, {2});
  check("max_unpool2d", {view<host>(p2.values), view<host>(p2.indices), list{3, 4}}, [&] {
    return fg::max_unpool2d(s, p2.values, p2.indices, {3, 4});
  });
  check(
      "max_unpool3d",
      {view<host>(p3.values), view<host>(p3.indices), list{2, 3, 4}, list{2, 2, 2}, list{0, 0, 0}},
      [&] {
        return fg::max_unpool3d(s, p3.values, p3.indices, {2, 3, 4}, {2}, {0});
      });
}

TEST(registry_window, grids) {
  const auto& s = stream_of<host>();
  const auto a2 = numbers({1, 2, 3, 4}), g2 = numbers({1, 2, 3, 2}, -1, 1, 2),
             a3 = numbers({1, 2, 2, 3, 4}), g3 = numbers({1, 1, 2, 3, 3}, -1, 1, 2),
             maps = numbers({2, 2, 3});
  const view<host> x2(a2), at2(g2), x3(a3), at3(g3);
  check("grid_sampler_2d", {x2, at2, 2, 1, true},
        [&] { return fg::grid_sampler_2d(s, a2, g2, 2, 1, true); });
  check("grid_sampler_3d", {x3, at3, 1, 2, false},
        [&] { return fg::grid_sampler_3d(s, a3, g3, 1, 2, false); });
  check("grid_sampler", {x3, at3, 0, 0, false},
        [&] { return fg::grid_sampler(s, a3, g3, 0, 0, false); });
  const auto y2 = numbers({1, 2, 2, 3}, -1, 1, 3), y3 = numbers({1, 2, 1, 2, 3}, -1, 1, 3);
  const bool both[] = {true, true};
  check("grid_sampler_2d_backward",
        {view<host>(y2), x2, at2, 0, 1, true, std::span<const bool>(both)},
        [&] { return fg::grid_sampler_2d_backward(s, y2, a2, g2, 0, 1, true); });
  check("grid_sampler_3d_backward",
        {view<host>(y3), x3, at3, 0, 2, false, std::span<const bool>(both)},
        [&] { return fg::grid_sampler_3d_backward(s, y3, a3, g3, 0, 2, false); });
  check("affine_grid_generator", {view<host>(maps), list{2, 1, 3, 4}, true}, [&] {
    return fg::affine_grid_generator(s, maps, {2, 1, 3, 4}, true);
  });
}

TEST(registry_window, columns) {
  const auto& s = stream_of<host>();
  const auto a = numbers({2, 3, 4, 5}), c = numbers({2, 12, 12}), g = numbers({3, 2, 4});
  const list two{2}, one{1}, none{0};
  check("im2col", {view<host>(a), two, one, one, two},
        [&] { return fg::im2col(s, a, {2}, {1}, {1}, {2}); });
  check("col2im", {view<host>(c), list{4, 5}, two, one, none, one}, [&] {
    return fg::col2im(s, c, {4, 5}, {2}, {1}, {0}, {1});
  });
  check("unfold_backward", {view<host>(g), list{8, 2}, 0, 4, 2}, [&] {
    return fg::unfold_backward(s, g, {8, 2}, 0, 4, 2);
  });
}

TEST(registry_window, gradients_of_padding) {
  const auto& s = stream_of<host>();
  const auto x1 = numbers({2, 3, 4}), x2 = numbers({2, 3, 4, 5}), x3 = numbers({2, 3, 2, 4, 5});
  const list p1{2, 1}, p2{1, 2, 2, 0}, p3{1, 2, 2, 0, 1, 1};
#define CHECK(name, n)                                                        \
  const auto name##n = fg::name##n##d(s, x##n, p##n);                         \
  check(#name #n "d_backward", {view<host>(name##n), view<host>(x##n), p##n}, \
        [&] { return fg::name##n##d_backward(s, name##n, x##n, p##n); })
  CHECK(reflection_pad, 1);
  CHECK(reflection_pad, 2);
  CHECK(reflection_pad, 3);
  CHECK(replication_pad, 1);
  CHECK(replication_pad, 2);
  CHECK(replication_pad, 3);
#undef CHECK
}

}  // namespace
}  // namespace flaggems_test
