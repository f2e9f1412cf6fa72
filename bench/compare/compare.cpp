// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// How a row is measured: all sides in turn, round after round, in one process on the same buffers.
// The median of a side's rounds counts. Between sides of several threads the process waits until
// its other threads sleep: those of one library spin for a while after its work. Prints a line of
// JSON for each row; see run.py.
#include "compare.hpp"

#include <dirent.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>

namespace compare {

std::vector<library>& libraries() {
  static std::vector<library> all;
  return all;
}
registered::registered(library l) {
  auto& all = libraries();
  all.insert(std::find_if(all.begin(), all.end(), [&](auto& x) { return x.name > l.name; }),
             std::move(l));
}

namespace {

double clock_of(clockid_t id) {
  timespec t{};
  clock_gettime(id, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}
double wall() { return clock_of(CLOCK_MONOTONIC); }

/// While one thread works, its processor time: other programs of a busy machine disturb it less.
double seconds(bool own_time) {
  return clock_of(own_time ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC);
}

/// Returns when the other threads of this process have done nothing for a moment.
void settle() {
  const double end = wall() + 0.02;
  do {
    const double start = wall(), busy = clock_of(CLOCK_PROCESS_CPUTIME_ID);
    timespec moment{0, 100000};
    nanosleep(&moment, nullptr);
    if (clock_of(CLOCK_PROCESS_CPUTIME_ID) - busy < 0.3 * (wall() - start)) return;
  } while (wall() < end);
}

/// The value in a column of /proc/self/task/ID/schedstat for each thread of this process: the
/// nanoseconds that it ran (0), and that it was ready to run but did not (1).
std::map<std::string, double> of_tasks(int column) {
  std::map<std::string, double> values;
  DIR* tasks = opendir("/proc/self/task");
  if (tasks == nullptr) return values;
  while (const dirent* entry = readdir(tasks)) {
    if (entry->d_name[0] == '.') continue;
    const std::string path = std::string("/proc/self/task/") + entry->d_name + "/schedstat";
    if (std::FILE* file = std::fopen(path.c_str(), "r")) {
      double ns[2] = {};
      if (std::fscanf(file, "%lf %lf", &ns[0], &ns[1]) == 2) values[entry->d_name] = ns[column];
      std::fclose(file);
    }
  }
  closedir(tasks);
  return values;
}
/// Seconds that threads of this process waited for a processor.
double waiting() {
  double sum = 0;
  for (const auto& [task, ns] : of_tasks(1)) sum += ns * 1e-9;
  return sum;
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}
double least(const std::vector<double>& v) { return *std::min_element(v.begin(), v.end()); }

// ---- text
std::string escaped(const std::string& s) {
  std::string r;
  for (const char c : s) {
    if (c == '"' || c == '\\') r += '\\';
    if (static_cast<unsigned char>(c) >= 32) r += c;
  }
  return r;
}
const char* name_of(dtype t) {
  constexpr const char* names[] = {"f32", "f64", "bf16", "f16", "i8", "u8", "i32", "i64", "bool"};
  return names[static_cast<int>(t)];
}
const char* name_of(roof r) {
  constexpr const char* names[] = {"none", "read", "copy", "triad", "f32", "f64", "bf16", "i8"};
  return names[static_cast<int>(r)];
}

// ---- results
double value_at(const operand& o, i64 at) {
  switch (o.type) {
    case dtype::f32: return static_cast<double>(static_cast<const float*>(o.data)[at]);
    case dtype::f64: return static_cast<const double*>(o.data)[at];
    case dtype::bf16:
      return static_cast<double>(static_cast<float>(static_cast<const fg::bf16*>(o.data)[at]));
    case dtype::f16:
      return static_cast<double>(static_cast<float>(static_cast<const fg::f16*>(o.data)[at]));
    case dtype::i8: return static_cast<const fg::i8*>(o.data)[at];
    case dtype::u8:
    case dtype::boolean: return static_cast<const fg::u8*>(o.data)[at];
    case dtype::i32: return static_cast<const fg::i32*>(o.data)[at];
    case dtype::i64: return static_cast<double>(static_cast<const i64*>(o.data)[at]);
  }
  return 0;
}
i64 item_size(dtype t) {
  constexpr i64 sizes[] = {4, 8, 2, 2, 1, 1, 4, 8, 1};
  return sizes[static_cast<int>(t)];
}
i64 count_of(const operand& o) {
  i64 n = 1;
  for (const i64 s : o.sizes) n *= s;
  return n;
}
i64 bytes_of(const operand& o) { return count_of(o) * item_size(o.type); }

/// The elements of a contiguous output, `most` of them spread over it.
std::vector<double> snapshot(const operand& o, i64 most) {
  const i64 n = count_of(o), step = (std::max)(i64{1}, n / most);
  std::vector<double> v;
  v.reserve(static_cast<std::size_t>(n / step + 1));
  for (i64 i = 0; i < n; i += step) v.push_back(value_at(o, i));
  return v;
}
void spoil(const operand& o) { std::memset(o.data, 0x7b, static_cast<std::size_t>(bytes_of(o))); }

/// The greatest |a - b| / (|b| + scale); infinite for a NaN on one side only.
double difference(const std::vector<double>& a, const std::vector<double>& b, double scale) {
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (a[i] == b[i]) continue;
    const double d = std::abs(a[i] - b[i]) / (std::abs(b[i]) + scale);
    worst = std::isnan(d) ? HUGE_VAL : (std::max)(worst, d);
  }
  return worst;
}

struct side {
  std::string name, note;
  std::function<void()> run;
  double once = 0, amount = 0;
  int inner = 1;
  std::vector<double> times = {}, calm = {};
};

/// The roofs of a session: a loop for each kind, size and number of threads, the last few kept.
roof_loop roof_for(roof kind, i64 bytes, int threads) {
  static std::map<std::tuple<roof, i64, int>, roof_loop> known;
  const auto key = std::tuple(kind, kind >= roof::f32 ? 0 : bytes, threads);
  const auto found = known.find(key);
  if (found != known.end()) return found->second;
  if (known.size() > 6) known.clear();  // they hold memory
  return known[key] = make_roof(kind, bytes, threads);
}

}  // namespace

void use_threads(int n) {
  fg::host::set_num_threads(n);
  for (const library& l : libraries()) l.set_threads(n);
}

std::string text(const fg::shape& sizes) {
  std::string r;
  for (int d = 0; d < sizes.rank(); ++d) r += (d > 0 ? "x" : "") + std::to_string(sizes[d]);
  return r;
}

std::vector<float> session::uniform(int count) {
  std::mt19937 engine(20);
  std::uniform_real_distribution<float> between(0, 1);
  std::vector<float> v(static_cast<std::size_t>(count));
  for (float& x : v) x = between(engine);
  return v;
}

std::vector<session::size_class> session::size_classes() const {
  const i64 mb = i64{1} << 20;
  const auto& c = fg::caches();
  if (options.quick) return {{"L2", c.l2 / 2}, {"DRAM", 64 * mb}};
  return {{"L1", c.l1d / 2}, {"L2", c.l2 / 2}, {"L3", 4 * c.l2}, {"DRAM", 192 * mb}};
}

void session::measure(const row& r) {
  const int threads = options.threads;
  i64 working_set = 0;
  for (const auto& list : {r.request.in, r.request.out})
    for (const operand& o : list) working_set += bytes_of(o);
  std::vector<side> sides;
  std::string problem, refusals;
  const auto& of_type = r.request.in.at(r.request.in[0].type == dtype::boolean ? 1 : 0);
  const std::string type = name_of(of_type.type);
  const auto spoil_results = [&] {
    if (r.in_place) return;
    for (const operand& o : r.request.out) spoil(o);
  };

  // Each side once, from spoiled memory, and its result against ours.
  std::vector<std::vector<double>> expected;
  spoil_results();
  try {
    r.ours();
    sides.push_back({"flaggems", "", r.ours});
  } catch (const std::exception& e) {
    problem = std::string(e.what());
  }
  const i64 most = options.quick ? 100003 : 1000003;
  for (const operand& o : r.request.out) expected.push_back(snapshot(o, most));
  request asked = r.request;
  asked.threads = threads;
  for (const library& l : libraries()) {
    if (!problem.empty()) break;
    spoil_results();
    offer o;
    try {
      o = l.offer_for(asked);
      if (!o) continue;
      o.run();
      if (o.finish) o.finish();
    } catch (const std::exception& e) {  // that it does not do so for this type, for instance
      const std::string why = e.what();
      refusals +=
          (refusals.empty() ? "\"" : ", \"") + l.name + "\": \"" +
          escaped(
              why.substr(0, (std::min)(why.find("Exception raised"), why.size())).substr(0, 120)) +
          "\"";
      continue;
    }
    sides.push_back({l.name, o.note, o.run});
    for (std::size_t k = 0; k < r.request.out.size() && !r.in_place; ++k) {
      const double d = difference(expected[k], snapshot(r.request.out[k], most), r.scale);
      if (d > r.tolerance)
        problem += "result differs from that of " + l.name + " by " + std::to_string(d) + "; ";
    }
  }
  if (!problem.empty()) {
    ++errors_;
    std::printf(
        "{\"error\": \"%s\", \"family\": \"%s\", \"op\": \"%s\", \"dtype\": \"%s\", "
        "\"shape\": \"%s\", \"threads\": %d}\n",
        escaped(problem).c_str(), family_name, r.op.c_str(), type.c_str(), r.shape.c_str(),
        threads);
    std::fflush(stdout);
    return;
  }
  // Rounded down to a power of two, so that rows share their roofs.
  i64 roof_bytes = 4096;
  while (static_cast<double>(2 * roof_bytes) <= r.bytes) roof_bytes *= 2;
  if (r.bound != roof::none) {
    const roof_loop loop = roof_for(r.bound, roof_bytes, threads);
    sides.push_back({"roof", "", loop.run, 0, loop.amount});
  }

  const bool own_time = threads == 1 && !options.wall;
  const auto time = [&](side& s, int inner) {
    const double start = seconds(own_time);
    for (int i = 0; i < inner; ++i) s.run();
    return (seconds(own_time) - start) / inner;
  };
  const double block = options.quick ? 5e-4 : 1e-3, budget = options.quick ? 0.06 : 0.4;
  double round = 0;
  for (side& s : sides) {
    s.once = time(s, 1);
    if (s.once < 0.1) s.once = (std::min)(s.once, time(s, s.once < 1e-4 ? 10 : 1));
    s.inner = static_cast<int>((std::min)((std::max)(block / (s.once + 1e-9), 1.0), 1e6));
    if (s.once < 10 * sides[0].once) round += s.once * (s.inner + 1) + (threads > 1 ? 1e-3 : 0);
  }
  const int rounds =
      static_cast<int>((std::min)((std::max)(budget / round, options.quick ? 3.0 : 7.0), 41.0));
  for (int k = 0; k < rounds; ++k)
    for (std::size_t i = 0; i < sides.size(); ++i) {
      // Every other round backwards: who always came after the roof would find its own buffers in
      // the last cache.
      const std::size_t turn = (i + static_cast<std::size_t>(k)) % sides.size();
      side& s = sides[k % 2 == 0 ? turn : sides.size() - 1 - turn];
      // Who is left far behind need not be known exactly.
      const bool behind = s.once > 0.1 && s.once > 10 * sides[0].once;
      if (behind && s.times.size() >= (options.quick ? 1 : 3)) continue;
      if (threads > 1) settle();
      if (!behind) s.run();
      const double waited = own_time ? 0 : waiting();
      const double t = time(s, s.inner);
      s.times.push_back(t);
      // A block during which threads were ready, but another program had their processors.
      if (own_time || waiting() - waited < 0.02 * t * s.inner) s.calm.push_back(t);
    }
  int calm = rounds;  // of the side that had the fewest
  for (side& s : sides) {
    if (s.times.size() == static_cast<std::size_t>(rounds))
      calm = (std::min)(calm, static_cast<int>(s.calm.size()));
    if (s.calm.size() >= 3) s.times = s.calm;
  }

  // The class is that of the bytes which the operands occupy, on the cores that work.
  const auto& c = fg::caches();
  const char* place = working_set <= c.l1d * threads  ? "L1"
                      : working_set <= c.l2 * threads ? "L2"
                      : working_set < i64{40} << 20   ? "L3"
                                                      : "DRAM";
  const double ours = median(sides[0].times), best = least(sides[0].times);
  std::printf(
      "{\"family\": \"%s\", \"op\": \"%s\", \"dtype\": \"%s\", \"shape\": \"%s\", "
      "\"threads\": %d, \"class\": \"%s\", \"working_set\": %lld, \"bytes\": %.0f, "
      "\"flops\": %.0f, \"rounds\": %d, \"calm\": %d, \"seconds\": %.4g, \"best_seconds\": %.4g",
      family_name, r.op.c_str(), type.c_str(), r.shape.c_str(), threads, place,
      static_cast<long long>(working_set), r.bytes, r.flops, rounds, calm, ours, best);
  std::printf(", \"peers\": {");
  const char* comma = "";
  for (std::size_t i = 1; i < sides.size(); ++i) {
    const side& s = sides[i];
    if (s.name == "roof") continue;
    std::printf("%s\"%s\": {\"seconds\": %.4g, \"best_seconds\": %.4g, \"note\": \"%s\"}", comma,
                s.name.c_str(), median(s.times), least(s.times), escaped(s.note).c_str());
    comma = ", ";
  }
  std::printf("}");
  if (r.bound != roof::none) {
    const side& s = sides.back();
    const double rate = s.amount / median(s.times), best_rate = s.amount / least(s.times);
    const double work = r.bound >= roof::f32 ? r.flops : r.bytes;
    std::printf(
        ", \"roof\": {\"kind\": \"%s\", \"rate\": %.4g, \"best_rate\": %.4g}, "
        "\"share\": %.3f, \"best_share\": %.3f",
        name_of(r.bound), rate, best_rate, work / ours / rate, work / best / best_rate);
  }
  if (!refusals.empty()) std::printf(", \"refused\": {%s}", refusals.c_str());
  std::printf("}\n");
  std::fflush(stdout);
}

namespace {

/// How many threads of this process worked while f ran for a while: those with at least a tenth of
/// the busiest one's processor time.
int busy_threads(const std::function<void()>& f) {
  f();
  settle();
  const auto before = of_tasks(0);
  const double end = wall() + 0.06;
  do f();
  while (wall() < end);
  const auto after = of_tasks(0);
  double most = 0;
  std::vector<double> used;
  for (const auto& [task, ns] : after) {
    const auto was = before.find(task);
    used.push_back(ns - (was == before.end() ? 0 : was->second));
    most = (std::max)(most, used.back());
  }
  return static_cast<int>(
      std::count_if(used.begin(), used.end(), [&](double ns) { return ns > 0.1 * most; }));
}

/// Sets the threads of all sides and sees who keeps to it. Returns the number of those who use
/// more than asked.
int check_threads(const options& o) {
  use_threads(o.threads);
  session s(o);
  const auto a = s.random<float>({512, 512}), b = s.random<float>({512, 512});
  const auto x = s.random<float>({1 << 21}), y = s.random<float>({1 << 21});
  auto c = s.random<float>({512, 512}), z = s.random<float>({1 << 21});
  const request product{"mm", {of(a), of(b)}, {of(c)}, {}, o.threads},
      sum{"add", {of(x), of(y)}, {of(z)}, {}, o.threads};
  int wrong = 0;
  for (const library& l : libraries())
    for (const request& r : {product, sum}) {
      const offer does = l.offer_for(r);
      if (!does) continue;
      // Again if it seems more: threads of another library may not have slept yet.
      int used = busy_threads(does.run);
      for (int again = 0; used > o.threads && again < 3; ++again)
        used = (std::min)(used, busy_threads(does.run));
      if (used > o.threads) ++wrong;
      std::printf(
          "{\"check\": \"threads\", \"side\": \"%s\", \"op\": \"%s\", \"asked\": %d, "
          "\"used\": %d}\n",
          l.name.c_str(), r.op.c_str(), o.threads, used);
    }
  return wrong;
}

}  // namespace
}  // namespace compare

/// compare_FAMILY [--quick] [--trust] [--threads N]...; --trust: whose threads work was seen
/// before.
int main(int count, char** argument) {
  using namespace compare;
  options o;
  std::vector<int> threads;
  bool trust = false;
  for (int i = 1; i < count; ++i) {
    const std::string a = argument[i];
    if (a == "--quick")
      o.quick = true;
    else if (a == "--trust")
      trust = true;
    else if (a == "--threads" && i + 1 < count)
      threads.push_back(std::atoi(argument[++i]));
    else {
      std::fprintf(stderr, "unknown argument %s\n", a.c_str());
      return 2;
    }
  }
  if (threads.empty()) threads = {1};
  const auto& c = fg::caches();
  std::printf(
      "{\"processor\": \"%s\", \"level\": \"%s\", \"processors\": %d, \"caches\": "
      "[%lld, %lld, %lld], \"compiler\": \"%s\", \"libraries\": {",
      std::string(fg::detail::processor_name().view()).c_str(),
      std::string(fg::to_string(fg::isa())).c_str(), fg::detail::usable_processors(),
      static_cast<long long>(c.l1d), static_cast<long long>(c.l2), static_cast<long long>(c.l3),
      escaped(__VERSION__).c_str());
  const char* comma = "";
  for (const library& l : libraries()) {
    std::printf("%s\"%s\": \"%s\"", comma, l.name.c_str(), escaped(l.version).c_str());
    comma = ", ";
  }
  std::printf("}, \"level_gflops\": {");
  comma = "";
  for (const auto& [name, rate] : level_rates()) {
    std::printf("%s\"%s\": %.1f", comma, name.c_str(), rate);
    comma = ", ";
  }
  std::printf("}}\n");
  int errors = 0;
  for (const int n : threads) {
    o.threads = n;
    if (trust)
      use_threads(n);
    else
      errors += check_threads(o);
    session s(o);
    family(s);
    errors += s.errors();
  }
  return errors == 0 ? 0 : 1;
}
