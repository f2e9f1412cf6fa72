// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The program's parts for the devices it runs on, each compiled once, in a file of its own.
#pragma once

#include "model.hpp"
#include "sampler.hpp"
#include "weights.hpp"

#include <flaggems/vendors/cuda.hpp>
#include <flaggems/vendors/host.hpp>
#include <flaggems/vendors/opencl.hpp>

extern template class llama::matrix<flaggems::host>;
extern template class llama::weight_source<flaggems::host>;
extern template class llama::model<flaggems::host>;
extern template class llama::sampler<flaggems::host>;

extern template class llama::matrix<flaggems::cuda>;
extern template class llama::weight_source<flaggems::cuda>;
extern template class llama::model<flaggems::cuda>;
extern template class llama::sampler<flaggems::cuda>;

extern template class llama::matrix<flaggems::opencl>;
extern template class llama::weight_source<flaggems::opencl>;
extern template class llama::model<flaggems::opencl>;
extern template class llama::sampler<flaggems::opencl>;
