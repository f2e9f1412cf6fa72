// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Einstein's sums: products of tensors whose dimensions have names, summed over what the result
// does not name. Each product of two operands is one batch of matrix products.
#pragma once

#include <flaggems/ops/cat.hpp>
#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/gemm.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/reduce.hpp>

#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace flaggems {
namespace detail {

/// An equation, read for operands of given ranks. Its indices are numbered: first those of the
/// result in order, then those that are summed.
class einsum_plan {
 public:
  FLAGGEMS_NOINLINE_ONCE einsum_plan(std::string_view equation, const std::vector<int>& ranks) {
    for (int& n : number_) n = -1;
    const std::size_t arrow = equation.find("->");
    std::string_view rest = equation.substr(0, arrow);
    int used[letters] = {}, given = 0;
    bool has_dots = false;
    for (std::size_t comma = 0; comma != rest.npos; ++given) {
      comma = rest.find(',');
      const std::vector<int> names = names_of(rest.substr(0, comma));
      if (comma != rest.npos) rest = rest.substr(comma + 1);
      if (given >= static_cast<int>(ranks.size())) continue;
      int beside = 0;
      bool own_dots = false;
      for (const int name : names) {
        own_dots = own_dots || name == dots;
        if (name != dots) ++used[name], ++beside;
      }
      const int more = ranks[static_cast<std::size_t>(given)] - beside;
      if (more < 0 || (more > 0 && !own_dots)) [[unlikely]]
        raise(errc::shape_mismatch, "einsum", "an operand with a dimension for each index",
              text(ranks[static_cast<std::size_t>(given)]) + " dimensions for " + text(beside));
      has_dots = has_dots || own_dots;
      if (own_dots && more > dotted_) dotted_ = more;
      operands_.push_back(names);
    }
    if (given != static_cast<int>(ranks.size())) [[unlikely]]
      raise(errc::invalid_argument, "einsum", "as many operands as the equation has",
            text(static_cast<i64>(ranks.size())) + " for " + text(given));
    if (arrow == equation.npos) {
      if (has_dots) put_dots();
      for (int name = 0; name < letters; ++name)
        if (used[name] == 1) number_[name] = count_++;
    } else {
      for (const int name : names_of(equation.substr(arrow + 2))) {
        if (name == dots ? number_[dots] >= 0 : number_[name] >= 0 || used[name] == 0) [[unlikely]]
          raise(errc::invalid_argument, "einsum",
                "a result with indices of the operands, each of them once", equation);
        if (name == dots)
          put_dots();
        else
          number_[name] = count_++;
      }
    }
    kept_ = count_;
    if (kept_ > max_rank) [[unlikely]]
      raise_rank("einsum", kept_);
    if (has_dots && number_[dots] < 0) put_dots();
    for (int name = 0; name < letters; ++name)
      if (used[name] > 0 && number_[name] < 0) number_[name] = count_++;
    sizes_.resize(static_cast<std::size_t>(count_), 1);
  }

  /// How many indices the result has.
  [[nodiscard]] int kept() const { return kept_; }
  /// The size of an index.
  [[nodiscard]] i64 size(i64 number) const { return sizes_[static_cast<std::size_t>(number)]; }
  [[nodiscard]] shape result_sizes() const {
    shape r;
    for (int k = 0; k < kept_; ++k) r.push_back(size(k));
    return r;
  }
  /// The numbers of an operand's dimensions, whose sizes it notes. Raises shape_mismatch if an
  /// index has other sizes, but for 1, which is repeated.
  FLAGGEMS_ONCE shape numbers_of(int operand, int_list sizes) {
    shape r;
    const std::vector<int>& names = operands_[static_cast<std::size_t>(operand)];
    const int more = sizes.size() + 1 - static_cast<int>(names.size());
    for (const int name : names) {
      if (name != dots) r.push_back(number_[name]);
      for (int k = 0; name == dots && k < more; ++k)
        r.push_back(number_[dots] + dotted_ - more + k);
    }
    for (int d = 0; d < r.rank(); ++d) {
      i64& size = sizes_[static_cast<std::size_t>(r[d])];
      if (size != 1 && sizes[d] != 1 && size != sizes[d]) [[unlikely]]
        raise(errc::shape_mismatch, "einsum", "one size for each index, or 1",
              text(size) + " and " + text(sizes[d]));
      if (size == 1) size = sizes[d];
    }
    return r;
  }

 private:
  static constexpr int letters = 52, dots = 52;  // limit

  void put_dots() {
    number_[dots] = count_;
    count_ += dotted_;
  }
  /// Letters as numbers, A to Z and then a to z, in whose order ATen sorts them.
  static std::vector<int> names_of(std::string_view list) {
    std::vector<int> r;
    bool has_dots = false;
    for (std::size_t k = 0; k < list.size(); ++k) {
      const char c = list[k];
      if (c == ' ') continue;
      if (c >= 'A' && c <= 'Z') {
        r.push_back(c - 'A');
      } else if (c >= 'a' && c <= 'z') {
        r.push_back(26 + c - 'a');
      } else if (list.substr(k, 3) == "..." && !has_dots) {
        r.push_back(dots);
        has_dots = true;
        k += 2;
      } else {
        raise(errc::invalid_argument, "einsum", "letters, and an ellipsis at most once", list);
      }
    }
    return r;
  }

  int number_[letters + 1];  // by name; -1: without a number
  int count_ = 0, kept_ = 0, dotted_ = 0;
  std::vector<std::vector<int>> operands_;
  std::vector<i64> sizes_;
};

/// An operand, or the product of some: dimensions with ascending numbers, none of size 1.
template <class T, class D>
struct einsum_factor {
  tensor_view<const T, D> view;
  shape numbers;
  std::optional<tensor<T, D>> memory{};  // of a product

  [[nodiscard]] bool has(i64 number) const { return place_of(number) >= 0; }
  [[nodiscard]] int place_of(i64 number) const {
    for (int d = 0; d < numbers.rank(); ++d)
      if (numbers[d] == number) return d;
    return -1;
  }
  /// The view with these dimensions alone, in this order; of size 1 where it has none.
  [[nodiscard]] tensor_view<const T, D> along(const shape& order) const {
    shape sizes, strides;
    for (const i64 number : order) {
      const int d = place_of(number);
      sizes.push_back(d < 0 ? 1 : view.size(d));
      strides.push_back(d < 0 ? 0 : view.stride(d));
    }
    return {unchecked_t{}, view.data(), sizes, strides};
  }
};

/// The factor of a view whose dimensions have these numbers; dimensions of one number are a
/// diagonal.
template <class T, class D>
einsum_factor<T, D> einsum_factor_of(const tensor_view<const T, D>& x, const shape& numbers) {
  shape order, sizes, strides;
  for (int d = 0; d < numbers.rank(); ++d) {
    int at = 0;
    while (at < order.rank() && order[at] < numbers[d]) ++at;
    if (at < order.rank() && order[at] == numbers[d]) {
      if (x.size(d) != sizes[at]) [[unlikely]]
        raise(errc::shape_mismatch, "einsum", "one size where an index is repeated",
              text(sizes[at]) + " and " + text(x.size(d)));
      strides[at] += x.stride(d);
    } else {
      order.insert(at, numbers[d]);
      sizes.insert(at, x.size(d));
      strides.insert(at, x.stride(d));
    }
  }
  for (int d = order.rank() - 1; d >= 0; --d)
    if (sizes[d] == 1) order.erase(d), sizes.erase(d), strides.erase(d);
  return {{unchecked_t{}, x.data(), sizes, strides}, order};
}

/// Whether `count` dimensions from `first` on may be joined into one.
template <class View>
bool are_joined(const View& v, int first, int count) {
  for (int d = first; d + 1 < first + count; ++d)
    if (v.stride(d) != v.stride(d + 1) * v.size(d + 1)) return false;
  return true;
}

/// How dimensions become those of matrices: `batch` of them stay, or are joined if there is no
/// room, then `rows` are joined, and `columns`.
struct einsum_groups {
  int batch, rows, columns;

  [[nodiscard]] bool joins_batch() const { return batch > max_rank - 2; }
  /// The view of matrices, of x or of a copy.
  template <class S, class T, class D>
  tensor_view<T, D> matrices(
      const S& stream, const tensor_view<T, D>& x,
      [[maybe_unused]] std::optional<tensor<std::remove_const_t<T>, D>>& copy) const {
    tensor_view<T, D> v = x;
    if (!are_joined(x, batch, rows) || !are_joined(x, batch + rows, columns) ||
        (joins_batch() && !are_joined(x, 0, batch))) {
      if constexpr (std::is_const_v<T>) {
        copy = copied<std::remove_const_t<T>>("einsum", stream, x);
        v = std::as_const(*copy).view();
      }
    }
    shape sizes, strides;
    const auto put = [&](int first, int count) {
      i64 n = 1;
      for (int d = first; d < first + count; ++d) n *= v.size(d);
      sizes.push_back(n);
      strides.push_back(count == 0 ? 1 : v.stride(first + count - 1));
    };
    if (joins_batch())
      put(0, batch);
    else
      for (int d = 0; d < batch; ++d) put(d, 1);
    put(batch, rows);
    put(batch + rows, columns);
    return {unchecked_t{}, v.data(), sizes, strides};
  }
};

/// x summed over dimensions with these numbers.
template <class S, class T, class D>
void einsum_sum(const S& stream, einsum_factor<T, D>& x, const shape& numbers) {
  if (numbers.rank() == 0) return;
  shape dims, kept;
  for (const i64 number : numbers) dims.push_back(x.place_of(number));
  for (const i64 number : x.numbers) {
    bool is_summed = false;
    for (const i64 other : numbers) is_summed = is_summed || number == other;
    if (!is_summed) kept.push_back(number);
  }
  x.memory = sum(stream, x.view, dims);
  x.view = std::as_const(*x.memory).view();
  x.numbers = kept;
}

/// The product of two factors, summed over the numbers that are not `kept`: by matrix products, or
/// element by element if there are none. `last`: with all dimensions of the result.
template <class S, class T, class D, class Kept>
einsum_factor<T, D> einsum_product(const S& stream, const einsum_plan& plan, einsum_factor<T, D> a,
                                   einsum_factor<T, D> b, const Kept& kept, bool last) {
  shape alone[2], both, left, right, summed, all;
  for (const i64 number : a.numbers)
    if (!b.has(number) && !kept(number)) alone[0].push_back(number);
  for (const i64 number : b.numbers)
    if (!a.has(number) && !kept(number)) alone[1].push_back(number);
  einsum_sum(stream, a, alone[0]);
  einsum_sum(stream, b, alone[1]);
  for (const i64 number : a.numbers)
    (!b.has(number) ? left : kept(number) ? both : summed).push_back(number);
  for (const i64 number : b.numbers)
    if (!a.has(number)) right.push_back(number);
  const int rank = last ? plan.kept() : both.rank() + left.rank() + right.rank();
  if (rank > max_rank) [[unlikely]]
    raise_rank("einsum", rank);
  const auto in = [](const shape& list, i64 number) {
    for (const i64 one : list)
      if (one == number) return true;
    return false;
  };
  for (i64 number = 0; all.rank() < rank; ++number)
    if (last || in(both, number) || in(left, number) || in(right, number)) all.push_back(number);
  const auto of = [&](tensor<T, D>&& made) {
    einsum_factor<T, D> r;
    r.memory = std::move(made);
    r.numbers = all;
    r.view = std::as_const(*r.memory).view();
    return r;
  };
  if (summed.rank() == 0) return of(mul(stream, a.along(all), b.along(all)));

  // In the order in which ATen has the result in memory.
  if (left.rank() > 0 && right.rank() > 0 && right[right.rank() - 1] < left[0]) {
    std::swap(a, b);
    std::swap(left, right);
  }
  const auto joined = [](shape x, const shape& y, const shape& z) {
    for (const i64 number : y) x.push_back(number);
    for (const i64 number : z) x.push_back(number);
    return x;
  };
  const shape order = joined(both, left, right);
  shape sizes, strides, packed_sizes, packed_strides;
  for (const i64 number : all) sizes.push_back(last || in(order, number) ? plan.size(number) : 1);
  for (int d = 0; d < rank; ++d) strides.push_back(1);
  for (const i64 number : order) packed_sizes.push_back(plan.size(number));
  packed_strides = contiguous_strides(packed_sizes);
  for (int k = 0; k < order.rank(); ++k)
    for (int d = 0; d < rank; ++d)
      if (all[d] == order[k]) strides[d] = packed_strides[k];
  einsum_factor<T, D> r = of(tensor<T, D>(ref(stream), sizes, strides, "einsum"));
  if (r.view.empty()) return r;
  std::optional<tensor<T, D>> copies[3];
  const tensor_view<T, D> to{unchecked_t{}, r.memory->data(), packed_sizes, packed_strides};
  const int n = both.rank();
  const auto x = einsum_groups{n, left.rank(), summed.rank()}.matrices(
      stream, a.along(joined(both, left, summed)), copies[0]);
  const auto y = einsum_groups{n, right.rank(), summed.rank()}.matrices(
      stream, b.along(joined(both, right, summed)), copies[1]);
  const auto z = einsum_groups{n, left.rank(), right.rank()}.matrices(stream, to, copies[2]);
  product("einsum", stream, x, y, z, no_bias_view{}, 1, 0);
  return r;
}

/// Which two factors are multiplied next, the first before the second.
FLAGGEMS_ONCE std::pair<i64, i64> einsum_step(int_list path, int step, int factors) {
  if (path.size() == 0) return {0, 1};
  if (path.size() < 2 * step + 2) [[unlikely]]
    raise(errc::invalid_argument, "einsum", "a path with two numbers for each product",
          to_string(path));
  i64 i = path[2 * step], j = path[2 * step + 1];
  if (j < i) std::swap(i, j);
  if (i < 0 || i == j || j >= factors) [[unlikely]]
    raise(errc::invalid_argument, "einsum", "two different operands that are left",
          text(i) + " and " + text(j));
  return {i, j};
}

}  // namespace detail

/// The sum of products that an equation names, in a new tensor: "ij,jk->ik" is a matrix product,
/// "bii->bi" diagonals, "...ij->...ji" a transpose.
///
/// Each operand has letters for its dimensions; an ellipsis stands for any number, which broadcast
/// from the right. A letter that stands twice in an operand is a diagonal; sizes of 1 are repeated.
/// Without "->" the result has the ellipsis, then the letters that stand once, A to Z and a to z.
/// Products are made from left to right, or as `path` says: pairs of places among the operands that
/// are left, where each product is put behind them. Operands: of one dtype, floating point, i64 or
/// complex; the result, and each product of several, of at most 8 dimensions, laid out as ATen's.
/// 16-bit floats are summed in f32 and rounded once a product. Raises invalid_argument or
/// shape_mismatch. aten::einsum(str equation, Tensor[] tensors, *, int[]? path=None)
template <stream_like S, tensor_list List>
[[nodiscard]] auto einsum(const S& stream, std::string_view equation, const List& tensors,
                          int_list path = {}) {
  constexpr const char* op = "einsum";
  using T = typename detail::cat_element<List>::type;
  using D = device_of<S>;
  static_assert(detail::kind_of<T> >= detail::kind::floating || std::is_same_v<T, i64>,
                "flaggems: einsum takes floating point, complex numbers or i64");
  static_assert(detail::is_list_of<List, T>, "flaggems: the operands of einsum have one dtype");
  std::vector<tensor_view<const T, D>> operands;
  std::vector<int> ranks;
  detail::for_each_operand(tensors, [&](const auto& x) {
    operands.emplace_back(as_view(x));
    ranks.push_back(operands.back().rank());
  });
  if (operands.empty()) [[unlikely]]
    raise(errc::invalid_argument, op, "at least one operand", "none");
  detail::einsum_plan plan(equation, ranks);
  std::vector<detail::einsum_factor<T, D>> factors;
  for (std::size_t k = 0; k < operands.size(); ++k)
    factors.push_back(detail::einsum_factor_of(
        operands[k], plan.numbers_of(static_cast<int>(k), operands[k].sizes())));
  if (factors.size() == 1) {
    shape all, summed;
    for (int k = 0; k < plan.kept(); ++k) all.push_back(k);
    for (const i64 number : factors[0].numbers)
      if (number >= plan.kept()) summed.push_back(number);
    if (summed.rank() == 0)
      return detail::copied<T>(op, stream, factors[0].along(all), memory_format::preserve_format);
    shape order = all, dims;
    for (const i64 number : summed) {
      dims.push_back(order.rank());
      order.push_back(number);
    }
    return sum(stream, factors[0].along(order), dims);
  }
  for (int step = 0; factors.size() > 1; ++step) {
    const auto [i, j] = detail::einsum_step(path, step, static_cast<int>(factors.size()));
    auto a = std::move(factors[static_cast<std::size_t>(i)]);
    auto b = std::move(factors[static_cast<std::size_t>(j)]);
    factors.erase(factors.begin() + j);
    factors.erase(factors.begin() + i);
    const auto kept = [&](i64 number) {
      for (const auto& other : factors)
        if (other.has(number)) return true;
      return number < plan.kept();
    };
    factors.insert(
        path.size() == 0 ? factors.begin() : factors.end(),
        detail::einsum_product(stream, plan, std::move(a), std::move(b), kept, factors.empty()));
  }
  return std::move(*factors[0].memory);
}
template <stream_like S, class T, class D>
[[nodiscard]] auto einsum(const S& stream, std::string_view equation,
                          std::initializer_list<tensor_view<T, D>> tensors, int_list path = {}) {
  return einsum<S, std::initializer_list<tensor_view<T, D>>>(stream, equation, tensors, path);
}

}  // namespace flaggems
