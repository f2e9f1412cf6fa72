// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/forms.hpp>

#include <initializer_list>
#include <span>  // std::begin, without the streams of <iterator>
#include <tuple>

namespace flaggems {

namespace operators {
struct cat;
}
namespace detail {

/// Whether a tensor is an empty vector, which cat skips whatever the others' rank, as ATen does.
inline bool is_skipped(int_list sizes) { return sizes.size() == 1 && sizes[0] == 0; }

/// The sizes that a concatenation has so far.
struct cat_plan {
  const char* op = "cat";
  shape sizes{0};
  int dim = 0;
  bool any = false, any_operand = false;

  FLAGGEMS_NOINLINE void add(int_list own, i64 wanted_dim) {
    any_operand = true;
    if (own.size() == 0) [[unlikely]]
      raise(errc::invalid_argument, op, "tensors of at least one dimension", "a 0-dimensional one");
    if (is_skipped(own)) return;
    if (!any) {
      any = true;
      dim = normalize_dim(wanted_dim, own.size(), op);
      sizes = own;
      return;
    }
    bool fits = own.size() == sizes.rank();
    for (int d = 0; fits && d < own.size(); ++d) fits = d == dim || own[d] == sizes[d];
    if (!fits) [[unlikely]]
      raise(errc::shape_mismatch, op,
            "tensors whose sizes are equal but in dimension " + detail::text(dim) + ": " +
                to_string(sizes),
            to_string(own));
    if (!add_sizes(sizes[dim], own[dim])) [[unlikely]]
      raise(errc::invalid_argument, op, "fewer than 2^63 elements", to_string(own));
  }
  void check_some(i64 wanted_dim) {
    if (!any_operand) [[unlikely]]
      raise(errc::invalid_argument, op, "at least one tensor", "none");
    if (!any) dim = normalize_dim(wanted_dim, 1, op);
  }

 private:
  static bool add_sizes(i64& to, i64 x) { return detail::add(to, x, to); }
};

/// The operands of cat as a list: calls f(tensor) for each.
template <class... X, class F>
void for_each_operand(const std::tuple<X...>& list, F&& f) {
  std::apply([&](const auto&... x) { (f(in_place(x)), ...); }, list);
}
template <class List, class F>
void for_each_operand(const List& list, F&& f) {
  for (const auto& x : list) f(in_place(x));
}

/// Whether all of a list's elements are T.
template <class List, class T>
inline constexpr bool is_list_of =
    std::is_same_v<value_t<decltype(*std::begin(std::declval<const List&>()))>, T>;
template <class... X, class T>
inline constexpr bool is_list_of<std::tuple<X...>, T> = (std::is_same_v<value_t<X>, T> && ...);

template <class S, class List, class T, class D>
void cat_into(const char* op, const S& stream, const List& list, i64 dim,
              const tensor_view<T, D>& out) {
  cat_plan plan{op};
  for_each_operand(list, [&](const auto& x) { plan.add(x.sizes(), dim); });
  plan.check_some(dim);
  check_output_sizes(op, plan.sizes, out);
  check_writable(op, out);
  const placed_layout to = layout_of(out);
  for_each_operand(list, [&](const auto& x) { check_no_overlap(op, to, layout_of(x)); });
  if (out.empty() || replaced<operators::cat>(op, stream, list, out, plan.dim)) return;
  if constexpr (is_list_of<List, T>) {
    const auto each = [&](const auto& f) { for_each_operand(list, f); };
    if (join_rows(op, stream, layout_of(out), plan.dim, work_of(out.numel(), sizeof(T), 2), each))
      return;
  }
  i64 start = 0;
  [[maybe_unused]] const i64 total = out.numel() * i64{sizeof(T)};
  for_each_operand(list, [&](const auto& x) {
    using X = std::remove_cvref_t<decltype(x)>;
    static_assert(std::is_same_v<typename X::device_type, D>,
                  "flaggems: the output is on another device than the operands");
    if (is_skipped(x.sizes())) return;
    const i64 length = x.sizes()[static_cast<std::size_t>(plan.dim)];
    // Same dtype: bits are copied, so NaNs keep theirs, and types of one size share a kernel.
    constexpr bool same = std::is_same_v<typename X::value_type, T> && sizeof(T) <= 8;
    if constexpr (same) {
      const memory_layout from = layout_of(x);
      const i64 offset = start * to.strides[plan.dim];
      const memory_layout part{to.data + offset * from.item, from.item, from.sizes, to.strides};
      const i64 n = x.numel();
      if (n == 0) return;
      launch_copy_of<sizeof(T)>(op, stream, part, from, n, are_contiguous(part, from), total);
    } else {
      assign_node(op, stream, out.narrow(plan.dim, start, length), node_of(x));
    }
    start += length;
  });
}

/// What the list's elements promote to.
template <class List>
struct cat_element {
  using type = value_t<decltype(*std::begin(std::declval<const List&>()))>;
};
template <class First>
struct cat_element<std::tuple<First>> {
  using type = value_t<First>;
};
template <class First, class Second, class... Rest>
struct cat_element<std::tuple<First, Second, Rest...>> {
  template <class T>
  static auto promoted(std::type_identity<T> t) {
    return t;
  }
  template <class T, class U, class... More>
  static auto promoted(std::type_identity<T>, std::type_identity<U>, More... more) {
    return promoted(std::type_identity<promote_t<T, U>>{}, more...);
  }
  using type = typename decltype(promoted(std::type_identity<value_t<First>>{},
                                          std::type_identity<value_t<Second>>{},
                                          std::type_identity<value_t<Rest>>{}...))::type;
};

template <class X>
inline constexpr bool is_tensor_list = requires(const X& x) {
  requires tensor_like<decltype(*std::begin(x))>;
};
template <tensor_like... X>
requires(sizeof...(X) > 0) inline constexpr bool is_tensor_list<std::tuple<X...>> = true;

}  // namespace detail

/// Tensors as one argument: a range of views or owning tensors of one dtype (span, vector, array,
/// initializer_list), or a tuple of any, as std::tie makes.
template <class X>
concept tensor_list =
    detail::is_tensor_list<std::remove_cvref_t<X>> && !tensor_like<std::remove_cvref_t<X>>;

/// out = the tensors one after the other along `dim`.
///
/// Shapes: equal except along `dim`, where out has the sum of the sizes. Empty vectors (sizes [0])
/// are skipped. The elements are converted to out's dtype, which must be of the same kind as theirs
/// or a higher one. `out` shares no memory with a tensor. Raises invalid_argument for no tensors or
/// 0-dimensional ones, out_of_range, shape_mismatch or overlap, before anything is written.
/// aten::cat.out(Tensor[] tensors, int dim=0, *, Tensor(a!) out)
template <stream_like S, tensor_list List, tensor_like Out>
void cat(const S& stream, const List& tensors, Out&& out, i64 dim = 0) {
  same_device<S, i64, Out>();
  detail::cat_into("cat", stream, tensors, dim, as_view(out));
}
template <stream_like S, class T, class D, tensor_like Out>
void cat(const S& stream, std::initializer_list<tensor_view<T, D>> tensors, Out&& out,
         i64 dim = 0) {
  same_device<S, i64, Out>();
  detail::cat_into("cat", stream, tensors, dim, as_view(out));
}

namespace detail {
template <class S, class List>
auto joined(const char* op, const S& stream, const List& tensors, i64 dim) {
  cat_plan plan{op};
  for_each_operand(tensors, [&](const auto& x) { plan.add(x.sizes(), dim); });
  plan.check_some(dim);
  // In the format that all tensors have.
  bool is_first = true;
  memory_format format = memory_format::contiguous_format;
  for_each_operand(tensors, [&](const auto& x) {
    const memory_format own = suggested_format(x.sizes(), x.strides());
    if (is_first) format = own;
    if (own != format) format = memory_format::contiguous_format;
    is_first = false;
  });
  tensor<typename cat_element<List>::type, device_of<S>> out(
      ref(stream), plan.sizes, strides_in(format, plan.sizes, {}, op), op);
  cat_into(op, stream, tensors, dim, as_view(out));
  return out;
}
}  // namespace detail

/// cat in a new tensor, of the dtype that the tensors' dtypes promote to.
template <stream_like S, tensor_list List>
[[nodiscard]] auto cat(const S& stream, const List& tensors, i64 dim = 0) {
  return detail::joined("cat", stream, tensors, dim);
}
template <stream_like S, class T, class D>
[[nodiscard]] auto cat(const S& stream, std::initializer_list<tensor_view<T, D>> tensors,
                       i64 dim = 0) {
  return cat<S, std::initializer_list<tensor_view<T, D>>>(stream, tensors, dim);
}

// (Of lists whose type says what they are, not of braces.)
FLAGGEMS_ALSO(concat, cat)
FLAGGEMS_ALSO(concatenate, cat)

}  // namespace flaggems
