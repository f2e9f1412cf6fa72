// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The kernel sources embedded in the program (FLAGGEMS_TEXT), as runtime compilers need them:
// headers by name, and a source that includes what its instances need.
#pragma once

#include <flaggems/detail/disk_cache.hpp>
#include <flaggems/kernel/block/simt/entry.hpp>
#include <flaggems/launch/hooks.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace flaggems::detail {

// The linker's symbols of the section's bounds; null without embedded sources.
extern "C" {
extern const char texts_begin[] __asm__("__start_flaggems_texts")
    __attribute__((weak, visibility("hidden")));
extern const char texts_end[] __asm__("__stop_flaggems_texts")
    __attribute__((weak, visibility("hidden")));
}

// The texts of this file's headers. Templates are compiled when all of a file has been read, so
// that it does not matter where it includes what.
#if FLAGGEMS_EMBED
namespace {

template <int Number>
concept has_text = requires {
  numbered_text<Number>::put();
};

template <class AtEnd, int... Numbers>
constexpr auto numbers_of_texts(std::integer_sequence<int, Numbers...>) {
  constexpr bool is_there[] = {has_text<Numbers>...};
  constexpr std::size_t count =
      static_cast<std::size_t>(std::count(std::begin(is_there), std::end(is_there), true));
  std::array<int, count> found{};
  for (std::size_t k = 0, number = 0; k < count; ++number)
    if (is_there[number]) found[k++] = static_cast<int>(number);
  return found;
}

template <class AtEnd>
inline constexpr auto texts_of_file =
    numbers_of_texts<AtEnd>(std::make_integer_sequence<int, most_texts>());

// Used: the linker keeps one `embedded` of all objects, but each needs its texts.
template <class AtEnd, std::size_t... K>
__attribute__((used)) void put_texts(std::index_sequence<K...>) {
  (numbered_text<texts_of_file<AtEnd>[K]>::put(), ...);
}

}  // namespace
#endif

/// Headers of the device subset, the library's and the user's, each once.
struct kernel_texts {
  std::vector<const char*> names, texts;
  const char* ambiguous = nullptr;  ///< a name with two different contents

  /// Those of this program or shared library.
  template <class AtEnd = void>
  static const kernel_texts& embedded() {
#if FLAGGEMS_EMBED
    put_texts<AtEnd>(std::make_index_sequence<texts_of_file<AtEnd>.size()>());
#endif
    static const kernel_texts all = [] {
      kernel_texts found;
      found.add_section(texts_begin, texts_end);
      return found;
    }();
    return all;
  }

  /// Those of the section `flaggems_texts` between the pointers.
  void add_section(const char* begin, const char* end) {
    for (const char* at = begin; at != end;) {
      const char* const name = at;
      const char* const code = name + std::strlen(name) + 1;
      at = code + std::strlen(code) + 1;
      add(name, code);
    }
    hash_ = hash_of({});
    for (std::size_t k = 0; k < names.size(); ++k)
      for (const char* part : {names[k], texts[k]})
        hash_ = hash_of({part, std::strlen(part) + 1}, hash_);
  }

  /// A 64-bit hash of all texts.
  [[nodiscard]] u64 hash() const noexcept { return hash_; }

 private:
  // Duplicates are normal: one per object, and one per path that a header was included by.
  void add(const char* name, const char* code) {
    for (std::size_t k = 0; k < names.size(); ++k)
      if (std::strcmp(names[k], name) == 0) {
        if (std::strcmp(texts[k], code) != 0) ambiguous = name;
        return;
      }
    names.push_back(name);
    texts.push_back(code);
  }

  u64 hash_ = 0;
};

/// A type whose name identifies a kernel's image. Programs contain it for every instance that they
/// may launch, where flaggems-compile finds it.
template <i64 ArgumentBytes, class Kernel, class... Args>
struct launched_instance;

/// A kernel's instance, by its name.
struct kernel_instance {
  const char* named;  ///< `named` of launched_instance<bytes, Kernel, Args...>

  /// "Kernel, Args...", as a device compiler reads it.
  [[nodiscard]] std::string_view types() const noexcept {
    std::string_view list = words();
    list.remove_prefix((std::min)(list.size(), list.find(", ") + 2));
    return list;
  }
  /// The bytes of the arguments, as text.
  [[nodiscard]] std::string_view argument_bytes() const noexcept {
    return words().substr(0, words().find_first_not_of("0123456789"));
  }

 private:
  [[nodiscard]] std::string_view words() const noexcept {
    std::string_view list = type_name(named);
    list.remove_prefix((std::min)(list.size(), list.find('<') + 1));
    list.remove_suffix(list.empty() ? 0 : 1);
    return list;
  }
};
template <class Kernel, class... Args>
inline constexpr kernel_instance instance_of = {
    named<launched_instance<static_cast<i64>(sizeof(kernels::argument_pack<Args...>)), Kernel,
                            Args...>>()};

/// The name of the entry function in the source of one instance.
inline constexpr const char* entry_name = "flaggems_entry";
/// The name of a source in compilers' messages about an instance.
inline constexpr const char* source_name = "flaggems_instance.cu";

/// The entry function `name` for `instance`.
[[nodiscard]] inline std::string source_of(const kernel_instance& instance,
                                           const std::string& name) {
  const std::string types(instance.types());
  return "FLAGGEMS_INSTANCE(" + name + ", " + types +
         ")\nstatic_assert(sizeof(flaggems::kernels::entry_of<" + types +
         ">::arguments) == " + std::string(instance.argument_bytes()) +
         ", \"flaggems: host and device lay the arguments out differently\");\n";
}

/// A declared name, as in the text: "softmax", or "name##_fn" in a macro.
struct declared_name {
  std::string_view name;
  std::size_t text;

  [[nodiscard]] bool is(std::string_view wanted) const noexcept {
    return wanted == name || !pasted_in(wanted).empty();
  }
  /// What the macro has pasted to make `wanted`; empty if it has not.
  [[nodiscard]] std::string_view pasted_in(std::string_view wanted) const noexcept {
    const std::size_t pasted = name.find("##");
    if (pasted == name.npos) return {};
    const std::string_view end = name.substr(pasted + 2);
    if (wanted.size() <= end.size() || wanted.substr(wanted.size() - end.size()) != end) return {};
    return wanted.substr(0, wanted.size() - end.size());
  }
};
inline constexpr std::string_view letters_of_names =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

/// The types that the texts declare, and other words in their position.
[[nodiscard]] inline std::vector<declared_name> declared_names(const kernel_texts& texts) {
  std::vector<declared_name> found;
  for (std::size_t k = 0; k < texts.texts.size(); ++k) {
    const std::string_view code = texts.texts[k];
    for (const std::string_view word : {"struct ", "class ", "union ", "enum ", "using "})
      for (std::size_t p = 0; (p = code.find(word, p)) != code.npos;) {
        p += word.size();
        const std::string_view rest = code.substr(p);
        std::size_t end = 0;
        while (end < rest.size() &&
               (rest[end] == '#' || letters_of_names.find(rest[end]) != rest.npos))
          ++end;
        if (end != 0 && rest.substr(end, 2) != "::") found.push_back({rest.substr(0, end), k});
      }
  }
  return found;
}

/// The texts that a source with these lines must include; those include others. All that are not
/// the library's, which may specialise its templates; of the library's, those that declare names in
/// the lines, or call a macro of another text that does, as parsing the rest is slow; all, if a
/// name is declared nowhere.
[[nodiscard]] inline std::vector<bool> included_texts(const kernel_texts& texts,
                                                      std::string_view lines) {
  constexpr std::string_view library = "flaggems::", headers = "flaggems/kernel";
  const std::vector<declared_name> declared = declared_names(texts);
  std::vector<bool> result(texts.names.size());
  for (std::size_t k = 0; k < result.size(); ++k)
    result[k] = std::string_view(texts.names[k]).substr(0, headers.size()) != headers;
  for (std::size_t p = 0; (p = lines.find(library, p)) != lines.npos;) {
    bool known = false;
    std::string_view rest;
    do {  // the parts of the name
      p = (std::min)(lines.size(), lines.find("::", p) + 2);
      rest = lines.substr(p);
      const std::string_view part = rest.substr(0, rest.find_first_not_of(letters_of_names));
      for (const declared_name& d : declared) {
        if (!d.is(part)) continue;
        result[d.text] = known = true;
        const std::string_view pasted = d.pasted_in(part);
        if (pasted.empty()) continue;
        const std::string row = std::string("(").append(pasted).append(",");
        for (std::size_t k = 0; k < result.size(); ++k)
          if (std::string_view(texts.texts[k]).find(row) != std::string_view::npos)
            result[k] = true;
      }
      p += part.size();
      rest.remove_prefix(part.size());
    } while (rest.substr(0, 2) == "::");
    if (!known) return std::vector<bool>(result.size(), true);
  }
  // What a kernel's family says of threads alone is beside it: scan.hpp, simt/scan.hpp.
  for (std::size_t k = 0; k < result.size(); ++k) {
    std::string side = texts.names[k];
    side.insert(side.rfind('/') + 1, "simt/");
    for (std::size_t other = 0; result[k] && other < result.size(); ++other)
      if (side == texts.names[other]) result[other] = true;
  }
  return result;
}

/// A source: these lines after the texts that they need.
[[nodiscard]] inline std::string source_of(const kernel_texts& texts, const std::string& lines) {
  const std::vector<bool> included = included_texts(texts, lines);
  std::string source;
  for (std::size_t k = 0; k < included.size(); ++k)
    if (included[k]) source += "#include <" + std::string(texts.names[k]) + ">\n";
  return source + lines;
}

/// Called with every instance before a device type of `Api` first loads it. For simulated drivers.
template <class Api>
struct instance_observer {
  template <class Kernel, class... Args>
  static void on_first_launch(const kernel_instance&) {}
};

}  // namespace flaggems::detail
