// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The machinery of the differential test: random shapes and view operations on operands whose
// elements are known as doubles, and the cases that compare a launch with a loop over them.
#pragma once

#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/reduce.hpp>
#include <support/ops.hpp>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <vector>

namespace flaggems_test {

using fg::kernels::number_cast;
using std::int16_t, std::int32_t, std::int8_t, std::uint8_t;

/// A small generator with cheap seeding (splitmix64), so that each case has its own.
class random_source {
 public:
  random_source(std::uint64_t seed, std::uint64_t number)
      : state_(seed * 0x9E3779B97F4A7C15u ^ (number + 1) * 0xD1B54A32D192ED03u) {}
  std::uint64_t operator()() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  /// An integer in [low, high].
  i64 operator()(i64 low, i64 high) {
    return low + static_cast<i64>((*this)() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool one_in(i64 n) { return (*this)(1, n) == 1; }

 private:
  std::uint64_t state_;
};

/// What the running case is, for the message of a failure.
struct description {
  std::ostringstream text;
  template <class V>
  void add(const char* name, const V& v) {
    text << "  " << name << ": sizes " << fg::to_string(fg::int_list(v.sizes())) << " strides "
         << fg::to_string(fg::int_list(v.strides())) << "\n";
  }
};

/// The sizes of a view and, in row-major order, which element of the buffer each of its is.
struct listing {
  shape sizes;
  std::vector<i64> index;

  /// The elements at the places that `from` gives for the coordinates of `to`.
  template <class F>
  [[nodiscard]] listing rearranged(const shape& to, F&& from) const {
    listing r{to, {}};
    i64 at[fg::max_rank] = {}, source[fg::max_rank] = {};
    const i64 n = to.numel();
    for (i64 k = 0; k < n; ++k) {
      i64 rest = k;
      for (int d = to.rank() - 1; d >= 0; --d) {
        at[d] = rest % to[d];
        rest /= to[d];
      }
      from(at, source);
      i64 place = 0;
      for (int d = 0; d < sizes.rank(); ++d) place = place * sizes[d] + source[d];
      r.index.push_back(index[static_cast<std::size_t>(place)]);
    }
    return r;
  }
};

/// One step of a chain of views.
struct step {
  enum class kind { permute, flip, slice, select, expand, squeeze, unsqueeze, merge } what;
  int dim = 0;
  i64 start = 0, by = 1, size = 0;
  shape order;  // permute: the dimensions; merge: the sizes before
};

/// A random chain that ends at `sizes`, last step first; `sizes` becomes those it starts from.
inline std::vector<step> random_chain(random_source& random, shape& sizes, bool may_expand) {
  std::vector<step> chain;
  const i64 length = random.one_in(4) ? 0 : random(1, 4);
  const auto changed = [&](int skip, int insert_at, i64 inserted) {
    shape r;
    for (int d = 0; d <= sizes.rank(); ++d) {
      if (d == insert_at) r.push_back(inserted);
      if (d < sizes.rank() && d != skip) r.push_back(sizes[d]);
    }
    return r;
  };
  for (i64 k = 0; k < length; ++k) {
    const int rank = sizes.rank();
    const int dim = rank > 0 ? static_cast<int>(random(0, rank - 1)) : 0;
    step s{static_cast<step::kind>(random(0, 7)), dim, 0, 1, 0, {}};
    switch (s.what) {
      case step::kind::permute: {
        if (rank < 2) continue;
        shape before = sizes;
        for (int d = 0; d < rank; ++d) s.order.push_back(d);
        for (int d = rank - 1; d > 0; --d)
          std::swap(s.order[d], s.order[static_cast<int>(random(0, d))]);
        for (int d = 0; d < rank; ++d) before[static_cast<int>(s.order[d])] = sizes[d];
        sizes = before;
        break;
      }
      case step::kind::flip:
        if (rank == 0) continue;
        break;
      case step::kind::slice: {
        if (rank == 0 || sizes.numel() > 4000) continue;
        s.start = random(0, 2);
        s.by = random(1, 3);
        s.size = sizes[dim];
        sizes[dim] = s.start + (s.size == 0 ? 0 : (s.size - 1) * s.by + 1) + random(0, 2);
        break;
      }
      case step::kind::select: {
        if (rank == fg::max_rank || sizes.numel() > 4000) continue;
        s.dim = static_cast<int>(random(0, rank));
        s.size = random(1, 3);
        s.start = random(0, s.size - 1);
        sizes = changed(-1, s.dim, s.size);
        break;
      }
      case step::kind::expand:
        if (!may_expand || rank == 0 || sizes[dim] == 0) continue;
        s.size = sizes[dim];
        sizes[dim] = 1;
        break;
      case step::kind::squeeze:
        if (rank == fg::max_rank) continue;
        s.dim = static_cast<int>(random(0, rank));
        sizes = changed(-1, s.dim, 1);
        break;
      case step::kind::unsqueeze:
        if (rank == 0 || sizes[dim] != 1) continue;
        sizes = changed(dim, -1, 0);
        break;
      case step::kind::merge: {  // by `view`: only of a contiguous start, so the chain ends here
        if (rank == 0 || rank == fg::max_rank) continue;
        const i64 factor = sizes[dim] % 2 == 0 ? 2 : 1;
        shape split;
        for (int d = 0; d < rank; ++d) {
          if (d == dim) split.push_back(factor);
          split.push_back(d == dim ? sizes[d] / factor : sizes[d]);
        }
        s.order = sizes;
        sizes = split;
        chain.push_back(s);
        return chain;
      }
    }
    chain.push_back(s);
  }
  return chain;
}

template <class View>
View applied(const View& v, const step& s) {
  switch (s.what) {
    case step::kind::permute: return v.permute(s.order);
    case step::kind::flip: return v.flip({s.dim});
    case step::kind::slice:
      return v.slice(s.dim, s.start, s.start + (s.size == 0 ? 0 : (s.size - 1) * s.by + 1), s.by);
    case step::kind::select: return v.select(s.dim, s.start);
    case step::kind::expand: {
      shape to(v.sizes());
      to[s.dim] = s.size;
      return v.expand(to);
    }
    case step::kind::squeeze: return v.squeeze(s.dim);
    case step::kind::unsqueeze: return v.unsqueeze(s.dim);
    case step::kind::merge: return v.view(s.order);
  }
  return v;
}
listing applied(const listing& v, const step& s) {
  const int rank = v.sizes.rank();
  shape to = v.sizes;
  const auto without = [&](int dim) {
    shape r;
    for (int d = 0; d < rank; ++d)
      if (d != dim) r.push_back(v.sizes[d]);
    return r;
  };
  switch (s.what) {
    case step::kind::permute:
      for (int d = 0; d < rank; ++d) to[d] = v.sizes[static_cast<int>(s.order[d])];
      return v.rearranged(to, [&](const i64* at, i64* from) {
        for (int d = 0; d < rank; ++d) from[s.order[d]] = at[d];
      });
    case step::kind::flip:
      return v.rearranged(to, [&](const i64* at, i64* from) {
        std::copy(at, at + rank, from);
        from[s.dim] = to[s.dim] - 1 - at[s.dim];
      });
    case step::kind::slice:
      to[s.dim] = s.size;
      return v.rearranged(to, [&](const i64* at, i64* from) {
        std::copy(at, at + rank, from);
        from[s.dim] = s.start + s.by * at[s.dim];
      });
    case step::kind::select:
    case step::kind::squeeze:
      return v.rearranged(without(s.dim), [&](const i64* at, i64* from) {
        for (int d = 0, k = 0; d < rank; ++d) from[d] = d == s.dim ? s.start : at[k++];
      });
    case step::kind::expand:
      to[s.dim] = s.size;
      return v.rearranged(to, [&](const i64* at, i64* from) {
        std::copy(at, at + rank, from);
        from[s.dim] = 0;
      });
    case step::kind::unsqueeze: {
      shape wider;
      for (int d = 0; d <= rank; ++d) {
        if (d == s.dim) wider.push_back(1);
        if (d < rank) wider.push_back(v.sizes[d]);
      }
      return v.rearranged(wider, [&](const i64* at, i64* from) {
        for (int d = 0, k = 0; d <= rank; ++d)
          if (d != s.dim) from[k++] = at[d];
      });
    }
    case step::kind::merge: return {s.order, v.index};
  }
  return v;
}

/// A number that every type holds exactly and whose sums and products stay exact.
template <class T>
T random_number(random_source& random) {
  if constexpr (std::is_same_v<T, bool>)
    return random.one_in(2);
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(random(std::is_signed_v<T> ? -5 : 0, 5));
  else
    return static_cast<T>(static_cast<float>(random(-12, 12)) / 4);
}

/// A buffer and a view of it.
template <class T>
struct random_operand {
  std::vector<T> buffer;  // T is bool: std::vector<bool> has no data()
  fg::tensor_view<T, host> view;
  listing model;
  std::vector<T> before;

  random_operand(random_source& random, const shape& sizes, bool may_expand) {
    shape base = sizes;
    const std::vector<step> chain = random_chain(random, base, may_expand);
    buffer.resize(static_cast<std::size_t>(base.numel()) + 1);
    for (T& x : buffer) x = random_number<T>(random);
    // One element off, half of the time.
    const i64 first = random(0, 1);
    buffer.insert(buffer.begin(), static_cast<std::size_t>(first), T(1));
    before = buffer;
    view = fg::tensor_view<T, host>(buffer.data() + first, base);
    model.sizes = base;
    for (i64 k = 0; k < base.numel(); ++k) model.index.push_back(k + first);
    for (auto s = chain.rbegin(); s != chain.rend(); ++s) {
      view = applied(view, *s);
      model = applied(model, *s);
    }
  }
  /// The value of element k of the view as it was, as a double.
  [[nodiscard]] double value(i64 k) const {
    return number_cast<f64>(
        before[static_cast<std::size_t>(model.index[static_cast<std::size_t>(k)])]);
  }
};
template <>
struct random_operand<bool> {
  std::vector<unsigned char> buffer, before;
  fg::tensor_view<bool, host> view;
  listing model;

  random_operand(random_source& random, const shape& sizes, bool may_expand) {
    random_operand<uint8_t> bytes(random, sizes, may_expand);
    buffer = bytes.buffer;
    for (unsigned char& x : buffer) x = static_cast<unsigned char>(x % 2);
    before = buffer;
    static_assert(sizeof(bool) == 1);
    view = fg::tensor_view<bool, host>(
        reinterpret_cast<bool*>(buffer.data() + (bytes.view.data() - bytes.buffer.data())),
        bytes.view.sizes(), bytes.view.strides());
    model = bytes.model;
  }
  [[nodiscard]] double value(i64 k) const {
    return before[static_cast<std::size_t>(model.index[static_cast<std::size_t>(k)])];
  }
};

inline shape random_shape(random_source& random) {
  shape sizes;
  const i64 rank = random(0, 5) + random(0, 3);
  // Now and then long enough for several tiles, near where one ends.
  i64 limit = random.one_in(200) ? 70000 : 300;
  for (i64 d = 0; d < rank; ++d) {
    i64 size = random.one_in(60) ? 0 : random(1, 7);
    if (limit > 300 && random.one_in(2)) size = 1024 * (i64{1} << random(0, 5)) + random(-1, 1);
    if (size > limit) size = 1;
    if (size > 0) limit /= size;
    sizes.push_back(size);
  }
  if (rank < 8 && random.one_in(3)) sizes.push_back(random(1, (std::min)(limit, i64{70})));
  return sizes;
}
/// Sizes that broadcast to `sizes`.
inline shape random_broadcast(random_source& random, const shape& sizes) {
  if (!random.one_in(3)) return sizes;
  const int dropped =
      random.one_in(2) && sizes.rank() > 0 ? static_cast<int>(random(0, sizes.rank())) : 0;
  shape r;
  for (int d = dropped; d < sizes.rank(); ++d) r.push_back(random.one_in(3) ? 1 : sizes[d]);
  return r;
}
/// Where the element of index k of `sizes` is in an operand of the sizes `own` that broadcasts.
inline i64 broadcast_index(const shape& own, const shape& sizes, i64 k) {
  i64 place = 0, stride = 1;
  for (int d = sizes.rank() - 1; d >= 0; --d) {
    const i64 at = k % sizes[d];
    k /= sizes[d];
    const int o = d - (sizes.rank() - own.rank());
    if (o < 0) continue;
    if (own[o] != 1) place += at * stride;
    stride *= own[o];
  }
  return place;
}

/// `want` as an element of T: rounded, wrapped, or a truth value.
template <class T>
T element_from(double want) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
    return static_cast<T>(static_cast<i64>(want));
  else
    return number_cast<T>(want);
}

/// Compares what the output's buffer holds with what it must: new elements of the view, all else as
/// it was.
template <class T>
void expect_output(const char* name, const random_operand<T>& out, const std::vector<double>& want,
                   double tolerance) {
  using stored = typename std::decay_t<decltype(out.buffer)>::value_type;
  std::vector<stored> expected = out.before;
  std::vector<bool> written(expected.size(), false);
  for (std::size_t k = 0; k < want.size(); ++k) {
    const auto place = static_cast<std::size_t>(out.model.index[k]);
    expected[place] = static_cast<stored>(element_from<T>(want[k]));
    written[place] = true;
  }
  for (std::size_t k = 0; k < expected.size(); ++k) {
    const double x = number_cast<f64>(out.buffer[k]), y = number_cast<f64>(expected[k]);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    if (written[k] && std::abs(x - y) <= tolerance * std::abs(y)) continue;
    ADD_FAILURE() << name << ": element " << k << " of the output's buffer is " << x
                  << ", expected " << y << (written[k] ? "" : " (not part of the output)");
    return;
  }
}

/// Checks `out = expression(in...)` with the naive `formula` on doubles.
template <class Out, class... In, class E, class F>
void pointwise_case(random_source& random, description& what, const char* name, double tolerance,
                    E expression, F formula) {
  const shape sizes = random_shape(random);
  random_operand<Out> out(random, sizes, false);
  std::tuple<random_operand<In>...> in{
      random_operand<In>(random, random_broadcast(random, sizes), true)...};
  what.text << name << "\n";
  what.add("out", out.view);
  std::apply([&](auto&... x) { (what.add("operand", x.view), ...); }, in);
  std::vector<double> want;
  std::apply(
      [&](auto&... x) {
        for (i64 k = 0; k < sizes.numel(); ++k)
          want.push_back(
              static_cast<double>(formula(x.value(broadcast_index(x.model.sizes, sizes, k))...)));
        fg::assign(test_stream<host>(), out.view, expression(x.view...), name);
        expect_output(name, out, want, tolerance);
        EXPECT_TRUE(((x.buffer == x.before) && ...)) << "an operand was written";
      },
      in);
}
/// The same with the first operand as the output.
template <class T, class... In, class E, class F>
void in_place_case(random_source& random, description& what, const char* name, E expression,
                   F formula) {
  const shape sizes = random_shape(random);
  random_operand<T> out(random, sizes, false);
  std::tuple<random_operand<In>...> in{
      random_operand<In>(random, random_broadcast(random, sizes), true)...};
  what.text << name << " (in place)\n";
  what.add("out", out.view);
  std::apply([&](auto&... x) { (what.add("operand", x.view), ...); }, in);
  std::vector<double> want;
  std::apply(
      [&](auto&... x) {
        for (i64 k = 0; k < sizes.numel(); ++k)
          want.push_back(static_cast<double>(
              formula(out.value(k), x.value(broadcast_index(x.model.sizes, sizes, k))...)));
        fg::assign(test_stream<host>(), out.view, expression(out.view, x.view...), name);
        expect_output(name, out, want, 0);
      },
      in);
}

/// Folds the elements of each group in row-major order: `fold(state, value, index)`, `start` first.
template <class Out, class... In, class Run, class F, class Fold, class Finish>
void reduction_case(random_source& random, description& what, const char* name, bool one_dim,
                    bool needs_elements, Run run, F formula, double start, Fold fold,
                    Finish finish) {
  const shape sizes = random_shape(random);
  std::tuple<random_operand<In>...> in{random_operand<In>(random, sizes, true)...};
  // Which dimensions.
  shape dims;
  bool folds[fg::max_rank] = {};
  bool any = false;
  for (int d = 0; d < sizes.rank(); ++d)
    if (one_dim ? dims.rank() == 0 && random.one_in(sizes.rank() - d + 1) : random.one_in(2)) {
      dims.push_back(random.one_in(2) ? d : d - sizes.rank());
      folds[d] = any = true;
    }
  if (!any)
    for (bool& f : folds) f = true;
  const bool keepdim = random.one_in(2);
  shape kept;
  i64 count = 1;
  for (int d = 0; d < sizes.rank(); ++d) {
    if (!folds[d]) kept.push_back(sizes[d]);
    if (folds[d] && keepdim) kept.push_back(1);
    if (folds[d]) count *= sizes[d];
  }
  random_operand<Out> out(random, kept, false);
  what.text << name << " over " << fg::to_string(dims) << (keepdim ? " keepdim" : "") << "\n";
  what.add("out", out.view);
  std::apply([&](auto&... x) { (what.add("operand", x.view), ...); }, in);
  std::vector<double> state(static_cast<std::size_t>(kept.numel()), start);
  std::vector<double> extra(state.size(), -1);
  std::apply(
      [&](auto&... x) {
        for (i64 k = 0; k < sizes.numel(); ++k) {
          i64 rest = k, place = 0, stride = 1, index = 0, index_stride = 1;
          for (int d = sizes.rank() - 1; d >= 0; --d) {
            const i64 at = rest % sizes[d];
            rest /= sizes[d];
            if (folds[d]) {
              index += at * index_stride;
              index_stride *= sizes[d];
            } else {
              place += at * stride;
              stride *= sizes[d];
            }
          }
          const auto p = static_cast<std::size_t>(place);
          fold(state[p], extra[p], static_cast<double>(formula(x.value(k)...)), index);
        }
        std::vector<double> want;
        for (std::size_t k = 0; k < state.size(); ++k)
          want.push_back(finish(state[k], extra[k], count));
        if (needs_elements && count == 0) {
          EXPECT_RAISES(run(test_stream<host>(), x.view..., out.view, dims, keepdim),
                        invalid_argument, name);
          EXPECT_TRUE(out.buffer == out.before);
          return;
        }
        run(test_stream<host>(), x.view..., out.view, dims, keepdim);
        expect_output(name, out, want, 0);
        EXPECT_TRUE(((x.buffer == x.before) && ...)) << "an operand was written";
      },
      in);
}

}  // namespace flaggems_test
