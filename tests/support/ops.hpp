// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What the tests of operators share: tensors of any layout on any device with their values as
// doubles, comparison with a reference in double, and the devices and levels to run on.
//
//   test_tensor<bf16, chip32> x({3, 5}, layout::negative, random_values({3, 5}));
//   softmax(test_stream<chip32>(), x.view(), out.view(), 1);
//   expect_close<bf16>(out.read(), reference(x.values()));
//   EXPECT_TRUE(out.gaps_untouched());
#pragma once

#include <flaggems/detail/cpu.hpp>
#include <flaggems/device/tensor.hpp>
#include <flaggems/vendors/host.hpp>
#include <flaggems/vendors/simt.hpp>
#include <support/devices.hpp>
#include <tensor/test_support.hpp>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace flaggems_test {

namespace fg = flaggems;
using fg::bf16;
using fg::f16;
using fg::f32;
using fg::f64;
using fg::host;
using fg::i64;
using fg::shape;
using fg::simt64;

// ---- devices
/// The stream on which the tests of device D run.
template <class D>
const fg::stream<D>& test_stream() {
  static const fg::stream<D> stream;
  return stream;
}

/// Calls f() once for each instruction set level that this machine has; once if D is not the host.
template <class D, class F>
void at_every_level(F&& f) {
  if constexpr (std::is_same_v<D, host>) {
    for (int k = 0; k <= static_cast<int>(fg::detected_isa()); ++k) {
      const fg::isa_guard guard(static_cast<fg::isa_level>(k));
      SCOPED_TRACE("ISA level " + std::string(to_string(fg::isa())));
      f();
    }
  } else {
    SCOPED_TRACE(D::name);
    f();
  }
}

/// 1: each kernel's text once a kind of device, in f32 and one 16-bit type; not every dtype and
/// warp size. For builds that compile or run many times slower: under sanitizers, for emulators.
#ifndef FLAGGEMS_TEST_REDUCED
#define FLAGGEMS_TEST_REDUCED 0
#endif

/// Every type that computes on the host, a 16-bit one on the emulated chip. (f32 on all devices is
/// what the tests of layouts run.)
#if FLAGGEMS_TEST_REDUCED
using float_cases = cases<on_host<f32, bf16>, on_chips<f32>>;
using wide_float_cases = cases<on_host<f32, bf16>, on_chips<f32>, on_wide<f32>>;
using all_devices = devices_and_own<host, chip32>;
template <class... Chips>
using elementwise_devices = devices_and_own<host>;
#else
using float_cases = cases<on_host<f32, bf16, f16, f64>, on_chips<bf16>>;
using wide_float_cases = cases<on_host<f32, bf16, f16, f64>, on_chips<bf16>, on_wide<bf16>>;
using all_devices = devices_and_own<host, chip32, simt64>;
/// The host and Chips, for kernels whose threads share nothing.
template <class... Chips>
using elementwise_devices = devices_and_own<host, Chips...>;
#endif
/// `Cases`, but `float_cases` in a reduced build.
template <class Cases>
using unless_reduced = std::conditional_t<FLAGGEMS_TEST_REDUCED, float_cases, Cases>;

// ---- layouts
enum class layout {
  contiguous,
  transposed,  ///< the dimensions' order in memory reversed
  strided,     ///< gaps between the elements of every dimension
  negative,    ///< every stride negative
  offset,      ///< contiguous, one element off the alignment of a vector
  broadcast    ///< stride 0 along the first dimension; for inputs only
};
inline const char* to_string(layout how) {
  const char* names[] = {"contiguous", "transposed", "strided", "negative", "offset", "broadcast"};
  return names[static_cast<int>(how)];
}
inline constexpr layout input_layouts[] = {layout::contiguous, layout::transposed,
                                           layout::strided,    layout::negative,
                                           layout::offset,     layout::broadcast};
inline constexpr layout output_layouts[] = {layout::contiguous, layout::transposed, layout::strided,
                                            layout::negative, layout::offset};

/// Strides of a layout, where its first element lies, and how many elements it spans.
struct placement {
  shape strides;
  i64 first = 0, extent = 1;

  placement(const shape& sizes, layout how) : strides(sizes) {
    const int rank = sizes.rank();
    i64 step = 1;
    for (int k = 0; k < rank; ++k) {
      const int d = how == layout::transposed ? k : rank - 1 - k;
      if (how == layout::strided) step *= 2;
      strides[d] = step;
      step *= (std::max)(sizes[d], i64{1});
    }
    if (how == layout::broadcast && rank > 0) strides[0] = 0;
    extent = step;
    if (how == layout::negative)
      for (int d = 0; d < rank; ++d) {
        first += strides[d] * ((std::max)(sizes[d], i64{1}) - 1);
        strides[d] = -strides[d];
      }
    if (how == layout::offset) first = 1, ++extent;
  }
};

/// Calls f(offset) for the elements of sizes and strides in row-major order.
template <class F>
void for_each_offset(const shape& sizes, const shape& strides, F&& f) {
  if (sizes.numel() == 0) return;
  i64 at[fg::max_rank] = {}, offset = 0;
  for (;;) {
    f(offset);
    int d = sizes.rank() - 1;
    for (; d >= 0; --d) {
      offset += strides[d];
      if (++at[d] < sizes[d]) break;
      offset -= at[d] * strides[d];
      at[d] = 0;
    }
    if (d < 0) return;
  }
}

// ---- tensors
/// A tensor with a layout, between canaries that show what is written beside it. Elements that no
/// index reaches are bytes 0xA5.
template <class T, class D = host>
class test_tensor {
 public:
  /// `values` in row-major order; what is missing is zero.
  test_tensor(const shape& sizes, layout how, const std::vector<double>& values)
      : sizes_(sizes), place_(sizes, how) {
    bytes_.assign(static_cast<std::size_t>((place_.extent + 2 * margin)) * sizeof(T), 0xA5);
    std::size_t k = 0;
    for_each_offset(sizes_, place_.strides, [&](i64 offset) {
      const T x = fg::kernels::number_cast<T>(k < values.size() ? values[k] : 0.0);
      std::memcpy(at(bytes_, offset), &x, sizeof(T));
      ++k;
    });
    storage_ = fg::empty<T>(test_stream<D>(), {place_.extent + 2 * margin});
    D::copy(storage_.data(), bytes_.data(), storage_.bytes(), fg::copy_kind::host_to_device,
            test_stream<D>().handle());
    test_stream<D>().synchronize();
    values_ = decode(bytes_);
  }
  explicit test_tensor(const shape& sizes, layout how = layout::contiguous)
      : test_tensor(sizes, how, {}) {}

  [[nodiscard]] fg::tensor_view<T, D> view() {
    return {storage_.data() + margin + place_.first, sizes_, place_.strides};
  }
  [[nodiscard]] fg::tensor_view<const T, D> in() { return view(); }
  [[nodiscard]] const shape& sizes() const { return sizes_; }
  /// The values that it was made with, rounded to T, in row-major order.
  [[nodiscard]] const std::vector<double>& values() const { return values_; }
  /// The values that it has now.
  [[nodiscard]] std::vector<double> read() const { return decode(download()); }
  /// Whether all memory around the elements is as it was.
  [[nodiscard]] bool gaps_untouched() const {
    std::vector<unsigned char> now = download();
    for_each_offset(sizes_, place_.strides,
                    [&](i64 offset) { std::memset(at(now, offset), 0xA5, sizeof(T)); });
    for (const unsigned char byte : now)
      if (byte != 0xA5) return false;
    return true;
  }
  /// Whether nothing was written at all.
  [[nodiscard]] bool untouched() const { return download() == bytes_; }

 private:
  static constexpr i64 margin = 64;
  template <class Bytes>
  auto* at(Bytes& bytes, i64 offset) const {
    return bytes.data() + static_cast<std::size_t>(margin + place_.first + offset) * sizeof(T);
  }
  [[nodiscard]] std::vector<unsigned char> download() const {
    std::vector<unsigned char> now(bytes_.size());
    D::copy(now.data(), storage_.data(), storage_.bytes(), fg::copy_kind::device_to_host,
            test_stream<D>().handle());
    test_stream<D>().synchronize();
    return now;
  }
  [[nodiscard]] std::vector<double> decode(const std::vector<unsigned char>& bytes) const {
    std::vector<double> values;
    for_each_offset(sizes_, place_.strides, [&](i64 offset) {
      T x;
      std::memcpy(&x, at(bytes, offset), sizeof(T));
      values.push_back(fg::kernels::number_cast<f64>(x));
    });
    return values;
  }

  shape sizes_;
  placement place_;
  std::vector<unsigned char> bytes_;  // as it was made
  fg::tensor<T, D> storage_;
  std::vector<double> values_;
};

/// The elements of a tensor as doubles, in row-major order, whatever its strides.
template <class T, class D>
std::vector<double> values_of(const fg::tensor<T, D>& x) {
  std::vector<unsigned char> bytes(static_cast<std::size_t>(x.bytes()));
  D::copy(bytes.data(), x.data(), x.bytes(), fg::copy_kind::device_to_host,
          test_stream<D>().handle());
  test_stream<D>().synchronize();
  std::vector<double> values;
  for_each_offset(x.shape_of(), shape(x.strides()), [&](i64 offset) {
    T element;
    std::memcpy(&element, bytes.data() + static_cast<std::size_t>(offset) * sizeof(T), sizeof(T));
    values.push_back(fg::kernels::number_cast<f64>(element));
  });
  return values;
}

/// The generator of the running test; the same numbers in every run, whatever ran before.
inline std::mt19937_64& generator() {
  static std::mt19937_64 g{20261121};
  static const ::testing::TestInfo* seeded_for = nullptr;
  const auto* running = ::testing::UnitTest::GetInstance()->current_test_info();
  if (running != seeded_for) g.seed(20261121);
  seeded_for = running;
  return g;
}
/// Numbers in [low, high) for a tensor of these sizes.
inline std::vector<double> random_values(const shape& sizes, double low = -2, double high = 2) {
  std::uniform_real_distribution<double> distribution(low, high);
  std::vector<double> values(static_cast<std::size_t>(sizes.numel()));
  auto& random = generator();
  for (double& x : values) x = distribution(random);
  return values;
}
/// Integers in [low, high].
inline std::vector<double> random_integers(const shape& sizes, i64 low, i64 high) {
  std::uniform_int_distribution<i64> distribution(low, high);
  std::vector<double> values(static_cast<std::size_t>(sizes.numel()));
  auto& random = generator();
  for (double& x : values) x = static_cast<double>(distribution(random));
  return values;
}

// ---- comparison
/// |got - want| <= atol + rtol * |want|
struct tolerance {
  double rtol, atol;
};
/// The tolerances of FlagGems' tests; `reduced` is the number of elements folded into one.
template <class T>
tolerance tolerance_of(double reduced = 1) {
  double rtol = 0;
  if (std::is_same_v<T, f16>) rtol = 1e-3;
  if (std::is_same_v<T, bf16>) rtol = 0.016;
  if (std::is_same_v<T, f32>) rtol = 1.3e-6;
  if (std::is_same_v<T, f64>) rtol = 1e-7;
  return {rtol, rtol == 0 ? 0 : 1e-4 * reduced};
}

/// Every value of `got`, elements of T, is close to the one of `want`, which is rounded to T. NaN
/// equals NaN. A message ends with operands_of(its place).
template <class T, class F>
void expect_close(const std::vector<double>& got, const std::vector<double>& want, tolerance tol,
                  F&& operands_of) {
  ASSERT_EQ(got.size(), want.size());
  int shown = 0;
  for (std::size_t k = 0; k < got.size(); ++k) {
    const double x = got[k],
                 y = fg::kernels::number_cast<f64>(fg::kernels::number_cast<T>(want[k]));
    const bool same = x == y || (std::isnan(x) && std::isnan(y));
    if (same || std::abs(x - y) <= tol.atol + tol.rtol * std::abs(y)) continue;
    ADD_FAILURE() << "element " << k << " of " << got.size() << ": " << x << ", expected " << y
                  << operands_of(k);
    if (++shown == 5) return;
  }
}
template <class T>
void expect_close(const std::vector<double>& got, const std::vector<double>& want, tolerance tol) {
  expect_close<T>(got, want, tol, [](std::size_t) { return ""; });
}
template <class T>
void expect_close(const std::vector<double>& got, const std::vector<double>& want) {
  expect_close<T>(got, want, tolerance_of<T>());
}
/// The same bits, but that any NaN equals any other.
inline void expect_equal(const std::vector<double>& got, const std::vector<double>& want) {
  expect_close<f64>(got, want, {0, 0});
}

/// The code of the error that f() has to raise.
template <class F>
fg::errc code_of(F&& f) {
  const fg::error e = error_of(f);
  EXPECT_FALSE(e.op().empty() || e.expected().empty()) << e.what();
  return e.code();
}

}  // namespace flaggems_test
