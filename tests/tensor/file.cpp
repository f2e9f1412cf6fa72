// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What happens to files that exist when they are written: who has them mapped keeps them, and a
// failure leaves them as they were.
#include <flaggems/tensor/npy.hpp>
#include <flaggems/tensor/safetensors.hpp>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <csignal>
#include <filesystem>
#include <vector>

#include "test_support.hpp"

namespace {

using namespace flaggems;
namespace fs = std::filesystem;

/// An empty folder, removed with all that is in it.
class folder {
 public:
  folder() : path_(::testing::TempDir() + "flaggems_folder_" + std::to_string(::getpid())) {
    fs::remove_all(path_);
    fs::create_directory(path_);
  }
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;
  ~folder() { fs::remove_all(path_); }
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + '/' + name; }
  [[nodiscard]] std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(path_), {}));
  }

 private:
  std::string path_;
};

any_view<host> numbers(const std::vector<i32>& values) {
  return tensor_view<const i32>(values.data(), {static_cast<i64>(values.size())});
}
std::vector<i32> loaded(const std::string& path) {
  const npy_array array = load_npy(path);
  const auto v = array.view().as<const i32>();
  return {v.data(), v.data() + v.numel()};
}

TEST(file, a_mapped_file_stays_what_it_is) {
  const folder here;
  const std::string path = here / "model.safetensors";
  const std::vector<i32> large(100'000, 7), small{1, 2, 3};
  save_safetensors(path, std::vector<named_view>{{"a", numbers(large)}});
  const safetensors mapped = load_safetensors(path);
  save_safetensors(path, std::vector<named_view>{{"b", numbers(small)}});
  const auto a = mapped.at("a").as<const i32>();  // a shorter file would end the program here
  for (i64 k = 0; k < a.numel(); ++k) ASSERT_EQ(a(k), 7);
  EXPECT_EQ(load_safetensors(path).at("b").as<const i32>()(2), 3);
  // What is written may come out of the very file.
  const safetensors own = load_safetensors(path);
  save_safetensors(path, std::vector<named_view>{{"c", own.at("b")}, {"d", own.at("b")}});
  EXPECT_EQ(load_safetensors(path).at("d").as<const i32>()(1), 2);
  EXPECT_EQ(here.entries(), 1u);
}

TEST(file, a_failure_leaves_what_was_there) {
  const folder here;
  const std::string path = here / "x.npy";
  const std::vector<i32> small{1, 2, 3}, large(1 << 20, 5);
  save_npy(path, numbers(small));
  // No file may have more than 64 KiB now; the signal that says so would end the program.
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit limit = before;
  limit.rlim_cur = 65536;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  const error npy = flaggems_test::error_of([&] { save_npy(path, numbers(large)); });
  const error tensors = flaggems_test::error_of([&] {
    save_safetensors(path, std::vector<named_view>{{"a", numbers(large)}});
  });
  const error other = flaggems_test::error_of([&] { save_npy(here / "y.npy", numbers(large)); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(npy.code(), errc::bad_file);
  EXPECT_EQ(tensors.code(), errc::bad_file);
  EXPECT_EQ(other.code(), errc::bad_file);
  EXPECT_NE(std::string(npy.expected()).find(path), std::string::npos) << npy.what();
  EXPECT_EQ(loaded(path), small);
  EXPECT_EQ(here.entries(), 1u);
}

TEST(file, errors_name_the_path) {
  const std::vector<i32> values{1};
  const error e =
      flaggems_test::error_of([&] { save_npy("/no/such/folder/x.npy", numbers(values)); });
  EXPECT_EQ(e.code(), errc::bad_file);
  EXPECT_NE(std::string(e.expected()).find("'/no/such/folder/x.npy'"), std::string::npos)
      << e.what();
}

TEST(file, errors_of_what_is_in_it_name_the_path) {
  const folder here;
  const std::string path = here / "x.file";
  const auto expect = [&](const std::string& bytes, errc npy, errc tensors) {
    std::ofstream(path, std::ios::binary) << bytes;
    const error a = flaggems_test::error_of([&] { (void)load_npy(path); });
    const error b = flaggems_test::error_of([&] { (void)load_safetensors(path); });
    EXPECT_EQ(a.code(), npy) << a.what();
    EXPECT_EQ(b.code(), tensors) << b.what();
    for (const error& e : {a, b})
      EXPECT_NE(std::string(e.what()).find("'" + path + "'"), std::string::npos) << e.what();
  };
  expect("", errc::bad_file, errc::bad_file);
  expect("nonsense nonsense", errc::bad_file, errc::bad_file);
  expect(std::string("\x93NUMPY\1\0\x02\0{x", 12), errc::bad_file, errc::bad_file);
  expect(std::string("\x04\0\0\0\0\0\0\0{\"a\"", 12), errc::bad_file, errc::bad_file);
  const std::string header =
      R"({"a":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,4]}})";
  std::string length(8, '\0');
  length[0] = static_cast<char>(header.size());
  expect(length + header + "0000", errc::bad_file, errc::not_supported);
}

// A pipe that nobody writes to would make the program wait, and /dev/zero has no end.
TEST(file, what_is_no_regular_file_is_not_read) {
  const folder here;
  const std::string pipe = here / "pipe", link = here / "link";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  fs::create_symlink("/dev/zero", link);
  for (const std::string& path : {pipe, link, ::testing::TempDir()}) {
    EXPECT_RAISES(load_npy(path), bad_file, "load_npy");
    EXPECT_RAISES(load_safetensors(path), bad_file, "load_safetensors");
  }
}

TEST(file, links_and_modes_stay) {
  const folder here;
  const std::string path = here / "x.npy", link = here / "link.npy";
  const std::vector<i32> small{1, 2, 3}, other{4};
  save_npy(path, numbers(small));
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  fs::create_symlink("x.npy", link);
  save_npy(link, numbers(other));
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(loaded(path), other);
  EXPECT_EQ(fs::status(path).permissions(), fs::perms(0640));
  EXPECT_EQ(here.entries(), 2u);
  if (::geteuid() != 0) {  // nothing is read-only for root
    ASSERT_EQ(::chmod(path.c_str(), 0440), 0);
    EXPECT_RAISES(save_npy(path, numbers(small)), bad_file, "save_npy");
    EXPECT_EQ(loaded(path), other);
  }
}

TEST(file, what_is_no_regular_file_is_written_directly) {
  const std::vector<i32> large(1 << 16, 5);
  if (fs::exists("/dev/null")) save_npy("/dev/null", numbers(large));
  EXPECT_FALSE(fs::is_regular_file("/dev/null"));
  if (fs::exists("/dev/full"))
    EXPECT_RAISES(save_npy("/dev/full", numbers(large)), bad_file, "save_npy");
}

}  // namespace
