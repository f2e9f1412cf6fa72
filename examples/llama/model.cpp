// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include "instances.hpp"

template class llama::model<flaggems::host>;
