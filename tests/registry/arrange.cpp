// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/registry/families/arrange.hpp>
#include <registry/support.hpp>

FLAGGEMS_REGISTRY_FAMILY(flaggems::operator_families::arrange, flaggems::host, flaggems::f32,
                         flaggems::c64);

namespace flaggems_test {
namespace {

using list = fg::int_list;

TEST(registry_arrange, copies_of_views) {
  const auto& s = stream_of<host>();
  const auto a = numbers({3, 1, 4});
  const view<host> x(a), m(a.view().view({3, 4}));
  check("alias_copy", {x}, [&] { return fg::alias_copy(s, a); });
  check("lift_fresh_copy", {x}, [&] { return fg::lift_fresh_copy(s, a); });
  check("permute_copy", {x, list{2, 0, 1}}, [&] { return fg::permute_copy(s, a, {2, 0, 1}); });
  check("transpose_copy.int", {x, 0, 2}, [&] { return fg::transpose_copy(s, a, 0, 2); });
  check("t_copy", {m}, [&] { return fg::t_copy(s, a.view().view({3, 4})); });
  check("expand_copy", {x, list{3, 2, 4}}, [&] { return fg::expand_copy(s, a, {3, 2, 4}); });
  check("view_copy", {x, list{2, 6}}, [&] { return fg::view_copy(s, a, {2, 6}); });
  check("squeeze_copy", {x}, [&] { return fg::squeeze_copy(s, a); });
  check("squeeze_copy.dim", {x, 1}, [&] { return fg::squeeze_copy(s, a, 1); });
  check("squeeze_copy.dims", {x, list{0, 1}}, [&] { return fg::squeeze_copy(s, a, {0, 1}); });
  check("unsqueeze_copy", {x, 0}, [&] { return fg::unsqueeze_copy(s, a, 0); });
  check("narrow_copy", {x, 2, 1, 2}, [&] { return fg::narrow_copy(s, a, 2, 1, 2); });
  check("select_copy.int", {x, 2, 1}, [&] { return fg::select_copy(s, a, 2, 1); });
  check("slice_copy.Tensor", {x, 2, 1, std::nullopt, 2},
        [&] { return fg::slice_copy(s, a, 2, 1, {}, 2); });
  check("diagonal_copy", {x, 1, 0, 2}, [&] { return fg::diagonal_copy(s, a, 1, 0, 2); });
  check("unfold_copy", {x, 2, 2, 1}, [&] { return fg::unfold_copy(s, a, 2, 2, 1); });
  check("as_strided_copy", {x, list{2, 2}, list{4, 1}, 1}, [&] {
    return fg::as_strided_copy(s, a, {2, 2}, {4, 1}, 1);
  });
}

TEST(registry_arrange, to_copy) {
  const auto& s = stream_of<host>();
  const auto a = numbers({3, 4});
  check("_to_copy", {view<host>(a)}, [&] { return fg::to_copy(s, a); });
}

TEST(registry_arrange, copies_of_parts) {
  const auto& s = stream_of<host>();
  const auto a = numbers({5, 4});
  const view<host> x(a);
  const auto check_list = [&](const char* key, const arguments<host>& given, const auto& want) {
    const auto& op = fg::registry<host>::at(key);
    note(op);
    fg::any_results<host> got;
    op.call(fg::ref(s), given, got);
    ASSERT_EQ(got.tensors.size(), want.size()) << key;
    for (std::size_t k = 0; k < want.size(); ++k) {
      EXPECT_FALSE(got.tensors[k].is_view()) << key;
      expect_same(got.tensors[k], view<host>(want[k]), key);
    }
  };
  check_list("unbind_copy.int", {x, 1}, fg::unbind_copy(s, a, 1));
  check_list("split_copy.Tensor", {x, 2}, fg::split_copy(s, a, 2));
  check_list("split_with_sizes_copy", {x, list{3, 1}, 1},
             fg::split_with_sizes_copy(s, a, {3, 1}, 1));
  fg::any_results<host> one;  // any operator's results
  fg::registry<host>::at("t_copy").call(fg::ref(s), arguments<host>{x}, one);
  ASSERT_EQ(one.tensors.size(), 1u);
  expect_same(one.tensors[0], boxed_results(fg::t_copy(s, a))[0], "t_copy");
}

TEST(registry_arrange, joins) {
  const auto& s = stream_of<host>();
  const auto a = numbers({3, 4}), b = numbers({3, 4}, -2, 2, 2);
  const view<host> views[] = {view<host>(a), view<host>(b)};
  const std::span<const view<host>> all(views);
  const auto both = std::tie(a, b);
  check("stack", {all, 1}, [&] { return fg::stack(s, both, 1); });
  check("hstack", {all}, [&] { return fg::hstack(s, both); });
  check("vstack", {all}, [&] { return fg::vstack(s, both); });
  check("row_stack", {all}, [&] { return fg::vstack(s, both); });
  check("block_diag", {all}, [&] { return fg::block_diag(s, both); });
  check("_chunk_cat", {all, 0, 2}, [&] { return fg::chunk_cat(s, both, 0, 2); });
  check("resize", {views[0], list{2, 7}}, [&] { return fg::resize(s, a, {2, 7}); });
  const auto few = numbers({5});
  check("resize_as", {views[0], view<host>(few)}, [&] { return fg::resize_as(s, a, few); });
  check("flaggems::resize_output", {views[0], list{4}},
        [&] { return fg::resize_output(s, a, {4}); });
}

TEST(registry_arrange, moves) {
  const auto& s = stream_of<host>();
  const auto a = numbers({4, 4, 4}), r = numbers({4});
  const auto n = fg::from_values<i64>(s, {1, 0, 2, 1});
  const view<host> x(a), row(r), count(n);
  check("flip", {x, list{0, 2}}, [&] { return fg::flip(s, a, {0, 2}); });
  check("roll", {x, 1, 2}, [&] { return fg::roll(s, a, 1, 2); });
  check("fft_fftshift", {x}, [&] { return fg::fft_fftshift(s, a); });
  check("fft_ifftshift", {x, 0}, [&] { return fg::fft_ifftshift(s, a, 0); });
  check("rot90", {x, 3}, [&] { return fg::rot90(s, a, 3); });
  check("repeat", {x, list{2, 1, 1, 2}}, [&] { return fg::repeat(s, a, {2, 1, 1, 2}); });
  check("tile", {x, list{2}}, [&] { return fg::tile(s, a, {2}); });
  check("repeat_interleave.self_int", {x, 2, 1}, [&] { return fg::repeat_interleave(s, a, 2, 1); });
  check("repeat_interleave.self_Tensor", {x, count, 1},
        [&] { return fg::repeat_interleave(s, a, n, 1); });
  check("repeat_interleave.Tensor", {count}, [&] { return fg::repeat_interleave(s, n); });
  check("pixel_shuffle", {x, 2}, [&] { return fg::pixel_shuffle(s, a, 2); });
  check("pixel_unshuffle", {x, 2}, [&] { return fg::pixel_unshuffle(s, a, 2); });
  check("channel_shuffle", {x, 2}, [&] { return fg::channel_shuffle(s, a, 2); });
  check("diag_embed", {x, 1}, [&] { return fg::diag_embed(s, a, 1); });
  check("diag", {row, 1}, [&] { return fg::diag(s, r, 1); });
  check("tril", {x, 1}, [&] { return fg::tril(s, a, 1); });
  check("triu", {x, -1}, [&] { return fg::triu(s, a, -1); });
}

TEST(registry_arrange, padding) {
  const auto& s = stream_of<host>();
  const auto a = numbers({3, 4, 5});
  const view<host> x(a);
  check("constant_pad_nd", {x, list{1, 2}, 3}, [&] {
    return fg::constant_pad_nd(s, a, {1, 2}, 3);
  });
  check("pad", {x, list{1, 2, -1, 0}, "constant", 2.5}, [&] {
    return fg::constant_pad_nd(s, a, {1, 2, -1, 0}, 2.5);
  });
  check("pad", {x, list{1, 2}, "circular"}, [&] {
    return fg::pad(s, a, {1, 2}, fg::pad_mode::circular);
  });
  const i64 by[] = {1, 2, 0, 1, 2, 0};
  const list one(by, 2), two(by, 4), three(by, 6);
  check("reflection_pad1d", {x, one}, [&] { return fg::reflection_pad1d(s, a, one); });
  check("reflection_pad2d", {x, two}, [&] { return fg::reflection_pad2d(s, a, two); });
  check("reflection_pad3d", {x, three}, [&] { return fg::reflection_pad3d(s, a, three); });
  check("replication_pad1d", {x, one}, [&] { return fg::replication_pad1d(s, a, one); });
  check("replication_pad2d", {x, two}, [&] { return fg::replication_pad2d(s, a, two); });
  check("replication_pad3d", {x, three}, [&] { return fg::replication_pad3d(s, a, three); });
  EXPECT_ERROR(fg::registry<host>::at("pad")(s, {x, list{1, 2}, "mirror"}), invalid_argument, "pad",
               "mirror");
}

}  // namespace
}  // namespace flaggems_test
