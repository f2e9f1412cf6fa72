// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The model program's steps (examples/llama) over the simulated driver: captured once, launched
// again for each token. tests/llama has the same tokens from the host.
#include <flaggems/vendors/host.hpp>

#include <vector>

#include <llama/generate.hpp>
#include <llama/instances.hpp>

#include "fixture.hpp"

namespace {

using namespace flaggems_test;  // NOLINT(google-build-using-namespace)

TEST(CudaModel, LaunchesItsStepsAsOneGraph) {
  const fg::stream<cuda> stream;
  const auto sizes = *llama::hyperparameters::named("tiny");
  llama::model<cuda> model(sizes, llama::weight_source<cuda>(7, llama::weight_dtype::f32, stream),
                           stream, llama::cache_dtype::f32);
  llama::sampler<cuda> best(stream, {}, sizes.vocabulary);
  llama::generator<cuda> generates(stream, model, best);
  model.reserve(64);
  std::vector<llama::token_id> ids;
  const auto take = [&](llama::token_id id) {
    ids.push_back(id);
    return true;
  };
  const std::vector<llama::token_id> prompt{5, 250, 31};
  generates.run(model.run(prompt), 2, 64, take);
  const long graphs = calls("cuGraphLaunch"), kernels = calls("cuLaunchKernelEx");
  generates.run(model.run({{ids.back(), 9}}), 4, 64, take);
  EXPECT_EQ(ids, (std::vector<llama::token_id>{216, 216, 187, 57, 57, 57}));
  EXPECT_EQ(calls("cuGraphLaunch") - graphs, 3);
  EXPECT_LT(calls("cuLaunchKernelEx") - kernels, 60);  // the prompt, and a choice for each step
}

}  // namespace
