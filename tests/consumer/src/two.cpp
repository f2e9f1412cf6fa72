// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include "consumer.hpp"

int other();
const void* other_handler_slot();

int main() {
  if (other_handler_slot() != consumer::handler_slot()) {
    std::printf("two copies of the library's state\n");
    return 1;
  }
  return consumer::use() + other() + consumer::refuse();
}
