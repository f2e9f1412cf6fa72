// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Vector accesses of a SIMT thread: up to 16 bytes in one instruction.
#pragma once

#include <flaggems/kernel/lang/lanes.hpp>

namespace flaggems::kernels {

/// Count consecutive elements, aligned to their total size of up to 16 bytes.
template <class T, int Count>
struct alignas(static_cast<int>(sizeof(T)) * Count) vec {
  static_assert(sizeof(T) * Count <= 16, "flaggems: a vec has at most 16 bytes");
  T at[Count];
};

/// Elements per 16 bytes.
template <class T>
inline constexpr int vec_size = 16 / static_cast<int>(sizeof(T));

/// Whether p is aligned to a vector of Count elements.
template <int Count, class T>
FLAGGEMS_INLINE bool is_vec_aligned(global_ptr<T> p) {
  return reinterpret_cast<u64>(p) % (sizeof(T) * Count) == 0;
}

/// Loads p[0 .. Count); p is vector-aligned.
template <int Count, class T>
FLAGGEMS_INLINE vec<T, Count> load_vec(global_ptr<const T> p) {
  return *reinterpret_cast<global_ptr<const vec<T, Count>>>(p);
}
/// Loads the 16 bytes at the vector-aligned p as words. (As elements of 16 bits, compilers would
/// split and reassemble them.)
template <class T>
FLAGGEMS_INLINE vec<u32, 4> load_words(global_ptr<const T> p) {
#if FLAGGEMS_LANGUAGE_CUDA && FLAGGEMS_DEVICE_CODE
  return *reinterpret_cast<const vec<u32, 4>*>(p);
#elif FLAGGEMS_LANGUAGE_HIP && FLAGGEMS_DEVICE_CODE
  // By a generic pointer it would be a flat load, for which each access to LDS waits.
  using words = u32 __attribute__((ext_vector_type(4)));
  return bit_cast<vec<u32, 4>>(*(const __attribute__((address_space(1))) words*)(p));
#else
  return bit_cast<vec<u32, 4>>(load_vec<vec_size<T>>(p));
#endif
}
/// As load_words, for data that is read once: not allocated in L1.
template <class T>
FLAGGEMS_INLINE vec<u32, 4> load_words_once(global_ptr<const T> p) {
#if FLAGGEMS_LANGUAGE_CUDA && FLAGGEMS_DEVICE_CODE
  vec<u32, 4> w;
  asm volatile("ld.global.L1::no_allocate.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(w.at[0]), "=r"(w.at[1]), "=r"(w.at[2]), "=r"(w.at[3])
               : "l"(__cvta_generic_to_global(p)));
  return w;
#else
  return load_words<T>(p);
#endif
}
/// As load_words, through the read-only path: for data that no thread writes during the kernel.
/// Compilers may move it above stores.
template <class T>
FLAGGEMS_INLINE vec<u32, 4> load_words_constant(global_ptr<const T> p) {
#if FLAGGEMS_LANGUAGE_CUDA && FLAGGEMS_DEVICE_CODE
  vec<u32, 4> w;
  asm volatile("ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(w.at[0]), "=r"(w.at[1]), "=r"(w.at[2]), "=r"(w.at[3])
               : "l"(__cvta_generic_to_global(p)));
  return w;
#else
  return load_words<T>(p);
#endif
}
/// As load_vec, for data that is read once.
template <int Count, class T>
FLAGGEMS_INLINE vec<T, Count> load_vec_once(global_ptr<const T> p) {
  if constexpr (Count == vec_size<T>)
    return bit_cast<vec<T, Count>>(load_words_once<T>(p));
  else
    return load_vec<Count>(p);
}
/// p as an opaque value: element addresses are then one addition, not a sum of all terms of p.
template <class T>
FLAGGEMS_INLINE global_ptr<T> settled(global_ptr<T> p) {
#if FLAGGEMS_LANGUAGE_CUDA && FLAGGEMS_DEVICE_CODE
  auto address = __cvta_generic_to_global(p);  // so that it is known to be in global memory
  asm volatile("" : "+l"(address));
  return static_cast<T*>(__cvta_global_to_generic(address));
#else
  return p;
#endif
}
/// x as an opaque value: what follows from it is not computed before a loop, for registers to keep.
FLAGGEMS_INLINE int settled(int x) {
#if FLAGGEMS_LANGUAGE_CUDA && FLAGGEMS_DEVICE_CODE
  asm volatile("" : "+r"(x));
#endif
  return x;
}
FLAGGEMS_INLINE i64 settled(i64 x) {
#if FLAGGEMS_LANGUAGE_CUDA && FLAGGEMS_DEVICE_CODE
  asm volatile("" : "+l"(x));
#endif
  return x;
}
/// Prefetches the cache line at p into L2.
template <class T>
FLAGGEMS_INLINE void prefetch(global_ptr<const T> p) {
#if FLAGGEMS_LANGUAGE_CUDA && FLAGGEMS_DEVICE_CODE
  asm volatile("prefetch.global.L2 [%0];" ::"l"(__cvta_generic_to_global(p)));
#else
  static_cast<void>(p);
#endif
}
template <int Count, class T>
FLAGGEMS_INLINE void store_vec(global_ptr<T> p, const vec<T, Count>& x) {
#if FLAGGEMS_LANGUAGE_CUDA && FLAGGEMS_DEVICE_CODE
  // Else compilers split the vector and store some of its elements alone.
  if constexpr (sizeof(x) == 16) {
    const auto w = bit_cast<vec<u32, 4>>(x);
    asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(p)),
                 "r"(w.at[0]), "r"(w.at[1]), "r"(w.at[2]), "r"(w.at[3])
                 : "memory");
    return;
  }
#endif
  *reinterpret_cast<global_ptr<vec<T, Count>>>(p) = x;
}

/// Stores 16 bytes if `wanted`, by predication: a branch would keep later loads from being hoisted.
template <int Count, class T>
FLAGGEMS_INLINE void store_vec_if(bool wanted, global_ptr<T> p, const vec<T, Count>& x) {
  static_assert(sizeof(x) == 16);
#if FLAGGEMS_LANGUAGE_CUDA && FLAGGEMS_DEVICE_CODE
  const auto w = bit_cast<vec<u32, 4>>(x);
  asm volatile(
      "{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %5, 0;\n\t"
      "@p st.global.v4.b32 [%0], {%1, %2, %3, %4};\n\t}" ::"l"(__cvta_generic_to_global(p)),
      "r"(w.at[0]), "r"(w.at[1]), "r"(w.at[2]), "r"(w.at[3]), "r"(static_cast<u32>(wanted))
      : "memory");
#else
  if (wanted) store_vec<Count>(p, x);
#endif
}

/// A vector in registers. Elements smaller than a word are stored as words, since compilers select
/// and move structures member by member.
template <class T, int Count>
using vec_storage =
    conditional<sizeof(T) < 4 && sizeof(T) * Count % 4 == 0,
                vec<u32, max_of(static_cast<int>(sizeof(T)) * Count / 4, 1)>, vec<T, Count>>;

/// How often a kernel reads an element; those read once are not allocated in L1.
enum class reads { often, once };

/// Loads a vector at p, which is aligned to it.
template <int Count, class T, reads Reads = reads::often>
FLAGGEMS_INLINE vec_storage<T, Count> load_storage(global_ptr<const T> p) {
#if FLAGGEMS_LANGUAGE_CUDA && FLAGGEMS_DEVICE_CODE
  if constexpr (Reads == reads::once && sizeof(vec_storage<T, Count>) == 16)
    return bit_cast<vec_storage<T, Count>>(load_words_once<T>(p));
  else
    return *reinterpret_cast<const vec_storage<T, Count>*>(p);
#else
  return bit_cast<vec_storage<T, Count>>(load_vec<Count>(p));
#endif
}
/// Width elements as 32-bit words: as elements, 16-bit ones would take a register each. (Less than
/// a word stays elements.)
template <class T, int Width>
using vec_words =
    conditional<(sizeof(T) * Width >= 4),
                vec<u32, static_cast<int>(sizeof(T)) * Width / 4 + (sizeof(T) * Width < 4)>,
                vec<T, Width>>;

/// Loads p[0 .. Width) as words; p is vector-aligned.
template <int Width, class T>
FLAGGEMS_INLINE vec_words<T, Width> load_vec_words(global_ptr<const T> p) {
#if FLAGGEMS_DEVICE_CODE
  return *reinterpret_cast<global_ptr<const vec_words<T, Width>>>(p);
#else  // to the host's compiler, u32 may not alias T
  return bit_cast<vec_words<T, Width>>(load_vec<Width>(p));
#endif
}
/// The two aligned vectors that Width elements at a misaligned address touch, as words.
template <class T, int Width>
struct touched_vectors {
  static constexpr int count = static_cast<int>(sizeof(T)) * Width / 4;
  u32 at[2 * count + 1];

  /// The elements from number `off` on, by byte shifts.
  FLAGGEMS_INLINE vec_words<T, Width> from(int off) const {
    const int bytes = off * static_cast<int>(sizeof(T));
    u32 w[2 * count + 1];
    FLAGGEMS_SIMT_UNROLL
    for (int k = 0; k < 2 * count + 1; ++k) w[k] = at[k];
    FLAGGEMS_SIMT_UNROLL
    for (int step = 2; step > 0; step /= 2) {
      FLAGGEMS_SIMT_UNROLL
      for (int k = 0; k + step < 2 * count; ++k)
        if ((bytes & (4 * step)) != 0) w[k] = w[k + step];
    }
    vec_words<T, Width> r;
    FLAGGEMS_SIMT_UNROLL
    for (int k = 0; k < count; ++k)
      r.at[k] = static_cast<u32>((static_cast<u64>(w[k + 1]) << 32 | w[k]) >> (bytes % 4 * 8));
    return r;
  }
};
/// Those at two addresses.
template <int Width, class T>
FLAGGEMS_INLINE touched_vectors<T, Width> load_touched(global_ptr<const T> first,
                                                       global_ptr<const T> second) {
  touched_vectors<T, Width> r{};
  const vec_words<T, Width> some[] = {load_vec_words<Width>(first), load_vec_words<Width>(second)};
  FLAGGEMS_SIMT_UNROLL
  for (int k = 0; k < 2 * r.count; ++k) r.at[k] = some[k / r.count].at[k % r.count];
  return r;
}
/// Loads Width elements at the misaligned p, where p - off is aligned: assembles them from two
/// aligned accesses, `stride` elements apart.
template <int Width, class T>
FLAGGEMS_INLINE vec_words<T, Width> load_unaligned(global_ptr<const T> p, int off,
                                                   int stride = Width) {
  return load_touched<Width>(p - off, p + (stride - off)).from(off);
}
/// Loads Count elements at any p; the aligned vectors they touch must be readable. Without a
/// branch, so that several loads overlap: an aligned vector is read twice.
template <int Count, class T>
FLAGGEMS_INLINE vec_storage<T, Count> load_storage_unaligned(global_ptr<const T> p) {
  if constexpr (sizeof(T) * Count < 4) {
    vec<T, Count> r;
    FLAGGEMS_SIMT_UNROLL
    for (int k = 0; k < Count; ++k) r.at[k] = p[k];
    return bit_cast<vec_storage<T, Count>>(r);
  } else {
    const int off = static_cast<int>(reinterpret_cast<u64>(p) / sizeof(T) % Count);
    return bit_cast<vec_storage<T, Count>>(load_unaligned<Count>(p, off, off == 0 ? 0 : Count));
  }
}
/// A vector with x in each element.
template <int Count, class T>
FLAGGEMS_INLINE vec_storage<T, Count> splat_storage(T x) {
  vec_storage<T, Count> r;
  if constexpr (is_same<vec_storage<T, Count>, vec<T, Count>>) {
    FLAGGEMS_SIMT_UNROLL
    for (int k = 0; k < Count; ++k) r.at[k] = x;
  } else {
    u32 word = bit_cast<uint_of_size<sizeof(T)>>(x);
    for (int bits = 8 * static_cast<int>(sizeof(T)); bits < 32; bits *= 2) word |= word << bits;
    FLAGGEMS_SIMT_UNROLL
    for (int k = 0; k < static_cast<int>(sizeof(r) / 4); ++k) r.at[k] = word;
  }
  return r;
}

/// The elements of a vector as C. The caller names C: OpenCL would deduce an address space.
template <class C, class T, int Count>
FLAGGEMS_INLINE void unpack(const vec<T, Count>& x, identity<C>* to) {
  if constexpr (is_same<T, bf16> && is_same<C, f32> && Count % 2 == 0) {
    struct words {
      u32 at[Count / 2];
    };
    const words w = bit_cast<words>(x);  // two at a time: a shift and a mask
    FLAGGEMS_SIMT_UNROLL
    for (int i = 0; i < Count / 2; ++i) {
      to[2 * i] = bit_cast<f32>(w.at[i] << 16);
      to[2 * i + 1] = bit_cast<f32>(w.at[i] & 0xffff0000u);
    }
  } else {
    FLAGGEMS_SIMT_UNROLL
    for (int k = 0; k < Count; ++k) to[k] = number_cast<C>(x.at[k]);
  }
}

/// Loads Count consecutive elements as C by the largest vectors that fit; p is aligned to one.
template <int Count, class C, class T>
FLAGGEMS_INLINE void load_vecs(global_ptr<const T> p, identity<C> (&to)[Count]) {
  constexpr int size = min_of(Count, vec_size<T>);
  static_for<Count / size>(
      [&](auto g) FLAGGEMS_LAMBDA { unpack<C>(load_vec<size>(p + g * size), to + g * size); });
}

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/lang/vector_access.hpp");
