// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The yardstick of programs whose templates become much code: standard library only, never changed.
#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

template <class T, class Less>
T of_sorted(std::vector<T> values, Less less) {
  std::vector<T> other(values.rbegin(), values.rend());
  std::sort(values.begin(), values.end(), less);
  std::stable_sort(other.begin(), other.end(), less);
  std::deque<T> both;
  std::merge(values.begin(), values.end(), other.begin(), other.end(), std::back_inserter(both),
             less);
  std::nth_element(both.begin(), both.begin() + static_cast<std::ptrdiff_t>(both.size() / 2),
                   both.end(), less);
  return both[both.size() / 2];
}

template <class T>
T of_groups(const std::vector<T>& values) {
  std::map<T, std::vector<T>> ordered;
  std::unordered_map<T, std::deque<T>> hashed;
  for (const T& v : values) {
    ordered[v].push_back(v);
    hashed[v].push_front(v);
  }
  T sum{};
  for (const auto& [key, group] : ordered) {
    const auto found = hashed.find(key);
    if (found != hashed.end()) sum = sum + found->second.front();
    sum = std::accumulate(group.begin(), group.end(), sum);
  }
  return sum;
}

template <class T>
T work(const std::vector<T>& values) {
  T sum = of_sorted(values, [](const T& a, const T& b) { return a < b; });
  return sum + of_groups(values);
}

}  // namespace

int reference_code(const std::vector<int>& a, const std::vector<std::string>& b) {
  return work(a) + static_cast<int>(work(b).size());
}
