// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A runtime compiler beside the simulated driver, in a vendor's file that says before it:
// FLAGGEMS_SIMULATED_COMPILER(Name), the function's name; FLAGGEMS_SIMULATED_IMAGE(Size), that of
// an image's getter. It checks that what a source includes is there, and that it is told what the
// vendor's rules ask for; its image is the name of the instance.
#pragma once

#include "machine.hpp"

using namespace flaggems_simulated;

extern "C" {

struct simulated_program {
  std::string source, image, log;
  std::set<std::string> headers;
};
int FLAGGEMS_SIMULATED_COMPILER(Version)(int* major_number, int* minor_number) {
  *major_number = 0;
  *minor_number = 1;
  return 0;
}
const char* FLAGGEMS_SIMULATED_COMPILER(GetErrorString)(int code) {
  return code == 0   ? rules.compiler_results[0]
         : code == 6 ? rules.compiler_results[1]
                     : rules.compiler_results[2];
}
int FLAGGEMS_SIMULATED_COMPILER(CreateProgram)(void** program, const char* source, const char*,
                                               int count, const char* const*,
                                               const char* const* names) {
  const std::lock_guard<std::recursive_mutex> lock(sim().mutex);
  ++sim().calls[__func__];
  auto* const p = new simulated_program;
  p->source = source;
  for (int k = 0; k < count; ++k) p->headers.insert(names[k]);
  *program = p;
  return 0;
}
int FLAGGEMS_SIMULATED_COMPILER(DestroyProgram)(void** program) {
  delete static_cast<simulated_program*>(*program);
  *program = nullptr;
  return 0;
}
int FLAGGEMS_SIMULATED_COMPILER(CompileProgram)(void* program, int count,
                                                const char* const* options) {
  const std::lock_guard<std::recursive_mutex> lock(sim().mutex);
  ++sim().calls[__func__];
  auto& p = *static_cast<simulated_program*>(program);
  if (int result = 0; takes_fault(__func__, result)) {
    p.log = "flaggems_instance.cu(1): error: simulated\n";
    return result;
  }
  const auto is_wanted = [](const char* option) {
    return std::string(option).rfind(rules.compiler_option, 0) == 0;
  };
  if (std::none_of(options, options + count, is_wanted))
    return p.log = std::string("error: no option ") + rules.compiler_option, 5;
  for (size at = 0; (at = p.source.find("#include <", at)) != p.source.npos;) {
    at += 10;
    const std::string name = p.source.substr(at, p.source.find('>', at) - at);
    if (p.headers.count(name) == 0) return p.log = "error: no header " + name, 6;
  }
  if (p.source.empty()) return 0;
  const std::string start = "FLAGGEMS_INSTANCE(flaggems_entry, ";
  const size from = p.source.find(start);
  if (from == p.source.npos) return p.log = "error: no instance", 6;
  const size first = from + start.size();
  p.image = rules.image_head + p.source.substr(first, p.source.find(")\n", first) - first) +
            rules.image_tail;
  return 0;
}
int FLAGGEMS_SIMULATED_COMPILER(GetProgramLogSize)(void* program, size* bytes) {
  *bytes = static_cast<simulated_program*>(program)->log.size() + 1;
  return 0;
}
int FLAGGEMS_SIMULATED_COMPILER(GetProgramLog)(void* program, char* text) {
  std::strcpy(text, static_cast<simulated_program*>(program)->log.c_str());
  return 0;
}
int FLAGGEMS_SIMULATED_IMAGE(Size)(void* program, size* bytes) {
  *bytes = static_cast<simulated_program*>(program)->image.size() + 1;
  return 0;
}
int FLAGGEMS_SIMULATED_IMAGE()(void* program, char* bytes) {
  std::strcpy(bytes, static_cast<simulated_program*>(program)->image.c_str());
  return 0;
}

}  // extern "C"
