// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Views between complex numbers and their parts, which are adjacent in memory.
#pragma once

#include <flaggems/tensor/any_view.hpp>

#include <type_traits>

namespace flaggems::detail {

/// The strides of complex numbers, counted in parts.
inline shape strides_of_parts(int_list strides) {
  shape r(strides);
  for (int d = 0; d < r.rank(); ++d) r[d] = wrapped_product(r[d], 2);
  return r;
}
/// Sizes and strides with a last dimension for the parts. Raises not_supported where there is no
/// room for it.
inline layout layout_of_parts(const char* op, int_list sizes, int_list strides) {
  if (sizes.size() == max_rank) [[unlikely]]
    raise(errc::not_supported, op, "a complex tensor of at most 7 dimensions", "one of 8");
  layout r{shape(sizes), strides_of_parts(strides), 0};
  r.sizes.insert(r.sizes.rank(), 2);
  r.strides.insert(r.strides.rank(), 1);
  return r;
}
/// Sizes and strides of the complex numbers whose parts lie along the last dimension. Raises unless
/// that has size 2 and stride 1, the others have even strides, and `address` suits a number of
/// `bytes`.
inline layout layout_of_complex(int_list sizes, int_list strides, u64 address, i64 bytes) {
  const char* const op = "view_as_complex";
  const int last = sizes.size() - 1;
  if (last < 0 || sizes[last] != 2) [[unlikely]]
    raise(errc::shape_mismatch, op, "a last dimension of size 2",
          "sizes " + to_string(shape(sizes)));
  bool fits = strides[last] == 1;
  for (int d = 0; d < last; ++d) fits = fits && strides[d] % 2 == 0;
  if (!fits) [[unlikely]]
    raise(errc::invalid_argument, op, "stride 1 in the last dimension, even ones in the others",
          "strides " + to_string(shape(strides)));
  if (address % static_cast<u64>(bytes) != 0) [[unlikely]]
    raise_misaligned(op, address, bytes);
  layout r{shape(sizes), shape(strides), 0};
  r.sizes.erase(last);
  r.strides.erase(last);
  for (int d = 0; d < last; ++d) r.strides[d] /= 2;
  return r;
}

/// U, const where T is.
template <class T, class U>
using const_as = std::conditional_t<std::is_const_v<T>, const U, U>;

/// Part `which` of each number: 0 the real one, 1 the imaginary one.
template <class T, class D>
auto part_of(const tensor_view<T, D>& x, i64 which) {
  using part = const_as<T, kernels::real_of<std::remove_const_t<T>>>;
  auto* const parts = reinterpret_cast<part*>(x.data());
  return tensor_view<part, D>(unchecked_t{}, parts == nullptr ? parts : parts + which,
                              shape(x.sizes()), strides_of_parts(x.strides()));
}
/// Both parts of each, along a new last dimension.
template <class T, class D>
auto parts_of(const char* op, const tensor_view<T, D>& x) {
  using part = const_as<T, kernels::real_of<std::remove_const_t<T>>>;
  const layout v = layout_of_parts(op, x.sizes(), x.strides());
  return tensor_view<part, D>(unchecked_t{}, reinterpret_cast<part*>(x.data()), v.sizes, v.strides);
}
/// The numbers whose parts lie along the last dimension.
template <class T, class D>
auto complex_of_parts(const tensor_view<T, D>& x) {
  using whole = const_as<T, complex<std::remove_const_t<T>>>;
  const layout v = layout_of_complex(x.sizes(), x.strides(), reinterpret_cast<u64>(x.data()),
                                     i64{sizeof(whole)});
  return tensor_view<whole, D>(unchecked_t{}, reinterpret_cast<whole*>(x.data()), v.sizes,
                               v.strides);
}

// ---- of a dtype known at run time
template <class D>
any_view<D> with_dtype(const any_view<D>& x, dtype type, const layout& v) {
  char* const data = static_cast<char*>(x.data());
  void* const first = data == nullptr ? data : data + v.offset * size_of(type);
  if (x.is_const()) return any_view<D>(static_cast<const void*>(first), type, v.sizes, v.strides);
  return any_view<D>(first, type, v.sizes, v.strides);
}
template <class D>
dtype dtype_of_parts(const char* op, const any_view<D>& x) {
  constexpr dtype complex_ones[] = {dtype::c64, dtype::c128};
  if (!is_complex(x.dtype())) [[unlikely]]
    raise_dtype(op, complex_ones, 2, x.dtype());
  return x.dtype() == dtype::c64 ? dtype::f32 : dtype::f64;
}
/// The real parts; of a real tensor itself.
template <class D>
any_view<D> real_of_any(const any_view<D>& x) {
  if (!is_complex(x.dtype())) return x;
  return with_dtype(x, dtype_of_parts("real", x),
                    {shape(x.sizes()), strides_of_parts(x.strides()), 0});
}
template <class D>
any_view<D> imag_of_any(const any_view<D>& x) {
  return with_dtype(x, dtype_of_parts("imag", x),
                    {shape(x.sizes()), strides_of_parts(x.strides()), 1});
}
template <class D>
any_view<D> parts_of_any(const any_view<D>& x) {
  const dtype type = dtype_of_parts("view_as_real", x);
  return with_dtype(x, type, layout_of_parts("view_as_real", x.sizes(), x.strides()));
}
template <class D>
any_view<D> complex_of_any(const any_view<D>& x) {
  constexpr dtype parts[] = {dtype::f32, dtype::f64};
  if (x.dtype() != parts[0] && x.dtype() != parts[1]) [[unlikely]]
    raise_dtype("view_as_complex", parts, 2, x.dtype());
  const dtype type = x.dtype() == dtype::f32 ? dtype::c64 : dtype::c128;
  return with_dtype(
      x, type,
      layout_of_complex(x.sizes(), x.strides(), reinterpret_cast<u64>(x.data()), size_of(type)));
}

}  // namespace flaggems::detail
