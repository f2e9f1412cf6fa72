// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Boxed calls compared with typed ones, bit by bit. `check("exp", {x}, [&] { return fg::exp(s, x);
// })` calls the operator, its out= form and its in-place form, and notes their names: the program
// fails at its end if an entry of the host's registry was never called.
#pragma once

#include <flaggems/device/tensor.hpp>
#include <flaggems/registry/registry.hpp>
#include <flaggems/vendors/host.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace flaggems_test {

namespace fg = flaggems;
using fg::bf16;
using fg::f32;
using fg::f64;
using fg::host;
using fg::i64;
using fg::shape;

template <class D>
using view = fg::any_view<D>;
template <class D>
using arguments = std::vector<fg::boxed<D>>;

/// The entries of the host that were called.
inline std::set<std::string>& called() {
  static std::set<std::string> names;
  return names;
}

template <class D>
const fg::stream<D>& stream_of() {
  static const fg::stream<D> stream;
  return stream;
}

/// Numbers that differ, of both signs and without ties.
template <class T = f32, class D = host>
fg::tensor<T, D> numbers(const shape& sizes, double low = -2, double high = 2, unsigned seed = 1) {
  std::vector<T> values(static_cast<std::size_t>(sizes.numel()));
  unsigned state = seed * 2654435761U + 1;
  for (std::size_t k = 0; k < values.size(); ++k) {
    state = state * 1664525U + 1013904223U;
    const double x = low + (high - low) * static_cast<double>(state >> 8) / 16777216.0;
    if constexpr (std::is_integral_v<T>)
      values[k] = static_cast<T>(x);
    else
      values[k] = T(static_cast<float>(x));
  }
  auto r = fg::empty<T>(stream_of<D>(), sizes);
  fg::detail::copy_in(fg::ref(stream_of<D>()), r, values.data());
  return r;
}

/// The elements' bytes in row-major order; x is dense, in whatever order.
template <class D>
std::vector<unsigned char> bytes_of(const view<D>& x) {
  std::vector<unsigned char> bytes(static_cast<std::size_t>(x.bytes()));
  EXPECT_TRUE(fg::detail::is_dense(x.sizes(), x.strides()));
  fg::detail::copy_bytes(fg::ref(stream_of<D>()), bytes.data(), x.data(), x.bytes(),
                         fg::copy_kind::device_to_host);
  stream_of<D>().synchronize();
  if (x.is_contiguous()) return bytes;
  std::vector<unsigned char> rows;
  const std::size_t item = bytes.size() / static_cast<std::size_t>(x.numel());
  for (i64 k = 0; k < x.numel(); ++k) {
    i64 offset = 0, rest = k;
    for (int d = x.rank() - 1; d >= 0; --d) {
      offset += rest % x.size(d) * x.stride(d);
      rest /= x.size(d);
    }
    const auto* const first = bytes.data() + static_cast<std::size_t>(offset) * item;
    rows.insert(rows.end(), first, first + item);
  }
  return rows;
}
template <class D>
const view<D>& any_of(const view<D>& x) {
  return x;
}
template <class D>
const view<D>& any_of(const fg::any_tensor<D>& x) {
  return x.view();
}
template <class Got, class Want>
void expect_same(const Got& got_tensor, const Want& want_tensor, const std::string& what) {
  const auto& got = any_of(got_tensor);
  const auto& want = any_of(want_tensor);
  EXPECT_EQ(fg::to_string(got.dtype()), fg::to_string(want.dtype())) << what;
  ASSERT_EQ(std::string(fg::to_string(shape(got.sizes()))), fg::to_string(shape(want.sizes())))
      << what;
  EXPECT_EQ(bytes_of(got), bytes_of(want)) << what;
}

/// New memory of other values than a result has.
template <class D>
fg::any_tensor<D> garbage(fg::dtype type, const shape& sizes) {
  auto r = fg::visit(type, [&](auto t) -> fg::any_tensor<D> {
    return fg::empty<typename decltype(t)::type>(stream_of<D>(), sizes);
  });
  std::vector<unsigned char> bytes(static_cast<std::size_t>(r.view().bytes()), 0xA5);
  fg::detail::copy_bytes(fg::ref(stream_of<D>()), r.view().data(), bytes.data(), r.view().bytes(),
                         fg::copy_kind::host_to_device);
  stream_of<D>().synchronize();
  return r;
}
template <class D>
fg::any_tensor<D> copy_of(const view<D>& x) {
  auto r = garbage<D>(x.dtype(), shape(x.sizes()));
  fg::detail::copy_bytes(fg::ref(stream_of<D>()), r.view().data(), x.data(), x.bytes(),
                         fg::copy_kind::device_to_device);
  return r;
}

/// What a typed operator gave, as tensors of run-time dtypes.
template <class T, class D>
std::vector<fg::any_tensor<D>> boxed_results(fg::tensor<T, D>&& x) {
  std::vector<fg::any_tensor<D>> r;
  r.emplace_back(std::move(x));
  return r;
}
template <class R>
requires requires(R& r) { r.values, r.indices; }
auto boxed_results(R&& x) {
  std::vector<fg::any_tensor<typename decltype(x.values)::device_type>> r;
  r.emplace_back(std::move(x.values));
  r.emplace_back(std::move(x.indices));
  return r;
}
/// Of results with names, those that are there; others stay empty.
template <class T>
void put_result(fg::any_tensor<host>& to, fg::tensor<T, host>& x) {
  to = fg::any_tensor<host>(std::move(x));
}
template <class T>
void put_result(fg::any_tensor<host>& to, std::optional<T>& x) {
  if (x) put_result(to, *x);
}
template <class R>
requires requires(R& r) { r.tie(); }
auto boxed_results(R&& x) {
  std::vector<fg::any_tensor<host>> r(std::tuple_size_v<decltype(x.tie())>);
  std::apply(
      [&](auto&... one) {
        std::size_t k = 0;
        (put_result(r[k++], one), ...);
      },
      x.tie());
  return r;
}
template <class A, class B>
auto boxed_results(std::pair<A, B>&& x) {
  std::vector<fg::any_tensor<typename A::device_type>> r;
  r.emplace_back(std::move(x.first));
  r.emplace_back(std::move(x.second));
  return r;
}

template <class A, class... B>
auto boxed_results(std::tuple<A, B...>&& x) {
  std::vector<fg::any_tensor<typename A::device_type>> r;
  std::apply([&](auto&... one) { (r.emplace_back(std::move(one)), ...); }, x);
  return r;
}

/// The entry of `name` in another form than `one`, whose parameters are those of `one` first; null
/// if there is none.
template <class D>
const fg::registered_operator<D>* other_form(const fg::registered_operator<D>& one,
                                             fg::bindings::form form) {
  const fg::schema& s = one.schema();
  const bool in_place = form == fg::bindings::form::in_place;
  const std::string name = std::string(s.name) + (in_place ? "_" : "");
  for (const auto family : fg::registry<D>::families())
    for (const auto& other : family()) {
      const fg::schema& o = other.schema();
      if (other.form() != form || o.name != name || o.space != s.space) continue;
      if (in_place && s.parameters[0].type != "Tensor") continue;
      bool same = o.parameters.size() == s.parameters.size() + (in_place ? 0 : s.results.size());
      for (std::size_t i = in_place ? 1 : 0; same && i < s.parameters.size(); ++i)
        same = o.parameters[i].name == s.parameters[i].name &&
               o.parameters[i].type == s.parameters[i].type;
      if (same) return &other;
    }
  return nullptr;
}

template <class D>
void note(const fg::registered_operator<D>& op) {
  if (std::is_same_v<D, host>) called().emplace(op.schema().key());
}

/// The results of an operator, boxed, against `want`.
template <class D>
void check_results(const std::string& key, arguments<D> given,
                   const std::vector<fg::any_tensor<D>>& want) {
  const auto stream = fg::ref(stream_of<D>());
  const auto& op = fg::registry<D>::at(key);
  note(op);
  std::vector<fg::any_tensor<D>> got(want.size());
  op.call(stream, given, got);
  for (std::size_t k = 0; k < want.size(); ++k) {
    ASSERT_EQ(got[k].has_value(), want[k].has_value()) << key << ", result " << k;
    if (want[k].has_value()) expect_same(got[k].view(), want[k].view(), key);
  }

  if (const auto* const out = other_form(op, fg::bindings::form::out)) {
    note(*out);
    auto with_outputs = given;
    with_outputs.resize(op.schema().parameters.size());  // the rest has its defaults
    std::vector<fg::any_tensor<D>> memory;
    memory.reserve(want.size());
    for (const auto& w : want) {
      memory.push_back(garbage<D>(w.dtype(), shape(w.sizes())));
      with_outputs.push_back(memory.back());
    }
    out->call(stream, with_outputs, {});
    for (std::size_t k = 0; k < want.size(); ++k)
      expect_same(memory[k].view(), want[k].view(), std::string(out->schema().key()));
  }
  if (const auto* const in_place = other_form(op, fg::bindings::form::in_place)) {
    note(*in_place);
    auto changed = given;
    const auto self = copy_of(given[0].view());
    changed[0] = self;
    const auto expected = garbage<D>(self.dtype(), shape(self.sizes()));
    fg::registry<D>::at("copy_")(stream, {expected, want[0]});
    in_place->call(stream, changed, {});
    expect_same(self.view(), expected.view(), std::string(in_place->schema().key()));
  }
}
template <class D = host, class Typed>
void check(const std::string& key, const arguments<D>& given, const Typed& typed) {
  check_results<D>(key, given, boxed_results(typed()));
}

/// An error's code and text.
template <class F>
std::pair<fg::errc, std::string> error_of(const F& f) {
  try {
    f();
  } catch (const fg::error& e) {
    return {e.code(), e.what()};
  }
  return {fg::errc::driver_error, "no error"};
}
#define EXPECT_ERROR(expression, expected, ...)                                               \
  do {                                                                                        \
    const auto found = error_of([&] { static_cast<void>(expression); });                      \
    EXPECT_EQ(fg::to_string(found.first), fg::to_string(fg::errc::expected)) << found.second; \
    for (const char* const part : {__VA_ARGS__})                                              \
      EXPECT_NE(found.second.find(part), std::string::npos) << found.second;                  \
  } while (false)

}  // namespace flaggems_test
