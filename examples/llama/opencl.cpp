// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include "instances.hpp"

template class llama::matrix<flaggems::opencl>;
template class llama::weight_source<flaggems::opencl>;
template class llama::model<flaggems::opencl>;
template class llama::sampler<flaggems::opencl>;
