// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/error.hpp>
#include <support/errors.hpp>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

namespace flaggems_test {

/// FLAGGEMS_TEST_SEED, or a new seed; printed, so that a failure can be repeated.
inline unsigned seed() {
  const char* text = std::getenv("FLAGGEMS_TEST_SEED");
  const unsigned value = text != nullptr ? static_cast<unsigned>(std::strtoul(text, nullptr, 10))
                                         : std::random_device{}();
  std::printf("FLAGGEMS_TEST_SEED=%u\n", value);
  return value;
}

/// A file name that no other process uses; the file is removed in the end.
class temporary_file {
 public:
  explicit temporary_file(const std::string& suffix)
      : path_(::testing::TempDir() + "flaggems_" + std::to_string(::getpid()) + suffix) {}
  temporary_file(const temporary_file&) = delete;
  temporary_file& operator=(const temporary_file&) = delete;
  ~temporary_file() { std::remove(path_.c_str()); }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string read() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const std::string& bytes) const {
    std::ofstream(path_, std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

 private:
  std::string path_;
};

}  // namespace flaggems_test

/// The statement raises an error with this code whose operator is `operator_name`.
#define EXPECT_RAISES(statement, error_code, operator_name)                             \
  do {                                                                                  \
    const flaggems::error raised = flaggems_test::error_of([&] { (void)(statement); }); \
    EXPECT_EQ(raised.code(), flaggems::errc::error_code) << raised.what();              \
    EXPECT_EQ(std::string(raised.op()), operator_name) << raised.what();                \
  } while (false)
