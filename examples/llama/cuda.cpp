// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include "instances.hpp"

template class llama::matrix<flaggems::cuda>;
template class llama::weight_source<flaggems::cuda>;
template class llama::model<flaggems::cuda>;
template class llama::sampler<flaggems::cuda>;
