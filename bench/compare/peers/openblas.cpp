// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// OpenBLAS through CBLAS, opened at run time: FLAGGEMS_OPENBLAS names the library (Debian's when it
// is not set). Those inside numpy's and scipy's packages do, whose functions have other names.
#include "../peers.hpp"

#include <dlfcn.h>

#include <cstdlib>

namespace compare {
namespace {

using std::int64_t;
constexpr int row_major = 101, plain = 111, transposed = 112;

template <class T, class Int>
struct functions {
  using gemm = void (*)(int, int, int, Int, Int, Int, T, const T*, Int, const T*, Int, T, T*, Int);
  using gemv = void (*)(int, int, Int, Int, T, const T*, Int, const T*, Int, T, T*, Int);
};

struct blas {
  void* handle = nullptr;
  std::string prefix, suffix;
  bool wide = false;  // 64-bit integers

  blas() {
    const char* path = std::getenv("FLAGGEMS_OPENBLAS");
    handle = dlopen(path != nullptr && *path != '\0' ? path : "libopenblas.so.0", RTLD_NOW);
    if (handle == nullptr) return;
    for (const char* p : {"", "scipy_"})
      for (const char* s : {"", "64_"})
        if (dlsym(handle, (std::string(p) + "cblas_sgemm" + s).c_str()) != nullptr) {
          prefix = p, suffix = s, wide = *s != '\0';
          return;
        }
    handle = nullptr;
  }
  template <class F>
  F get(const std::string& name) const {
    return reinterpret_cast<F>(dlsym(handle, (prefix + name + suffix).c_str()));
  }
};
const blas& library_() {
  static const blas b;
  return b;
}

/// A matrix as CBLAS takes it; false if neither of its strides is 1.
struct matrix {
  int form = plain;
  int64_t leading = 0;
  bool ok = false;
  matrix(const operand& o, std::size_t first) {
    const int64_t rows = o.sizes[first], columns = o.sizes[first + 1];
    const int64_t row = o.strides[first], column = o.strides[first + 1];
    if (column == 1 || columns == 1)
      form = plain, leading = rows == 1 ? columns : row, ok = true;
    else if (row == 1 || rows == 1)
      form = transposed, leading = columns == 1 ? rows : column, ok = true;
  }
};

template <class T, class Int>
offer product(const request& r) {
  using std::size_t;
  const blas& b = library_();
  const operand &x = r.in[0], &y = r.in[1], &out = r.out[0];
  if (r.op == "mv") {
    const auto f =
        b.get<typename functions<T, Int>::gemv>(sizeof(T) == 4 ? "cblas_sgemv" : "cblas_dgemv");
    const matrix m(x, 0);
    if (!m.ok) return {};
    const bool flip = m.form == transposed;
    const Int rows = static_cast<Int>(x.sizes[flip ? 1 : 0]),
              columns = static_cast<Int>(x.sizes[flip ? 0 : 1]);
    return {[=, &b] {
              f(row_major, m.form, rows, columns, T(1), static_cast<const T*>(x.data),
                static_cast<Int>(m.leading), static_cast<const T*>(y.data),
                static_cast<Int>(y.strides[0]), T(0), static_cast<T*>(out.data),
                static_cast<Int>(out.strides[0]));
            },
            ""};
  }
  const bool batched = r.op == "bmm";
  const size_t first = batched ? 1 : 0;
  const matrix ma(x, first), mb(y, first), mc(out, first);
  if (!ma.ok || !mb.ok || mc.form != plain) return {};
  const auto f =
      b.get<typename functions<T, Int>::gemm>(sizeof(T) == 4 ? "cblas_sgemm" : "cblas_dgemm");
  const Int m = static_cast<Int>(out.sizes[first]), n = static_cast<Int>(out.sizes[first + 1]),
            k = static_cast<Int>(x.sizes[first + 1]);
  const int64_t count = batched ? out.sizes[0] : 1;
  return {[=] {
            for (int64_t i = 0; i < count; ++i)
              f(row_major, ma.form, mb.form, m, n, k, T(1),
                static_cast<const T*>(x.data) + (batched ? i * x.strides[0] : 0),
                static_cast<Int>(ma.leading),
                static_cast<const T*>(y.data) + (batched ? i * y.strides[0] : 0),
                static_cast<Int>(mb.leading), T(0),
                static_cast<T*>(out.data) + (batched ? i * out.strides[0] : 0),
                static_cast<Int>(mc.leading));
          },
          batched ? "a loop of products" : ""};
}

offer offer_for(const request& r) {
  if (r.op != "mm" && r.op != "bmm" && r.op != "mv") return {};
  const bool wide = library_().wide;
  for (const operand& o : r.in)
    if (o.type != r.out[0].type) return {};
  if (r.out[0].type == dtype::f32)
    return wide ? product<float, int64_t>(r) : product<float, int>(r);
  if (r.out[0].type == dtype::f64)
    return wide ? product<double, int64_t>(r) : product<double, int>(r);
  return {};
}

void set_threads(int n) {
  if (const auto set = library_().get<void (*)(int)>("openblas_set_num_threads")) set(n);
}

std::string version() {
  const blas& b = library_();
  const auto config = b.get<char* (*)()>("openblas_get_config");
  const auto core = b.get<char* (*)()>("openblas_get_corename");
  return (config != nullptr ? std::string(config()) : "?") + ", kernels of " +
         (core != nullptr ? core() : "?");
}

const bool here = [] {
  if (library_().handle == nullptr) return false;
  registered({"OpenBLAS", version(), set_threads, offer_for});
  return true;
}();

}  // namespace
}  // namespace compare
