// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include "instances.hpp"

template class llama::matrix<flaggems::host>;
template class llama::weight_source<flaggems::host>;
