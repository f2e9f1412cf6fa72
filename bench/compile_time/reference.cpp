// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The yardstick: standard library only, never changed. Times of the others are ratios to its time.
#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

int reference(const std::vector<int>& values) {
  std::map<std::string, std::vector<int>> groups;
  for (const int v : values) groups[std::to_string(v % 7)].push_back(v);
  int sum = 0;
  const std::function<int(int)> twice = [](int x) { return 2 * x; };
  for (auto& [name, group] : groups) {
    std::sort(group.begin(), group.end());
    sum += twice(group.front()) + static_cast<int>(name.size());
  }
  return sum;
}
