// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/detail/disk_cache.hpp>
#include <support/forks.hpp>

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <filesystem>
#include <fstream>
#include <string>

namespace {

namespace fs = std::filesystem;
using flaggems::i64;
using flaggems::detail::disk_cache;

constexpr i64 roomy = i64{1} << 30;

/// A folder of its own, gone when the test ends.
class disk_cache_test : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "flaggems_cache_XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root = name;
    folder = name + "/a/b";
  }
  void TearDown() override {
    fs::permissions(root, fs::perms::owner_all);
    fs::remove_all(root);
  }
  [[nodiscard]] fs::path only_file() const {
    fs::path found;
    int count = 0;
    for (const auto& entry : fs::directory_iterator(folder)) found = entry.path(), ++count;
    EXPECT_EQ(count, 1);
    return found;
  }
  std::string root, folder;
};

std::string image_of(int k) { return std::string(1000, static_cast<char>('a' + k % 26)); }

TEST_F(disk_cache_test, gives_back_what_it_took) {
  disk_cache cache(folder, roomy);
  ASSERT_EQ(cache.reason(), "");
  EXPECT_EQ(cache.load("key"), "");
  cache.store("key", image_of(1));
  EXPECT_EQ(cache.load("key"), image_of(1));
  EXPECT_EQ(cache.load("other"), "");
  cache.store("key", image_of(2));
  EXPECT_EQ(disk_cache(folder, roomy).load("key"), image_of(2));
  EXPECT_EQ(cache.statistics().hits, 1);
  EXPECT_EQ(cache.statistics().misses, 2);
  EXPECT_EQ(cache.statistics().written, 2);
}

TEST_F(disk_cache_test, rejects_every_truncation_and_every_flipped_byte) {
  disk_cache cache(folder, roomy);
  const std::string image = "the machine code";
  cache.store("key", image);
  const fs::path file = only_file();
  std::string whole(fs::file_size(file), '\0');
  std::ifstream(file, std::ios::binary).read(whole.data(), std::streamsize(whole.size()));
  const auto rewrite = [&](const std::string& bytes) {
    std::ofstream(file, std::ios::binary).write(bytes.data(), std::streamsize(bytes.size()));
  };
  for (std::size_t n = 0; n < whole.size(); ++n) {
    rewrite(whole.substr(0, n));
    EXPECT_EQ(cache.load("key"), "") << n << " bytes of it";
    std::string flipped = whole;
    flipped[n] = static_cast<char>(flipped[n] ^ 1);
    rewrite(flipped);
    EXPECT_EQ(cache.load("key"), "") << "byte " << n;
  }
  rewrite(whole + "x");
  EXPECT_EQ(cache.load("key"), "");
  EXPECT_EQ(cache.statistics().rejected, static_cast<i64>(2 * whole.size() + 1));
  cache.store("key", image);
  EXPECT_EQ(cache.load("key"), image);
}

TEST_F(disk_cache_test, of_another_key_with_the_same_name_is_rejected) {
  disk_cache cache(folder, roomy);
  cache.store("key", "image");
  const fs::path file = only_file();
  cache.store("other key", "other image");
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path() != file) fs::rename(entry.path(), file);
  EXPECT_EQ(cache.load("key"), "");
  EXPECT_EQ(cache.statistics().rejected, 1);
}

TEST_F(disk_cache_test, drops_what_was_not_used_for_the_longest_time) {
  disk_cache cache(folder, 5000);
  for (int k = 0; k < 4; ++k) {
    cache.store("key " + std::to_string(k), image_of(k));
    for (const auto& entry : fs::directory_iterator(folder))  // all an hour older
      fs::last_write_time(entry.path(), fs::last_write_time(entry.path()) - std::chrono::hours(1));
  }
  EXPECT_EQ(cache.load("key 0"), image_of(0));  // used now
  cache.store("key 4", image_of(4));
  EXPECT_EQ(cache.load("key 1"), "");
  EXPECT_EQ(cache.load("key 0"), image_of(0));
  EXPECT_EQ(cache.load("key 3"), image_of(3));
  EXPECT_EQ(cache.load("key 4"), image_of(4));
  EXPECT_EQ(cache.statistics().evicted, 1);
}

TEST_F(disk_cache_test, does_without_a_folder_that_others_may_write_to) {
  fs::create_directories(folder);
  fs::permissions(folder, fs::perms::owner_all | fs::perms::others_all);
  disk_cache cache(folder, roomy);
  EXPECT_NE(cache.reason().find("not this user's alone"), std::string::npos) << cache.reason();
  cache.store("key", "image");
  EXPECT_EQ(cache.load("key"), "");
  EXPECT_TRUE(fs::is_empty(folder));
}

TEST_F(disk_cache_test, does_without_a_folder_that_cannot_be_made) {
  std::ofstream(root + "/file") << "x";
  EXPECT_NE(disk_cache(root + "/file/below", roomy).reason(), "");
  EXPECT_NE(disk_cache(root + "/file", roomy).reason(), "");
  EXPECT_NE(disk_cache("/proc/none/below", roomy).reason(), "");
  EXPECT_NE(disk_cache("", roomy).reason(), "");
}

TEST_F(disk_cache_test, follows_no_link) {
  disk_cache cache(folder, roomy);
  cache.store("key", "image");
  const fs::path file = only_file();
  fs::rename(file, root + "/elsewhere");
  fs::create_symlink(root + "/elsewhere", file);
  EXPECT_EQ(cache.load("key"), "");
  cache.store("key", "image");  // replaces the link, not what it leads to
  EXPECT_FALSE(fs::is_symlink(file));
  EXPECT_EQ(cache.load("key"), "image");
}

TEST_F(disk_cache_test, serves_sixteen_processes_at_once) {
  FLAGGEMS_TEST_FORKS();
  constexpr int processes = 16, keys = 8, rounds = 50;
  for (int p = 0; p < processes; ++p) {
    if (::fork() != 0) continue;
    disk_cache cache(folder, 6000);  // fewer than all: they evict each other's
    int wrong = 0;
    for (int r = 0; r < rounds; ++r)
      for (int k = 0; k < keys; ++k) {
        const std::string key = "key " + std::to_string((k + p) % keys);
        const std::string image = image_of((k + p) % keys);
        const std::string found = cache.load(key);
        if (found.empty())
          cache.store(key, image);
        else
          wrong += found != image;
      }
    ::_exit(wrong == 0 && cache.statistics().rejected == 0 ? 0 : 1);
  }
  for (int p = 0; p < processes; ++p) {
    int status = 0;
    ASSERT_GT(::wait(&status), 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  for (const auto& entry : fs::directory_iterator(folder))
    EXPECT_EQ(entry.path().extension(), ".image") << "a temporary file is left";
}

TEST_F(disk_cache_test, of_the_user_is_where_the_environment_says) {
  ::setenv("FLAGGEMS_CACHE_DIR", folder.c_str(), 1);
  EXPECT_EQ(disk_cache::of_user().folder(), folder);
  ::unsetenv("FLAGGEMS_CACHE_DIR");
  ::setenv("XDG_CACHE_HOME", root.c_str(), 1);
  EXPECT_EQ(disk_cache::of_user().folder(), root + "/flaggems/kernels");
  ::setenv("FLAGGEMS_CACHE_MIB", "0", 1);
  EXPECT_EQ(disk_cache::of_user().reason(), "FLAGGEMS_CACHE_MIB is 0");
  for (const char* wrong : {"-1", "much", "5 MiB"}) {
    ::setenv("FLAGGEMS_CACHE_MIB", wrong, 1);
    EXPECT_EQ(disk_cache::of_user().reason(), "FLAGGEMS_CACHE_MIB is no number of MiB");
  }
  ::unsetenv("FLAGGEMS_CACHE_MIB");
  ::unsetenv("XDG_CACHE_HOME");
}

}  // namespace
