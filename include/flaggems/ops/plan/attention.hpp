// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The batches of attention's operands, as its kernels take them.
#pragma once

#include <flaggems/kernel/family/attention/attention.hpp>
#include <flaggems/ops/plan/iteration.hpp>
#include <flaggems/tensor/extents.hpp>

#include <span>

namespace flaggems::detail {

/// The sizes before the last two are batches: those of the keys, as the heads of a group, which
/// share keys, are rows. Operands are added, then the batches collapsed, then operands placed by
/// the order in which they were added.
class attention_batches {
 public:
  /// Of queries and keys of one rank, several heads of which share one of the keys if
  /// `shares_heads`.
  template <class Q, class K>
  attention_batches(const Q& q, const K& k, bool shares_heads)
      : lead_(static_cast<std::size_t>(q.rank() - 2)),
        heads_(shares_heads ? q.rank() - 3 : -1),
        group_(shares_heads ? q.size(heads_) / k.size(heads_) : 1),
        batch_(q.sizes().first(lead_)),
        it_(of_keys(batch_, k)) {}

  i64 group() const { return group_; }

  /// An operand with the heads of the queries.
  template <class View>
  void add_by_queries(const View& view) {
    add(view, group_);
  }
  /// An operand with the heads of the keys.
  template <class View>
  void add_by_keys(const View& view) {
    add(view, 1);
  }
  void collapse() { it_.collapse(); }

  /// The problem, but for its tiles; position i sees the keys up to i + diagonal.
  template <class Q, class K, class V>
  kernels::attention_space space_of(const Q& q, const K& k, const V& v, i64 diagonal) const {
    kernels::attention_space space;
    space.rank = it_.rank();
    space.batches = it_.numel();
    for (int d = 0; d < it_.rank(); ++d) space.sizes[d] = it_.size(d);
    space.group = group_;
    space.queries = q.size(-2);
    space.keys = k.size(-2);
    space.head_size = q.size(-1);
    space.value_size = v.size(-1);
    space.row_tiles = kernels::ceil_div(group_ * space.queries, i64{4});
    space.diagonal = diagonal;
    return space;
  }
  /// The operand that was added as number `operand`; one number a position if it has a rank less.
  template <class Arg, class View>
  void place(int operand, Arg& to, const View& view) const {
    const auto strides = view.strides();
    to.data = view.data();
    it_.copy_strides(operand, to.batch);
    to.head = heads_ >= 0 ? strides[static_cast<std::size_t>(heads_)] : 0;
    to.position = strides[lead_];
    to.element = strides.size() > lead_ + 1 ? strides[lead_ + 1] : 0;
  }

 private:
  template <class K>
  iteration of_keys(shape& batch, const K& k) const {
    if (heads_ >= 0) batch[heads_] = k.size(heads_);
    return iteration(batch);
  }
  template <class View>
  void add(const View& view, i64 factor) {
    i64 strides[max_rank] = {};
    copy_few(strides, view.strides().data(), static_cast<int>(lead_));
    if (heads_ >= 0) strides[heads_] *= factor;
    it_.add(view.sizes().first(lead_), std::span<const i64>(strides, lead_));
  }

  std::size_t lead_;
  int heads_;
  i64 group_;
  shape batch_;
  iteration it_;
};

}  // namespace flaggems::detail
