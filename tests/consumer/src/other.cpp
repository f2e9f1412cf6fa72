// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A second translation unit with the same headers: everything in them is inline and the same in
// both.
#include "consumer.hpp"

int other() { return consumer::use(); }
const void* other_handler_slot() { return consumer::handler_slot(); }
