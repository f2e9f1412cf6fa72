// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The texts of kernels inside the program (FLAGGEMS_TEXT), as runtime compilers want them: headers
// by name, and a source that includes them all and names one instance.
#pragma once

#include <flaggems/detail/disk_cache.hpp>
#include <flaggems/kernels/entry.hpp>
#include <flaggems/launch/hooks.hpp>

#include <cstring>
#include <string>
#include <vector>

namespace flaggems::detail {

// Where the linker's symbols say that the section begins and ends; null if no header has put its
// text there.
extern "C" {
extern const char texts_begin[] __asm__("__start_flaggems_texts")
    __attribute__((weak, visibility("hidden")));
extern const char texts_end[] __asm__("__stop_flaggems_texts")
    __attribute__((weak, visibility("hidden")));
}

/// Headers of the device subset, the library's and the user's, each once.
struct kernel_texts {
  std::vector<const char*> names, texts;

  /// Those of this program (or shared library).
  static const kernel_texts& embedded() {
    static const kernel_texts all = [] {
      kernel_texts found;
      const char* at = texts_begin;
      while (at != texts_end) {
        const char* const name = at;
        const char* const text = name + std::strlen(name) + 1;
        at = text + std::strlen(text) + 1;
        found.add(name, text);
      }
      return found;
    }();
    return all;
  }

  /// 64 bits that change with any of the texts.
  [[nodiscard]] u64 hash() const noexcept {
    u64 h = hash_of({});
    for (std::size_t k = 0; k < names.size(); ++k)
      for (const char* part : {names[k], texts[k]}) h = hash_of({part, std::strlen(part) + 1}, h);
    return h;
  }

 private:
  // Link-time optimisation may have put a text there twice.
  void add(const char* name, const char* text) {
    for (const char* known : names)
      if (std::strcmp(known, name) == 0) return;
    names.push_back(name);
    texts.push_back(text);
  }
};

/// What a launch knows of a kernel's instance at compile time.
struct kernel_instance {
  const char* named;  ///< `named` of entry_of<Kernel, Args...>
  i64 argument_bytes;

  /// "Kernel, Args...", as a compiler for the chip reads it.
  [[nodiscard]] std::string_view types() const noexcept {
    std::string_view text = type_name(named);
    text.remove_prefix((std::min)(text.size(), text.find('<') + 1));
    text.remove_suffix(text.empty() ? 0 : 1);
    return text;
  }
};
template <class Kernel, class... Args>
inline constexpr kernel_instance instance_of = {
    named<kernels::entry_of<Kernel, Args...>>(),
    static_cast<i64>(sizeof(kernels::argument_pack<Args...>))};

/// The name of the entry function in the source.
inline constexpr const char* entry_name = "flaggems_entry";

/// A source with one entry function, for `instance`.
[[nodiscard]] inline std::string source_of(const kernel_texts& texts,
                                           const kernel_instance& instance) {
  std::string source;
  for (const char* name : texts.names) source += "#include <" + std::string(name) + ">\n";
  const std::string types(instance.types());
  source += "FLAGGEMS_INSTANCE(" + std::string(entry_name) + ", " + types + ")\n";
  source += "static_assert(sizeof(flaggems::kernels::entry_of<" + types +
            ">::arguments) == " + std::to_string(instance.argument_bytes) +
            ", \"flaggems: host and device lay the arguments out differently\");\n";
  return source;
}

}  // namespace flaggems::detail
