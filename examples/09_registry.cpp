// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// docs/registry.md: operators by name. CMakeLists.txt has the line that compiles the families.
#include <09_registry.hpp>
#include <flaggems/registry/registry.hpp>
#include <flaggems/vendors/host.hpp>

#include <iostream>
#include <span>

int main() {
  // [call]
  using namespace flaggems;
  stream<host> stream;
  const auto scores = from_values<float>(stream, {0.1f, 2.5f, -1, 1.5f, 0, 3}, {2, 3});
  const any_view<host> x(scores);  // dtype, sizes and strides at run time

  const auto& topk = registry<host>::at("topk");  // keep it: a search by name
  any_tensor<host> results[2];                    // as many as the schema has new tensors
  topk.call(stream, {x, 2}, results);             // arguments at the end have their defaults
  // [/call]

  // [forms]
  // out=: outputs are the last arguments of the schema. {} is a default, std::nullopt is None.
  auto values = empty<float>(stream, {2, 2});
  auto indices = empty<i64>(stream, {2, 2});
  const any_view<host> into_values(values), into_indices(indices);
  registry<host>::at("topk.values").call(stream, {x, 2, {}, {}, {}, into_values, into_indices}, {});

  // One new tensor, or none, comes as the call's value.
  const any_tensor<host> kept = registry<host>::at("mine::soft_limit")(stream, {results[0], 1.5});

  // A wrong argument is an error that names it.
  bool refused = false;
  try {
    topk.call(stream, {2, 2}, results);
  } catch (const error& e) {
    refused = e.code() == errc::invalid_argument;
    std::cout << e.what() << "\n";  // topk: expected Tensor for argument self, got an integer ...
  }
  // [/forms]

  // [list]
  for (const auto family : registry<host>::families())
    for (const auto& op : family()) std::cout << op.version() << " " << op.schema().text << "\n";
  // [/list]

  const bool right = results[0].as<float>()(0, 0) == 2.5f && results[1].as<i64>()(1, 0) == 2 &&
                     values(1, 1) == 1.5f && indices(0, 1) == 0 && kept.as<float>()(1, 0) < 1.5f &&
                     refused;
  return right ? 0 : 1;
}
