// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Images of kernels inside the program, put there when it was linked (CMake's flaggems_precompile,
// flaggems-compile --object), so that it runs where there is no compiler. The section
// `flaggems_images` is a sequence of: u64 bytes of the image; the target and the instance's types,
// each with a zero behind it; the image at the next multiple of 16, and so the next one.
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

/// An image between others.
struct precompiled_image {
  std::string_view target, types, bytes;

  static constexpr std::size_t alignment = 16;

  /// The one that begins at `at`, which is set behind it.
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
  /// What `next` reads, behind what `section` has.
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

/// The program's image of an instance that runs on a device of `target`: the one made for it, or
/// else the last that `Api` says it runs. Empty if there is none.
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
