// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems-compile: compiles ahead of time the kernels that a program may launch on flaggems::cuda
// or, for the targets spir64, compute_90 and spirv64, on flaggems::opencl (compute_90: on NVIDIA's
// drivers) and flaggems::level_zero. They are
// found in the program itself, a library, an archive or object files: the names of the instances
// and the texts of the headers stand there. No GPU and no driver is needed, only NVRTC or clang.
#include <flaggems/vendors/cuda.hpp>
#include <flaggems/vendors/driver/precompiled.hpp>
#include <flaggems/vendors/level_zero.hpp>
#include <flaggems/vendors/opencl.hpp>

#include <elf.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace fd = flaggems::detail;
using compiler_type = fd::runtime_compiler<fd::cuda_api>;
using opencl_compiler = fd::runtime_compiler<fd::opencl_api>;
using ptx_compiler = fd::runtime_compiler<fd::opencl_ptx_api>;
using level_zero_compiler = fd::runtime_compiler<fd::level_zero_api>;

bool is_opencl(std::string_view target) { return target == fd::opencl_api::target; }
bool is_level_zero(std::string_view target) { return target == fd::level_zero_api::target; }
bool is_ptx(std::string_view target) { return target.rfind(fd::opencl_ptx_api::compute, 0) == 0; }
/// f(the compiler for this target).
template <class F>
decltype(auto) with_compiler(std::string_view target, F&& f) {
  return is_opencl(target)       ? f(opencl_compiler::get())
         : is_ptx(target)        ? f(ptx_compiler::get())
         : is_level_zero(target) ? f(level_zero_compiler::get())
                                 : f(compiler_type::get());
}

constexpr const char* usage =
    R"(usage: flaggems-compile [OPTION].. FILE..
Compiles the kernels that programs, shared libraries, archives or object files (ELF) may launch on
flaggems::cuda, flaggems::opencl or flaggems::level_zero, and keeps the machine code in the disk
cache that programs look into (FLAGGEMS_CACHE_DIR). FLAGGEMS_NVRTC_LIBRARY, FLAGGEMS_OPENCL_COMPILER
and FLAGGEMS_LEVEL_ZERO_COMPILER name the compilers if they are not found.

  --target sm_90a   for this chip, spir64 for OpenCL, compute_90 for OpenCL on NVIDIA's GPUs of that
                    capability and later, or spirv64 for Level Zero; may be repeated.
                    Without: for the GPUs of this machine
  --match REGEX     only kernels whose types match
  --object OUT.o    writes the machine code into an object file to link with FILE.. instead
  --allow-nameless  leaves out kernels of types without names (lambdas, those of unnamed namespaces),
                    which can only be compiled by nvcc; else they are an error
  --check           compiles many kernels a unit, faster, and keeps nothing
  --every N         only every Nth kernel, for one of the targets in turn
  --from K          with --every: other kernels and targets for each K below N times the targets
  --list            prints the kernels' types and compiles nothing
  -j N              so many processes
)";

struct options {
  std::vector<std::string> targets, files;
  std::string match, object;
  bool check = false, list = false, allow_nameless = false;
  int processes = 1, every = 0, from = 0;  // every 0: all, for all targets
};

/// What stands in the files: instances, each once, and texts.
struct contents {
  std::deque<std::string> bytes;  // of the files; texts point into them
  std::set<std::string> names;    // of instances
  fd::kernel_texts texts;
  Elf64_Half machine = EM_NONE;
  Elf64_Word flags = 0;
};

[[noreturn]] void fail(const std::string& message) {
  std::cerr << "flaggems-compile: " << message << '\n';
  std::exit(2);
}

template <class T>
T at(std::string_view bytes, std::size_t offset) {
  T value{};
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) fail("a file is cut off");
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

// Strings of the form "... named() [... launched_instance<...>]", between zeros.
void find_instances(std::string_view bytes, std::set<std::string>& names) {
  constexpr std::string_view mark = "launched_instance<";
  for (std::size_t p = 0; (p = bytes.find(mark, p)) != bytes.npos; ++p) {
    const std::size_t before = bytes.rfind('\0', p);
    const std::size_t first = before == bytes.npos ? 0 : before + 1;
    const std::string_view name = bytes.substr(first, bytes.find('\0', p) - first);
    if (name.substr(0, p - first).find("named() [") != name.npos && name.back() == ']')
      names.emplace(name);
  }
}

void read_elf(std::string_view bytes, contents& found) {
  const auto head = at<Elf64_Ehdr>(bytes, 0);
  if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB)
    fail("expected ELF of 64 bits, little-endian");
  found.machine = head.e_machine;
  found.flags = head.e_flags;
  const auto section = [&](std::size_t k) {
    return at<Elf64_Shdr>(bytes, head.e_shoff + k * sizeof(Elf64_Shdr));
  };
  if (head.e_shoff == 0) return;
  // Many sections: their number and the names' section stand in the first one.
  const Elf64_Shdr first = section(0);
  const std::size_t count = head.e_shnum != 0 ? head.e_shnum : first.sh_size;
  const std::size_t names = head.e_shstrndx != SHN_XINDEX ? head.e_shstrndx : first.sh_link;
  const std::size_t names_at = section(names).sh_offset;
  for (std::size_t k = 0; k < count; ++k) {
    const Elf64_Shdr s = section(k);
    const std::string_view name = bytes.substr(names_at + s.sh_name);
    if (s.sh_type != SHT_PROGBITS || name.substr(0, name.find('\0')) != "flaggems_texts") continue;
    if (s.sh_offset > bytes.size() || bytes.size() - s.sh_offset < s.sh_size)
      fail("a file is cut off");
    found.texts.add_section(bytes.data() + s.sh_offset, bytes.data() + s.sh_offset + s.sh_size);
  }
}

void read(const std::string& path, contents& found) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail("cannot read " + path);
  found.bytes.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  const std::string_view all = found.bytes.back();
  find_instances(all, found.names);
  constexpr std::string_view archive = "!<arch>\n";
  if (all.substr(0, SELFMAG) == ELFMAG) {
    read_elf(all, found);
  } else if (all.substr(0, archive.size()) == archive) {
    constexpr std::size_t header = 60, size_at = 48;
    for (std::size_t p = archive.size(); p + header <= all.size();) {
      const std::size_t size = std::stoul(std::string(all.substr(p + size_at, 10)));
      const std::string_view member = all.substr(p + header, size);
      if (member.substr(0, SELFMAG) == ELFMAG) read_elf(member, found);
      p += header + size + size % 2;
    }
  } else {
    fail(path + " is neither an ELF file nor an archive");
  }
}

// An object file that has nothing but the section flaggems_images.
void write_object(const std::string& path, const std::string& images, const contents& found) {
  static constexpr char names[] = "\0.shstrtab\0.note.GNU-stack\0flaggems_images";
  constexpr Elf64_Word retained = 1U << 21U;  // by the linker, though nothing names it
  const std::size_t names_at = sizeof(Elf64_Ehdr) + images.size();
  const std::size_t sections_at = (names_at + sizeof(names) + 7) / 8 * 8;
  Elf64_Shdr sections[4] = {};
  const auto set = [&](int k, Elf64_Word name, Elf64_Word type, std::size_t offset,
                       std::size_t size) -> Elf64_Shdr& {
    sections[k].sh_name = name;
    sections[k].sh_type = type;
    sections[k].sh_offset = offset;
    sections[k].sh_size = size;
    sections[k].sh_addralign = 1;
    return sections[k];
  };
  set(1, 1, SHT_STRTAB, names_at, sizeof(names));
  set(2, 11, SHT_PROGBITS, names_at, 0);
  Elf64_Shdr& data = set(3, 27, SHT_PROGBITS, sizeof(Elf64_Ehdr), images.size());
  data.sh_flags = SHF_ALLOC | retained;
  data.sh_addralign = fd::precompiled_image::alignment;

  Elf64_Ehdr head{};
  std::memcpy(head.e_ident, ELFMAG, SELFMAG);
  head.e_ident[EI_CLASS] = ELFCLASS64;
  head.e_ident[EI_DATA] = ELFDATA2LSB;
  head.e_ident[EI_VERSION] = EV_CURRENT;
  head.e_ident[EI_OSABI] = ELFOSABI_GNU;
  head.e_type = ET_REL;
  head.e_machine = found.machine;
  head.e_flags = found.flags;
  head.e_version = EV_CURRENT;
  head.e_shoff = sections_at;
  head.e_ehsize = sizeof(Elf64_Ehdr);
  head.e_shentsize = sizeof(Elf64_Shdr);
  head.e_shnum = 4;
  head.e_shstrndx = 1;
  std::string all(reinterpret_cast<const char*>(&head), sizeof(head));
  all += images;
  all.append(names, sizeof(names)).resize(sections_at, '\0');
  all.append(reinterpret_cast<const char*>(sections), sizeof(sections));
  std::ofstream file(path, std::ios::binary);
  file << all;
  if (!file.flush()) fail("cannot write " + path);
}

struct job {
  fd::kernel_instance instance;
  std::string target;
};

/// What could not be compiled, and the compiler's words in full, where it has some.
struct failure {
  std::string what, said;

  failure(std::string of, std::string words) : what(std::move(of)), said(std::move(words)) {}
  failure(std::string of, std::string_view target, const flaggems::error& raised)
      : what(std::move(of)) {
    said = with_compiler(target, [](auto& compiler) { return compiler.log(); });
    if (said.empty())
      said = "expected " + std::string(raised.expected()) + ", got " + std::string(raised.got());
  }
  failure(const job& todo, const flaggems::error& raised)
      : failure(todo.target + ": " + std::string(todo.instance.types()), todo.target, raised) {}

  /// What failures with one cause have in common: all up to the first error, without its line.
  [[nodiscard]] std::string cause() const {
    std::string head = said.substr(0, said.find('\n', said.find("error")));
    const std::size_t line = head.find(std::string(fd::source_name) + '(');
    return line == head.npos ? head : head.erase(line, head.find(')', line) - line);
  }
};
using failures = std::vector<failure>;

std::string image_of(const job& todo, const contents& found) {
  return with_compiler(todo.target, [&](auto& compiler) {
    return compiler.image_of("flaggems-compile", todo.instance, todo.target, found.texts);
  });
}
std::string compile(const char* what, const fd::kernel_texts& texts, const std::string& lines,
                    const std::string& target) {
  return with_compiler(target, [&](auto& compiler) {
    return compiler.compile("flaggems-compile", what, texts, lines, target);
  });
}
void compile_one(const job& todo, const contents& found, failures& failed) {
  try {
    (void)image_of(todo, found);
  } catch (const flaggems::error& raised) {
    failed.emplace_back(todo, raised);
  }
}
// All of them in one unit; if it fails, one by one, to know which.
void compile_unit(const std::vector<job>& unit, const contents& found, failures& failed) {
  std::string lines;
  for (std::size_t k = 0; k < unit.size(); ++k)
    lines += source_of(unit[k].instance, "flaggems_entry_" + std::to_string(k));
  try {
    (void)compile("a unit", found.texts, lines, unit.front().target);
  } catch (const flaggems::error& raised) {
    if (unit.size() == 1)
      failed.emplace_back(unit.front(), raised);
    else
      for (const job& one : unit) compile_unit({one}, found, failed);
  }
}
// Nothing at all, which fails where there is no compiler or it does not know the target.
void compile_nothing(const std::string& target, failures& failed) {
  try {
    (void)compile("nothing", {}, "", target);
  } catch (const flaggems::error& raised) {
    failed.emplace_back(target, target, raised);
  }
}

// work(k, failures) for all k below `count`, shared by processes (NVRTC's threads wait for each
// other); 0: in this one.
template <class F>
failures in_processes(int processes, std::size_t count, F&& work) {
  const auto share = [&](std::size_t first, std::size_t step) {
    failures failed;
    for (std::size_t k = first; k < count; k += step) work(k, failed);
    return failed;
  };
  if (processes == 0) return share(0, 1);
  struct child {
    pid_t process;
    std::FILE* failed;  // each failure's parts, with a zero behind each
  };
  std::vector<child> children;
  for (int p = 0; p < processes; ++p) {
    std::FILE* const file = std::tmpfile();
    const pid_t process = file != nullptr ? ::fork() : -1;
    if (process < 0) fail("cannot start a process");
    if (process == 0) {
      for (const failure& one :
           share(static_cast<std::size_t>(p), static_cast<std::size_t>(processes)))
        for (const std::string& part : {one.what, one.said})
          std::fwrite(part.c_str(), 1, std::strlen(part.c_str()) + 1, file);
      std::_Exit(std::fflush(file) == 0 ? 0 : 1);
    }
    children.push_back({process, file});
  }
  failures failed;
  bool ended_well = true;
  for (const child& one : children) {
    int status = 0;
    ended_well = ::waitpid(one.process, &status, 0) == one.process && WIFEXITED(status) &&
                 WEXITSTATUS(status) == 0 && ended_well;
    std::rewind(one.failed);
    std::string all;
    for (int c = 0; (c = std::fgetc(one.failed)) != EOF;) all += static_cast<char>(c);
    for (std::size_t p = 0; p < all.size();) {
      const char* const what = all.c_str() + p;
      const char* const said = what + std::strlen(what) + 1;
      failed.emplace_back(what, std::string(said));
      p += std::strlen(what) + std::strlen(said) + 2;
    }
    std::fclose(one.failed);
  }
  if (!ended_well) fail("a process that compiled was ended");
  return failed;
}

// Each cause once.
void report(const failures& failed) {
  std::map<std::string, int> others;
  for (const failure& one : failed) ++others[one.cause()];
  for (const failure& one : failed) {
    int& count = others[one.cause()];
    if (count == 0) continue;
    std::cerr << "flaggems-compile: " << one.what << ":\n"
              << one.said << (one.said.back() == '\n' ? "" : "\n");
    if (count > 1) std::cerr << "(the same for " << count - 1 << " more)\n";
    count = 0;
  }
}

options parse(int count, char** arguments) {
  options o;
  for (int k = 1; k < count; ++k) {
    const std::string word = arguments[k];
    const auto value = [&]() -> std::string {
      if (k + 1 == count || arguments[k + 1][0] == '-') fail(word + " needs a value");
      return arguments[++k];
    };
    const auto number = [&](int least) {
      const std::string digits = value();
      const bool good = !digits.empty() && digits.size() < 7 &&
                        digits.find_first_not_of("0123456789") == digits.npos;
      if (!good || std::stoi(digits) < least)
        fail(word + ": expected a number from " + std::to_string(least) + " on, got " + digits);
      return std::stoi(digits);
    };
    if (word == "--help") {
      std::cout << usage;
      std::exit(0);
    } else if (word == "--target") {
      o.targets.push_back(value());
      if (const std::string& t = o.targets.back();
          t.rfind("sm_", 0) != 0 && !is_opencl(t) && !is_ptx(t) && !is_level_zero(t))
        fail("--target: expected sm_..., spir64, compute_... or spirv64, got " + t);
    } else if (word == "--match") {
      o.match = value();
    } else if (word == "--object") {
      o.object = value();
    } else if (word == "--allow-nameless") {
      o.allow_nameless = true;
    } else if (word == "--check") {
      o.check = true;
    } else if (word == "--every") {
      o.every = number(1);
    } else if (word == "--from") {
      o.from = number(0);
    } else if (word == "--list") {
      o.list = true;
    } else if (word == "-j") {
      o.processes = number(1);
    } else if (word.rfind('-', 0) == 0) {
      fail("unknown option " + word + "; see --help");
    } else {
      o.files.push_back(word);
    }
  }
  if (o.files.empty()) fail("no file; see --help");
  return o;
}

int run(options o) {
  contents found;
  for (const std::string& file : o.files) read(file, found);
  const std::regex pattern(o.match);
  std::vector<fd::kernel_instance> instances;
  std::size_t nameless = 0;
  std::set<std::string> nameless_types;
  for (const std::string& name : found.names) {
    const fd::kernel_instance instance{name.c_str()};
    const std::string types(instance.types());
    if (!std::regex_search(types, pattern)) continue;
    const std::string_view without_name = compiler_type::nameless_type(instance);
    if (o.list) std::cout << types << (without_name.empty() ? "\n" : "  (types without names)\n");
    if (without_name.empty()) {
      instances.push_back(instance);
    } else {
      ++nameless;
      nameless_types.emplace(without_name);
    }
  }
  if (o.list) return 0;
  if (instances.empty() && nameless == 0)
    fail(std::string("no kernels") + (o.match.empty() ? "" : " that match") +
         " in the files; objects made with -flto need -ffat-lto-objects");
  if (nameless != 0) {
    std::string of;
    for (const std::string& type : nameless_types) of += "\n  " + type;
    if (!o.allow_nameless)
      fail(std::to_string(nameless) + " kernels are of types without names:" + of +
           "\nGive them names, in a header that ends with FLAGGEMS_TEXT, or leave these kernels "
           "out: "
           "--allow-nameless (in CMake ALLOW_NAMELESS)");
    std::cout << nameless << " kernels left out, of types without names:" << of << '\n';
  }
  if (o.targets.empty()) {
    for (int k = 0; k < flaggems::cuda::device_count(); ++k)
      o.targets.emplace_back(flaggems::cuda::properties(k).arch);
    std::sort(o.targets.begin(), o.targets.end());
    o.targets.erase(std::unique(o.targets.begin(), o.targets.end()), o.targets.end());
    if (o.targets.empty())
      fail("no --target, and no GPU: " + std::string(flaggems::cuda::unavailable_reason()));
  }
  if (found.texts.names.empty() && !instances.empty())
    fail("the files have no texts of kernels: were they compiled with FLAGGEMS_EMBED=0?");
  if (found.texts.ambiguous != nullptr)
    fail(std::string("two different texts named ") + found.texts.ambiguous +
         ": give one header another name in its FLAGGEMS_TEXT, and include it by that");

  std::vector<job> jobs;
  const auto every = static_cast<std::size_t>(o.every), from = static_cast<std::size_t>(o.from);
  for (std::size_t t = 0; t < o.targets.size(); ++t)
    for (std::size_t k = 0; k < instances.size(); ++k)
      if (every == 0 || ((k + from) % every == 0 && (k + from) / every % o.targets.size() == t))
        jobs.push_back({instances[k], o.targets[t]});
  // In a process of its own: one that has used NVRTC is not copied.
  if (!jobs.empty()) {
    const failures refused = in_processes(
        1, o.targets.size(),
        [&](std::size_t k, failures& failed) { compile_nothing(o.targets[k], failed); });
    report(refused);
    if (!refused.empty()) return 1;
  }
  const int processes = o.processes == 1 ? 0 : o.processes;
  failures failed;
  if (o.check) {
    // A unit's texts are parsed once; a large one is compiled slowly where something is wrong.
    constexpr std::size_t most = 32;
    std::vector<std::vector<job>> units;
    for (const job& one : jobs) {
      if (units.empty() || units.back().size() == most || units.back().front().target != one.target)
        units.emplace_back();
      units.back().push_back(one);
    }
    failed = in_processes(processes, units.size(),
                          [&](std::size_t k, failures& to) { compile_unit(units[k], found, to); });
  } else {
    failed = in_processes(processes, jobs.size(),
                          [&](std::size_t k, failures& to) { compile_one(jobs[k], found, to); });
  }
  report(failed);
  if (failed.empty() && !o.object.empty()) {
    std::string images;
    for (const job& one : jobs) {
      const std::string image = image_of(one, found);
      fd::precompiled_image{one.target, one.instance.types(), image}.append_to(images);
    }
    write_object(o.object, images, found);
  }
  const fd::disk_cache& cache = compiler_type::get().cache();
  const bool kept = !o.object.empty() || o.check || cache.reason().empty();
  std::cout << "kernels: " << instances.size()
            << ", pieces of machine code: " << jobs.size() - failed.size() << " for";
  for (const std::string& target : o.targets) std::cout << ' ' << target;
  if (!o.object.empty())
    std::cout << (failed.empty() ? " in " : ", not written to ") << o.object;
  else if (!o.check)
    std::cout << (kept ? " in " + cache.folder() : ", not kept: " + cache.reason());
  if (!failed.empty()) std::cout << "; " << failed.size() << " could not be compiled";
  const bool good = failed.empty() && kept;
  std::cout << (good ? "\n" : ": FAILED\n");
  return good ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    return run(parse(count, arguments));
  } catch (const std::exception& failure) {
    fail(failure.what());
  }
}
