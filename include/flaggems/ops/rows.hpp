// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The name that ops/plan/rows.hpp had: for operators of others.
#pragma once

#include <flaggems/ops/plan/rows.hpp>
