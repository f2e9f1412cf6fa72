// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Kernel images linked into the program (CMake's flaggems_precompile, flaggems-compile --object),
// for machines without a compiler. Section `flaggems_images` is a sequence of: u64 size of the
// image; the target and the instance's types, zero-terminated; the image, aligned to 16, as is the
// next entry.
#pragma once

#include <flaggems/vendors/driver/kernel_text.hpp>

#include <string>

namespace flaggems::detail {

extern "C" {
extern const char images_begin[] __asm__("__start_flaggems_images")
    __attribute__((weak, visibility("hidden")));
extern const char images_end[] __asm__("__stop_flaggems_images")
    __attribute__((weak, visibility("hidden")));
}

/// An entry of the section.
struct precompiled_image {
  std::string_view target, types, bytes;

  static constexpr std::size_t alignment = 16;

  /// The entry at `at`, which is advanced past it.
  static precompiled_image next(const char*& at) noexcept {
    u64 count = 0;
    std::memcpy(&count, at, sizeof(count));
    const char* const first = at;
    precompiled_image image;
    image.target = at + sizeof(count);
    image.types = image.target.data() + image.target.size() + 1;
    const char* const end = image.types.data() + image.types.size() + 1;
    const char* const data = first + padded(static_cast<std::size_t>(end - first));
    image.bytes = {data, static_cast<std::size_t>(count)};
    at = data + padded(static_cast<std::size_t>(count));
    return image;
  }
  /// Appends the entry to `section`, in the format that `next` reads.
  void append_to(std::string& section) const {
    const u64 count = bytes.size();
    section.append(reinterpret_cast<const char*>(&count), sizeof(count));
    for (const std::string_view name : {target, types}) section.append(name).push_back('\0');
    section.resize(padded(section.size()), '\0');
    section.append(bytes);
    section.resize(padded(section.size()), '\0');
  }

 private:
  static constexpr std::size_t padded(std::size_t n) noexcept {
    return (n + alignment - 1) / alignment * alignment;
  }
};

/// The program's image of an instance for a device of `target`: one made for it, else the last
/// compatible one by `Api`. Empty if there is none.
template <class Api>
[[nodiscard]] std::string_view precompiled_image_of(const kernel_instance& instance,
                                                    std::string_view target) noexcept {
  const std::string_view types = instance.types();
  std::string_view found;
  for (const char* at = images_begin; at != images_end;) {
    const precompiled_image image = precompiled_image::next(at);
    if (image.types != types) continue;
    if (image.target == target) return image.bytes;
    if (Api::runs(target, image.target)) found = image.bytes;
  }
  return found;
}

}  // namespace flaggems::detail
