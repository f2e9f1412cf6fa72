// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The processor's properties: instruction-set level and caches.
#pragma once

#include <flaggems/detail/atomic.hpp>
#include <flaggems/error.hpp>
#include <flaggems/kernel/lang/prelude.hpp>

#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#if FLAGGEMS_ARCH_X86
#include <cpuid.h>
#if __has_include(<sys/syscall.h>)
#include <sys/syscall.h>
#endif
#endif

namespace flaggems {

/// Instruction-set levels of the host's kernels, each with all names of FLAGGEMS_TARGET_*; every
/// level includes the previous one. On AArch64 `baseline` is NEON.
enum class isa_level : int { baseline, avx2, avx512, avx512_bf16, amx };

/// The number of levels.
inline constexpr int isa_level_count = 5;

/// The name of a level, as in FLAGGEMS_ISA; "unknown" for an invalid value.
[[nodiscard]] constexpr std::string_view to_string(isa_level level) noexcept {
  constexpr std::string_view names[isa_level_count] = {"baseline", "avx2", "avx512", "avx512_bf16",
                                                       "amx"};
  const int i = static_cast<int>(level);
  return i >= 0 && i < isa_level_count ? names[i] : "unknown";
}

namespace detail {

#if FLAGGEMS_ARCH_X86
// The register state that the operating system saves (XCR0).
inline u64 enabled_state() noexcept {
  u32 low = 0, high = 0;
  __asm__ __volatile__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<u64>(high) << 32) | low;
}

// Linux enables the tile registers per process, on request.
inline bool request_tiles() noexcept {
#ifdef SYS_arch_prctl
  constexpr long request_permission = 0x1023, tile_data = 18;
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
#else
  return false;
#endif
}

FLAGGEMS_COLD_ONCE isa_level detect_isa() noexcept {
  if constexpr (FLAGGEMS_MODEL_ISA != 0) return isa_level::amx;
  u32 a = 0, b = 0, c = 0, d = 0;
  const auto has = [](u32 word, int bit) { return ((word >> bit) & 1u) != 0; };
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) return isa_level::baseline;
  const bool osxsave = has(c, 27), avx = has(c, 28), fma = has(c, 12), f16c = has(c, 29),
             popcnt = has(c, 23);
  if (!(osxsave && avx && fma && f16c && popcnt)) return isa_level::baseline;
  const u64 state = enabled_state();
  if ((state & 0x6) != 0x6) return isa_level::baseline;  // xmm, ymm

  if (__get_cpuid(0x80000001u, &a, &b, &c, &d) == 0 || !has(c, 5)) return isa_level::baseline;
  u32 b7 = 0, c7 = 0, d7 = 0;
  if (__get_cpuid_count(7, 0, &a, &b7, &c7, &d7) == 0) return isa_level::baseline;
  const u32 subleaves = a;
  if (!(has(b7, 3) && has(b7, 5) && has(b7, 8))) return isa_level::baseline;  // bmi, avx2, bmi2

  if ((state & 0xe6) != 0xe6) return isa_level::avx2;  // masks, zmm
  if (!(has(b7, 16) && has(b7, 17) && has(b7, 30) && has(b7, 31))) return isa_level::avx2;

  u32 a71 = 0;
  if (subleaves >= 1) __get_cpuid_count(7, 1, &a71, &b, &c, &d);
  if (!(has(c7, 11) && has(a71, 5))) return isa_level::avx512;  // vnni, bf16

  const bool tiles = has(d7, 22) && has(d7, 24) && has(d7, 25);  // bf16, tile, int8
  if (!tiles || (state & 0x60000) != 0x60000 || !request_tiles()) return isa_level::avx512_bf16;
  return isa_level::amx;
}
#else
inline isa_level detect_isa() noexcept { return isa_level::baseline; }
#endif

inline atomic<int>& isa_slot() noexcept {
  static atomic<int> slot{-1};
  return slot;
}

}  // namespace detail

/// The highest level that the processor, the operating system and FLAGGEMS_MAX_ISA allow.
[[nodiscard]] inline isa_level detected_isa() noexcept {
  static const isa_level level = [] {
    const isa_level machine = detail::detect_isa(), compiled = isa_level{FLAGGEMS_MAX_ISA};
    return machine < compiled ? machine : compiled;
  }();
  return level;
}

namespace detail {

FLAGGEMS_COLD_ONCE text available_isa_levels() {
  text list;
  for (int i = 0; i <= static_cast<int>(detected_isa()); ++i)
    list.append(i == 0 ? "" : ", ").append(to_string(static_cast<isa_level>(i)));
  return list;
}

/// The level named by `text`. Raises invalid_argument for an unknown one, not_supported for one
/// that the machine lacks; both list the machine's.
FLAGGEMS_COLD_ONCE isa_level parse_isa(std::string_view name, const char* op) {
  for (int i = 0; i < isa_level_count; ++i) {
    const isa_level level = static_cast<isa_level>(i);
    if (to_string(level) != name) continue;
    if (level > detected_isa())
      raise(errc::not_supported, op,
            "a level that this machine has (" + available_isa_levels() + ")", name);
    return level;
  }
  raise(errc::invalid_argument, op, "one of " + available_isa_levels(), name);
}

FLAGGEMS_COLD_ONCE isa_level first_isa() {
  const char* name = std::getenv("FLAGGEMS_ISA");
  const isa_level level =
      name != nullptr && *name != '\0' ? parse_isa(name, "FLAGGEMS_ISA") : detected_isa();
  int unset = -1;
  isa_slot().compare_exchange_strong(unset, static_cast<int>(level));
  return static_cast<isa_level>(isa_slot().load(memory_order::relaxed));
}

}  // namespace detail

/// The level of the host's kernels: the detected one, or that of the environment variable
/// FLAGGEMS_ISA or `force_isa`. The first call raises if FLAGGEMS_ISA is not a level of the
/// machine.
[[nodiscard]] inline isa_level isa() {
  const int level = detail::isa_slot().load(detail::memory_order::relaxed);
  if (level < 0) [[unlikely]]
    return detail::first_isa();
  return static_cast<isa_level>(level);
}

/// Sets the level of all later launches. Raises not_supported if the machine lacks it,
/// invalid_argument for an invalid value.
inline void force_isa(isa_level level) {
  detail::parse_isa(to_string(level), "force_isa");
  detail::isa_slot().store(static_cast<int>(level), detail::memory_order::relaxed);
}

/// Forces a level during its lifetime.
class isa_guard {
 public:
  explicit isa_guard(isa_level level) : before_(isa()) { force_isa(level); }
  ~isa_guard() {
    detail::isa_slot().store(static_cast<int>(before_), detail::memory_order::relaxed);
  }
  isa_guard(const isa_guard&) = delete;
  isa_guard& operator=(const isa_guard&) = delete;

 private:
  isa_level before_;
};

/// Bytes of the caches that a core can use.
struct cache_sizes {
  i64 l1d = 0;  ///< per core
  i64 l2 = 0;   ///< usually per core
  i64 l3 = 0;   ///< shared; 0 if there is none
};

namespace detail {

FLAGGEMS_COLD_ONCE cache_sizes read_caches() {
  cache_sizes sizes;
#ifdef _SC_LEVEL1_DCACHE_SIZE
  sizes.l1d = static_cast<i64>(sysconf(_SC_LEVEL1_DCACHE_SIZE));
  sizes.l2 = static_cast<i64>(sysconf(_SC_LEVEL2_CACHE_SIZE));
  sizes.l3 = static_cast<i64>(sysconf(_SC_LEVEL3_CACHE_SIZE));
#endif
  // Fallback to Linux where the C library does not know (AArch64, musl).
  for (int index = 0; index < 8 && (sizes.l1d <= 0 || sizes.l2 <= 0); ++index) {
    const auto read = [index](const char* what, char(&line)[32]) {
      char path[96];
      std::snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index,
                    what);
      std::FILE* file = std::fopen(path, "r");
      if (file == nullptr) return false;
      const bool ok = std::fgets(line, sizeof(line), file) != nullptr;
      std::fclose(file);
      return ok;
    };
    char level[32] = {}, type[32] = {}, size[32] = {};
    if (!read("level", level) || !read("type", type) || !read("size", size)) break;
    char* unit = nullptr;
    i64 bytes = static_cast<i64>(std::strtol(size, &unit, 10));
    if (*unit == 'K') bytes *= 1024;
    if (*unit == 'M') bytes *= 1024 * 1024;
    if (type[0] == 'I') continue;
    if (level[0] == '1' && sizes.l1d <= 0) sizes.l1d = bytes;
    if (level[0] == '2' && sizes.l2 <= 0) sizes.l2 = bytes;
    if (level[0] == '3' && sizes.l3 <= 0) sizes.l3 = bytes;
  }
  if (sizes.l1d <= 0) sizes.l1d = 32 * 1024;
  if (sizes.l2 <= 0) sizes.l2 = 512 * 1024;
  if (sizes.l3 < 0) sizes.l3 = 0;
  return sizes;
}

}  // namespace detail

namespace detail {

/// The processor's own name; "unknown" if it has none.
FLAGGEMS_COLD_ONCE text processor_name() {
#if FLAGGEMS_ARCH_X86
  u32 words[13] = {};
  u32* w = words;
  for (u32 leaf = 0x80000002u; leaf <= 0x80000004u; ++leaf, w += 4)
    if (__get_cpuid(leaf, &w[0], &w[1], &w[2], &w[3]) == 0) return text("unknown");
  char bytes[sizeof(words)];
  std::memcpy(bytes, words, sizeof(words));
  std::string_view name(bytes);
  while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
  while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
  return text(name);
#else
  return text("unknown");
#endif
}

}  // namespace detail

/// The caches of this machine, read once; 32 KiB and 512 KiB if unknown.
[[nodiscard]] inline const cache_sizes& caches() {
  static const cache_sizes sizes = detail::read_caches();
  return sizes;
}

}  // namespace flaggems
