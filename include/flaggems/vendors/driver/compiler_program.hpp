// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A compiler that is a program of its own, as clang is: started for each source, which it reads
// from its standard input. Nothing is written to disk.
#pragma once

#include <flaggems/detail/disk_cache.hpp>
#include <flaggems/vendors/driver/compiler_library.hpp>
#include <flaggems/vendors/driver/kernel_text.hpp>

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <set>
#include <string>
#include <string_view>
#include <vector>

extern char** environ;

namespace flaggems::detail {

/// `source` with each text that it includes in the place of its first include.
class flat_source {
 public:
  explicit flat_source(const kernel_texts& texts) : texts_(texts) {}

  [[nodiscard]] std::string of(std::string_view source) {
    add(source_name, source);
    return std::move(all_);
  }

 private:
  void add(std::string_view name, std::string_view code) {
    constexpr std::string_view include = "#include <", once = "#pragma once";
    tell(name, 1);
    for (int number = 1; !code.empty(); ++number) {
      const std::string_view line = code.substr(0, code.find('\n'));
      code.remove_prefix((std::min)(code.size(), line.size() + 1));
      const bool includes = line.substr(0, include.size()) == include;
      const std::size_t found =
          includes ? find(line.substr(include.size(), line.find('>') - include.size())) : none;
      if (found != none && done_.insert(found).second) {
        add(texts_.names[found], texts_.texts[found]);
        tell(name, number + 1);
      } else {
        if (found == none && line.substr(0, once.size()) != once) all_ += line;
        all_ += '\n';
      }
    }
  }
  // For messages: what follows is this line of that file.
  void tell(std::string_view name, int number) {
    all_.append("# ").append(std::to_string(number)).append(" \"").append(name).append("\"\n");
  }
  [[nodiscard]] std::size_t find(std::string_view name) const noexcept {
    for (std::size_t k = 0; k < texts_.names.size(); ++k)
      if (texts_.names[k] == name) return k;
    return none;
  }

  static constexpr std::size_t none = ~std::size_t{0};
  const kernel_texts& texts_;
  std::set<std::size_t> done_;
  std::string all_;
};

/// A file in memory, without a name.
class memory_file {
 public:
  memory_file() : file_(::memfd_create("flaggems", MFD_CLOEXEC)) {}
  [[nodiscard]] int number() const noexcept { return file_.number(); }
  [[nodiscard]] bool write(std::string_view bytes) const {
    return file_.is_open() && file_.write(bytes) && ::lseek(file_.number(), 0, SEEK_SET) == 0;
  }
  [[nodiscard]] std::string read() const {
    const off_t size = ::lseek(file_.number(), 0, SEEK_END);
    std::string bytes(size > 0 ? static_cast<std::size_t>(size) : 0, '\0');
    if (::lseek(file_.number(), 0, SEEK_SET) != 0 || !file_.read(bytes)) bytes.clear();
    return bytes;
  }

 private:
  file_descriptor file_;
};

/// The program that compiles for `Api`: the one that its environment variable names, else the first
/// of its names that runs. Where `Api` has a `translator`, that program makes the image of what the
/// compiler made: the one of the compiler's version, as Debian names it, or of that name alone.
template <class Api>
class compiler_program {
 public:
  static const compiler_program& get() {
    static const compiler_program once;
    return once;
  }
  /// "clang-15 15.0.6"; empty without a compiler.
  [[nodiscard]] std::string_view version() const noexcept { return version_.view(); }
  /// Why nothing can be compiled; empty if it can.
  [[nodiscard]] const text& reason() const noexcept { return reason_; }

  /// Compiles `lines` and the texts that they need.
  [[nodiscard]] compiled_source compile(const kernel_texts& texts, const std::string& lines,
                                        const std::vector<std::string>& options, bool) const {
    std::vector<std::string> words = {program_};
    for (const char* option : Api::other_options(major_number_)) words.emplace_back(option);
    words.insert(words.end(), options.begin(), options.end());
    compiled_source made;
    made.failure = run(words, flat_source(texts).of(source_of(texts, lines)), made.image, made.log);
    if constexpr (requires { Api::translator; })
      if (made.failure.empty()) translate(made);
    if (made.failure.empty() && made.image.empty()) made.failure = "no output";
    return made;
  }

 private:
  compiler_program() {
    const char* const named = std::getenv(Api::compiler_variable);
    if (named != nullptr && *named != '\0')
      try_program(named);
    else
      for (const char* name : Api::compiler_programs)
        if (version_.empty()) try_program(name);
  }
  void try_program(const char* name) {
    std::string number, log;
    text failure = run({name, "-dumpversion"}, {}, number, log);
    if constexpr (requires { Api::translator; })
      if (failure.empty()) failure = find_translator(std::atoi(number.c_str()));
    if (failure.empty()) {
      program_ = name;
      version_ = text(name) + " " + number.substr(0, number.find('\n'));
      major_number_ = std::atoi(number.c_str());
      reason_ = text();
    } else if (reason_.empty()) {
      reason_ = text(name) + ": " + failure;
    }
  }
  // Why there is none for this version of the compiler, or nothing.
  text find_translator(int version) {
    const char* const named = std::getenv(Api::translator_variable);
    std::vector<std::string> names;
    if (named != nullptr && *named != '\0')
      names = {named};
    else
      names = {std::string(Api::translator) + "-" + std::to_string(version), Api::translator};
    text first;
    for (const std::string& name : names) {
      std::string output, log;
      const text failure = run({name, "--version"}, {}, output, log);
      translator_ = name;
      if (failure.empty()) return {};
      if (first.empty()) first = text(name) + ": " + failure;
    }
    return first;
  }
  void translate(compiled_source& made) const {
    std::vector<std::string> words = {translator_};
    for (const char* option : Api::translator_options) words.emplace_back(option);
    const std::string code = std::move(made.image);
    made.image.clear();
    const text failure = run(words, code, made.image, made.log);
    if (!failure.empty()) made.failure = text(translator_) + ": " + failure;
  }
  // Why it failed, or nothing.
  static text run(std::vector<std::string> words, std::string_view input, std::string& output,
                  std::string& log) {
    const memory_file files[3];
    if (!files[0].write(input) || files[1].number() < 0 || files[2].number() < 0)
      return text("a file in memory: ") + std::strerror(errno);
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    for (int k = 0; k < 3; ++k) ::posix_spawn_file_actions_adddup2(&actions, files[k].number(), k);
    pid_t child = 0;
    const int spawned =
        ::posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    if (spawned != 0) return text(std::strerror(spawned));
    int status = 0;
    while (::waitpid(child, &status, 0) < 0)
      if (errno != EINTR) return text(std::strerror(errno));
    output = files[1].read();
    log = files[2].read();
    if (status == 0) return {};
    return WIFEXITED(status) ? text("exit status ") + text(WEXITSTATUS(status))
                             : text("signal ") + text(WTERMSIG(status));
  }

  std::string program_, translator_;
  text version_, reason_;
  int major_number_ = 0;
};

}  // namespace flaggems::detail
