// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bessel functions of real frequency, and the Airy function. Up to 5 polynomials, J without its
// zeros; beyond, sine and cosine with amplitudes that are quotients of polynomials. Made by
// interpolation. Errors are within 10 ulp of the amplitude: functions with zeros have no bound
// relative to themselves.
#pragma once

#include <flaggems/kernel/math/log.hpp>
#include <flaggems/kernel/math/special/lanes.hpp>
#include <flaggems/kernel/math/trig.hpp>

namespace flaggems::kernels {

/// J0(sqrt(x)) / ((x - r^2) (x - s^2)) for 0 <= x <= 25, with the first roots r and s.
template <class T>
FLAGGEMS_HD T j0_small(T x) {
  if constexpr (is_same<T, f32>)
    return horner(x, 0.005674693325f, -2.512023528e-4f, 4.784355045e-6f, -5.317851117e-8f,
                  3.935270063e-10f, -2.088310317e-12f, 8.181075453e-15f, -2.054843428e-17f);
  else
    return horner(x, 0.00567469332515561643, -2.51202354149433944e-4, 4.78435614090416246e-6,
                  -5.31788633520257605e-8, 3.93582737897469137e-10, -2.09312140840689837e-12,
                  8.41318477576244589e-15, -2.65049776696103484e-17, 6.72768839420785888e-20,
                  -1.40484199072884467e-22, 2.42294045329570789e-25, -3.02734184615621464e-28);
}

/// J1(sqrt(x)) / (sqrt(x) (x - r^2)) for 0 <= x <= 25, with the first root r.
template <class T>
FLAGGEMS_HD T j1_small(T x) {
  if constexpr (is_same<T, f32>)
    return horner(x, -0.03405537391f, 0.001937384728f, -4.541499229e-5f, 6.019867552e-7f,
                  -5.187158978e-9f, 3.144389674e-11f, -1.38060005e-13f, 3.781738215e-16f);
  else
    return horner(x, -0.0340553739131894913, 0.00193738475441439084, -4.54150146806036938e-5,
                  6.01993952789901097e-7, -5.1882987533393387e-9, 3.15424006912758471e-11,
                  -1.42821743138194256e-13, 5.00865219060582819e-16, -1.40133057983675359e-18,
                  3.19820035600802437e-21, -5.97470944491039301e-24, 7.96122027521558631e-27);
}

/// Y0(t) - 2 / pi log(t) J0(t) of t = sqrt(x), for 0 < x <= 25.
template <class T>
FLAGGEMS_HD T y0_rest(T x) {
  if constexpr (is_same<T, f32>)
    return horner(x, -0.07380429393f, 0.1776060092f, -0.01607395985f, 5.385992957e-4f,
                  -9.494307124e-6f, 1.035032561e-7f, -7.636832916e-10f, 3.914587173e-12f,
                  -1.175646121e-14f);
  else
    return horner(x, -0.073804295108687225, 0.177606016869067138, -0.0160739680259384159,
                  5.38602666861644966e-4, -9.49500520521620262e-6, 1.03584760334568441e-7,
                  -7.69307989734631401e-10, 4.14356568635243425e-12, -1.69327102459085958e-14,
                  5.43102643695905086e-17, -1.40370391715871147e-19, 2.98154901717564994e-22,
                  -5.19961245674973426e-25, 6.41309205370354541e-28);
}

/// (Y1(t) - 2 / pi (log(t) J1(t) - 1 / t)) / t of t = sqrt(x), for 0 < x <= 25.
template <class T>
FLAGGEMS_HD T y1_rest(T x) {
  if constexpr (is_same<T, f32>)
    return horner(x, -0.1960570906f, 0.05434868776f, -0.002955304909f, 7.16425114e-5f,
                  -9.926376206e-7f, 8.927629261e-9f, -5.618740209e-11f, 2.530601499e-13f,
                  -6.919157249e-16f);
  else
    return horner(x, -0.196057090646238948, 0.0543486881605102439, -0.00295530533607983334,
                  7.16426874997392801e-5, -9.92674061942299997e-7, 8.93187962116176178e-9,
                  -5.64802455038355183e-11, 2.64948148991697164e-13, -9.59148490568917659e-16,
                  2.7616243243776581e-18, -6.47592247574383742e-21, 1.25927950635704973e-23,
                  -2.02989195866336899e-26, 2.35168298270640394e-29);
}

/// P0(t) of t = 1 / sqrt(x), for 0 < x <= 1 / 25.
template <class T>
FLAGGEMS_HD T p0(T x) {
  if constexpr (is_same<T, f32>)
    return horner(x, 0.9999999986f, 8.773997607f, 5.965317953f) /
           horner(x, 1.0f, 8.844308315f, 6.475432346f);
  else
    return horner(x, 0.999999999999999911, 121.119385079712234, 4569.71738318784102,
                  65260.1403169759591, 341824.721770321251, 528718.514450556454,
                  118854.525324813659) /
           horner(x, 1.0, 121.189697579711466, 4578.12638170050339, 65569.0206497741917,
                  345984.904588421819, 547686.685019362457, 138601.681289260513);
}

/// Q0(t) t of t = 1 / sqrt(x), for 0 < x <= 1 / 25.
template <class T>
FLAGGEMS_HD T q0(T x) {
  if constexpr (is_same<T, f32>)
    return horner(x, -0.125f, -3.728679393f, -20.52476741f, -11.89931479f) /
           horner(x, 1.0f, 30.41537175f, 180.2031897f, 159.2647948f);
  else
    return horner(x, -0.124999999999999999, -31.164453616313253, -2745.02849352415241,
                  -109036.904441134979, -2.06871999991301217e+6, -1.82883160893924478e+7,
                  -6.77706064436747784e+7, -8.11966613140821455e+7, -1.3425659411828032e+7) /
           horner(x, 1.0, 249.901566430505904, 22104.8377832602453, 884807.073574344192,
                  1.70312992101718207e+7, 1.54939429264595183e+8, 6.1088055707735356e+8,
                  8.56482517893202443e+8, 2.60119567458138681e+8);
}

/// P1(t) of t = 1 / sqrt(x), for 0 < x <= 1 / 25.
template <class T>
FLAGGEMS_HD T p1(T x) {
  if constexpr (is_same<T, f32>)
    return horner(x, 1.000000002f, 8.2542335f, 5.415134065f) /
           horner(x, 1.0f, 8.137048175f, 4.605284908f);
  else
    return horner(x, 1.0000000000000001, 119.1918278664192, 4408.44027711150828, 61414.693224222186,
                  312217.202687132034, 470490.066842916768, 115586.334679486862) /
           horner(x, 1.0, 119.074640366420062, 4394.63041324886474, 60916.1909150275462,
                  305638.591295034174, 441181.70397537344, 85799.9539478529776);
}

/// Q1(t) t of t = 1 / sqrt(x), for 0 < x <= 1 / 25.
template <class T>
FLAGGEMS_HD T q1(T x) {
  if constexpr (is_same<T, f32>)
    return horner(x, 0.3749999999f, 10.9034123f, 58.63497572f, 36.65133081f) /
           horner(x, 1.0f, 29.34920328f, 163.6450605f, 126.0452114f);
  else
    return horner(x, 0.374999999999999999, 92.6056684297089808, 8068.7089569001854,
                  316592.576769164314, 5.92622865067927354e+6, 5.16831812766785941e+7,
                  1.89681934967064447e+8, 2.29830232124243663e+8, 4.50288185163773229e+7) /
           horner(x, 1.0, 247.221886645890571, 21583.4167491729266, 849970.908392141031,
                  1.60209557827645506e+7, 1.41671780550612269e+8, 5.35993808658028181e+8,
                  7.02107650353584569e+8, 1.84345527276844553e+8);
}

/// Ai(x - 2.5) for |x| <= 2.5.
template <class T>
FLAGGEMS_HD T airy_waves(T x) {
  if constexpr (is_same<T, f32>)
    return horner(x, -0.1123250619f, 0.6788527336f, 0.1404061855f, -0.3015761332f, 0.02732037853f,
                  0.04471726104f, -0.0123302327f, -0.002011152463f, 0.00134980077f,
                  -1.015061507e-4f, -6.022110891e-5f, 1.461671177e-5f, 4.752076234e-7f,
                  -6.307760518e-7f, 5.729746386e-8f, 1.142943844e-8f, -1.803656371e-9f,
                  -3.557472387e-11f);
  else
    return horner(x, -0.112325067692966089, 0.67885273426479446, 0.140406334616207601,
                  -0.301576150559160828, 0.0273197414770231687, 0.0447173355507196025,
                  -0.0123291834750586946, -0.00201127612860998051, 0.00134893382568944281,
                  -1.01402682610728148e-4, -5.98178965946283625e-5, 1.45676411165892716e-5,
                  3.64712575608072195e-7, -6.16903779181747455e-7, 7.50321898628108809e-8,
                  9.08078689293259161e-9, -3.35201457027932498e-9, 1.9240221222533124e-10,
                  5.70603722417186571e-11, -1.12106779030455725e-11, 1.31219116633988939e-13,
                  2.03139477848473355e-13, -2.50294567770420128e-14, -8.13964578135224865e-16,
                  4.88174142725695001e-16, -3.25421801931785724e-17, -3.69625832645290382e-18,
                  5.2781975539481891e-19, -2.94343122386063844e-21);
}

/// Ai(x) for 0 <= x <= 2.
template <class T>
FLAGGEMS_HD T airy_falling(T x) {
  if constexpr (is_same<T, f32>)
    return horner(x, 0.3550280538f, -0.1283222306f, -0.03591145864f, 0.02681949981f,
                  -0.00524138433f, 3.59602285e-4f) /
           horner(x, 1.0f, 0.3675685906f, 0.1668112261f, 0.03047704485f, 0.006967156376f,
                  5.633199551e-4f);
  else
    return horner(x, 0.355028053887817237, -0.0826270027284283142, -0.0543724077341574531,
                  0.024064034111542035, -0.00161513906962622603, -8.48050753786043523e-4,
                  2.2252462376249039e-4, -2.22376837513802829e-5, 8.53689647560772155e-7) /
           horner(x, 1.0, 0.496277404376758403, 0.208642143547094104, 0.0532164339925752368,
                  0.0122840718598169784, 0.00194216058912260935, 2.9288006448776086e-4,
                  2.58316509217865453e-5, 2.53156684319656699e-6);
}

/// Ai(t) e^(1 / x) t^(1/4) of t = (3 / (2 x))^(2/3) >= 2.
template <class T>
FLAGGEMS_HD T airy_large(T x) {
  if constexpr (is_same<T, f32>)
    return horner(x, 0.2820947912f, 0.8114136749f, 0.4882773881f, 0.04152805188f) /
           horner(x, 1.0f, 2.945830615f, 1.898350756f, 0.2074337955f);
  else
    return horner(x, 0.282094791773878141, 4.56527672232528147, 27.5235033325849681,
                  78.8951220012143386, 113.94252852691876, 81.0662410331985357, 25.7593798862297481,
                  2.90481311005322478, 0.0611987112815291583) /
           horner(x, 1.0, 16.2529290583139507, 98.6598210858989964, 285.96176720017692,
                  420.670469057288206, 308.894330524629944, 103.91692455432845, 13.1331950045808741,
                  0.372731545741364059);
}

/// sqrt(pi) t^(1/4) (Ai(-t) cos(y) - Bi(-t) sin(y)) of t >= 5, y = 2 / 3 t^(3/2) - pi / 4, x = (2 /
/// 3 t^(3/2))^-2.
template <class T>
FLAGGEMS_HD T airy_cosine(T x) {
  if constexpr (is_same<T, f32>)
    return horner(x, 1.0f, 10.31347137f, 8.061948518f) /
           horner(x, 1.0f, 10.35060479f, 8.388689275f);
  else
    return horner(x, 0.999999999999999995, 107.300347068834327, 3251.7523747409099,
                  31728.2601439503132, 83729.4619484531391, 29859.2944035609954) /
           horner(x, 1.0, 107.337480556488583, 3255.6805405597407, 31843.258589503899,
                  84752.4451643352504, 31845.0931753793781);
}

/// That of Ai(-t) sin(y) + Bi(-t) cos(y), times 2 / 3 t^(3/2).
template <class T>
FLAGGEMS_HD T airy_sine(T x) {
  if constexpr (is_same<T, f32>)
    return horner(x, 0.06944444435f, 0.9656970459f, 1.073370638f) /
           horner(x, 1.0f, 14.45313361f, 21.69389211f);
  else
    return horner(x, 0.069444444444444444, 12.8516225008199358, 756.847497996768813,
                  17258.4676568290953, 147845.52389102773, 381321.6019127089, 132450.833173950198) /
           horner(x, 1.0, 185.610464063247276, 10998.4796390687976, 254241.532941825855,
                  2.25185165172729881e+6, 6.40799793825890243e+6, 3.51875421274506876e+6);
}

/// sin(x) and cos(x).
template <class T>
FLAGGEMS_HD void sine_and_cosine(T x, identity<T>& sine, identity<T>& cosine) {
  using bits = typename float_format<T>::bits;
  T low;
  bits quadrant;
  const T r = reduce_quadrant(x, low, quadrant);
  const T s = sin_of_remainder(r, low), c = cos_of_remainder(r, low);
  const bool odd = (quadrant & bits(1)) != 0, back = (quadrant & bits(2)) != 0;
  sine = odd ? c : s;
  cosine = odd ? -s : c;
  if (back) {
    sine = -sine;
    cosine = -cosine;
  }
}

/// J0 and Y0 (`Second`) beyond 5, J1 and Y1 if Order is 1.
template <int Order, bool Second, class T>
FLAGGEMS_HD T bessel_wave(T x) {
  T s, c;
  sine_and_cosine(x, s, c);
  const T u = T(1) / x, z = u * u;
  const T sum = s + c, difference = s - c;
  T p, q;
  if constexpr (Order == 0) {
    p = p0(z);
    q = u * q0(z);
  } else {
    p = p1(z);
    q = u * q1(z);
  }
  // The phase is x - pi / 4 or x - 3 pi / 4.
  const T along = (Order == 0) ? sum : difference, across = (Order == 0) ? difference : -sum;
  return (Second ? across * p + along * q : along * p - across * q) * T(0.56418958354775628695) /
         sqrt(x);
}
/// J0(x).
struct bessel_j0_at {
  template <class T>
  FLAGGEMS_HD static T at(T x) {
    const T a = abs(x);
    if (a > T(5)) return bessel_wave<0, false>(a);
    const bool is_single = is_same<T, f32>;
    const T r = is_single ? T(2.404825448989868f) : T(2.404825557695773);
    const T r_rest = is_single ? T(1.08705904605e-7) : T(-1.1766916515308941e-16);
    const T s = is_single ? T(5.520078182220459f) : T(5.520078110286311);
    const T s_rest = is_single ? T(-7.19341483348e-8) : T(8.0885971461467223e-17);
    return ((a - r) - r_rest) * (a + r) * (((a - s) - s_rest) * (a + s)) * j0_small(T(a * a));
  }
};
/// J1(x).
struct bessel_j1_at {
  template <class T>
  FLAGGEMS_HD static T at(T x) {
    const T a = abs(x);
    if (a > T(5)) return copysign(T(1), x) * bessel_wave<1, false>(a);
    const bool is_single = is_same<T, f32>;
    const T r = is_single ? T(3.8317060470581055f) : T(3.8317059702075125);
    const T r_rest = is_single ? T(-7.68505931531e-8) : T(-1.5269184090088067e-16);
    return x * (((a - r) - r_rest) * (a + r)) * j1_small(T(a * a));
  }
};
/// Y0(x): -inf at 0, NaN below.
struct bessel_y0_at {
  template <class T>
  FLAGGEMS_HD static T at(T x) {
    if (!(x > 0)) return x == 0 ? -infinity_of<T>() : nan_of<T>();
    if (x > T(5)) return bessel_wave<0, true>(x);
    return T(0.63661977236758134308) * log(x) * bessel_j0_at::at(x) + y0_rest(T(x * x));
  }
};
/// Y1(x): -inf at 0, NaN below.
struct bessel_y1_at {
  template <class T>
  FLAGGEMS_HD static T at(T x) {
    if (!(x > 0)) return x == 0 ? -infinity_of<T>() : nan_of<T>();
    if (x > T(5)) return bessel_wave<1, true>(x);
    return T(0.63661977236758134308) * (log(x) * bessel_j1_at::at(x) - T(1) / x) +
           x * y1_rest(T(x * x));
  }
};

/// The Airy function Ai(x); NaN for infinities. The error grows with |x|^(3/2).
struct airy_ai_at {
  template <class T>
  FLAGGEMS_HD static T at(T x) {
    if (!(abs(x) < infinity_of<T>())) return nan_of<T>();
    if (x >= 0 && x <= T(2)) return airy_falling(x);
    if (x < 0 && x >= T(-5)) return airy_waves(T(x + T(2.5f)));
    const T a = abs(x), t = T(0.66666666666666666667) * a * sqrt(a), root = sqrt(sqrt(a));
    if (x > 0) return airy_large(T(T(1) / t)) * exp(-t) / root;
    T s, c;
    sine_and_cosine(t, s, c);
    const T u = T(1) / t, z = u * u;
    // The phase is t - pi / 4; 1 / sqrt(2 pi).
    return ((c + s) * airy_cosine(z) + (s - c) * (u * airy_sine(z))) * T(0.39894228040143267794) /
           root;
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/math/special/waves.hpp");
