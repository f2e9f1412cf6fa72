// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// tests/registry/schemas.txt, the committed list of schemas.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <utility>

namespace flaggems_test {

/// Version and text of each schema, by its key.
using schema_list = std::map<std::string, std::pair<int, std::string>>;

constexpr const char* schemas_path = FLAGGEMS_TEST_SOURCE_DIR "/tests/registry/schemas.txt";
inline schema_list committed_schemas() {
  schema_list all;
  std::ifstream file(schemas_path);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const auto space = line.find(' ');
    const std::string text = line.substr(space + 1);
    all[text.substr(0, text.find('('))] = {std::stoi(line.substr(0, space)), text};
  }
  return all;
}

/// A changed schema has a new version. With FLAGGEMS_UPDATE_SCHEMAS in the environment the list
/// is written anew, if that holds.
inline void check_schemas(const schema_list& now) {
  const schema_list before = committed_schemas();
  const bool update = std::getenv("FLAGGEMS_UPDATE_SCHEMAS") != nullptr;
  const char* const how = ": write the list anew (docs/tutorial.md has the command)";
  bool right = true;
  for (const auto& [key, one] : now) {
    const auto found = before.find(key);
    if (found == before.end()) {
      EXPECT_TRUE(update) << key << " is new" << how;
    } else if (found->second != one) {
      right = right && one.first > found->second.first;
      EXPECT_GT(one.first, found->second.first)
          << key << " has another schema: raise its version, in its line";
      EXPECT_TRUE(update) << key << " has another version" << how;
    }
  }
  if (update && right) {
    std::ofstream file(schemas_path);
    file << "# SPDX-FileCopyrightText: 2026 The flaggems authors\n"
            "# SPDX-License-Identifier: Apache-2.0\n"
            "# Version and schema of every operator, by tests/registry/schemas.cpp\n";
    for (const auto& [key, one] : now) file << one.first << ' ' << one.second << '\n';
    return;
  }
  for (const auto& [key, one] : before) EXPECT_TRUE(now.contains(key)) << key << " is gone" << how;
}

}  // namespace flaggems_test
