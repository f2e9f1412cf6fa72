// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <llama/instances.hpp>

template class llama::matrix<flaggems::host>;
template class llama::weight_source<flaggems::host>;
template class llama::model<flaggems::host>;
template class llama::sampler<flaggems::host>;
