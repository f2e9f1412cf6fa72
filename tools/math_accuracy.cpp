// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// math-accuracy: the greatest error of each elementary function at every instruction set level of
// this machine, as JSON on standard output. f32: all 2^32 inputs (or every --stride th) against the
// C library in f64; f64 and both precisions of pow: random and edge inputs against long double.
//
//   math-accuracy [--function NAME] [--levels baseline,avx2,..] [--stride N] [--samples N]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <type_traits>

#include "../tests/support/math_functions.hpp"

namespace {

using namespace math_test;

template <class T>
struct tally {
  static constexpr double limits[] = {0.5, 0.75, 1, 1.25, 1.5, 2, 1e300};
  double worst = 0;
  T x = 0, y = 0, got = 0;
  unsigned long long counts[7] = {};

  void merge(const tally& other) {
    for (int i = 0; i < 7; ++i) counts[i] += other.counts[i];
    if (other.worst <= worst) return;
    worst = other.worst;
    x = other.x;
    y = other.y;
    got = other.got;
  }
  template <class R>
  void add(T a, T b, T result, R want) {
    // The nearest number, by far the most common case; zeros must agree in sign too.
    if (result == static_cast<T>(want) && std::signbit(result) == std::signbit(want)) {
      ++counts[0];
      return;
    }
    const double error = ulp_error<T, R>(result, want);
    int bin = 0;
    while (error > limits[bin]) ++bin;
    ++counts[bin];
    if (error > worst) {
      worst = error;
      x = a;
      y = b;
      got = result;
    }
  }
};

bool first_record = true;
std::string only_levels;  // empty: all

template <class T>
void print(const char* name, const char* input, unsigned long long inputs, const char* reference,
           const char* level, bool binary, const tally<T>& t) {
  std::printf(
      "%s\n    {\"function\": \"%s\", \"type\": \"%s\", \"level\": \"%s\", \"inputs\": \"%s\", "
      "\"count\": %llu, "
      "\"reference\": \"%s\", \"max_ulp\": %.4f, ",
      first_record ? "" : ",", name, sizeof(T) == 4 ? "f32" : "f64", level, input, inputs,
      reference, t.worst);
  first_record = false;
  std::printf("\"worst_input\": \"%a\", ", static_cast<double>(t.x));
  if (binary) std::printf("\"worst_exponent\": \"%a\", ", static_cast<double>(t.y));
  std::printf("\"worst_result\": \"%a\", \"histogram\": {", static_cast<double>(t.got));
  const char* const names[] = {"<=0.5", "<=0.75", "<=1", "<=1.25", "<=1.5", "<=2", ">2"};
  for (int i = 0; i < 7; ++i) std::printf("%s\"%s\": %llu", i ? ", " : "", names[i], t.counts[i]);
  std::printf("}}");
  std::fflush(stdout);
}

/// Runs `next(x, y)`, which fills 4096 pairs and says how many are new (0: the end), through all
/// levels, by all processors.
template <class F, class T, class R, class Next, class Reference>
void measure(const char* name, const char* input, const char* reference_name, bool binary,
             Next next, Reference reference) {
  constexpr int chunk = 4096;
  auto all = levels<F, T>();
  if (!only_levels.empty())
    all.erase(std::remove_if(
                  all.begin(), all.end(),
                  [](const level<T>& l) { return only_levels.find(l.name) == std::string::npos; }),
              all.end());
  std::vector<tally<T>> tallies(all.size());
  unsigned long long inputs = 0;
  std::mutex shared;  // next, tallies and inputs
  const auto work = [&] {
    std::vector<T> x(chunk, T(1)), y(chunk, T(1)), got(chunk);
    std::vector<R> want(chunk);
    std::vector<tally<T>> own(all.size());
    for (;;) {
      std::unique_lock lock(shared);
      const int n = next(x.data(), y.data(), chunk);
      inputs += static_cast<unsigned long long>(n);
      if (n == 0) {
        for (std::size_t l = 0; l < all.size(); ++l) tallies[l].merge(own[l]);
        return;
      }
      lock.unlock();
      for (int i = 0; i < n; ++i) want[i] = reference(static_cast<R>(x[i]), static_cast<R>(y[i]));
      for (std::size_t l = 0; l < all.size(); ++l) {
        all[l].run(x.data(), y.data(), got.data(), chunk);
        for (int i = 0; i < n; ++i) own[l].add(x[i], y[i], got[i], want[i]);
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned k = std::max(1u, std::thread::hardware_concurrency()); k > 0; --k)
    threads.emplace_back(work);
  for (std::thread& t : threads) t.join();
  for (std::size_t l = 0; l < all.size(); ++l)
    print(name, input, inputs, reference_name, all[l].name, binary, tallies[l]);
}

/// Every stride-th f32, by its bits.
struct every_f32 {
  unsigned long long stride;
  unsigned long long at = 0;
  int operator()(f32* x, f32*, int n) {
    int count = 0;
    for (; count < n && at <= 0xffffffffull; ++count, at += stride) {
      const std::uint32_t bits = static_cast<std::uint32_t>(at);
      std::memcpy(&x[count], &bits, sizeof(bits));
    }
    return count;
  }
};

/// Random bits, and numbers of a moderate size of either sign.
struct random_f64 {
  unsigned long long left;
  std::mt19937_64 random{1};
  int operator()(f64* x, f64*, int n) {
    int count = 0;
    for (; count < n && left > 0; ++count, --left) {
      const std::uint64_t bits = random();
      if (left % 2 != 0) {
        std::memcpy(&x[count], &bits, sizeof(bits));
      } else {
        const double fraction = static_cast<double>(static_cast<std::int64_t>(bits)) * 0x1p-63;
        x[count] = std::ldexp(fraction, static_cast<int>(left / 2 % 30) - 16);
      }
    }
    return count;
  }
};

/// Pairs of special values, then bases of four ranges with exponents that reach the limits.
template <class T>
struct pow_inputs {
  unsigned long long left;
  std::vector<T> special;
  std::size_t at = 0;
  std::mt19937_64 random{2};

  explicit pow_inputs(unsigned long long samples) : left(samples) {
    using limits = std::numeric_limits<T>;
    const T odd = std::ldexp(T(1), limits::digits) - 1;  // the greatest odd integer
    for (T v : {T(0),
                T(1),
                T(2),
                T(3),
                T(4),
                T(5),
                T(0.5),
                T(0.25),
                T(1.5),
                T(10),
                T(100),
                T(1) / 3,
                T(1e6),
                odd,
                odd + 1,
                odd / 2,
                std::nextafter(T(1), T(2)),
                std::nextafter(T(1), T(0)),
                limits::min(),
                limits::denorm_min(),
                limits::max(),
                limits::infinity(),
                limits::quiet_NaN()}) {
      special.push_back(v);
      special.push_back(-v);
    }
  }
  int operator()(T* x, T* y, int n) {
    const double range = std::numeric_limits<T>::max_exponent;
    int count = 0;
    for (; count < n && at < special.size() * special.size(); ++count, ++at) {
      x[count] = special[at / special.size()];
      y[count] = special[at % special.size()];
    }
    const auto uniform = [&] {
      return static_cast<double>(static_cast<std::int64_t>(random())) * 0x1p-63;
    };
    for (; count < n && left > 0; ++count, --left) {
      const double scales[] = {range, 2, 0.01, 1e-4};
      T base = static_cast<T>(std::exp2(uniform() * scales[left % 4]));
      const double log = std::log2(static_cast<double>(base));
      const double target = uniform() * 1.05 * (range + std::numeric_limits<T>::digits);
      T power = static_cast<T>(log != 0 ? target / log : target);
      if (left % 7 == 0) power = std::nearbyint(power);
      if (left % 11 == 0) base = -base;
      x[count] = base;
      y[count] = power;
    }
    return count;
  }
};

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  return "unknown";
}

}  // namespace

int main(int argc, char** argv) {
  std::string only;
  unsigned long long stride = 1, samples = 20'000'000;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : nullptr;
    if (option == "--function" && value)
      only = value;
    else if (option == "--levels" && value)
      only_levels = value;
    else if (option == "--stride" && value)
      stride = std::strtoull(value, nullptr, 10);
    else if (option == "--samples" && value)
      samples = std::strtoull(value, nullptr, 10);
    else {
      std::fprintf(stderr,
                   "math-accuracy [--function NAME] [--levels baseline,avx2,..] [--stride N] "
                   "[--samples N]\n");
      return 2;
    }
    ++i;
  }
  if (stride == 0) stride = 1;
  char date[32];
  const std::time_t now = std::time(nullptr);
  std::strftime(date, sizeof(date), "%Y-%m-%d", std::gmtime(&now));
  std::printf(
      "{\n  \"date\": \"%s\",\n  \"cpu\": \"%s\",\n  \"compiler\": \"%s\",\n  \"results\": [", date,
      cpu_name().c_str(), __VERSION__);
  const std::string inputs32 = stride == 1 ? "all" : "every " + std::to_string(stride) + "th";
#define RUN(name, reference, bound32, bound64)                                                     \
  if (only.empty() || only == #name) {                                                             \
    measure<name##_functor, f32, f64>(#name, inputs32.c_str(), "f64 libm", false,                  \
                                      every_f32{stride}, [](f64 x, f64) { return reference(x); }); \
    measure<name##_functor, f64, long double>(                                                     \
        #name, "random", "long double libm", false, random_f64{samples},                           \
        [](long double x, long double) { return reference(x); });                                  \
  }
  MATH_TEST_FUNCTIONS(RUN)
#undef RUN
  if (only.empty() || only == "pow") {
    const auto reference = [](long double x, long double y) { return std::pow(x, y); };
    measure<pow_functor, f32, long double>("pow", "edges and random", "long double libm", true,
                                           pow_inputs<f32>(samples * 5), reference);
    measure<pow_functor, f64, long double>("pow", "edges and random", "long double libm", true,
                                           pow_inputs<f64>(samples), reference);
  }
  std::printf("\n  ]\n}\n");
}
