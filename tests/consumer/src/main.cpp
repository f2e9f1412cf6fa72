// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The program of every consumer: the library works, and an error reaches the user.
#include "consumer.hpp"

int main() { return consumer::use() + consumer::refuse(); }
