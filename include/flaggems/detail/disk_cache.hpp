// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Compiled kernels on disk, so that later processes need not compile them.
//
// One file per image, named by a hash of its key, with the key and a checksum: a truncated, changed
// or foreign one is treated as absent and replaced. Files are written to temporaries and renamed,
// so processes can share a folder. Beyond its limit the least recently used files are removed.
// Never raises: a broken cache costs time, not results.
#pragma once

#include <flaggems/detail/text.hpp>
#include <flaggems/kernel/lang/prelude.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace flaggems {

/// Statistics of the disk cache in this process.
struct disk_cache_statistics {
  i64 hits = 0;      ///< images found
  i64 misses = 0;    ///< images not found
  i64 rejected = 0;  ///< damaged or foreign files
  i64 written = 0;
  i64 evicted = 0;
};

namespace detail {

/// A 64-bit hash continued from `h`, eight bytes at a time, since first use hashes all kernel
/// sources of a program.
[[nodiscard]] inline u64 hash_of(std::string_view bytes, u64 h = 0xcbf29ce484222325) noexcept {
  const auto mix = [&h](u64 word) {
    h = (h ^ word) * 0x9e3779b97f4a7c15;
    h ^= h >> 32;
  };
  mix(bytes.size());
  for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
    u64 word = 0;
    std::memcpy(&word, bytes.data(), 8);
    mix(word);
  }
  u64 rest = 0;
  // An empty view's pointer may be null.
  if (!bytes.empty()) std::memcpy(&rest, bytes.data(), bytes.size());
  mix(rest);
  return h;
}

/// A file descriptor that is closed automatically.
class file_descriptor {
 public:
  explicit file_descriptor(int number) noexcept : number_(number) {}
  ~file_descriptor() { close(); }
  file_descriptor(const file_descriptor&) = delete;
  file_descriptor& operator=(const file_descriptor&) = delete;

  [[nodiscard]] bool is_open() const noexcept { return number_ >= 0; }
  [[nodiscard]] int number() const noexcept { return number_; }
  /// False on a deferred write error.
  bool close() noexcept {
    const bool ok = number_ < 0 || ::close(number_) == 0;
    number_ = -1;
    return ok;
  }
  [[nodiscard]] bool write(std::string_view bytes) const noexcept {
    while (!bytes.empty()) {
      const ssize_t n = ::write(number_, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }
  /// Reads bytes.size() bytes; false if there are fewer.
  [[nodiscard]] bool read(std::string& bytes) const noexcept {
    for (std::size_t have = 0; have < bytes.size();) {
      const ssize_t n = ::read(number_, bytes.data() + have, bytes.size() - have);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      have += static_cast<std::size_t>(n);
    }
    return true;
  }

 private:
  int number_;
};

class disk_cache {
 public:
  /// In `folder`, created if needed; an empty name disables the cache. At most `limit` bytes of
  /// files.
  disk_cache(std::string folder, i64 limit) : folder_(std::move(folder)), limit_(limit) {
    if (folder_.empty()) {
      reason_ = "no folder is named: FLAGGEMS_CACHE_DIR, XDG_CACHE_HOME and HOME are not set";
    } else {
      while (folder_.size() > 1 && folder_.back() == '/') folder_.pop_back();
      make_folder();
    }
  }

  /// The user's cache: $FLAGGEMS_CACHE_DIR, else $XDG_CACHE_HOME/flaggems/kernels, else
  /// ~/.cache/flaggems/kernels; at most $FLAGGEMS_CACHE_MIB (256) MiB; disabled if that is 0.
  static disk_cache of_user() {
    const auto variable = [](const char* name) {
      const char* const set = std::getenv(name);
      return std::string(set != nullptr ? set : "");
    };
    i64 mib = 256;
    if (const std::string set = variable("FLAGGEMS_CACHE_MIB"); !set.empty()) {
      char* end = nullptr;
      const long long n = std::strtoll(set.c_str(), &end, 10);
      mib = *end == '\0' && n >= 0 && n < (i64{1} << 40) ? n : -1;
    }
    std::string folder = variable("FLAGGEMS_CACHE_DIR");
    if (folder.empty()) {
      const std::string base = variable("XDG_CACHE_HOME"), home = variable("HOME");
      if (!base.empty() && base[0] == '/')  // the specification requires ignoring relative paths
        folder = base + "/flaggems/kernels";
      else if (!home.empty())
        folder = home + "/.cache/flaggems/kernels";
    }
    disk_cache cache(mib <= 0 ? std::string() : folder, mib * (i64{1} << 20));
    if (mib == 0) cache.reason_ = "FLAGGEMS_CACHE_MIB is 0";
    if (mib < 0) cache.reason_ = "FLAGGEMS_CACHE_MIB is no number of MiB";
    return cache;
  }

  /// Why the cache is disabled; empty if it works.
  [[nodiscard]] const std::string& reason() const noexcept { return reason_; }
  [[nodiscard]] const std::string& folder() const noexcept { return folder_; }
  [[nodiscard]] const disk_cache_statistics& statistics() const noexcept { return statistics_; }

  /// The image stored under `key`; empty if there is none.
  [[nodiscard]] std::string load(std::string_view key) {
    if (!reason_.empty()) return {};
    const std::string path = path_of(key);
    const file_descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!file.is_open()) return ++statistics_.misses, std::string();
    std::string image;
    if (!read_file(file, key, image)) return ++statistics_.rejected, std::string();
    ::futimens(file.number(), nullptr);  // marks it as used
    ++statistics_.hits;
    return image;
  }

  /// Stores `image` under `key`, replacing any; does nothing on failure.
  void store(std::string_view key, std::string_view image) {
    if (!reason_.empty()) return;
    make_room(static_cast<i64>(sizeof(header) + key.size() + image.size()));
    const std::string path = path_of(key);
    std::string temporary = path + ".XXXXXX";
    file_descriptor file(::mkostemp(temporary.data(), O_CLOEXEC));
    if (!file.is_open()) return;
    const header front = header_of(key, image);
    const bool written = file.write({reinterpret_cast<const char*>(&front), sizeof(front)}) &&
                         file.write(key) && file.write(image) && file.close();
    if (written && ::rename(temporary.c_str(), path.c_str()) == 0)
      ++statistics_.written;
    else
      ::unlink(temporary.c_str());
  }

 private:
  struct header {
    char magic[8] = {'f', 'l', 'a', 'g', 'g', 'e', 'm', '1'};
    u64 key_bytes = 0, image_bytes = 0, checksum = 0;
  };
  static header header_of(std::string_view key, std::string_view image) {
    header front;
    front.key_bytes = key.size();
    front.image_bytes = image.size();
    front.checksum = hash_of(image, hash_of(key));
    return front;
  }

  [[nodiscard]] std::string path_of(std::string_view key) const {
    char name[32];
    std::snprintf(name, sizeof(name), "/%016llx.image",
                  static_cast<unsigned long long>(hash_of(key)));
    return folder_ + name;
  }

  static bool read_file(const file_descriptor& file, std::string_view key, std::string& image) {
    struct stat about {};
    if (::fstat(file.number(), &about) != 0 || !S_ISREG(about.st_mode) ||
        about.st_uid != ::geteuid())
      return false;
    std::string all(static_cast<std::size_t>(about.st_size), '\0');
    header front;
    if (all.size() < sizeof(front) + key.size() || !file.read(all)) return false;
    std::memcpy(&front, all.data(), sizeof(front));
    const std::string_view found_key = std::string_view(all).substr(sizeof(front), key.size());
    image = all.substr(sizeof(front) + key.size());
    const header expected = header_of(key, image);
    return std::memcmp(&front, &expected, sizeof(front)) == 0 && found_key == key && !image.empty();
  }

  // Creates a folder with its parents; refuses one that others can write to.
  void make_folder() {
    for (std::size_t end = folder_.find('/', 1);; end = folder_.find('/', end + 1)) {
      const std::string part = folder_.substr(0, end);
      if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST && end == folder_.npos) {
        reason_ = folder_ + ": " + std::strerror(errno);
        return;
      }
      if (end == folder_.npos) break;
    }
    struct stat about {};
    if (::stat(folder_.c_str(), &about) != 0)
      reason_ = folder_ + ": " + std::strerror(errno);
    else if (!S_ISDIR(about.st_mode))
      reason_ = folder_ + ": not a folder";
    else if (about.st_uid != ::geteuid() || (about.st_mode & (S_IWGRP | S_IWOTH)) != 0)
      reason_ = folder_ + ": not this user's alone";
    else if (::access(folder_.c_str(), R_OK | W_OK | X_OK) != 0)
      reason_ = folder_ + ": not writable";
  }

  void make_room(i64 bytes) {
    struct entry {
      std::string path;
      i64 bytes;
      timespec used;
    };
    std::vector<entry> entries;
    i64 total = bytes;
    DIR* const open = ::opendir(folder_.c_str());
    if (open == nullptr) return;
    while (const dirent* const item = ::readdir(open)) {
      const std::string path = folder_ + '/' + item->d_name;
      struct stat about {};
      // Temporary files of crashed processes count and are removed too.
      if (path.find(".image") == path.npos || ::lstat(path.c_str(), &about) != 0 ||
          !S_ISREG(about.st_mode))
        continue;
      entries.push_back({path, static_cast<i64>(about.st_size), about.st_mtim});
      total += static_cast<i64>(about.st_size);
    }
    ::closedir(open);
    if (total <= limit_) return;
    std::sort(entries.begin(), entries.end(), [](const entry& a, const entry& b) {
      return a.used.tv_sec != b.used.tv_sec ? a.used.tv_sec < b.used.tv_sec
                                            : a.used.tv_nsec < b.used.tv_nsec;
    });
    for (const entry& oldest : entries) {
      if (total <= limit_) break;
      if (::unlink(oldest.path.c_str()) == 0) ++statistics_.evicted;
      total -= oldest.bytes;
    }
  }

  std::string folder_, reason_;
  i64 limit_;
  disk_cache_statistics statistics_;
};

}  // namespace detail
}  // namespace flaggems
