// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Discrete Fourier transforms of rows.
#pragma once

#include <flaggems/ops/dispatch/fourier.hpp>
#include <flaggems/ops/plan/rows.hpp>

#include <optional>
#include <string_view>
#include <type_traits>

namespace flaggems {

namespace operators {
struct fft_fft;
}

/// By what a transform is divided: nothing, the root of its length, or its length.
enum class fft_norm : int { backward, ortho, forward };

/// The norm of ATen's name. Raises invalid_argument for others.
inline fft_norm spelled(std::string_view text, std::type_identity<fft_norm>) {
  if (text == "backward") return fft_norm::backward;
  if (text == "ortho") return fft_norm::ortho;
  if (text == "forward") return fft_norm::forward;
  raise(errc::invalid_argument, "fft_fft", "a norm of backward, ortho or forward", text);
}

namespace detail {

/// What can be transformed, and the numbers that result.
using fft_types = type_list<f64, f32, c128, c64>;
template <class T>
using fft_result = kernels::complex<kernels::real_of<T>>;

/// The sizes of a transform of length n along `dim`.
template <class X>
shape fft_sizes(const X& x, std::optional<i64> n, i64 dim) {
  constexpr const char* op = "fft_fft";
  if (x.rank() == 0) [[unlikely]]
    raise(errc::shape_mismatch, op, "a tensor of at least one dimension", "none");
  const int d = normalize_dim(dim, x.rank(), op);
  shape sizes = x.shape_of();
  if (n) sizes[d] = *n;
  if (sizes[d] < 1) [[unlikely]]
    raise(errc::invalid_argument, op, "a length of at least 1", text(sizes[d]));
  return sizes;
}

template <class S, class T, class D, class Z>
void fft_into(const S& stream, const tensor_view<const T, D>& x, const tensor_view<Z, D>& out,
              std::optional<i64> length, i64 dim, const std::optional<fft_norm>& norm) {
  constexpr const char* op = "fft_fft";
  check_output_sizes(op, fft_sizes(x, length, dim), out);
  const int d = normalize_dim(dim, x.rank(), op);
  const i64 n = out.size(d), given = kernels::min_of(n, x.size(d));
  check_writable(op, out);
  check_no_overlap(op, placed_layout(layout_of(out)), layout_of(x));
  if (out.empty() || replaced<operators::fft_fft>(op, stream, x, out, d, norm)) return;

  row_plan plan(out.sizes(), d);
  plan.add(out);
  plan.add(x);
  const kernels::row_space space = plan.space();
  const f64 by = norm == fft_norm::forward ? 1 / static_cast<f64>(n)
                 : norm == fft_norm::ortho ? 1 / __builtin_sqrt(static_cast<f64>(n))
                                           : 1;
  launch_fourier(op, stream, space, n, given, plan.arg(1, x), plan.target(0, out),
                 static_cast<kernels::real_of<Z>>(by));
}

}  // namespace detail

/// out[k] = the sum over j of x[j] exp(-2 pi i j k / n) along `dim`, divided by n where the norm is
/// forward and by its root where it is ortho.
///
/// Shapes: self any, real or complex, f32 or f64; out: the same sizes, but n along `dim` if n is
/// given, complex. Of a longer x the rest is not read, and a shorter one is followed by zeros. They
/// share no memory. A row costs n times the sum of n's prime factors: of a large prime the square
/// of n, but on the host, where such rows are convolved, a few times n log n. Raises out_of_range,
/// shape_mismatch, invalid_argument or overlap before anything is written. aten::fft_fft.out(Tensor
/// self, SymInt? n=None, int dim=-1, str? norm=None, *, Tensor(a!) out)
template <stream_like S, tensor_like X, tensor_like Out>
void fft_fft(const S& stream, const X& self, Out&& out, std::optional<i64> n = {}, i64 dim = -1,
             const std::optional<fft_norm>& norm = {}) {
  same_device<S, X, Out>();
  if constexpr (element_type_in<detail::fft_types, 1, X>()) {
    using T = value_t<const X&>;
    static_assert(std::is_same_v<value_t<Out>, detail::fft_result<T>>,
                  "flaggems: the output has the complex dtype of the input's precision");
    using D = device_of<S>;
    detail::fft_into(stream, tensor_view<const T, D>(as_view(self)),
                     tensor_view<value_t<Out>, D>(as_view(out)), n, dim, norm);
  }
}
/// fft_fft in a new tensor.
template <stream_like S, tensor_like X>
[[nodiscard]] auto fft_fft(const S& stream, const X& self, std::optional<i64> n = {}, i64 dim = -1,
                           const std::optional<fft_norm>& norm = {}) {
  auto out = empty<detail::fft_result<value_t<const X&>>>(
      stream, detail::fft_sizes(as_view(self), n, dim), "fft_fft");
  fft_fft(stream, self, out, n, dim, norm);
  return out;
}

/// As fft_fft. flaggems::fft(Tensor x, SymInt? n=None, int dim=-1, str? norm=None)
template <stream_like S, tensor_like X, tensor_like Out>
void fft(const S& stream, const X& x, Out&& out, std::optional<i64> n = {}, i64 dim = -1,
         const std::optional<fft_norm>& norm = {}) {
  fft_fft(stream, x, out, n, dim, norm);
}
template <stream_like S, tensor_like X>
[[nodiscard]] auto fft(const S& stream, const X& x, std::optional<i64> n = {}, i64 dim = -1,
                       const std::optional<fft_norm>& norm = {}) {
  return fft_fft(stream, x, n, dim, norm);
}

}  // namespace flaggems
