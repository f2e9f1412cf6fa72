// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A mutex: including <mutex> is expensive to compile.
#pragma once

#include <flaggems/config.hpp>

#include <pthread.h>

namespace flaggems {
namespace detail {

class pool_mutex {
 public:
  pool_mutex() = default;
  pool_mutex(const pool_mutex&) = delete;
  pool_mutex& operator=(const pool_mutex&) = delete;
  void lock() noexcept { pthread_mutex_lock(&mutex_); }
  void unlock() noexcept { pthread_mutex_unlock(&mutex_); }

 private:
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};
class pool_lock {
 public:
  explicit pool_lock(pool_mutex& m) noexcept : mutex_(m) { mutex_.lock(); }
  ~pool_lock() { mutex_.unlock(); }
  pool_lock(const pool_lock&) = delete;
  pool_lock& operator=(const pool_lock&) = delete;

 private:
  pool_mutex& mutex_;
};

}  // namespace detail
}  // namespace flaggems
