// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <llama/model.hpp>
#include <llama/sampler.hpp>

#include <flaggems/vendors/host.hpp>
#include <flaggems/vendors/simt.hpp>

template class llama::matrix<flaggems::simt32>;
template class llama::weight_source<flaggems::simt32>;
template class llama::model<flaggems::simt32>;
template class llama::sampler<flaggems::simt32>;
