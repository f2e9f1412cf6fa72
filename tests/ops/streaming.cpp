// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Operators whose results are written past the caches, which takes large tensors unless
// the threshold says otherwise; and the kernel of contiguous operands as a chip would run it.
#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/norm.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/softmax.hpp>

#include <support/ops.hpp>

#include <vector>

namespace flaggems_test {
namespace {

/// Every result of the host is streamed for as long as this lives.
class streaming_guard {
 public:
  streaming_guard() {
    (void)fg::detail::is_streamed<host>(0);  // the threshold is known now
    before_ = slot().load(fg::detail::memory_order::relaxed);
    slot().store(1, fg::detail::memory_order::relaxed);
  }
  ~streaming_guard() { slot().store(before_, fg::detail::memory_order::relaxed); }
  streaming_guard(const streaming_guard&) = delete;
  streaming_guard& operator=(const streaming_guard&) = delete;

 private:
  static fg::detail::atomic<i64>& slot() { return fg::detail::stream_threshold; }
  i64 before_ = 0;
};

template <class T>
T number(i64 i) {
  return fg::kernels::number_cast<T>(static_cast<float>(i % 101));
}

template <class T>
class streaming : public ::testing::Test {};
using types = ::testing::Types<f32, bf16, f64, fg::u8, i64>;
TYPED_TEST_SUITE(streaming, types);

TYPED_TEST(streaming, writes_what_a_plain_store_would) {
  using T = TypeParam;
  const auto& stream = test_stream<host>();
  const streaming_guard guard;
  at_every_level<host>([&] {
    for (const i64 n : {1, 15, 16, 17, 63, 64, 65, 1000, 8192, 30000})
      for (const i64 first : {0, 1, 7, 16}) {
        const auto size = static_cast<std::size_t>(n + first + 1);
        std::vector<T> in(size), out(size, number<T>(7));
        for (i64 i = 0; i < n + first + 1; ++i) in[static_cast<std::size_t>(i)] = number<T>(i);
        const fg::tensor_view<const T> x(in.data() + first, {n});
        const fg::tensor_view<T> y(out.data() + first, {n});
        add(stream, x, 1, y);
        for (i64 i = 0; i < n + first + 1; ++i) {
          const i64 expected = i < first || i >= first + n ? 7 : i % 101 + 1;
          ASSERT_EQ(static_cast<i64>(out[static_cast<std::size_t>(i)]), expected)
              << n << " from " << first << ", " << i;
        }
      }
  });
}

TYPED_TEST(streaming, takes_tiles_of_transposed_operands) {
  using T = TypeParam;
  const auto& stream = test_stream<host>();
  const streaming_guard guard;
  at_every_level<host>([&] {
    for (const i64 rows : {64, 100})
      for (const i64 columns : {48, 256}) {
        std::vector<T> in(static_cast<std::size_t>(rows * columns)), out(in.size());
        for (i64 i = 0; i < rows * columns; ++i) in[static_cast<std::size_t>(i)] = number<T>(i);
        const fg::tensor_view<const T> x(in.data(), {columns, rows});
        copy_(stream, fg::tensor_view<T>(out.data(), {rows, columns}), x.t());
        for (i64 r = 0; r < rows; ++r)
          for (i64 c = 0; c < columns; ++c)
            ASSERT_EQ(out[static_cast<std::size_t>(r * columns + c)], number<T>(c * rows + r));
      }
  });
}

TEST(streaming, takes_formulas_of_many_instructions) {
  const auto& stream = test_stream<host>();
  const i64 n = 5000;
  auto x = fg::empty<f32>(stream, {n}), y = fg::empty<f32>(stream, {n});
  auto z = fg::empty<f32>(stream, {n});
  for (i64 i = 0; i < n; ++i) x.data()[i] = static_cast<f32>(i % 200) * 0.1f - 10;
  at_every_level<host>([&] {
    assign(stream, y, silu(x) * x);
    const streaming_guard guard;
    assign(stream, z, silu(x) * x);
    for (i64 i = 0; i < n; ++i) ASSERT_EQ(y.data()[i], z.data()[i]);
  });
}

template <class T>
void check_rows() {
  const auto& stream = test_stream<host>();
  const i64 rows = 5;
  for (const i64 n : {16, 100, 128}) {
    auto x = fg::empty<T>(stream, {rows, n}), w = fg::empty<T>(stream, {n});
    auto y = fg::empty<T>(stream, {rows, n}), z = fg::empty<T>(stream, {rows, n});
    for (i64 i = 0; i < rows * n; ++i) x.data()[i] = T(static_cast<f32>(i * 37 % 101) * 0.05f);
    for (i64 i = 0; i < n; ++i) w.data()[i] = T(static_cast<f32>(i % 7));
    const auto same = [&](const auto& op) {
      op(y);
      const streaming_guard guard;
      op(z);
      for (i64 i = 0; i < rows * n; ++i)
        ASSERT_EQ(static_cast<f32>(y.data()[i]), static_cast<f32>(z.data()[i])) << n << ", " << i;
    };
    at_every_level<host>([&] {
      same([&](auto& out) { softmax(stream, x, out, 1); });
      same([&](auto& out) { log_softmax(stream, x, out, 1); });
      same([&](auto& out) { rms_norm(stream, x, {n}, w, out); });
      same([&](auto& out) { layer_norm(stream, x, {n}, w, w, out); });
    });
  }
}
TEST(streaming, takes_rows_of_f32) { check_rows<f32>(); }
TEST(streaming, takes_rows_of_bf16) { check_rows<bf16>(); }

/// What the host's own loop stands for.
TEST(streaming, has_a_portable_form_of_flat_operands) {
  namespace fk = fg::kernels;
  const auto& stream = test_stream<fg::simt32>();
  using formula = fk::node<f32, fk::add_fn, fk::flat_arg<f32, f32>, fk::literal<f32>>;
  for (const i64 n : {1, 31, 1000, 20000}) {
    std::vector<f32> in(static_cast<std::size_t>(n));
    for (i64 i = 0; i < n; ++i) in[static_cast<std::size_t>(i)] = number<f32>(i);
    auto x = fg::empty<f32>(stream, {n}), y = fg::empty<f32>(stream, {n});
    fg::simt32::copy(x.data(), in.data(), n * 4, fg::copy_kind::host_to_device, stream.handle());
    fg::launch_config config;
    config.op = "pointwise_flat";
    config.tiles = fk::ceil_div(n, fk::flat_chunk);
    launch<fk::pointwise_flat<f32, formula>>(stream, config, n, false, y.data(),
                                             formula{{}, {x.data()}, {1}});
    fg::simt32::copy(in.data(), y.data(), n * 4, fg::copy_kind::device_to_host, stream.handle());
    for (i64 i = 0; i < n; ++i)
      ASSERT_EQ(in[static_cast<std::size_t>(i)], number<f32>(i) + 1) << n << ", " << i;
  }
}

}  // namespace
}  // namespace flaggems_test
