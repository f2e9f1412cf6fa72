// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Formulas of coordinates: triangles of matrices.
#pragma once

#include <flaggems/ops/dispatch/copy.hpp>
#include <flaggems/ops/expr.hpp>

namespace flaggems {
namespace operators {
struct tril;
struct triu;
}  // namespace operators

namespace detail {

/// An element's index along one dimension: read, as it were, from a vector whose element k is k.
/// The vector is no memory: its address is 0, where no tensor lies.
template <class D>
struct coordinate {
  using element = i64;
  using device = D;
  static constexpr bool is_scalar = false;
  static constexpr int leaves = 1;
  tensor_view<const u8, D> view;

  /// Along dimension `dim` of an output of these sizes.
  coordinate(const shape& sizes, int dim) : view(along(sizes, dim)) {}

  template <class F>
  void for_each_leaf(F&& f) const {
    f(view);
  }
  template <class C, class Space>
  auto build(const Space& it, int& next) const {
    kernels::position<i64> k{};
    it.copy_strides(next++, k.strides);
    return converted<C>(k);
  }

 private:
  static tensor_view<const u8, D> along(const shape& sizes, int dim) {
    shape own(sizes), strides(sizes);
    for (int d = 0; d < own.rank(); ++d) {
      if (d != dim) own[d] = 1;
      strides[d] = d == dim ? 1 : 0;
    }
    return {unchecked_t{}, nullptr, own, strides};
  }
};

/// Words of the size of elements, for what moves their bits alone.
template <class T, class D>
auto as_bits(const tensor_view<T, D>& v) {
  using unit = kernels::uint_of_size<static_cast<int>(sizeof(T))>;
  using word = std::conditional_t<std::is_const_v<T>, const unit, unit>;
  return tensor_view<word, D>(unchecked_t{}, reinterpret_cast<word*>(v.data()), v.shape_of(),
                              shape(v.strides()));
}

/// The same of words, after all checks but those of memory.
template <bool Lower, class S, class W, class D>
void assign_triangle(const char* op, const S& stream, const tensor_view<W, D>& out,
                     const tensor_view<const W, D>& x, i64 diagonal) {
  if constexpr (copies_triangles<D>) {
    check_writable(op, out);
    check_no_partial_overlap(op, placed_layout(layout_of(out)), layout_of(x));
    return copy_triangle(op, stream, out, x, diagonal, Lower);
  } else {
    const coordinate<D> row(out.shape_of(), x.rank() - 2), column(out.shape_of(), x.rank() - 1);
    using difference = call<integral, kernels::sub_fn, coordinate<D>, coordinate<D>>;
    using compare = std::conditional_t<Lower, kernels::le_fn, kernels::ge_fn>;
    using inside = call<to_bool, compare, difference, number<i64>>;
    using kept = choice<inside, leaf<W, D>, number<W>>;
    assign_node(op, stream, out,
                kept{inside{{}, {difference{{}, {column, row}}, number<i64>{diagonal}}},
                     leaf<W, D>{x}, number<W>{0}});
  }
}

/// out = x where its column minus its row is at most (or at least) `diagonal`, and zero elsewhere.
template <class Op, bool Lower, class S, class T, class D>
void triangle(const char* op, const S& stream, const tensor_view<const T, D>& x,
              const tensor_view<T, D>& out, i64 diagonal) {
  if (x.rank() < 2) [[unlikely]]
    raise(errc::invalid_argument, op, "a tensor of at least two dimensions", text(x.rank()));
  check_same_shape(op, out, x);
  if (out.empty() || replaced<Op>(op, stream, x, out, diagonal)) return;
  // Beyond any matrix, numbers of any size mean the same.
  const i64 most = x.size(-1) + x.size(-2);
  const i64 k = diagonal > most ? most : diagonal < -most ? -most : diagonal;
  assign_triangle<Lower>(op, stream, as_bits(out), as_bits(x), k);
}

}  // namespace detail

// One line a triangle: name, whether the lower one.
#define FLAGGEMS_TRIANGLE(name, lower)                                                           \
  template <stream_like S, tensor_like X, tensor_like Out>                                       \
  void name(const S& stream, const X& x, Out&& out, i64 diagonal = 0) {                          \
    using T = value_t<const X&>;                                                                 \
    using D = device_of<S>;                                                                      \
    same_device<S, X, Out>();                                                                    \
    static_assert(std::is_same_v<T, value_t<Out>>,                                               \
                  "flaggems: the output has the dtype of the input");                            \
    detail::triangle<operators::name, lower>(#name, stream, tensor_view<const T, D>(as_view(x)), \
                                             as_view(out), diagonal);                            \
  }                                                                                              \
  template <stream_like S, tensor_like X>                                                        \
  [[nodiscard]] auto name(const S& stream, const X& x, i64 diagonal = 0) {                       \
    auto out = empty_like(stream, x, #name);                                                     \
    name(stream, x, out, diagonal);                                                              \
    return out;                                                                                  \
  }                                                                                              \
  template <stream_like S, tensor_like X>                                                        \
  void name##_(const S& stream, X&& x, i64 diagonal = 0) {                                       \
    detail::triangle<operators::name, lower>(                                                    \
        #name "_", stream, tensor_view<const value_t<X>, device_of<S>>(as_view(x)), as_view(x),  \
        diagonal);                                                                               \
  }

/// out = x where column - row <= diagonal in the last two dimensions, zero elsewhere. out has x's
/// sizes and dtype, and may be x itself. Raises invalid_argument for less than two dimensions,
/// shape_mismatch or overlap. aten::tril(Tensor self, int diagonal=0)
FLAGGEMS_TRIANGLE(tril, true)
/// out = x where column - row >= diagonal; otherwise as tril.
/// aten::triu(Tensor self, int diagonal=0)
FLAGGEMS_TRIANGLE(triu, false)
#undef FLAGGEMS_TRIANGLE

}  // namespace flaggems
