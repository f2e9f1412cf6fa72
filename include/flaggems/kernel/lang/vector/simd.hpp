// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The host's vectors: `simd<T, Isa>` has as many lanes of T as the level has lanes of f32, so
// values of different types line up. It uses the vector extensions of g++ and clang: the code is
// legal at every level and becomes AVX2 or AVX-512 when inlined into a function with the target
// attribute. Instructions without an operator (square root, f16 conversion) are asm statements.
#pragma once

#include <flaggems/kernel/lang/vector/isa.hpp>

namespace flaggems::kernels {

/// The type of a vector behind a reference, for decltype.
template <class M>
struct truth_type;
template <class M>
struct truth_type<M&> {
  using type = M;
};
template <class M>
using truth_of = typename truth_type<M>::type;

template <class T, class Isa>
struct simd_vector {
  // A helper struct: g++ 12 rejects a dependent width in a plain typedef.
  typedef T type __attribute__((vector_size(sizeof(T) * static_cast<unsigned>(Isa::lanes))));
};

/// One truth value per lane.
template <class Isa>
struct simd_mask {
  using isa = Isa;
  using value_type = bool;
  using vector = typename simd_vector<i32, Isa>::type;
  static constexpr int lanes = Isa::lanes;
  vector v;  // 0 or -1 per lane

  simd_mask() = default;
  // Not trivial, so that the ABI passes vectors in memory at every level.
  FLAGGEMS_HOST_INLINE simd_mask(const simd_mask& x) : v(x.v) {}
  simd_mask& operator=(const simd_mask&) = default;
  FLAGGEMS_HOST_INLINE explicit simd_mask(const vector& x) : v(x) {}
  FLAGGEMS_HOST_INLINE simd_mask(bool x) : v(vector{} - static_cast<i32>(x)) {}
  FLAGGEMS_HOST_INLINE bool operator[](int i) const { return v[i] != 0; }

  FLAGGEMS_HOST_INLINE friend simd_mask operator&(const simd_mask& a, const simd_mask& b) {
    return simd_mask(a.v & b.v);
  }
  FLAGGEMS_HOST_INLINE friend simd_mask operator|(const simd_mask& a, const simd_mask& b) {
    return simd_mask(a.v | b.v);
  }
  FLAGGEMS_HOST_INLINE friend simd_mask operator^(const simd_mask& a, const simd_mask& b) {
    return simd_mask(a.v ^ b.v);
  }
  FLAGGEMS_HOST_INLINE friend simd_mask operator==(const simd_mask& a, const simd_mask& b) {
    return simd_mask(~(a.v ^ b.v));
  }
  FLAGGEMS_HOST_INLINE friend simd_mask operator!=(const simd_mask& a, const simd_mask& b) {
    return a ^ b;
  }
  FLAGGEMS_HOST_INLINE friend simd_mask operator!(const simd_mask& a) { return simd_mask(~a.v); }
  FLAGGEMS_HOST_INLINE friend simd_mask select(const simd_mask& m, const simd_mask& a,
                                               const simd_mask& b) {
    return simd_mask((m.v & a.v) | (~m.v & b.v));
  }
};

/// `Isa::lanes` values of type T; arithmetic, comparison and bit operations lane by lane.
template <class T, class Isa>
struct simd {
  using isa = Isa;
  using value_type = T;
  using vector = typename simd_vector<T, Isa>::type;
  // The type of arithmetic: integers wrap, as on a GPU and in PyTorch.
  using modular = typename simd_vector<modular_type<T>, Isa>::type;
  using mask = simd_mask<Isa>;
  static constexpr int lanes = Isa::lanes;
  vector v;

  simd() = default;
  FLAGGEMS_HOST_INLINE simd(const simd& x) : v(x.v) {}  // as in simd_mask
  simd& operator=(const simd&) = default;
  FLAGGEMS_HOST_INLINE explicit simd(const vector& x) : v(x) {}
  /// No implicit conversion of a fraction to integer lanes: it would be lost, while scalars keep
  /// it.
  template <class U>
  requires(is_integer<T>&& is_floating<U>) simd(U)
  = delete;
  FLAGGEMS_HOST_INLINE simd(T x) {
#if FLAGGEMS_GCC_X86_ASM
    if constexpr (spreads_at_once<T, Isa>) {
      if (!__builtin_constant_p(x)) {
        spread_lanes<Isa>(v, x);
        return;
      }
      if (is_positive_zero(x)) {  // g++ 12 would set lane by lane
        v = vector{};
        return;
      }
    }
#endif
    v = x - vector{};
  }
  FLAGGEMS_HOST_INLINE T operator[](int i) const { return v[i]; }

  FLAGGEMS_HOST_INLINE friend simd operator+(const simd& a, const simd& b) {
    return simd((vector)((modular)a.v + (modular)b.v));
  }
  FLAGGEMS_HOST_INLINE friend simd operator-(const simd& a, const simd& b) {
    return simd((vector)((modular)a.v - (modular)b.v));
  }
  FLAGGEMS_HOST_INLINE friend simd operator*(const simd& a, const simd& b) {
    return simd((vector)((modular)a.v * (modular)b.v));
  }
  /// Integers: 1 instead of 0, so that inactive lanes do not trap.
  FLAGGEMS_HOST_INLINE static simd divisor(const simd& b) {
    if constexpr (is_integer<T>)
      return simd((vector)(b.v - (vector)(b.v == 0)));
    else
      return b;
  }
  FLAGGEMS_HOST_INLINE friend simd operator/(const simd& a, const simd& b) {
    return simd(a.v / divisor(b).v);
  }
  FLAGGEMS_HOST_INLINE friend simd operator%(const simd& a, const simd& b) {
    return simd(a.v % divisor(b).v);
  }
  FLAGGEMS_HOST_INLINE friend simd operator&(const simd& a, const simd& b) {
    return simd(a.v & b.v);
  }
  FLAGGEMS_HOST_INLINE friend simd operator|(const simd& a, const simd& b) {
    return simd(a.v | b.v);
  }
  FLAGGEMS_HOST_INLINE friend simd operator^(const simd& a, const simd& b) {
    return simd(a.v ^ b.v);
  }
  FLAGGEMS_HOST_INLINE friend simd operator<<(const simd& a, int n) { return simd(a.v << n); }
  FLAGGEMS_HOST_INLINE friend simd operator>>(const simd& a, int n) { return simd(a.v >> n); }
  FLAGGEMS_HOST_INLINE friend simd operator-(const simd& a) {
    return simd((vector)(-(modular)a.v));
  }
  FLAGGEMS_HOST_INLINE friend simd operator~(const simd& a) { return simd(~a.v); }
  FLAGGEMS_HOST_INLINE simd& operator+=(const simd& b) { return *this = *this + b; }
  FLAGGEMS_HOST_INLINE simd& operator-=(const simd& b) { return *this = *this - b; }
  FLAGGEMS_HOST_INLINE simd& operator*=(const simd& b) { return *this = *this * b; }

  FLAGGEMS_HOST_INLINE friend mask operator<(const simd& a, const simd& b) {
    return compare(a, b, [](auto& m, const auto& x, const auto& y) FLAGGEMS_LAMBDA {
      m = (truth_of<decltype(m)>)(x < y);
    });
  }
  FLAGGEMS_HOST_INLINE friend mask operator<=(const simd& a, const simd& b) {
    return compare(a, b, [](auto& m, const auto& x, const auto& y) FLAGGEMS_LAMBDA {
      m = (truth_of<decltype(m)>)(x <= y);
    });
  }
  FLAGGEMS_HOST_INLINE friend mask operator>(const simd& a, const simd& b) {
    return compare(a, b, [](auto& m, const auto& x, const auto& y) FLAGGEMS_LAMBDA {
      m = (truth_of<decltype(m)>)(x > y);
    });
  }
  FLAGGEMS_HOST_INLINE friend mask operator>=(const simd& a, const simd& b) {
    return compare(a, b, [](auto& m, const auto& x, const auto& y) FLAGGEMS_LAMBDA {
      m = (truth_of<decltype(m)>)(x >= y);
    });
  }
  FLAGGEMS_HOST_INLINE friend mask operator==(const simd& a, const simd& b) {
    return compare(a, b, [](auto& m, const auto& x, const auto& y) FLAGGEMS_LAMBDA {
      m = (truth_of<decltype(m)>)(x == y);
    });
  }
  FLAGGEMS_HOST_INLINE friend mask operator!=(const simd& a, const simd& b) {
    return compare(a, b, [](auto& m, const auto& x, const auto& y) FLAGGEMS_LAMBDA {
      m = (truth_of<decltype(m)>)(x != y);
    });
  }

  /// Per lane `m ? a : b`.
  FLAGGEMS_HOST_INLINE friend simd select(const mask& m, const simd& a, const simd& b) {
    using wide = typename simd_vector<int_of_size<sizeof(T)>, Isa>::type;
    if constexpr (selects_at_once<T, Isa>) {
      simd r;
      select_lanes<Isa>(r.v, m.v, a.v, b.v);
      return r;
    } else if constexpr (sizeof(T) == sizeof(i32)) {
      return simd(m.v ? a.v : b.v);
    } else if constexpr (sizeof(T) < sizeof(i32)) {
      return simd(__builtin_convertvector(m.v, wide) ? a.v : b.v);
    } else {
      simd r;
      half_of<i64> lo, hi;
      widen(lo, hi, m, make_int_sequence<Isa::lanes>{});
      const halves_of<T> ha(&a.v), hb(&b.v);
      halves_of<T> hr;
      hr.part[0] = lo ? ha.part[0] : hb.part[0];
      hr.part[1] = hi ? ha.part[1] : hb.part[1];
      __builtin_memcpy(&r.v, hr.part, sizeof(r.v));
      return r;
    }
  }

 private:
  // 64-bit lanes fill two registers; g++ 12 would expand comparisons of such a vector lane by lane.
  template <class U>
  struct half_type {
    typedef U type __attribute__((vector_size(sizeof(U) * static_cast<unsigned>(Isa::lanes) / 2)));
  };
  template <class U>
  using half_of = typename half_type<U>::type;
  template <class U>
  struct halves_of {
    half_of<U> part[2];
    halves_of() = default;
    FLAGGEMS_HOST_INLINE explicit halves_of(const void* from) {
      __builtin_memcpy(part, from, sizeof(part));
    }
  };

  // The opaque step keeps g++ 12 from merging comparisons into one vector of truth values in the
  // enclosing function's format: inlined into an AVX-512 function it would be expanded.
  template <class F>
  FLAGGEMS_HOST_INLINE static mask compare(const simd& a, const simd& b, F f) {
    typename simd_vector<int_of_size<sizeof(T)>, Isa>::type m;
    if constexpr (sizeof(T) == sizeof(i32)) {
      f(m, a.v, b.v);
      make_opaque<Isa>(m);
      return mask(m);
    } else if constexpr (sizeof(T) < sizeof(i32)) {
      f(m, a.v, b.v);
      return mask(__builtin_convertvector(m, typename mask::vector));
    } else {
      const halves_of<T> ha(&a.v), hb(&b.v);
      half_of<i64> lo, hi;
      f(lo, ha.part[0], hb.part[0]);
      f(hi, ha.part[1], hb.part[1]);
      make_opaque<Isa>(lo);
      make_opaque<Isa>(hi);
      return narrow(lo, hi, make_int_sequence<Isa::lanes>{});
    }
  }
  /// Truth values of 32 bits, widened to 64.
  template <int... K>
  FLAGGEMS_HOST_INLINE static void widen(half_of<i64>& lo, half_of<i64>& hi, const mask& m,
                                         int_sequence<K...>) {
    lo = (half_of<i64>)FLAGGEMS_SHUFFLE(m.v, m.v, (K / 2)...);
    hi = (half_of<i64>)FLAGGEMS_SHUFFLE(m.v, m.v, (Isa::lanes / 2 + K / 2)...);
  }
  /// The low words of 64-bit truth values.
  template <int... K>
  FLAGGEMS_HOST_INLINE static mask narrow(const half_of<i64>& lo, const half_of<i64>& hi,
                                          int_sequence<K...>) {
    using words = typename mask::vector;
    return mask(FLAGGEMS_SHUFFLE((words)lo, (words)hi, (2 * K)...));
  }
};

// ---- traits of values (lang/value.hpp)
template <class T, class Isa>
inline constexpr bool is_simd<simd<T, Isa>> = true;
template <class Isa>
inline constexpr bool is_simd<simd_mask<Isa>> = true;
template <class T, class Isa>
inline constexpr int lane_count<simd<T, Isa>> = Isa::lanes;
template <class Isa>
inline constexpr int lane_count<simd_mask<Isa>> = Isa::lanes;

template <class T, class Isa>
struct simd_type {
  using type = simd<T, Isa>;
};
template <class Isa>
struct simd_type<bool, Isa> {
  using type = simd_mask<Isa>;
};

template <class T, class Isa>
struct value_traits<simd<T, Isa>> {
  using element = T;
  template <class U>
  using rebind = typename simd_type<U, Isa>::type;
};
template <class Isa>
struct value_traits<simd_mask<Isa>> : value_traits<simd<bool, Isa>> {};

template <class To, class T, class Isa>
FLAGGEMS_HOST_INLINE To bit_cast(const simd<T, Isa>& x) {
  using to_vector = typename To::vector;
  static_assert(sizeof(to_vector) == sizeof(x.v));
  return To((to_vector)x.v);
}

template <class T, class Isa>
FLAGGEMS_HOST_INLINE simd<i32, Isa> widen_bytes(const simd<T, Isa>& x);

/// Whether bytes become 32-bit integers by `widen_bytes`: g++ 12 expands its own conversion into
/// one move per element.
template <class Isa>
inline constexpr bool widens_bytes = FLAGGEMS_GCC_X86_ASM && !is_same<Isa, isa_baseline>;

/// As the scalar form (lang/number.hpp).
template <class To, class T, class Isa>
FLAGGEMS_HOST_INLINE simd<To, Isa> truncate_to(const simd<T, Isa>& x) {
  using V = simd<T, Isa>;
  using range = integer_range<To, T>;
  constexpr int digits = is_same<T, f32> ? 24 : 53;
  // Exact, or the greatest float below the range's end.
  constexpr bool is_exact = range::digits <= digits;
  constexpr T highest = is_exact ? range::end - T(1) : range::end * (T(1) - T(1) / (1ll << digits));
  V kept = select(x > V(range::least), x, V(range::least));  // NaN too becomes the least
  kept = select(kept < V(highest), kept, V(highest));
  simd<To, Isa> r(__builtin_convertvector(kept.v, typename simd<To, Isa>::vector));
  if constexpr (range::is_signed) r = select(x == x, r, simd<To, Isa>(To(0)));
  if constexpr (!is_exact) r = select(x >= V(range::end), simd<To, Isa>(range::highest), r);
  return r;
}

/// Each element as a To: see number_cast.
template <class To, class T, class Isa>
FLAGGEMS_HOST_INLINE rebind<simd<T, Isa>, To> convert(const simd<T, Isa>& x) {
  if constexpr (is_same<To, T>) {
    return x;
  } else if constexpr (is_complex<To>) {
    return {convert<real_of<To>>(x), simd<real_of<To>, Isa>(real_of<To>(0))};
  } else if constexpr (is_same<To, bool>) {
    return x != simd<T, Isa>(T(0));
  } else if constexpr ((is_same<T, f32> || is_same<T, f64>)&&is_integer<To>) {
    return truncate_to<To>(x);
  } else if constexpr (widens_bytes<Isa> &&
                       (is_same<T, u8> || is_same<T, i8>)&&(is_same<To, i32> || is_same<To, u32> ||
                                                            is_same<To, f32>)) {
    return simd<To, Isa>(__builtin_convertvector(widen_bytes(x).v, typename simd<To, Isa>::vector));
  } else {
    return simd<To, Isa>(__builtin_convertvector(x.v, typename simd<To, Isa>::vector));
  }
}
template <class To, class Isa>
FLAGGEMS_HOST_INLINE rebind<simd_mask<Isa>, To> convert(const simd_mask<Isa>& x) {
  if constexpr (is_same<To, bool>)
    return x;
  else if constexpr (is_complex<To>)
    return {convert<real_of<To>>(x), simd<real_of<To>, Isa>(real_of<To>(0))};
  else
    return select(x, simd<To, Isa>(To(1)), simd<To, Isa>(To(0)));
}

// ---- arithmetic that has no operator
/// a * b + c; rounded once where the level has FMA and the compiler contracts.
template <class T, class Isa>
FLAGGEMS_HOST_INLINE simd<T, Isa> fma(const simd<T, Isa>& a, const simd<T, Isa>& b,
                                      const simd<T, Isa>& c) {
  return simd<T, Isa>(a.v * b.v + c.v);
}
/// As the scalar forms (lang/value.hpp). Of f32 by one instruction; g++ 12 would compare and
/// select.
template <class T, class Isa>
FLAGGEMS_HOST_INLINE simd<T, Isa> greater_of(const simd<T, Isa>& a, const simd<T, Isa>& b) {
#if FLAGGEMS_GCC_X86_ASM
  if constexpr (is_same<T, f32>) {
    simd<T, Isa> r;
    with_level<Isa>(
        [](auto& to, const auto& x, const auto& y) FLAGGEMS_LAMBDA {
          if constexpr (is_same<Isa, isa_baseline>)
            asm("maxps %2, %0" : "=x"(to) : "0"(x), "x"(y));
          else
            asm("vmaxps %2, %1, %0" : "=v"(to) : "v"(x), "vm"(y));
        },
        r.v, a.v, b.v);
    return r;
  }
#endif
  return select(a > b, a, b);
}
template <class T, class Isa>
FLAGGEMS_HOST_INLINE simd<T, Isa> lesser_of(const simd<T, Isa>& a, const simd<T, Isa>& b) {
#if FLAGGEMS_GCC_X86_ASM
  if constexpr (is_same<T, f32>) {
    simd<T, Isa> r;
    with_level<Isa>(
        [](auto& to, const auto& x, const auto& y) FLAGGEMS_LAMBDA {
          if constexpr (is_same<Isa, isa_baseline>)
            asm("minps %2, %0" : "=x"(to) : "0"(x), "x"(y));
          else
            asm("vminps %2, %1, %0" : "=v"(to) : "v"(x), "vm"(y));
        },
        r.v, a.v, b.v);
    return r;
  }
#endif
  return select(a < b, a, b);
}
template <class Isa>
FLAGGEMS_HOST_INLINE simd_mask<Isa> greater_of(const simd_mask<Isa>& a, const simd_mask<Isa>& b) {
  return a | b;
}
template <class Isa>
FLAGGEMS_HOST_INLINE simd_mask<Isa> lesser_of(const simd_mask<Isa>& a, const simd_mask<Isa>& b) {
  return a & b;
}

/// |x|; clears the sign bit, of NaN too.
template <class T, class Isa>
FLAGGEMS_HOST_INLINE simd<T, Isa> abs(const simd<T, Isa>& x) {
  using V = simd<T, Isa>;
  if constexpr (is_unsigned_integer<T>) {
    return x;
  } else if constexpr (is_integer<T>) {
    return select(x < V(T(0)), V(T(0)) - x, x);
  } else {
    using U = simd<uint_of_size<sizeof(T)>, Isa>;
    return bit_cast<V>(bit_cast<U>(x) & U(~uint_of_size<sizeof(T)>(0) >> 1));
  }
}
/// `magnitude` with the sign of `sign`.
template <class T, class Isa>
FLAGGEMS_HOST_INLINE simd<T, Isa> copysign(const simd<T, Isa>& magnitude,
                                           const simd<T, Isa>& sign) {
  using U = simd<uint_of_size<sizeof(T)>, Isa>;
  const U rest(~uint_of_size<sizeof(T)>(0) >> 1);
  return bit_cast<simd<T, Isa>>((bit_cast<U>(magnitude) & rest) | (bit_cast<U>(sign) & ~rest));
}

/// An operand of an asm statement: the bytes of a vector.
template <class Isa>
inline constexpr int asm_bytes = min_of(Isa::bytes, FLAGGEMS_ASM_OPERAND_BYTES);

/// Applies `f(to_part, from_part)` to each part of a vector: an asm statement on `asm_bytes` of To
/// and as many lanes of From (padded to 16 bytes).
template <class To, class T, class Isa, class F>
FLAGGEMS_HOST_INLINE simd<To, Isa> each_part(const simd<T, Isa>& x, F f) {
  constexpr int wide = static_cast<int>(sizeof(To) > sizeof(T) ? sizeof(To) : sizeof(T));
  constexpr int lanes = min_of(asm_bytes<Isa> / wide, Isa::lanes);
  constexpr int from_bytes = lanes * static_cast<int>(sizeof(T));
  constexpr int to_bytes = lanes * static_cast<int>(sizeof(To));
  typedef T from_part __attribute__((vector_size(max_of(from_bytes, 16))));
  typedef To to_part __attribute__((vector_size(max_of(to_bytes, 16))));
  simd<To, Isa> result;
  for (int i = 0; i < Isa::lanes / lanes; ++i) {
    from_part from{};
    to_part to;
    __builtin_memcpy(&from, reinterpret_cast<const char*>(&x.v) + i * from_bytes, from_bytes);
    with_level<Isa>(f, to, from);
    __builtin_memcpy(reinterpret_cast<char*>(&result.v) + i * to_bytes, &to, to_bytes);
  }
  return result;
}

/// Bytes as 32-bit integers, 8 or 16 at a time.
template <class T, class Isa>
FLAGGEMS_HOST_INLINE simd<i32, Isa> widen_bytes(const simd<T, Isa>& x) {
  simd<i32, Isa> r;
#if FLAGGEMS_X86_ASM
  typedef u64 words __attribute__((vector_size(16)));
  words from{};
  if constexpr (sizeof(x.v) == sizeof(u64)) {  // through a register: store forwarding would stall
    u64 low;
    __builtin_memcpy(&low, &x.v, sizeof(low));
    from = words{low, 0};
  } else {
    __builtin_memcpy(&from, &x.v, min_of(sizeof(from), sizeof(x.v)));
  }
  with_level<Isa>(
      [](auto& to, const auto& bytes) FLAGGEMS_LAMBDA {
        if constexpr (is_same<T, u8>)
          asm("vpmovzxbd %1, %0" : "=v"(to) : "v"(bytes));
        else
          asm("vpmovsxbd %1, %0" : "=v"(to) : "v"(bytes));
      },
      r.v, from);
#endif
  return r;
}

/// Whether 16-bit integers widen to 32 bits, and back, by one instruction each; g++ 12 expands its
/// own conversions.
template <class Isa>
inline constexpr bool converts_words = FLAGGEMS_GCC_X86_ASM && !is_same<Isa, isa_baseline>;

template <class Isa>
FLAGGEMS_HOST_INLINE void widen_words(simd<u32, Isa>& to, const simd<u16, Isa>& from) {
#if FLAGGEMS_X86_ASM
  with_level<Isa>(
      [](auto& r, const auto& x) FLAGGEMS_LAMBDA {
        asm("vpmovzxwd %1, %0" : "=v"(r) : "v"(x));
      },
      to.v, from.v);
#endif
}
/// Numbers below 2^16.
template <class Isa>
FLAGGEMS_HOST_INLINE void narrow_words(simd<u16, Isa>& to, const simd<u32, Isa>& from) {
#if FLAGGEMS_X86_ASM
  with_level<Isa>(
      [](auto& r, const auto& x) FLAGGEMS_LAMBDA {
        if constexpr (Isa::bytes == 64)
          asm("vpmovdw %1, %0" : "=v"(r) : "v"(x));
        else
          asm("vextracti128 $1, %1, %0\n\tvpackusdw %0, %x1, %0" : "=&x"(r) : "x"(x));
      },
      to.v, from.v);
#endif
}

template <class Isa>
FLAGGEMS_HOST_INLINE simd_mask<Isa> abs(const simd_mask<Isa>& x) {
  return x;
}

/// Whether any lane is true.
template <class Isa>
FLAGGEMS_HOST_INLINE bool any_lane(const simd_mask<Isa>& m) {
#if FLAGGEMS_GCC_X86_ASM
  if constexpr (Isa::bytes >= 32) {
    u32 lanes;
    with_level<Isa>(
        [](u32& bits, const auto& x) FLAGGEMS_LAMBDA {
          if constexpr (Isa::bytes == 64) {
            u16 k;
            asm("vptestmd %2, %2, %1\n\tkmovw %1, %0" : "=r"(bits), "=&Yk"(k) : "v"(x));
          } else {
            asm("vmovmskps %1, %0" : "=r"(bits) : "x"(x));
          }
        },
        lanes, m.v);
    return lanes != 0;
  }
#endif
  typedef u64 words __attribute__((vector_size(16)));
  words part[Isa::lanes / 4];
  __builtin_memcpy(part, &m.v, sizeof(part));
  words all = part[0];
  for (int i = 1; i < Isa::lanes / 4; ++i) all |= part[i];
  return (all[0] | all[1]) != 0;
}

/// Reduces the lanes of `x` by a tree in a fixed order.
template <class V, class Op>
FLAGGEMS_HOST_INLINE element_of<V> horizontal(const V& x, Op op) {
  using T = element_of<V>;
  T lane[V::lanes];
  for (int i = 0; i < V::lanes; ++i) lane[i] = x[i];
  for (int step = V::lanes / 2; step > 0; step /= 2)
    for (int i = 0; i < step; ++i) lane[i] = static_cast<T>(op(lane[i], lane[i + step]));
  return lane[0];
}

}  // namespace flaggems::kernels
