// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// One matrix product: its sums' type, its plan, and the kernel that it is launched with.
#pragma once

#include <flaggems/device/checks.hpp>
#include <flaggems/device/tensor.hpp>
#include <flaggems/kernel/family/gemm/epilogue.hpp>
#include <flaggems/kernel/family/gemm/gemm.hpp>
#include <flaggems/kernel/family/gemm/vector/along.hpp>
#include <flaggems/kernel/family/gemm/vector/blocks.hpp>
#include <flaggems/kernel/family/gemm/vector/small.hpp>
#include <flaggems/launch/launch.hpp>
#include <flaggems/launch/tuning.hpp>
#include <flaggems/ops/dispatch/gemm/many_rows.hpp>
#include <flaggems/ops/dispatch/gemm/operands.hpp>
#include <flaggems/ops/dispatch/gemm/policy.hpp>
#include <flaggems/ops/dispatch/gemm/skinny.hpp>
#include <flaggems/ops/plan/checks.hpp>
#include <flaggems/ops/plan/iteration.hpp>
#include <flaggems/tensor/overlap.hpp>

#include <optional>
#include <type_traits>

namespace flaggems {

namespace operators {
/// mm addmm bmm baddbmm linear mv: out[b..., i, j] = alpha * sum(a[b..., i, q] * b[b..., j, q]) +
/// beta * bias[b..., i, j]. `run` takes (stream, a, b, bias, out, alpha, beta), views of one rank;
/// bias is std::nullopt if there is none.
struct gemm;
}  // namespace operators

namespace detail {

// Compilers print a condition that failed, so it says the dtypes:
// product_of<A, B>::summed_into<Out>. `Replaced` as below.
template <class A, class B>
struct product_of {
  template <class Out, bool Right>
  static constexpr bool summed_into = Right;
};

/// What products of these types are summed in: f32 for up to 32 bits of floating point, f64 for
/// f64, unsigned integers (modulo the range) for integers. `Replaced`: an epilogue makes what type
/// it likes of the sums.
template <class A, class B, class Out, bool Replaced = false>
struct gemm_compute {
  static constexpr bool floating =
      kernels::is_floating<A> && kernels::is_floating<B> && (Replaced || kernels::is_floating<Out>);
  static constexpr bool f64s =
      std::is_same_v<A, f64> && std::is_same_v<B, f64> && (Replaced || std::is_same_v<Out, f64>);
  static constexpr bool any_f64 =
      std::is_same_v<A, f64> || std::is_same_v<B, f64> || (!Replaced && std::is_same_v<Out, f64>);
  static constexpr bool bytes =
      kernels::is_byte<A> && kernels::is_byte<B> && (Replaced || std::is_same_v<Out, i32>);
  static constexpr bool integers = bytes || (!Replaced && kernels::is_integer<A> &&
                                             std::is_same_v<A, B> && std::is_same_v<A, Out>);
  static constexpr bool taken = (floating && (f64s || !any_f64)) || integers;
  static_assert(product_of<A, B>::template summed_into<Out, taken>,
                "flaggems: matrix products take f64, or f32, f16 and bf16 in any mixture, or one "
                "type of integers, or i8 and u8 with a result of i32");
  using type = std::conditional_t<
      f64s, f64, std::conditional_t<floating, f32, std::conditional_t<(sizeof(A) > 4), u64, u32>>>;
};
/// What they are summed in for an epilogue that replaces the sums.
template <class A, class B, class Out>
using sums_for_epilogue = typename gemm_compute<A, B, Out, true>::type;

/// The strides of an epilogue's tensor over the result.
struct added_strides {
  i64 row, column;
  i64 batch[max_rank];
};
/// The same of all such tensors, as an expression is built over them.
struct added_space {
  template <class T, class C>
  using arg = kernels::aux_arg<T, C>;
  int rank;  // of the batch
  const added_strides* added;
  void copy_strides(int operand, i64 (&to)[max_rank]) const {
    const added_strides& from = added[operand];
    for (int d = 0; d < rank; ++d) to[d] = from.batch[d];
    to[rank] = from.row;
    to[rank + 1] = from.column;
  }
};

// What is added to a product, or made of it (ops/gemm_epilogue.hpp): `leaves` tensors, each of
// which `for_each_leaf(f)` shows to f expanded to the sizes of the result; `result<A, B, Out>`, the
// type that says what is summed in; `build<C>` for the kernel.
struct no_bias_view {
  static constexpr int leaves = 0;
  static constexpr bool replaces = false;
  template <class F>
  void for_each_leaf(F&&) const {}
  template <class C>
  kernels::no_bias build(const added_space&) const {
    return {};
  }
};
template <class View, class C>
struct bias_view {
  static constexpr int leaves = 1;
  static constexpr bool replaces = false;
  View view;
  C beta;
  template <class F>
  void for_each_leaf(F&& f) const {
    f(view);
  }
  template <class>
  auto build(const added_space& space) const {
    kernels::gemm_bias<typename View::value_type, C> bias{
        view.data(), space.added->row, space.added->column, {}, beta};
    for (int d = 0; d < space.rank; ++d) bias.batch[d] = space.added->batch[d];
    return bias;
  }
};

/// The sums that a result is made of: neighbours in a row.
template <class Added>
inline constexpr int sums_per_result = 1;
template <class Added>
requires requires { Added::sums_per_result; }
inline constexpr int sums_per_result<Added> = Added::sums_per_result;

/// The first operand for kernels: as given, or the prologue of Added (gemm_prologue.hpp).
template <class Added, class A>
struct first_operand {
  using type = kernels::gemm_arg<A>;
};

/// One product. The operands have the same rank: a [batch..., m, k], b [batch..., n, k],
/// out [batch..., m, n / sums_per_result], and what is added as out; broadcast dimensions have
/// stride 0.
template <class A, class B, class Out, class Added>
struct gemm_call {
  using compute = gemm_compute<A, B, Out, Added::replaces>;
  using C = typename compute::type;
  /// The sums of bytes are their result: kernels write i32 as what it is modulo 2^32.
  using stored = std::conditional_t<compute::bytes && !Added::replaces, C, Out>;
  using kernel_bias =
      decltype(std::declval<const Added&>().template build<C>(std::declval<added_space>()));
  static constexpr int operands = 3 + Added::leaves;
  using kernel_first = typename first_operand<Added, A>::type;
  static constexpr bool has_prologue = !std::is_same_v<kernel_first, kernels::gemm_arg<A>>;
  static constexpr bool can_exchange = std::is_same_v<A, B> && !has_prologue;
  /// Where the level has instructions for it.
  static constexpr bool multiplies_pairs = std::is_same_v<A, bf16> && std::is_same_v<B, bf16>;
  static constexpr bool has_tiles = can_exchange && (multiplies_pairs || compute::bytes);
  static_assert(operands <= max_operands,
                "flaggems: the expressions around a product have at most 13 tensors");

  // Not set but where a kernel reads: zeros for all of it would take a tenth of a call.
  kernels::gemm_space space;
  kernels::gemm_arg<A> a;
  kernels::gemm_arg<B> b;
  kernels::gemm_out<stored, C> out;
  added_strides added[Added::leaves + 1]{};
  launch_config config{};
  line_pieces pieces_of_b;  // but for multiply_windows, none

  template <class S, class VA, class VB, class VO>
  static void run(const char* op, const S& stream, const VA& va, const VB& vb, const VO& vo,
                  const Added& aux, C alpha, const u8* packed = nullptr) {
    if (vo.empty()) return;
    if constexpr (sums_per_result<Added> == 2)
      return run_pairs(op, stream, va, vb, vo, aux, packed);
    if constexpr (Added::leaves == 0 && !Added::replaces && is_blocked<S> &&
                  kernels::is_floating<C> && std::is_same_v<A, C> && std::is_same_v<B, C> &&
                  std::is_same_v<Out, C>) {
      // A small matrix is spared the plan of a batch, a fifth of the instructions around it.
      const i64 m = vo.size(-2), n = vo.size(-1), k = va.size(-1);
      if (packed == nullptr && vo.rank() == 2 && vo.stride(1) == 1 &&
          gemm_policy::is_small(m, n, k)) {
        launch_config config;
        config.op = op;
        launch<kernels::gemm_small_matrix<C>>(
            stream, config,
            kernels::small_arguments<C>{m, n, k, va.data(), va.stride(0), va.stride(1), vb.data(),
                                        vb.stride(0), vb.stride(1), vo.data(), vo.stride(0),
                                        alpha});
        return;
      }
    }
    gemm_call call;
    call.set_problem(op, va, vb, vo, aux, alpha);
    if constexpr (is_blocked<S>)
      if (has_prologue || packed != nullptr) return call.blocked(stream, aux, packed);
    if constexpr (!is_blocked<S> || !has_prologue) call.choose(stream, aux);
  }

  /// Of pairs of sums: tiles of many rows store their results, others all sums, of which a second
  /// launch makes them.
  template <class S, class VA, class VB, class VO>
  static void run_pairs(const char* op, const S& stream, const VA& va, const VB& vb, const VO& vo,
                        const Added& aux, const u8* packed) {
    gemm_call call;
    call.set_problem(op, va, vb, vo, aux, C(1));
    if constexpr (has_simt<device_of<S>>) {
      constexpr i64 few = tuning<families::gemm, device_of<S>>::few_rows;
      if (call.space.m > few && call.space.n > few) return multiply_many_rows(stream, call, aux);
    }
    using sum = std::conditional_t<std::is_same_v<C, u32>, i32, C>;
    shape sizes(vo.sizes());
    sizes[sizes.rank() - 1] *= 2;
    auto sums = empty<sum>(stream, sizes, op);
    const auto plain = without_epilogue(aux);
    gemm_call<A, B, sum, std::remove_const_t<decltype(plain)>>::run(
        op, stream, va, vb, as_view(sums), plain, C(1), packed);
    call.space.n /= 2;
    using numbers = tuning<families::gemm, device_of<S>>;
    call.tiles(1, kernels::min_of(call.space.n, numbers::pairs_at_once));
    call.config.tiles = call.space.batches * call.space.m * call.space.column_tiles;
    launch<kernels::gemm_pairs<stored, C, kernel_bias>>(
        stream, call.config, call.space, call.out, call.finish(aux),
        static_cast<const C*>(static_cast<const void*>(sums.data())));
  }
  /// Sets the problem; the result is not empty.
  template <class VA, class VB, class VO>
  void set_problem(const char* op, const VA& va, const VB& vb, const VO& vo, const Added& aux,
                   C alpha) {
    config.op = op;
    const int rank = vo.rank(), batch = rank - 2;
    space.m = vo.size(-2);
    space.n = vo.size(-1) * sums_per_result<Added>;
    space.k = va.size(-1);
    const auto front = [batch](const auto& list) { return list.first(std::size_t(batch)); };
    iteration it(front(vo.sizes()));
    it.add(front(vo.sizes()), front(vo.strides()));
    it.add(front(vo.sizes()), front(va.strides()));
    it.add(front(vo.sizes()), front(vb.strides()));
    int next = 0;
    aux.for_each_leaf([&](const auto& v) {
      it.add(front(vo.sizes()), front(v.strides()));
      added[next++] = {v.stride(-2), v.stride(-1), {}};
    });
    it.collapse();
    space.rank = it.rank();
    space.batches = it.numel();
    for (int d = 0; d < it.rank(); ++d) {
      space.sizes[d] = it.size(d);
      out.batch[d] = it.stride(0, d);
      a.batch[d] = it.stride(1, d);
      b.batch[d] = it.stride(2, d);
      for (int k = 0; k < Added::leaves; ++k) added[k].batch[d] = it.stride(3 + k, d);
    }
    out.data = reinterpret_cast<stored*>(vo.data());  // Out, or its unsigned form
    out.row = vo.stride(-2);
    out.column = vo.stride(-1);
    out.alpha = alpha;
    a.data = va.data();
    a.line = va.stride(-2);
    a.along = va.stride(-1);
    b.data = vb.data();
    b.line = vb.stride(-2);
    b.along = vb.stride(-1);
    // No terms: nothing is read, and of a null pointer every other address would be undefined.
    if (space.k == 0) a = {}, b = {};
    join_rows();
    config.work = work_of(2, space.m, space.n, space.k, space.batches);
  }

  /// Rows of one matrix and the batch around them become the rows of a larger one where `b` is
  /// the same for the whole batch and the strides allow.
  void join_rows() {
    while (space.rank > 0) {
      const int d = space.rank - 1;
      if (b.batch[d] != 0) return;
      if (space.m == 1) {
        out.row = out.batch[d];
        a.line = a.batch[d];
        for (added_strides& v : added) v.row = v.batch[d];
      } else {
        bool joins = out.batch[d] == out.row * space.m && a.batch[d] == a.line * space.m;
        for (int n = 0; n < Added::leaves; ++n)
          joins = joins && added[n].batch[d] == added[n].row * space.m;
        if (!joins) return;
      }
      space.m *= space.sizes[d];
      space.batches /= space.sizes[d];
      --space.rank;
    }
  }

  /// What the kernels make of the sums.
  kernel_bias finish(const Added& aux) const {
    return aux.template build<C>(added_space{space.rank, added});
  }

  /// The first operand as kernels read it.
  decltype(auto) first(const Added& aux) const {
    if constexpr (has_prologue)
      return aux.prologue(added_space{space.rank, added});
    else
      return (a);
  }

  /// The same product transposed: the columns of the result become its rows.
  void exchange() {
    std::swap(space.m, space.n);
    std::swap(a.data, b.data);
    std::swap(a.line, b.line);
    std::swap(a.along, b.along);
    std::swap(a.batch, b.batch);
    std::swap(out.row, out.column);
    for (added_strides& v : added) std::swap(v.row, v.column);
  }

  template <class S>
  void choose(const S& stream, const Added& aux) {
    if constexpr (has_simt<device_of<S>>) {
      if constexpr (!has_prologue)
        if (skinny_product<S, A, B, Out, Added>(stream, *this, aux).run()) return;
      constexpr i64 few = tuning<families::gemm, device_of<S>>::few_rows;
      if (space.m > few && space.n > few) {
        if constexpr (can_exchange)
          if (out.column != 1 && out.row == 1) exchange();
        return multiply_many_rows(stream, *this, aux);
      }
    }
    const i64 m = space.m, n = space.n, k = space.k;
    bool a_along = has_prologue || k <= 1 || a.along == 1, b_along = k <= 1 || b.along == 1;
    bool a_across = m == 1 || a.line == 1, b_across = n == 1 || b.line == 1;
    if constexpr (is_blocked<S> && kernels::is_floating<C>) {
      const bool has_pairs = multiplies_pairs && isa() >= isa_level::avx512_bf16;
      if (gemm_policy::is_small(m, n, k, has_pairs)) return small_product(stream, aux);
    }
    const i64 depth = gemm_policy::depth_along(m < n ? m : n);
    // Few lines across the sum, of another operand that lies along it: copied, they do as well.
    bool copies_a = false, copies_b = false;
    if constexpr (is_blocked<S> && kernels::is_floating<C>) {
      if (space.batches == 1 && k >= depth) {
        copies_b = a_along && !b_along && n <= gemm_policy::skinny && m > n;
        copies_a = b_along && !a_along && m <= gemm_policy::skinny && n > m;
      }
    }
    if (copies_b) b_along = true, b_across = n == 1;
    if (copies_a) a_along = true, a_across = m == 1;
    bool along = a_along && b_along && (k >= 16 || !(a_across || b_across));
    if constexpr (is_blocked<S>) {
      if constexpr (has_tiles)
        if (gemm_policy::reads_lines(compute::bytes, m, n, k, b.along) ||
            gemm_policy::reads_lines(compute::bytes, n, m, k, a.along))
          return blocked(stream, aux);
      constexpr i64 skinny = compute::bytes ? gemm_policy::skinny_bytes : gemm_policy::skinny;
      const bool along_pays = along && k >= depth && (m <= skinny || n <= skinny);
      // The copies lie where `blocked` would have its panels, so `dot` alone may read them.
      if (along_pays && copies_b) copy_along(b, n);
      if (along_pays && copies_a) copy_along(a, m);
      if (!along_pays) {
        if constexpr (std::is_same_v<A, B>)
          if (n <= gemm_policy::few_rows && m > n && a_across && !(m <= n && b_across)) {
            exchange();
            b_across = true;
          }
        if (space.m <= gemm_policy::few_rows && b_across && b.line == 1 &&
            space.n >= tuning<families::gemm, device_of<S>>::few_columns)
          return few_rows(stream, aux);
        return blocked(stream, aux);
      }
    }
    if constexpr (can_exchange) {
      // A result of one column is one of one row; and lanes need a contiguous `b`.
      if ((along && n == 1 && m > 1) || (!along && a_across && (!b_across || (n == 1 && m > 1)))) {
        exchange();
        b_across = true;
      }
    }
    using kernels::stepping;
    if (along) {
      if (space.m == 1)
        dot<1, 4, stepping::contiguous>(stream, aux);
      else
        dot<4, 3, stepping::contiguous>(stream, aux);
    } else if constexpr (is_blocked<S>) {
      // blocked or few_rows have it
    } else if (b_across) {
      panel(stream, aux);
    } else {
      dot<2, 2, stepping::strided>(stream, aux);
    }
  }

  template <class S>
  static constexpr bool is_blocked = has_thread_pool<device_of<S>> &&
                                     (kernels::is_floating<C> || compute::bytes);

  /// Makes `lines` lines contiguous along the sum, in memory of the thread: for kernels without
  /// scratch.
  template <class T>
  void copy_along(kernels::gemm_arg<T>& x, i64 lines) {
    const i64 k = space.k, bytes = lines * k * static_cast<i64>(sizeof(T));
    T* const to = static_cast<T*>(static_cast<void*>(thread_scratch(bytes)));
    if (to == nullptr)
      raise(errc::out_of_memory, config.op, text(bytes) + " bytes for a copied operand", "none");
    for (i64 q = 0; q < k; ++q)
      for (i64 l = 0; l < lines; ++l) to[l * k + q] = x.data[l * x.line + q * x.along];
    x.data = to;
    x.line = k;
    x.along = 1;
  }

  template <class S>
  void small_product(const S& stream, const Added& aux) {
    if constexpr (std::is_same_v<A, B>)
      if (out.column != 1 && out.row == 1) exchange();
    config.tiles = gemm_policy::workers(config.work, space.batches);
    using kernel = kernels::gemm_small<A, B, Out, C, kernel_bias>;
    config.scratch = scratch_bytes<C>(kernel::scratch(space.m, space.n, space.k));
    launch<kernel>(stream, config, space, a, b, out, finish(aux));
  }

  template <class S>
  void few_rows(const S& stream, const Added& aux) {
    using kernel = kernels::gemm_few_rows<A, B, stored, C, kernel_bias>;
    const i64 rows = space.m == 1 ? 1 : kernels::round_up(space.m, 4);
    tiles(rows, gemm_policy::least_columns);
    space.group = 1;
    config.tiles = space.tiles();
    config.scratch = scratch_bytes<C>(kernel::sums);
    launch<kernel>(stream, config, space, a, b, out, finish(aux));
  }

  template <class S>
  void blocked(const S& stream, const Added& aux, const u8* packed = nullptr) {
    if constexpr (can_exchange) {
      bool exchanges = out.column != 1 && out.row == 1;
      if constexpr (has_tiles) {
        if (gemm_policy::reads_lines(compute::bytes, space.n, space.m, space.k, a.along))
          exchanges = false;
        else if (gemm_policy::reads_lines(compute::bytes, space.m, space.n, space.k, b.along))
          exchanges = true;
      }
      if (packed == nullptr && exchanges) exchange();
    }
    config.tiles = gemm_policy::workers(
        config.work, space.batches * kernels::ceil_div(space.m, gemm_policy::least_rows) *
                         kernels::ceil_div(space.n, gemm_policy::least_columns));
    const i64 workers = host_workers(config.work, config.tiles);
    kernels::gemm_plan plan = gemm_policy::make(
        space, static_cast<i64>(sizeof(C)), workers,
        {.reads_a = std::is_same_v<A, C> && !has_prologue,
         .reads_b = std::is_same_v<B, C> && packed == nullptr && (b.line == 1 || space.n == 1),
         .sums_in_place = std::is_same_v<stored, C> && !Added::replaces,
         .tiled = multiplies_pairs && isa() == isa_level::amx});
    plan.packed = packed;
    const meeting where = gemm_policy::prepare(config.op, plan, workers);
    const inside_launch here;  // with that memory
    launch<kernels::gemm_blocked<A, B, stored, C, kernel_bias, kernel_first>>(
        stream, config, space, first(aux), b, out, finish(aux), plan, where);
  }

  void tiles(i64 rows, i64 columns) {
    space.tile_rows = rows;
    space.tile_columns = columns;
    space.row_tiles = kernels::ceil_div(space.m, rows);
    space.column_tiles = kernels::ceil_div(space.n, columns);
  }

  /// For kernels with a one-dimensional batch: one matrix is a batch of one.
  void give_batch() {
    if (space.rank > 0) return;
    space.rank = 1;
    space.sizes[0] = 1;
    a.batch[0] = b.batch[0] = out.batch[0] = 0;
    for (added_strides& v : added) v.batch[0] = 0;
  }

  /// The second launch of split-K: adds up the sums at `partial`, [parts, batches, m, n].
  template <class S>
  void merge_parts(const S& stream, const Added& aux, i64 parts, C* partial) {
    using kernel = kernels::gemm_merge<stored, C, kernel_bias>;
    config.threads = tuning<families::gemm, device_of<S>>::merge_threads;
    tiles(1, config.threads * kernel::count);
    space.group = 1;
    config.tiles = space.tiles();
    config.cluster = 1;
    config.scratch = 0;
    launch<kernel>(stream, config, space, out, finish(aux),
                   kernels::sum_parts<C>{static_cast<i32>(parts), space.k, partial});
  }

  template <int Rows, int Columns, kernels::stepping Steps, class S>
  void dot(const S& stream, const Added& aux) {
    using numbers = tuning<families::gemm, device_of<S>>;
    const inside_launch here;  // with the memory of copy_along
    tiles(Rows, Columns);
    const i64 bytes = work_of(space.k, sizeof(A), Rows);
    space.group = numbers::cached / kernels::max_of(bytes, i64{1});
    if (space.group < 1) space.group = 1;
    if (space.group > space.row_tiles) space.group = space.row_tiles;
    config.tiles = space.tiles();
    config.threads = 32;
    while (config.threads < numbers::most_threads && config.threads < space.k) config.threads *= 2;
    if constexpr (Steps == kernels::stepping::contiguous && is_blocked<S> &&
                  kernels::is_floating<C>)
      launch<kernels::gemm_along<A, B, stored, C, kernel_bias>>(stream, config, space, a, b, out,
                                                                finish(aux));
    else
      launch<kernels::gemm_dot<A, B, stored, C, kernel_bias, Rows, Columns, Steps, kernel_first>>(
          stream, config, space, first(aux), b, out, finish(aux));
  }

  template <class S>
  void panel(const S& stream, const Added& aux) {
    using numbers = tuning<families::gemm, device_of<S>>;
    constexpr i64 item = static_cast<i64>(sizeof(C)), columns = numbers::panel_bytes / item;
    if (space.m <= 4) {  // bound by memory: wide rows of `b`, and parts for all workers
      const i64 width = kernels::round_up(kernels::ceil_div(space.n, i64{8}), 16);
      tiles(4, kernels::max_of(numbers::wide_columns,
                               kernels::min_of(width, numbers::wide_bytes / item)));
      space.depth = 16;
    } else {
      const i64 rows = kernels::round_up(space.m, 4);
      tiles(rows < 32 ? rows : 32, columns);
      space.depth = columns;
    }
    space.group = space.row_tiles < 8 ? space.row_tiles : 8;
    config.tiles = space.tiles();
    config.scratch = scratch_bytes<C>(space.tile_rows * space.tile_columns) +
                     scratch_bytes<C>(space.tile_rows * space.depth);
    config.threads = numbers::panel_threads;
    launch<kernels::gemm_panel<A, B, stored, C, kernel_bias, kernel_first>>(
        stream, config, space, first(aux), b, out, finish(aux));
  }
};

/// The product by the portable kernels.
template <class S, class A, class B, class Out, class Added, class C>
void run_gemm(const char* op, const S& stream, const A& a, const B& b, const Out& out,
              const Added& aux, C alpha, const u8* packed) {
  gemm_call<typename A::value_type, typename B::value_type, typename Out::value_type, Added>::run(
      op, stream, a, b, out, aux, alpha, packed);
}

/// Offers a product to the device's own implementation. Panels and expressions (which have no data)
/// it cannot take; the report says so.
template <class S, class A, class... Rest>
bool offer_gemm(const char* op, const S& stream, [[maybe_unused]] const u8* packed,
                [[maybe_unused]] const A& a, [[maybe_unused]] const Rest&... rest) {
  if constexpr (!has_implementation<operators::gemm, device_of<S>>) {
    return false;
  } else {
    if constexpr (requires { a.data(); })
      if (packed == nullptr) return replaced<operators::gemm>(op, stream, a, rest...);
    return replaced<operators::gemm>(op, stream);
  }
}

/// Runs one product of views; see gemm_call. `packed`: the panels of b, or null.
template <class S, class A, class B, class Out, class Bias>
void gemm(const char* op, const S& stream, const A& a, const B& b, const Out& out, const Bias& bias,
          typename gemm_compute<typename A::value_type, typename B::value_type,
                                typename Out::value_type>::type alpha,
          typename gemm_compute<typename A::value_type, typename B::value_type,
                                typename Out::value_type>::type beta,
          const u8* packed = nullptr) {
  if (out.empty()) return;
  constexpr bool biased = !std::is_same_v<Bias, no_bias_view>;
  const auto absent_or_bias = [&] {
    if constexpr (biased)
      return bias;
    else
      return std::nullopt;
  }();
  if (offer_gemm(op, stream, packed, a, b, absent_or_bias, out, alpha, beta)) return;
  const auto aux = [&] {
    if constexpr (biased)
      return bias_view<Bias, decltype(beta)>{bias, beta};
    else
      return no_bias_view{};
  }();
  run_gemm(op, stream, a, b, out, aux, alpha, packed);
}

}  // namespace detail
}  // namespace flaggems
