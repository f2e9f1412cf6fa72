// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Modified Bessel functions: near zero series, away from it quotients of polynomials in 1 / x, made
// by interpolation. Errors are within 5 ulp.
#pragma once

#include <flaggems/kernel/math/log.hpp>
#include <flaggems/kernel/math/special/lanes.hpp>

namespace flaggems::kernels {

/// I0(2 sqrt(x)) for 0 <= x <= 16.
template <class T>
FLAGGEMS_HD T i0_small(T x) {
  if constexpr (is_same<T, f32>)
    return horner(x, 1.00000001f, 0.9999998542f, 0.2500003637f, 0.02777742455f, 0.001736286635f,
                  6.939371255e-5f, 1.938115978e-6f, 3.832507336e-8f, 6.909909682e-10f,
                  4.237871076e-12f, 1.553641426e-13f);
  else
    return horner(x, 1.0, 1.0, 0.249999999999999999, 0.0277777777777777814, 0.00173611111111110602,
                  6.9444444444448792e-5, 1.92901234567655429e-6, 3.93675988923788628e-8,
                  6.1511873240097452e-10, 7.59405848683642402e-12, 7.59405749338446868e-14,
                  6.27609261612049042e-16, 4.35828691976022239e-18, 2.57963463531144821e-20,
                  1.31221045751800793e-22, 5.97658956923445038e-25, 1.97396991884570668e-27,
                  1.22945742734951765e-29);
}

/// I1(2 sqrt(x)) / (2 sqrt(x)) for 0 <= x <= 16.
template <class T>
FLAGGEMS_HD T i1_small(T x) {
  if constexpr (is_same<T, f32>)
    return horner(x, 0.5000000004f, 0.2499999942f, 0.04166668115f, 0.00347220815f, 1.736181069e-4f,
                  5.785013783e-6f, 1.381499871e-7f, 2.418805194e-9f, 3.721210358e-11f,
                  2.448073776e-13f, 6.66779244e-15f);
  else
    return horner(x, 0.5, 0.25, 0.0416666666666666691, 0.00347222222222221646,
                  1.73611111111118308e-4, 5.78703703703158707e-6, 1.37786596122649229e-7,
                  2.4604749297701533e-9, 3.41732631615476611e-11, 3.79702878385563238e-13,
                  3.45185059647896806e-15, 2.61497440972265988e-17, 1.67675216036676074e-19,
                  9.18578432845618589e-22, 4.48190330450060188e-24, 1.5795348772797387e-26,
                  1.04517566491541985e-28);
}

/// I0(1 / x) e^(-1 / x) / sqrt(x) for 0 < x <= 1 / 8.
template <class T>
FLAGGEMS_HD T i0_large(T x) {
  if constexpr (is_same<T, f32>)
    return horner(x, 0.3989422808f, 0.04986745016f, 0.02809236322f, 0.0273206791f, 0.08424139628f,
                  -0.3005458573f, 1.816955424f);
  else
    return horner(x, 0.398942280401432687, 0.0498677850501013778, 0.0280506292005263092,
                  0.0292193434333096525, 0.0447607523584473679, 0.0871884882987133794,
                  0.6498655373405138, -36.1913037071460322, 2379.99271982600873,
                  -116003.225086527223, 4.36688203063834813e+6, -1.28456787369167257e+8,
                  2.97736833408922925e+9, -5.45940341173024309e+10, 7.92083964019902105e+11,
                  -9.058765454645901e+12, 8.09947285500581657e+13, -5.58338222939883578e+14,
                  2.90306396229625999e+15, -1.09941729522730438e+16, 2.85907403041209565e+16,
                  -4.56255498605258968e+16, 3.36781426305667863e+16);
}

/// I1(1 / x) e^(-1 / x) / sqrt(x) for 0 < x <= 1 / 8.
template <class T>
FLAGGEMS_HD T i1_large(T x) {
  if constexpr (is_same<T, f32>)
    return horner(x, 0.3989422799f, -0.1496029812f, -0.04679764676f, -0.0387871528f, -0.101634021f,
                  0.3263110533f, -2.048917247f);
  else
    return horner(x, 0.398942280401432668, -0.149603355150452827, -0.0467510486037748503,
                  -0.0409071003046794747, -0.0575457880632940726, -0.107044003263576046,
                  -0.724863672405830728, 38.9260964546418487, -2557.34131501762834,
                  124327.525299981738, -4.66820879751801467e+6, 1.36963410309192796e+8,
                  -3.16631346557617534e+9, 5.79106212742057421e+10, -8.38115700349114595e+11,
                  9.5621863852750688e+12, -8.52985775565286643e+13, 5.86711674514151933e+14,
                  -3.0442096983159422e+15, 1.15059097621114333e+16, -2.98658286620997453e+16,
                  4.75770882892866503e+16, -3.50612116974762601e+16);
}

/// K0(2 sqrt(x)) + log(sqrt(x)) I0(2 sqrt(x)) for 0 < x <= 1 / 4.
template <class T>
FLAGGEMS_HD T k0_rest(T x) {
  if constexpr (is_same<T, f32>)
    return horner(x, -0.5772156647f, 0.422784289f, 0.2306975565f, 0.03487569218f, 0.002689761947f);
  else
    return horner(x, -0.577215664901532861, 0.422784335098467139, 0.23069608377461682,
                  0.034892157456437473, 0.00261478761883459809, 1.18480393301625954e-4,
                  3.61262640602992482e-6, 7.93418651218005824e-8, 1.33611852845724266e-9);
}

/// (K1(t) - 1 / t - log(t / 2) I1(t)) / t of t = 2 sqrt(x), for 0 < x <= 1 / 4.
template <class T>
FLAGGEMS_HD T k1_rest(T x) {
  if constexpr (is_same<T, f32>)
    return horner(x, 0.03860783243f, -0.1681960798f, -0.04539392011f, -0.004794111891f,
                  -2.853805919e-4f);
  else
    return horner(x, 0.0386078324507664303, -0.168196083774616785, -0.0453937917402139104,
                  -0.00479554745983256757, -2.78839872993132526e-4, -1.03556192058449653e-5,
                  -2.67886596108801637e-7, -5.11275029698750675e-9, -7.60405818847286318e-11);
}

/// K0(1 / x) e^(1 / x) / sqrt(x) for 0 < x <= 1.
template <class T>
FLAGGEMS_HD T k0_large(T x) {
  if constexpr (is_same<T, f32>)
    return horner(x, 1.253314135f, 4.966062599f, 5.118135655f, 1.372893991f, 0.04862668332f) /
           horner(x, 1.0f, 4.08734432f, 4.524298459f, 1.446631516f, 0.09021383796f);
  else
    return horner(x, 1.25331413731550023, 23.7075937610913175, 174.513386433234806,
                  648.30347232214553, 1320.36223331926078, 1502.25782628612742, 934.293904042122964,
                  298.172316431116539, 43.0305358406463473, 2.15551778625135558,
                  0.0172876369306480376) /
           horner(x, 1.0, 19.0409230357610793, 141.551339567975311, 533.699676013061447,
                  1111.53871833538787, 1308.50406526277616, 857.832525158018251,
                  297.662069887940705, 49.3950509122137192, 3.20900409614948927,
                  0.0502553817970841582);
}

/// K1(1 / x) e^(1 / x) / sqrt(x) for 0 < x <= 1.
template <class T>
FLAGGEMS_HD T k1_large(T x) {
  if constexpr (is_same<T, f32>)
    return horner(x, 1.253314142f, 5.04651195f, 5.831620274f, 2.194108116f, 0.1963753275f) /
           horner(x, 1.0f, 3.651534556f, 3.400803162f, 0.8009847158f, 0.02233008395f);
  else
    return horner(x, 1.25331413731550029, 23.4525954765104258, 171.842975695218986,
                  642.275692346948423, 1339.30869528749997, 1603.95773821425692,
                  1095.64494469252788, 409.709145697375579, 76.6516676419877093,
                  5.96208212108180872, 0.122742598037743418) /
           horner(x, 1.0, 18.3374638414628127, 130.351495749084569, 465.626430278415623,
                  907.54327386572747, 983.010469647541196, 578.559732625183167, 173.450949339635441,
                  23.2555194228016145, 1.05695340370092507, 0.00686917658771507839);
}

/// I0(x), or I0(x) e^-|x|.
template <bool IsScaled>
struct bessel_i0_at {
  template <class T>
  FLAGGEMS_HD static T at(T x) {
    const T a = abs(x);
    if (a <= T(8)) {
      const T y = i0_small(T(T(0.25f) * a * a));
      return IsScaled ? y * exp(-a) : y;
    }
    const T y = i0_large(T(T(1) / a)) / sqrt(a);
    if (IsScaled) return y;
    const T root = exp(T(T(0.5f) * a));  // of e^a, which would be infinite too early
    return y * root * root;
  }
};
/// I1(x), or I1(x) e^-|x|.
template <bool IsScaled>
struct bessel_i1_at {
  template <class T>
  FLAGGEMS_HD static T at(T x) {
    const T a = abs(x);
    if (a <= T(8)) {
      const T y = x * i1_small(T(T(0.25f) * a * a));
      return IsScaled ? y * exp(-a) : y;
    }
    const T y = copysign(T(i1_large(T(T(1) / a)) / sqrt(a)), x);
    if (IsScaled) return y;
    const T root = exp(T(T(0.5f) * a));
    return y * root * root;
  }
};

/// K0(x), or K0(x) e^x: infinite at 0, NaN below.
template <bool IsScaled>
struct bessel_k0_at {
  template <class T>
  FLAGGEMS_HD static T at(T x) {
    if (!(x > 0)) return x == 0 ? infinity_of<T>() : nan_of<T>();
    if (x <= T(1)) {
      const T z = T(0.25f) * x * x, y = k0_rest(z) - log(T(T(0.5f) * x)) * i0_small(z);
      return IsScaled ? y * exp(x) : y;
    }
    const T y = k0_large(T(T(1) / x)) / sqrt(x);
    return IsScaled ? y : y * exp(-x);
  }
};
/// K1(x), or K1(x) e^x: infinite at 0, NaN below.
template <bool IsScaled>
struct bessel_k1_at {
  template <class T>
  FLAGGEMS_HD static T at(T x) {
    if (!(x > 0)) return x == 0 ? infinity_of<T>() : nan_of<T>();
    if (x <= T(1)) {
      const T z = T(0.25f) * x * x;
      const T y = T(1) / x + x * (log(T(T(0.5f) * x)) * i1_small(z) + k1_rest(z));
      return IsScaled ? y * exp(x) : y;
    }
    const T y = k1_large(T(T(1) / x)) / sqrt(x);
    return IsScaled ? y : y * exp(-x);
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/math/special/bessel.hpp");
