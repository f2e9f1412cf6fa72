// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Opens a shared library, uses it in a thread that ends, and closes it, again and again.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <thread>

int main(int, char** arguments) {
  long long blocks = 0;
  for (int i = 0; i < 5; ++i) {
    void* const library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return std::puts(dlerror()), 2;
    const auto adds = reinterpret_cast<bool (*)()>(dlsym(library, "adds"));
    const auto pooled = reinterpret_cast<long long (*)()>(dlsym(library, "pooled_blocks"));
    if (adds == nullptr || pooled == nullptr) return std::puts(dlerror()), 2;
    bool is_right = false;
    std::thread([&] { is_right = adds(); }).join();
    if (!is_right) return std::puts("a wrong sum"), 1;
    if (i > 0 && pooled() != blocks) return std::puts("the pool has lost its blocks"), 1;
    blocks = pooled();
    dlclose(library);
    usleep(20000);  // until its threads sleep
  }
  std::puts("fine");
}
