// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// nvrtc-compile: compiles CUDA C++ files to machine code with NVRTC. No GPU, driver or toolkit is
// needed: the library is opened at run time. One line a file: size, milliseconds, name; or the log.
//
//   nvrtc-compile [--lib libnvrtc.so] [--arch sm_90a] [--instance EXPR].. [-I DIR].. [-O OPTION]..
//   FILE..
//
// --instance instantiates a template by name (a name expression of NVRTC) in every FILE.
#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace {

// NVRTC's own ABI; result 0 is success.
using program = struct nvrtc_program*;
struct nvrtc {
  int (*version)(int*, int*);
  const char* (*error_string)(int);
  int (*create)(program*, const char*, const char*, int, const char* const*, const char* const*);
  int (*destroy)(program*);
  int (*add_name)(program, const char*);
  int (*lowered_name)(program, const char*, const char**);
  int (*compile)(program, int, const char* const*);
  int (*log_size)(program, std::size_t*);
  int (*log)(program, char*);
  int (*cubin_size)(program, std::size_t*);
};

template <class F>
bool bind(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  if (!function) std::fprintf(stderr, "nvrtc-compile: the library has no %s\n", name);
  return function != nullptr;
}

bool open_library(const std::string& path, nvrtc& api) {
  void* library = nullptr;
  const std::vector<std::string> paths =
      path.empty() ? std::vector<std::string>{"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12",
                                              "/usr/local/cuda/lib64/libnvrtc.so"}
                   : std::vector<std::string>{path};
  for (const std::string& p : paths)
    if (!library) library = dlopen(p.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!library) {
    std::fprintf(stderr, "nvrtc-compile: cannot open NVRTC: %s\n", dlerror());
    return false;
  }
  return bind(library, "nvrtcVersion", api.version) &&
         bind(library, "nvrtcGetErrorString", api.error_string) &&
         bind(library, "nvrtcCreateProgram", api.create) &&
         bind(library, "nvrtcDestroyProgram", api.destroy) &&
         bind(library, "nvrtcAddNameExpression", api.add_name) &&
         bind(library, "nvrtcGetLoweredName", api.lowered_name) &&
         bind(library, "nvrtcCompileProgram", api.compile) &&
         bind(library, "nvrtcGetProgramLogSize", api.log_size) &&
         bind(library, "nvrtcGetProgramLog", api.log) &&
         bind(library, "nvrtcGetCUBINSize", api.cubin_size);
}

bool compile(const nvrtc& api, const std::string& file, const std::vector<std::string>& options,
             const std::vector<std::string>& instances) {
  std::ifstream in(file);
  if (!in) {
    std::fprintf(stderr, "nvrtc-compile: cannot read %s\n", file.c_str());
    return false;
  }
  std::stringstream text;
  text << in.rdbuf();
  const auto start = std::chrono::steady_clock::now();
  program unit = nullptr;
  api.create(&unit, text.str().c_str(), file.c_str(), 0, nullptr, nullptr);
  for (const std::string& expression : instances) api.add_name(unit, expression.c_str());
  std::vector<const char*> raw;
  for (const std::string& option : options) raw.push_back(option.c_str());
  const int result = api.compile(unit, static_cast<int>(raw.size()), raw.data());
  std::size_t bytes = 0;
  api.log_size(unit, &bytes);
  std::string log(bytes, '\0');
  if (bytes > 0) api.log(unit, log.data());
  while (!log.empty() && (log.back() == '\0' || log.back() == '\n')) log.pop_back();
  std::size_t size = 0;
  if (result == 0) api.cubin_size(unit, &size);
  const auto ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start);
  for (const std::string& expression : instances) {
    const char* name = nullptr;
    if (result == 0 && api.lowered_name(unit, expression.c_str(), &name) == 0)
      std::printf("  %s -> %s\n", expression.c_str(), name);
  }
  api.destroy(&unit);
  // Warnings count: kernels are warning-free under every compiler.
  if (result != 0 || size == 0 || !log.empty()) {
    std::fprintf(stderr, "%s: %s\n%s\n", file.c_str(), api.error_string(result), log.c_str());
    return false;
  }
  std::printf("%8zu bytes %6.0f ms  %s\n", size, ms.count(), file.c_str());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  std::string library, arch = "sm_90a";
  std::vector<std::string> options = {"--std=c++17", "-default-device"}, instances, files;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const std::string next = i + 1 < argc ? argv[i + 1] : "";
    if (word == "--lib") {
      library = next, ++i;
    } else if (word == "--arch") {
      arch = next, ++i;
    } else if (word == "--instance") {
      instances.push_back(next), ++i;
    } else if (word == "-I") {
      options.push_back("-I" + next), ++i;
    } else if (word == "-O") {
      options.push_back(next), ++i;
    } else if (word.rfind('-', 0) == 0) {
      std::fprintf(stderr, "nvrtc-compile: unknown option %s\n", word.c_str());
      return 2;
    } else {
      files.push_back(word);
    }
  }
  options.push_back("--gpu-architecture=" + arch);
  nvrtc api{};
  if (!open_library(library, api)) return 3;
  int major_number = 0, minor_number = 0, failed = 0;
  api.version(&major_number, &minor_number);
  std::printf("NVRTC %d.%d, %s\n", major_number, minor_number, arch.c_str());
  for (const std::string& file : files) failed += compile(api, file, options, instances) ? 0 : 1;
  if (failed) std::fprintf(stderr, "nvrtc-compile: %d of %zu files failed\n", failed, files.size());
  return failed ? 1 : 0;
}
