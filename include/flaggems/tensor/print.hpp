// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Tensors as text, character for character as NumPy's str() writes them.
#pragma once

#include <flaggems/tensor/any_view.hpp>

#include <cstdio>
#include <cstdlib>
#include <iosfwd>
#include <string>
#include <vector>

namespace flaggems {

/// How tensors are printed; the defaults are NumPy's.
struct print_options {
  int precision = 8;            ///< most digits behind the point
  i64 threshold = 1000;         ///< with more elements than this only the edges are printed ...
  i64 edge_items = 3;           ///< ... this many at each end of a dimension
  int line_width = 75;          ///< characters a line, before which lines are broken
  bool suppress_small = false;  ///< no exponents because of small values
};

namespace detail {

/// A decimal number: +-0.d1d2d3... * 10^point; zero has no digits.
struct decimal {
  bool negative = false;
  std::string digits;
  int point = 0;
};

/// `x` with `count` significant digits, correctly rounded. Whatever the locale writes as a point is
/// skipped.
inline decimal decimal_of(f64 x, int count) {
  decimal r;
  r.negative = __builtin_signbit(x);
  if (x == 0) return r;
  char text[64];
  std::snprintf(text, sizeof text, "%.*e", count - 1, __builtin_fabs(x));
  const char* p = text;
  for (; *p != 'e' && *p != '\0'; ++p)
    if (*p >= '0' && *p <= '9') r.digits += *p;
  r.point = (*p == 'e' ? std::atoi(p + 1) : 0) + 1;
  while (!r.digits.empty() && r.digits.back() == '0') r.digits.pop_back();
  return r;
}

/// What a number printed for type D must read back as.
inline bool reads_back(f64 x, int count, dtype d) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*e", count - 1, x);
  const f64 back = std::strtod(text, nullptr);
  switch (d) {
    case dtype::f32:
    case dtype::c64: return std::strtof(text, nullptr) == static_cast<f32>(x);
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

inline std::string sign_of(const decimal& v, bool plus) {
  return v.negative ? "-" : plus ? "+" : "";
}

/// "-12.5", "3." : at most `precision` digits behind the point.
inline std::string positional(f64 x, dtype d, int precision, bool plus) {
  decimal v = shortest_decimal(x, d);
  if (static_cast<int>(v.digits.size()) - v.point > precision) {
    // Rounded from the exact value, not from the shortest digits.
    const int count = v.point + precision;
    if (count > 0) {
      v = decimal_of(x, count);
    } else {
      // No digit is left unless the first one rounds up to the last place (a tie goes to zero).
      const bool up = count == 0 && __builtin_fabs(x) > 0.5 * __builtin_pow(10.0, -precision);
      v.digits = up ? "1" : "";
      v.point = 1 - precision;
    }
  }
  std::string text = sign_of(v, plus);
  if (v.digits.empty()) return text + "0.";
  if (v.point <= 0) text += '0';
  for (int i = 0; i < v.point; ++i)
    text += i < static_cast<int>(v.digits.size()) ? v.digits[static_cast<std::size_t>(i)] : '0';
  text += '.';
  for (int i = v.point; i < static_cast<int>(v.digits.size()); ++i)
    text += i < 0 ? '0' : v.digits[static_cast<std::size_t>(i)];
  return text;
}

/// "-1.25e+10": at most `precision` digits behind the point, at least `least_digits`; at least
/// `exponent_digits` (2) in the exponent.
inline std::string scientific(f64 x, dtype d, int precision, int least_digits, int exponent_digits,
                              bool plus) {
  decimal v = shortest_decimal(x, d);
  const int count = static_cast<int>(v.digits.size());
  // Where zeros would be added NumPy gives the digits of the exact value instead.
  if (count > precision + 1 || count < least_digits + 1)
    v = decimal_of(x, (count > precision + 1 ? precision : least_digits) + 1);
  std::string text = sign_of(v, plus);
  text += v.digits.empty() ? '0' : v.digits[0];
  text += '.';
  if (v.digits.size() > 1) text.append(v.digits, 1);
  for (int i = static_cast<int>(v.digits.empty() ? 0 : v.digits.size() - 1); i < least_digits; ++i)
    text += '0';
  const int exponent = v.digits.empty() ? 0 : v.point - 1;
  char tail[16];
  std::snprintf(tail, sizeof tail, "e%c%0*d", exponent < 0 ? '-' : '+', exponent_digits,
                exponent < 0 ? -exponent : exponent);
  return text += tail;
}

/// 10 ^ (the decimal digits that a type keeps, at most 8): where NumPy begins to use exponents.
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

inline std::string non_finite(f64 x, bool plus) {
  if (__builtin_isnan(x)) return plus ? "+nan" : "nan";
  return x < 0 ? "-inf" : plus ? "+inf" : "inf";
}

/// All numbers as words of one width with their points below each other.
inline std::vector<std::string> align_floats(const std::vector<f64>& values, dtype d,
                                             const print_options& options, bool plus) {
  f64 largest = 0, smallest = 0;
  bool all_finite = true, negative_infinity = plus;
  for (const f64 x : values) {
    if (!__builtin_isfinite(x)) {
      all_finite = false;
      negative_infinity = negative_infinity || (__builtin_isinf(x) && x < 0);
    } else if (const f64 a = __builtin_fabs(x); a != 0) {
      largest = a > largest ? a : largest;
      smallest = smallest == 0 || a < smallest ? a : smallest;
    }
  }
  const bool exponents =
      largest != 0 &&
      (largest >= exponent_threshold(d) ||
       (!options.suppress_small && (smallest < small_threshold(d) || largest / smallest > 1000.0)));

  std::size_t left = 0, right = 0, exponent = 0;
  std::vector<std::string> words(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!__builtin_isfinite(values[i])) continue;
    words[i] = exponents ? scientific(values[i], d, options.precision, 0, 2, plus)
                         : positional(values[i], d, options.precision, plus);
    const std::size_t point = words[i].find('.');
    const std::size_t end = exponents ? words[i].find('e') : words[i].size();
    left = point > left ? point : left;
    right = end - point - 1 > right ? end - point - 1 : right;
    exponent =
        exponents && words[i].size() - end - 2 > exponent ? words[i].size() - end - 2 : exponent;
  }
  const std::size_t digits = right;
  if (exponents) right += exponent + 2;
  if (!all_finite) {
    const std::size_t offset = right + 1, inf = negative_infinity ? 4 : 3;
    left = left + offset < 3 ? 3 - offset : left;
    left = left + offset < inf ? inf - offset : left;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::string& word = words[i];
    if (!__builtin_isfinite(values[i])) {
      word = non_finite(values[i], plus);
      if (word.size() < left + right + 1) word.insert(0, left + right + 1 - word.size(), ' ');
      continue;
    }
    if (exponents)
      word = scientific(values[i], d, options.precision, static_cast<int>(digits),
                        static_cast<int>(exponent), plus);
    const std::size_t point = word.find('.');
    if (!exponents) word.append(right - (word.size() - point - 1), ' ');
    word.insert(0, left - point, ' ');
  }
  return words;
}

/// A number on its own, as str() of a NumPy scalar; `whole` is what it ends in without a fraction.
inline std::string lone_float(f64 x, dtype d, const char* whole = ".0", bool plus = false) {
  if (!__builtin_isfinite(x)) return non_finite(x, plus);
  const f64 a = __builtin_fabs(x);
  const f64 large = d == dtype::f64 || d == dtype::c128 ? 1e16 : exponent_threshold(d);
  std::string text;
  if (a != 0 && (a < 1e-4 || a >= large))
    text = scientific(x, d, 17, 0, 2, plus);
  else
    text = positional(x, d, 400, plus);
  const std::size_t point = text.find('.');  // "1.5e-05", but "1e-05"
  if (point + 1 == text.size())
    text.replace(point, 1, whole);
  else if (text[point + 1] == 'e')
    text.erase(point, 1);
  return text;
}

/// As Python writes it: "(1+2j)", "2j".
inline std::string lone_complex(f64 re, f64 im, dtype d) {
  if (re == 0 && !__builtin_signbit(re)) return lone_float(im, d, "") + 'j';
  return '(' + lone_float(re, d, "") + lone_float(im, d, "", true) + "j)";
}

/// Brackets, line breaks and dots around words, which are those of the elements shown, in order.
class layout_words {
 public:
  layout_words(const shape& sizes, const print_options& options, bool elide,
               std::vector<std::string> words)
      : sizes_(sizes), options_(options), elide_(elide), words_(std::move(words)) {}

  std::string block(int axis, const std::string& indent, int width) {
    if (axis == sizes_.rank()) return words_[next_++];
    const i64 n = sizes_[axis], edge = options_.edge_items;
    const bool dots = elide_ && edge < n - edge;
    const i64 count = dots ? 2 * edge : n, leading = dots ? edge : 0;
    std::string text;
    if (axis + 1 == sizes_.rank()) {
      std::string line = indent;
      const std::size_t most = width > 1 ? static_cast<std::size_t>(width - 1) : 0;
      const auto extend = [&](const std::string& word, bool last) {
        if (line.size() + word.size() > most && line.size() > indent.size()) {
          line.erase(line.find_last_not_of(' ') + 1);
          text += line + '\n';
          line = indent;
        }
        line += word;
        if (!last) line += ' ';
      };
      for (i64 i = 0; i < count; ++i) {
        if (dots && i == leading) extend("...", false);
        extend(words_[next_++], i + 1 == count);
      }
      if (dots && count == 0) extend("...", true);
      text += line;
    } else {
      const std::string newlines(static_cast<std::size_t>(sizes_.rank() - axis - 1), '\n');
      for (i64 i = 0; i < count; ++i) {
        if (dots && i == leading) text.append(indent).append("...").append(newlines);
        text.append(indent).append(block(axis + 1, indent + ' ', width - 1));
        if (i + 1 != count) text += newlines;
      }
      if (dots && count == 0) text += indent + "...";
    }
    return '[' + text.substr(indent.size()) + ']';
  }

 private:
  const shape& sizes_;
  const print_options& options_;
  bool elide_;
  std::vector<std::string> words_;
  std::size_t next_ = 0;
};

/// Calls `f` with the elements that are printed, in row-major order.
template <class T, class F>
void for_each_shown(const T* data, const shape& sizes, const shape& strides, int axis, bool elide,
                    i64 edge, F& f) {
  if (axis == sizes.rank()) {
    f(*data);
    return;
  }
  const i64 n = sizes[axis];
  const bool dots = elide && edge < n - edge;
  for (i64 i = 0; i < n; ++i) {
    if (dots && i == edge) i = n - edge;
    if (i < n) for_each_shown(data + i * strides[axis], sizes, strides, axis + 1, elide, edge, f);
  }
}

inline void align_right(std::vector<std::string>& words) {
  std::size_t width = 0;
  for (const std::string& word : words) width = word.size() > width ? word.size() : width;
  for (std::string& word : words) word.insert(0, width - word.size(), ' ');
}

template <class T>
std::vector<std::string> words_of(const tensor_view<const T, host>& v, const print_options& options,
                                  bool elide) {
  const shape sizes = v.sizes(), strides = v.strides();
  constexpr dtype d = dtype_of<T>;
  std::vector<std::string> words;
  if constexpr (is_complex(d)) {
    std::vector<f64> re, im;
    auto take = [&](T x) {
      re.push_back(static_cast<f64>(x.re));
      im.push_back(static_cast<f64>(x.im));
    };
    for_each_shown(v.data(), sizes, strides, 0, elide, options.edge_items, take);
    if (sizes.rank() == 0) return {lone_complex(re[0], im[0], d)};
    words = align_floats(re, d, options, false);
    const std::vector<std::string> imaginary = align_floats(im, d, options, true);
    for (std::size_t i = 0; i < words.size(); ++i) {
      std::string word = imaginary[i];
      word.insert(word.find_last_not_of(' ') + 1, "j");
      words[i] += word;
    }
  } else if constexpr (is_floating_point(d)) {
    std::vector<f64> values;
    auto take = [&](T x) { values.push_back(static_cast<f64>(x)); };
    for_each_shown(v.data(), sizes, strides, 0, elide, options.edge_items, take);
    if (sizes.rank() == 0) return {lone_float(values[0], d)};
    words = align_floats(values, d, options, false);
  } else {
    auto take = [&](T x) {
      if constexpr (d == dtype::bool_)
        words.push_back(x ? "True" : "False");
      else
        words.push_back(std::to_string(x));
    };
    for_each_shown(v.data(), sizes, strides, 0, elide, options.edge_items, take);
    // NumPy gives booleans one width even where all are True.
    if (d == dtype::bool_ && sizes.rank() > 0)
      for (std::string& word : words) word.insert(0, 5 - word.size(), ' ');
    align_right(words);
  }
  return words;
}

}  // namespace detail

/// The elements as NumPy's str() writes them: aligned, 8 digits at most, above 1000 elements only
/// the edges. The small floats get the fewest digits that tell them apart.
template <tensor_like X>
requires std::is_same_v<device_t<X>, host>
[[nodiscard]] std::string to_string(const X& x, const print_options& options = {}) {
  check(options.edge_items >= 0 && options.precision >= 0 && options.precision <= 40,
        errc::invalid_argument, "to_string", "edge_items >= 0 and precision in [0, 40]");
  const tensor_view<const value_t<X>, host> v = as_view(x);
  if (v.empty()) return "[]";
  const shape sizes = v.sizes();
  const bool elide = v.numel() > options.threshold;
  detail::layout_words block(sizes, options, elide,
                             detail::words_of<value_t<X>>(v, options, elide));
  return block.block(0, " ", options.line_width < 0 ? 0 : options.line_width);
}

/// The same of a view whose dtype is known when the program runs. (A template, so that only who
/// prints compiles it for every dtype.)
template <std::same_as<host> D>
[[nodiscard]] std::string to_string(const any_view<D>& v, const print_options& options = {}) {
  return visit(v, [&](auto typed) { return to_string(typed, options); });
}

// Templates on the stream, so that <iosfwd> is enough here: <ostream> costs more than all of this.
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
