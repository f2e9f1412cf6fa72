// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Tensors as text, exactly as NumPy's str() writes them.
#pragma once

#include <flaggems/tensor/any_view.hpp>

#include <cstdio>
#include <cstdlib>
#include <iosfwd>
#include <string>
#include <string_view>

namespace flaggems {

/// How tensors are printed; the defaults are NumPy's.
struct print_options {
  int precision = 8;            ///< maximal digits after the point
  i64 threshold = 1000;         ///< with more elements than this only the ends are printed ...
  i64 edge_items = 3;           ///< ... this many at each end of a dimension
  int line_width = 75;          ///< characters per line
  bool suppress_small = false;  ///< no exponents because of small values
};

namespace detail {

/// A decimal number: +-0.d1d2d3... * 10^point; zero has no digits.
struct decimal {
  bool negative = false;
  int size = 0;
  int point = 0;
  char digits[64];

  /// The digits [first, last), zeros beyond the last.
  void write(text& to, int first, int last) const {
    for (int i = first; i < last; ++i) to += {i < 0 || i >= size ? "0" : digits + i, 1};
  }
};

/// `x` with `count` significant digits (50 at most), correctly rounded. The locale's decimal point
/// is skipped.
inline decimal decimal_of(f64 x, int count) {
  decimal r;
  r.negative = __builtin_signbit(x);
  if (x == 0) return r;
  char written[64];
  std::snprintf(written, sizeof written, "%.*e", count - 1, __builtin_fabs(x));
  const char* p = written;
  for (; *p != 'e' && *p != '\0'; ++p)
    if (*p >= '0' && *p <= '9') r.digits[r.size++] = *p;
  r.point = (*p == 'e' ? std::atoi(p + 1) : 0) + 1;
  while (r.size != 0 && r.digits[r.size - 1] == '0') --r.size;
  return r;
}

/// Whether a number printed for type D reads back as itself.
inline bool reads_back(f64 x, int count, dtype d) {
  char written[64];
  std::snprintf(written, sizeof written, "%.*e", count - 1, x);
  const f64 back = std::strtod(written, nullptr);
  switch (d) {
    case dtype::f32:
    case dtype::c64: return std::strtof(written, nullptr) == static_cast<f32>(x);
    case dtype::f16: return static_cast<f64>(f16(back)) == x;
    case dtype::bf16: return static_cast<f64>(bf16(back)) == x;
    case dtype::f8e4m3: return static_cast<f64>(f8e4m3(back)) == x;
    case dtype::f8e5m2: return static_cast<f64>(f8e5m2(back)) == x;
    default: return back == x;
  }
}

/// The fewest digits that read back as `x` in type D.
inline decimal shortest_decimal(f64 x, dtype d) {
  int count = 1;
  while (count < 17 && !reads_back(x, count, d)) ++count;
  return decimal_of(x, count);
}

inline int width_of(const text& t) { return static_cast<int>(t.view().size()); }

/// `t`, padded with spaces on the left to `width`.
inline text right_aligned(const text& t, int width) {
  text r;
  for (int i = width_of(t); i < width; ++i) r += " ";
  return r + t;
}

/// The parts of a printed number: before and after its point, and the exponent.
struct written_number {
  text whole, fraction, exponent;

  written_number(const decimal& v, bool plus) : whole(v.negative ? "-" : plus ? "+" : "") {}
};

/// "-12.5", "3.": at most `precision` digits after the point.
inline written_number positional(f64 x, dtype d, int precision, bool plus) {
  decimal v = shortest_decimal(x, d);
  if (v.size - v.point > precision) {
    // Rounded from the exact value, not from the shortest digits.
    const int count = v.point + precision;
    if (count > 0) {
      v = decimal_of(x, count);
    } else {
      // No digit remains unless the first one rounds up to the last position (a tie goes to zero).
      const bool up = count == 0 && __builtin_fabs(x) > 0.5 * __builtin_pow(10.0, -precision);
      v.size = up;
      v.digits[0] = '1';
      v.point = 1 - precision;
    }
  }
  written_number r(v, plus);
  if (v.size == 0 || v.point <= 0) r.whole += "0";
  if (v.size == 0) return r;
  v.write(r.whole, 0, v.point);
  v.write(r.fraction, v.point, v.size);
  return r;
}

/// "-1.25e+10": `least_digits` to `precision` digits after the point; at least `exponent_digits`
/// (2) in the exponent.
inline written_number scientific(f64 x, dtype d, int precision, int least_digits,
                                 int exponent_digits, bool plus) {
  decimal v = shortest_decimal(x, d);
  // Instead of padding with zeros NumPy prints digits of the exact value.
  if (v.size > precision + 1 || v.size < least_digits + 1)
    v = decimal_of(x, (v.size > precision + 1 ? precision : least_digits) + 1);
  written_number r(v, plus);
  v.write(r.whole, 0, 1);
  v.write(r.fraction, 1, v.size > least_digits ? v.size : least_digits + 1);
  const int exponent = v.size == 0 ? 0 : v.point - 1;
  char tail[16];
  std::snprintf(tail, sizeof tail, "e%c%0*d", exponent < 0 ? '-' : '+', exponent_digits,
                exponent < 0 ? -exponent : exponent);
  r.exponent += tail;
  return r;
}

/// 10 ^ (the type's decimal digits, at most 8): where NumPy starts to use exponents.
inline f64 exponent_threshold(dtype d) {
  switch (d) {
    case dtype::f64:
    case dtype::c128: return 1e8;
    case dtype::f32:
    case dtype::c64: return 1e6;
    default: return 1e3;
  }
}
inline f64 small_threshold(dtype d) {  // 0.0001 as a value of the type
  switch (d) {
    case dtype::f64:
    case dtype::c128: return 0.0001;
    case dtype::f16: return static_cast<f64>(f16(0.0001));
    default: return static_cast<f64>(0.0001f);
  }
}

inline text non_finite(f64 x, bool plus) {
  if (__builtin_isnan(x)) return text(plus ? "+nan" : "nan");
  return text(x < 0 ? "-inf" : plus ? "+inf" : "inf");
}

/// Formats numbers to one width with aligned points.
class aligned_floats {
 public:
  /// For the numbers that `each(f)` passes to f.
  template <class Each>
  aligned_floats(const Each& each, dtype d, const print_options& options, bool plus)
      : type_(d), precision_(options.precision), plus_(plus) {
    f64 largest = 0, smallest = 0;
    bool all_finite = true, negative_infinity = plus;
    each([&](f64 x) {
      if (!__builtin_isfinite(x)) {
        all_finite = false;
        negative_infinity = negative_infinity || (__builtin_isinf(x) && x < 0);
      } else if (const f64 a = __builtin_fabs(x); a != 0) {
        largest = a > largest ? a : largest;
        smallest = smallest == 0 || a < smallest ? a : smallest;
      }
    });
    exponents_ = largest != 0 && (largest >= exponent_threshold(d) ||
                                  (!options.suppress_small &&
                                   (smallest < small_threshold(d) || largest / smallest > 1000.0)));
    each([&](f64 x) {
      if (!__builtin_isfinite(x)) return;
      const written_number w = write(x);
      left_ = larger(left_, width_of(w.whole));
      right_ = larger(right_, width_of(w.fraction));
      exponent_digits_ = larger(exponent_digits_, width_of(w.exponent) - 2);
    });
    digits_ = right_;
    if (exponents_) right_ += exponent_digits_ + 2;
    if (!all_finite) left_ = larger(left_, (negative_infinity ? 4 : 3) - (right_ + 1));
  }

  [[nodiscard]] text operator()(f64 x) const {
    if (!__builtin_isfinite(x)) return right_aligned(non_finite(x, plus_), left_ + 1 + right_);
    const written_number w = write(x);
    text r = right_aligned(w.whole, left_) + "." + w.fraction + w.exponent;
    while (width_of(r) < left_ + 1 + right_) r += " ";
    return r;
  }

 private:
  static int larger(int a, int b) { return a > b ? a : b; }

  [[nodiscard]] written_number write(f64 x) const {
    return exponents_ ? scientific(x, type_, precision_, digits_, exponent_digits_, plus_)
                      : positional(x, type_, precision_, plus_);
  }

  dtype type_;
  int precision_;
  bool plus_;
  bool exponents_ = false;
  // Characters before and after the points; digits after them, and in the exponents.
  int left_ = 0, right_ = 0, digits_ = 0, exponent_digits_ = 2;
};

/// A single number, as str() of a NumPy scalar; `whole` is the ending without a fraction.
inline text lone_float(f64 x, dtype d, const char* whole = ".0", bool plus = false) {
  if (!__builtin_isfinite(x)) return non_finite(x, plus);
  const f64 a = __builtin_fabs(x);
  const f64 large = d == dtype::f64 || d == dtype::c128 ? 1e16 : exponent_threshold(d);
  const bool exponent = a != 0 && (a < 1e-4 || a >= large);
  const written_number w =
      exponent ? scientific(x, d, 17, 0, 2, plus) : positional(x, d, 400, plus);
  if (!w.fraction.empty()) return w.whole + "." + w.fraction + w.exponent;
  return w.whole + (exponent ? w.exponent.c_str() : whole);  // "1.5e-05", but "1e-05"
}

/// As Python writes it: "(1+2j)", "2j".
inline text lone_complex(f64 re, f64 im, dtype d) {
  if (re == 0 && !__builtin_signbit(re)) return lone_float(im, d, "") + "j";
  return "(" + lone_float(re, d, "") + lone_float(im, d, "", true) + "j)";
}

/// A view's elements as words of one width, with brackets, line breaks and ellipses.
template <class T>
class printer {
 public:
  printer(const tensor_view<const T, host>& v, const print_options& options)
      : data_(v.data()),
        sizes_(v.sizes()),
        strides_(v.strides()),
        options_(options),
        elide_(v.numel() > options.threshold) {}

  [[nodiscard]] std::string print() const {
    constexpr dtype d = dtype_of<T>;
    const bool alone = sizes_.rank() == 0;
    if constexpr (is_complex(d)) {
      if (alone) return lone_complex(static_cast<f64>(data_->re), static_cast<f64>(data_->im), d);
      const aligned_floats re([&](auto f) { for_each([&](T x) { f(static_cast<f64>(x.re)); }); }, d,
                              options_, false);
      const aligned_floats im([&](auto f) { for_each([&](T x) { f(static_cast<f64>(x.im)); }); }, d,
                              options_, true);
      return print([&](T x) {
        // The j precedes the spaces that align the imaginary part.
        const text imaginary = im(static_cast<f64>(x.im));
        const std::string_view all = imaginary.view();
        const std::size_t end = all.find_last_not_of(' ') + 1;
        return re(static_cast<f64>(x.re)) + all.substr(0, end) + "j" + all.substr(end);
      });
    } else if constexpr (is_floating_point(d)) {
      if (alone) return lone_float(static_cast<f64>(*data_), d);
      return print(aligned_floats([&](auto f) { for_each([&](T x) { f(static_cast<f64>(x)); }); },
                                  d, options_, false));
    } else {
      // NumPy gives booleans one width even if all are True.
      int width = d == dtype::bool_ && !alone ? 5 : 0;
      const auto word = [](T x) {
        if constexpr (d == dtype::bool_)
          return text(x ? "True" : "False");
        else
          return text(+x);
      };
      for_each([&](T x) { width = width_of(word(x)) > width ? width_of(word(x)) : width; });
      return print([&](T x) { return right_aligned(word(x), width); });
    }
  }

 private:
  template <class Word>
  std::string print(const Word& word) const {
    return block(data_, 0, " ", options_.line_width < 0 ? 0 : options_.line_width, word);
  }

  /// Whether a dimension is abbreviated to its ends.
  [[nodiscard]] bool dots(int axis) const {
    return elide_ && options_.edge_items < sizes_[axis] - options_.edge_items;
  }

  /// Calls f(pointer, index) for the printed entries of a dimension, in order.
  template <class F>
  void along(const T* data, int axis, const F& f) const {
    const i64 n = sizes_[axis], edge = options_.edge_items;
    for (i64 i = 0; i < n; ++i) {
      if (dots(axis) && i == edge) i = n - edge;
      if (i < n) f(data + i * strides_[axis], i);
    }
  }

  /// Calls `f` with the printed elements, in row-major order.
  template <class F>
  void for_each(const F& f) const {
    for_each(data_, 0, f);
  }
  template <class F>
  void for_each(const T* data, int axis, const F& f) const {
    if (axis == sizes_.rank()) return f(*data);
    along(data, axis, [&](const T* p, i64) { for_each(p, axis + 1, f); });
  }

  template <class Word>
  std::string block(const T* data, int axis, const std::string& indent, int width,
                    const Word& word) const {
    if (axis == sizes_.rank()) return word(*data);
    const i64 n = sizes_[axis], edge = options_.edge_items;
    const bool has_dots = dots(axis);
    std::string all;
    if (axis + 1 == sizes_.rank()) {
      std::string line = indent;
      const std::size_t most = width > 1 ? static_cast<std::size_t>(width - 1) : 0;
      const auto extend = [&](std::string_view next, bool last) {
        if (line.size() + next.size() > most && line.size() > indent.size()) {
          line.erase(line.find_last_not_of(' ') + 1);
          all += line + '\n';
          line = indent;
        }
        line += next;
        if (!last) line += ' ';
      };
      if (has_dots && edge == 0) extend("...", true);
      along(data, axis, [&](const T* p, i64 i) {
        if (has_dots && i == n - edge) extend("...", false);
        extend(word(*p), i + 1 == n);
      });
      all += line;
    } else {
      const std::string newlines(static_cast<std::size_t>(sizes_.rank() - axis - 1), '\n');
      if (has_dots && edge == 0) all += indent + "...";
      along(data, axis, [&](const T* p, i64 i) {
        if (has_dots && i == n - edge) all.append(indent).append("...").append(newlines);
        all.append(indent).append(block(p, axis + 1, indent + ' ', width - 1, word));
        if (i + 1 != n) all += newlines;
      });
    }
    return '[' + all.substr(indent.size()) + ']';
  }

  const T* data_;
  shape sizes_, strides_;
  const print_options& options_;
  bool elide_;
};

}  // namespace detail

/// The elements as NumPy's str() writes them: aligned, at most 8 digits, abbreviated above 1000
/// elements. Small floats get the fewest digits that distinguish them.
template <tensor_like X>
requires std::is_same_v<device_t<X>, host>
[[nodiscard]] std::string to_string(const X& x, const print_options& options = {}) {
  check(options.edge_items >= 0 && options.precision >= 0 && options.precision <= 40,
        errc::invalid_argument, "to_string", "edge_items >= 0 and precision in [0, 40]");
  const tensor_view<const value_t<X>, host> v = as_view(x);
  if (v.empty()) return "[]";
  return detail::printer<value_t<X>>(v, options).print();
}

/// The same of a view with a run-time dtype. (A template, so that only users of it compile it for
/// every dtype.)
template <std::same_as<host> D>
[[nodiscard]] std::string to_string(const any_view<D>& v, const print_options& options = {}) {
  return visit(v, [&](auto typed) { return to_string(typed, options); });
}

namespace detail {
template <class>
inline constexpr bool is_printed = false;
/// Deleted: the host cannot read the elements.
template <class X>
const char* refuse_printing() {
  static_assert(is_printed<X>,
                "flaggems: tensors are printed from the host's memory: to_host(stream, x) copies "
                "one there");
  return "";
}
}  // namespace detail
/// Deleted for a tensor of another device.
template <tensor_like X>
requires(!std::is_same_v<device_t<X>, host>) const
    char* to_string(const X&, const print_options& = {}) {
  return detail::refuse_printing<X>();
}
template <class Traits, tensor_like X>
requires(!std::is_same_v<device_t<X>, host>) std::basic_ostream<char, Traits>
&operator<<(std::basic_ostream<char, Traits>& out, const X&) {
  detail::refuse_printing<X>();
  return out;
}

// Templates on the stream, so that <iosfwd> suffices: <ostream> is expensive to compile.
template <class Traits, tensor_like X>
requires std::is_same_v<device_t<X>, host> std::basic_ostream<char, Traits>
&operator<<(std::basic_ostream<char, Traits>& out, const X& x) {
  return out << to_string(x).c_str();
}
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out,
                                             const any_view<host>& v) {
  return out << to_string(v).c_str();
}

}  // namespace flaggems
