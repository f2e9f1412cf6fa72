// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Notes which operators passing tests launched on which device and level, or GPU, for the support
// table.
// With FLAGGEMS_SUPPORT_LOG=FILE the notes are written there as JSON at the end.
#include <flaggems/detail/cpu.hpp>
#include <flaggems/launch/hooks.hpp>
#include <flaggems/vendors/cuda.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <string>

namespace {

/// operator -> where it ran
using notes = std::map<std::string, std::set<std::string>>;
notes& of_this_test() {
  static notes n;
  return n;
}

void note(const flaggems::launch_event& e) {
  std::string where(e.device);
  if (where == "host") where += "@" + std::string(to_string(flaggems::isa()));
  // "NVIDIA H200", or "simulated GPU 0"
  if (where == "cuda") where += "@" + std::string(flaggems::cuda::properties(0).name.view());
#ifdef FLAGGEMS_TEST_DEVICE
  using tested = FLAGGEMS_TEST_DEVICE;
  if (where == tested::name)  // neither the host nor flaggems::cuda, which are named by now
    where += "@" + std::string(tested::properties(0).name.view());
#endif
  of_this_test()[std::string(e.op)].insert(where);
}

class recorder : public ::testing::EmptyTestEventListener {
  void OnTestStart(const ::testing::TestInfo&) override {
    of_this_test().clear();
    flaggems::set_launch_hook(note);
  }
  void OnTestEnd(const ::testing::TestInfo& info) override {
    flaggems::set_launch_hook(nullptr);
    if (info.result()->Passed())
      for (const auto& [op, places] : of_this_test())
        passed_[op].insert(places.begin(), places.end());
  }
  void OnTestProgramEnd(const ::testing::UnitTest&) override {
    const char* path = std::getenv("FLAGGEMS_SUPPORT_LOG");
    if (path == nullptr) return;
    std::ofstream file(path);
    file << '{';
    const char* op_separator = "\n";
    for (const auto& [op, places] : passed_) {
      file << op_separator << "  \"" << op << "\": [";
      const char* separator = "";
      for (const std::string& place : places) {
        file << separator << '"' << place << '"';
        separator = ", ";
      }
      file << ']';
      op_separator = ",\n";
    }
    file << "\n}\n";
  }
  notes passed_;
};

[[maybe_unused]] const bool registered = [] {
  // GoogleTest owns and deletes its listeners.
  ::testing::UnitTest::GetInstance()->listeners().Append(new recorder);
  return true;
}();

}  // namespace
