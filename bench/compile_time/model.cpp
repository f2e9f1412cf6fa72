// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What docs/use.md shows of a model: weights of a file, a norm, products, probabilities, the best.
#include <flaggems/ops/activation.hpp>
#include <flaggems/ops/gemm.hpp>
#include <flaggems/ops/norm.hpp>
#include <flaggems/ops/softmax.hpp>
#include <flaggems/ops/topk.hpp>
#include <flaggems/tensor/npy.hpp>
#include <flaggems/tensor/safetensors.hpp>
#include <flaggems/vendors/host.hpp>

#include <string>

void model(const std::string& folder) {
  flaggems::stream<flaggems::host> stream;
  const auto file = flaggems::load_safetensors(folder + "/w.safetensors");
  const auto w = flaggems::from_host(stream, file.at("layer.weight").as<const float>());
  const auto b = flaggems::from_host(stream, file.at("layer.bias").as<const float>());
  const auto scale = flaggems::from_host(stream, file.at("norm.weight").as<const float>());
  const auto array = flaggems::load_npy(folder + "/x.npy");
  const auto x = flaggems::from_host(stream, array.view().as<const float>());

  const auto h = flaggems::rms_norm(stream, x, {x.size(1)}, scale);
  const auto logits = flaggems::gelu(stream, flaggems::linear(stream, h, w, b));
  const auto p = flaggems::softmax(stream, logits, -1);
  const auto best = flaggems::topk(stream, p, 2);
  flaggems::save_npy(folder + "/values.npy", best.values);
  flaggems::save_npy(folder + "/indices.npy", best.indices);
}
