// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Eigen, compiled for this processor. Only its matrix products use threads (OpenMP): the rest is
// offered for one.
#include "../peers.hpp"

#include <Eigen/Core>

#include <omp.h>

namespace compare {
namespace {

template <class T>
using flat = Eigen::Map<Eigen::Array<T, Eigen::Dynamic, 1>>;
template <class T>
using square = Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>,
                          Eigen::Unaligned, Eigen::OuterStride<>>;
template <class T>
using columns = Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor>,
                           Eigen::Unaligned, Eigen::OuterStride<>>;

Eigen::Index count_of(const operand& o) {
  Eigen::Index n = 1;
  for (const auto s : o.sizes) n *= s;
  return n;
}
bool contiguous(const operand& o) {
  std::int64_t next = 1;
  for (std::size_t d = o.sizes.size(); d-- > 0; next *= o.sizes[d])
    if (o.sizes[d] != 1 && o.strides[d] != next) return false;
  return true;
}

template <class T>
flat<T> vector_of(const operand& o) {
  return flat<T>(static_cast<T*>(o.data), count_of(o));
}
template <class T>
square<T> rows_of(const operand& o, std::int64_t at = 0, std::size_t first = 0) {
  return square<T>(static_cast<T*>(o.data) + at, o.sizes[first], o.sizes[first + 1],
                   Eigen::OuterStride<>(o.strides[first]));
}
template <class T>
columns<T> columns_of(const operand& o, std::int64_t at = 0, std::size_t first = 0) {
  return columns<T>(static_cast<T*>(o.data) + at, o.sizes[first], o.sizes[first + 1],
                    Eigen::OuterStride<>(o.strides[first + 1]));
}

template <class T>
offer product(const request& r) {
  const operand a = r.in[0], b = r.in[1], out = r.out[0];
  const bool batched = r.op == "bmm";
  const std::size_t first = batched ? 1 : 0;
  const std::int64_t count = batched ? out.sizes[0] : 1;
  const bool ta = a.strides[first + 1] != 1, tb = b.strides[first + 1] != 1;
  if ((ta && a.strides[first] != 1) || (tb && b.strides[first] != 1)) return {};
  const auto each = [=](auto left, auto right) {
    return offer{[=] {
                   for (std::int64_t i = 0; i < count; ++i)
                     rows_of<T>(out, batched ? i * out.strides[0] : 0, first).noalias() =
                         left(batched ? i * a.strides[0] : 0) *
                         right(batched ? i * b.strides[0] : 0);
                 },
                 batched ? "a loop of products" : ""};
  };
  const auto ra = [=](std::int64_t at) { return rows_of<T>(a, at, first); };
  const auto ca = [=](std::int64_t at) { return columns_of<T>(a, at, first); };
  const auto rb = [=](std::int64_t at) { return rows_of<T>(b, at, first); };
  const auto cb = [=](std::int64_t at) { return columns_of<T>(b, at, first); };
  if (ta) return tb ? each(ca, cb) : each(ca, rb);
  return tb ? each(ra, cb) : each(ra, rb);
}

template <class T>
offer vector_product(const request& r) {
  const operand a = r.in[0], x = r.in[1], out = r.out[0];
  const auto in = [=] {
    return Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, 1>>(static_cast<T*>(x.data), count_of(x));
  };
  const auto to = [=] {
    return Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, 1>>(static_cast<T*>(out.data),
                                                           count_of(out));
  };
  if (a.strides[1] == 1) return {[=] { to().noalias() = rows_of<T>(a) * in(); }, ""};
  return {[=] { to().noalias() = columns_of<T>(a) * in(); }, ""};
}

offer single(const request& r) {
  const auto &in = r.in, &outs = r.out;
  for (const auto& list : {in, outs})
    for (const operand& o : list)
      if (o.type != dtype::f32) return {};
  const operand out = outs[0], a = in[0];
  if (!contiguous(out)) return {};
  if (r.op == "copy" && a.sizes.size() == 2 && a.strides[0] == 1)
    return {[=] { rows_of<float>(out) = columns_of<float>(a); }, ""};
  for (const operand& o : in)
    if (!contiguous(o)) return {};
  const auto o = [=] { return vector_of<float>(out); };
  const auto x = [=] { return vector_of<float>(a); };
  if (r.op == "add") {
    const operand b = in[1];
    return {[=] { o() = x() + vector_of<float>(b); }, ""};
  }
  if (r.op == "mul_scalar") {
    const float s = static_cast<float>(r.numbers[0]);
    return {[=] { o() = x() * s; }, ""};
  }
  if (r.op == "exp") return {[=] { o() = x().exp(); }, ""};
  if (r.op == "silu") return {[=] { o() = x() / (1 + (-x()).exp()); }, "its expression"};
  if (r.op == "copy") return {[=] { o() = x(); }, ""};
  if (r.op == "mul_add_silu_mul") {
    const operand b = in[1], c = in[2];
    return {[=] {
              o() = x() * vector_of<float>(b) + vector_of<float>(c);
              o() = o() / (1 + (-o()).exp()) * x();
            },
            "two expressions"};
  }
  if (r.op == "scale_bias_clamp_add") {
    const operand b = in[1];
    return {[=] { o() = (x() * 1.5F + 0.25F).max(-1.0F).min(1.0F) + vector_of<float>(b); },
            "one expression"};
  }
  if ((r.op == "sum" || r.op == "amax" || r.op == "mean") && a.sizes.size() == 2) {
    if (r.numbers.empty()) {
      float* to = static_cast<float*>(out.data);
      if (r.op == "sum") return {[=] { *to = x().sum(); }, ""};
      if (r.op == "mean") return {[=] { *to = x().mean(); }, ""};
      return {[=] { *to = x().maxCoeff(); }, ""};
    }
    const auto m = [=] { return rows_of<float>(a); };
    const auto to = [=] {
      return Eigen::Map<Eigen::VectorXf>(static_cast<float*>(out.data), count_of(out));
    };
    if (r.numbers == std::vector<double>{1}) {
      if (r.op == "sum") return {[=] { to() = m().rowwise().sum(); }, ""};
      if (r.op == "mean") return {[=] { to() = m().rowwise().mean(); }, ""};
      return {[=] { to() = m().rowwise().maxCoeff(); }, ""};
    }
    if (r.op == "sum") return {[=] { to() = m().colwise().sum(); }, ""};
    if (r.op == "mean") return {[=] { to() = m().colwise().mean(); }, ""};
    return {[=] { to() = m().colwise().maxCoeff(); }, ""};
  }
  return {};
}

offer offer_for(const request& r) {
  const dtype t = r.out[0].type;
  if (r.op == "mm" || r.op == "bmm" || r.op == "mv") {
    for (const operand& o : r.in)
      if (o.type != t) return {};
    if (r.op == "mv")
      return t == dtype::f32   ? vector_product<float>(r)
             : t == dtype::f64 ? vector_product<double>(r)
                               : offer{};
    return t == dtype::f32 ? product<float>(r) : t == dtype::f64 ? product<double>(r) : offer{};
  }
  return r.threads == 1 ? single(r) : offer{};
}

#define FLAGGEMS_TEXT_(x) #x
#define FLAGGEMS_TEXT(x) FLAGGEMS_TEXT_(x)
const registered here({"Eigen",
                       FLAGGEMS_TEXT(EIGEN_WORLD_VERSION) "." FLAGGEMS_TEXT(
                           EIGEN_MAJOR_VERSION) "." FLAGGEMS_TEXT(EIGEN_MINOR_VERSION) ", " +
                           std::string(Eigen::SimdInstructionSetsInUse()),
                       [](int n) {
                         omp_set_num_threads(n);
                         Eigen::setNbThreads(n);
                       },
                       offer_for});

}  // namespace
}  // namespace compare
