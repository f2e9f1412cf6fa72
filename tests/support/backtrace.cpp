// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A test program that dies of a signal says where: some such deaths do not come twice. Sanitizers
// have their own words.
#if defined(__has_feature)
#define SUPPORT_HAS(feature) __has_feature(feature)
#else
#define SUPPORT_HAS(feature) 0
#endif
#if __has_include(<execinfo.h>) && !defined(__SANITIZE_ADDRESS__) &&                           \
    !defined(__SANITIZE_THREAD__) && !SUPPORT_HAS(address_sanitizer) && \
    !SUPPORT_HAS(thread_sanitizer)

#include <execinfo.h>
#include <signal.h>
#include <unistd.h>
#include <cstring>
#include <initializer_list>

namespace {

void tell(int signal) {
  void* frames[64];
  const char words[] = "died of a signal in:\n";
  if (::write(STDERR_FILENO, words, std::strlen(words)) >= 0)
    backtrace_symbols_fd(frames, backtrace(frames, 64), STDERR_FILENO);
  ::raise(signal);  // as it would have done
}

[[maybe_unused]] const bool installed = [] {
  void* frame[1];
  backtrace(frame, 1);  // loads what it needs, which no handler may
  struct sigaction action {};
  action.sa_handler = tell;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE}) ::sigaction(signal, &action, nullptr);
  return true;
}();

}  // namespace

#endif
