// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Files as bytes: read, mapped, written. The basis of the formats (npy, safetensors).
#pragma once

#include <flaggems/tensor/any_view.hpp>
#include <flaggems/tensor/file_source.hpp>

#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#if __has_include(<sys/mman.h>) && __has_include(<sys/stat.h>) && __has_include(<fcntl.h>)
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#define FLAGGEMS_HAS_MMAP 1
#else
#define FLAGGEMS_HAS_MMAP 0
#endif

namespace flaggems {

/// The bytes of a file, or part of them.
using byte_span = std::span<const std::byte>;

namespace detail {

static_assert(std::endian::native == std::endian::little, "the file formats are little endian");

[[noreturn]] FLAGGEMS_COLD_ONCE void raise_file(const char* op, const std::string& path,
                                                const char* what) {
  raise(errc::bad_file, op, text(what) + " '" + path + "'", std::strerror(errno));
}

/// Owned bytes, aligned to 64.
class aligned_bytes {
 public:
  aligned_bytes() = default;
  aligned_bytes(std::size_t size, const char* op) : size_(size) {
    data_ = static_cast<std::byte*>(
        ::operator new (size == 0 ? 1 : size, std::align_val_t{alignment}, std::nothrow));
    if (data_ == nullptr) [[unlikely]]
      raise(errc::out_of_memory, op, text(size) + " bytes of memory");
  }
  aligned_bytes(aligned_bytes&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  aligned_bytes& operator=(aligned_bytes&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~aligned_bytes() { ::operator delete (data_, std::align_val_t{alignment}); }

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] byte_span span() const noexcept { return {data_, size_}; }

 private:
  static constexpr std::size_t alignment = 64;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// A FILE that is closed automatically and whose errors are raised.
class file {
 public:
  file(const std::string& path, const char* mode, const char* op) : file(path, mode, op, path) {}
  /// Errors name `name` instead of the path.
  file(const std::string& path, const char* mode, const char* op, const std::string& name)
      : path_(name), op_(op), handle_(std::fopen(path.c_str(), mode)) {
    if (handle_ == nullptr) [[unlikely]]
      raise_file(op_, path_, mode[0] == 'r' ? "a readable file" : "a file to write");
  }
  file(const file&) = delete;
  file& operator=(const file&) = delete;
  ~file() {
    if (handle_ != nullptr) std::fclose(handle_);
  }
  void write(const void* data, std::size_t size) {
    if (size != 0 && std::fwrite(data, 1, size, handle_) != size) [[unlikely]]
      raise_file(op_, path_, "to write");
  }
  [[nodiscard]] std::size_t read(void* data, std::size_t size) {
    const std::size_t n = std::fread(data, 1, size, handle_);
    if (n != size && std::ferror(handle_) != 0) [[unlikely]]
      raise_file(op_, path_, "to read");
    return n;
  }
  /// Raises deferred write errors.
  void close() {
    if (std::fclose(std::exchange(handle_, nullptr)) != 0) [[unlikely]]
      raise_file(op_, path_, "to write");
  }

 private:
  std::string path_;
  const char* op_;
  std::FILE* handle_;
};

/// A file written atomically: until `close` it is a temporary next to `path`, then it replaces it.
/// On failure the temporary is removed and `path` is unchanged; mappings of the old file stay
/// valid. What is no regular file (a pipe, a device) is written directly.
class new_file {
 public:
  new_file(const std::string& path, const char* op)
      : op_(op),
        path_(path),
        temporary_(place()),
        out_(temporary_, is_direct_ ? "wb" : "wbx", op, path) {}
  new_file(const new_file&) = delete;
  new_file& operator=(const new_file&) = delete;
  ~new_file() {
    if (!is_direct_ && !is_done_) std::remove(temporary_.c_str());
  }
  void write(const void* data, std::size_t size) { out_.write(data, size); }
  void close() {
    out_.close();
    if (is_direct_) return;
#if FLAGGEMS_HAS_MMAP
    if (has_mode_ && ::chmod(temporary_.c_str(), mode_) != 0) [[unlikely]]
      raise_file(op_, path_, "to write");
#endif
    if (std::rename(temporary_.c_str(), path_.c_str()) != 0) [[unlikely]]
      raise_file(op_, path_, "to replace");
    is_done_ = true;
  }

 private:
  /// The path to replace: symbolic links are followed and stay.
  std::string place() {
    static int last = 0;
    text unique(__atomic_add_fetch(&last, 1, __ATOMIC_RELAXED));
#if FLAGGEMS_HAS_MMAP
    struct ::stat status;
    if (::stat(path_.c_str(), &status) == 0) {
      if (!S_ISREG(status.st_mode)) {
        is_direct_ = true;
        return path_;
      }
      if (::access(path_.c_str(), W_OK) != 0) [[unlikely]]
        raise_file(op_, path_, "a file to write");
      has_mode_ = true;
      mode_ = status.st_mode & 07777;
      if (char* real = ::realpath(path_.c_str(), nullptr)) {
        path_ = real;
        std::free(real);
      }
    }
    unique = text(::getpid()) + "-" + unique;
#endif
    std::string r(path_, 0, path_.rfind('/') + 1);  // nothing if there is no '/'
    r += ".flaggems-" + unique + ".tmp";
    return r;
  }

  const char* op_;
  std::string path_;
  bool is_direct_ = false, is_done_ = false;
#if FLAGGEMS_HAS_MMAP
  bool has_mode_ = false;
  ::mode_t mode_ = 0;
#endif
  std::string temporary_;
  file out_;
};

/// Reads a whole file, up to its actual end.
FLAGGEMS_ONCE aligned_bytes read_file(const std::string& path, const char* op) {
  file in(path, "rb", op);
  aligned_bytes bytes(std::size_t{1} << 16, op);
  std::size_t used = 0;
  for (;;) {
    used += in.read(bytes.data() + used, bytes.size() - used);
    if (used < bytes.size()) break;
    aligned_bytes larger(bytes.size() * 2, op);
    std::memcpy(larger.data(), bytes.data(), used);
    bytes = std::move(larger);
  }
  aligned_bytes exact(used, op);
  if (used != 0) std::memcpy(exact.data(), bytes.data(), used);
  return exact;
}

/// A whole file, read-only: mapped if possible, else read. It must not be truncated while mapped.
/// Raises bad_file for anything but a regular file: a pipe or device may have no end or block.
class file_view {
 public:
  file_view() = default;
  FLAGGEMS_ONCE file_view(const std::string& path, const char* op) {
#if FLAGGEMS_HAS_MMAP
    // O_NONBLOCK: opening a pipe would wait for a writer.
    const int handle = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (handle < 0) [[unlikely]]
      raise_file(op, path, "a readable file");
    struct ::stat status;
    if (::fstat(handle, &status) != 0 || !S_ISREG(status.st_mode)) [[unlikely]] {
      ::close(handle);
      raise(errc::bad_file, op, text("a regular file '") + path + "'", "something else");
    }
    void* address = MAP_FAILED;
    if (status.st_size > 0)
      address = ::mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ, MAP_PRIVATE,
                       handle, 0);
    ::close(handle);
    if (address != MAP_FAILED) {
      mapped_ = byte_span(static_cast<const std::byte*>(address),
                          static_cast<std::size_t>(status.st_size));
      return;
    }
#endif
    read_ = read_file(path, op);
  }
  file_view(file_view&& other) noexcept
      : mapped_(std::exchange(other.mapped_, {})), read_(std::move(other.read_)) {}
  file_view& operator=(file_view&& other) noexcept {
    std::swap(mapped_, other.mapped_);
    std::swap(read_, other.read_);
    return *this;
  }
  ~file_view() {
#if FLAGGEMS_HAS_MMAP
    if (!mapped_.empty()) ::munmap(const_cast<std::byte*>(mapped_.data()), mapped_.size());
#endif
  }
  [[nodiscard]] byte_span span() const noexcept { return mapped_.empty() ? read_.span() : mapped_; }

 private:
  byte_span mapped_;
  aligned_bytes read_;
};

/// The size in bytes of an array in a file; false if it is 2^63 or more, ignoring sizes of 0.
[[nodiscard]] inline bool array_bytes(const shape& sizes, dtype type, i64& bytes) {
  i64 n = 1;
  bool is_empty = false;
  for (const i64 s : sizes) {
    is_empty |= s == 0;
    if (!multiply(n, s == 0 ? 1 : s, n)) return false;
  }
  return multiply(is_empty ? 0 : n, size_of(type), bytes);
}

/// A little-endian unsigned integer of `size` bytes.
[[nodiscard]] inline u64 load_unsigned(const std::byte* p, int size) noexcept {
  u64 value = 0;
  std::memcpy(&value, p, static_cast<std::size_t>(size));
  return value;
}

/// Passes the elements of `v` to `sink(bytes, size)` in row-major order.
template <class Sink>
void for_each_run(const std::byte* data, const shape& sizes, const shape& strides, i64 element,
                  int axis, Sink& sink) {
  if (int_list rest(sizes.data() + axis, sizes.rank() - axis);
      is_contiguous(rest, int_list(strides.data() + axis, strides.rank() - axis))) {
    i64 n = element;
    for (const i64 s : rest) n *= s;
    sink(data, static_cast<std::size_t>(n));
    return;
  }
  for (i64 i = 0; i < sizes[axis]; ++i)
    for_each_run(data + i * strides[axis] * element, sizes, strides, element, axis + 1, sink);
}

/// Writes the elements of `v` in row-major order.
FLAGGEMS_ONCE void write_elements(new_file& out, const any_view<host>& v) {
  if (v.empty()) return;
  if (v.is_contiguous()) {
    out.write(v.data(), static_cast<std::size_t>(v.bytes()));
    return;
  }
  auto sink = [&out](const std::byte* p, std::size_t n) { out.write(p, n); };
  for_each_run(static_cast<const std::byte*>(v.data()), v.sizes(), v.strides(), size_of(v.dtype()),
               0, sink);
}

/// Whether every byte is 0 or 1: others must not be read as bool.
[[nodiscard]] inline bool are_bools(byte_span bytes) noexcept {
  unsigned all = 0;
  for (const std::byte b : bytes) all |= static_cast<unsigned>(b);
  return all <= 1;
}

}  // namespace detail
}  // namespace flaggems
