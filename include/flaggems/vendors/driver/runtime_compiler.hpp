// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Kernel images, made by a runtime compiler and cached on disk.
#pragma once

#include <flaggems/detail/disk_cache.hpp>
#include <flaggems/error.hpp>
#include <flaggems/vendors/driver/compiler_library.hpp>
#include <flaggems/vendors/driver/kernel_text.hpp>

#include <string>

namespace flaggems::detail {

/// How `Api` compiles: by a library with NVRTC's functions, or as its member says.
template <class Api>
struct compiler_of {
  using type = compiler_library<Api>;
};
template <class Api>
requires requires { typename Api::compiler; }
struct compiler_of<Api> {
  using type = typename Api::compiler;
};

/// The compiler of `Api`. Opening its library is slow, so it is deferred until something must be
/// compiled; cached images need none, whichever version made them.
template <class Api>
class runtime_compiler {
 public:
  static runtime_compiler& get() {
    static runtime_compiler opened;
    return opened;
  }

  /// The image of a kernel's instance for `target`, from disk or compiled from `texts`. Raises
  /// not_supported without a compiler, texts or names of all types; driver_error with the
  /// compiler's message.
  [[nodiscard]] std::string image_of(const char* op, const kernel_instance& instance,
                                     std::string_view target,
                                     const kernel_texts& texts = kernel_texts::embedded()) {
    if (!has_names(instance))
      raise(errc::not_supported, op,
            "types of kernels with names, in headers that end with FLAGGEMS_TEXT",
            nameless_type(instance));
    if (texts.names.empty())
      raise(errc::not_supported, op, "a program with the texts of its kernels",
            "one compiled with FLAGGEMS_EMBED=0");
    if (texts.ambiguous != nullptr)
      raise(errc::not_supported, op, "one header for each name that FLAGGEMS_TEXT gives",
            text("two different texts named ") + texts.ambiguous);
    const std::string lines = source_of(instance, entry_name);
    // (A compiler named by the user may differ from the one that made the cached image.)
    const char* const named = std::getenv(Api::compiler_variable);
    std::string key =
        std::string(Api::compiler_name) + ' ' + (named != nullptr ? named : "") + '\n';
    for (const std::string& option : Api::compiler_options(target)) key += option + '\n';
    key += std::to_string(texts.hash()) + '\n' + lines;
    std::string image = cache_.load(key);
    if (image.empty()) {
      image = compile(op, instance.types(), texts, lines, target);
      cache_.store(key, image);
    }
    return image;
  }
  /// Compiles `lines`, which need some of the texts; errors call them `what`.
  [[nodiscard]] std::string compile(const char* op, std::string_view what,
                                    const kernel_texts& texts, const std::string& lines,
                                    std::string_view target) {
    if (backend().version().empty())
      raise(errc::not_supported, op, text("the runtime compiler ") + Api::compiler_name,
            backend().reason());
    compiled_source made =
        backend().compile(texts, lines, Api::compiler_options(target), cache_.reason().empty());
    if (!made.failure.empty()) raise_failure(op, what, lines, made);
    return std::move(made.image);
  }

  /// Whether all types can be named in a source.
  [[nodiscard]] static bool has_names(const kernel_instance& instance) noexcept {
    return nameless_type(instance).empty();
  }
  /// The first type that cannot be named, such as a lambda or one of an unnamed namespace; empty if
  /// all can.
  [[nodiscard]] static std::string_view nameless_type(const kernel_instance& instance) noexcept {
    const std::string_view types = instance.types();
    std::size_t at = types.npos;
    for (const char* mark :
         {"{anonymous}", "(anonymous ", "<lambda", "(lambda", "::<unnamed", "__nv_"})
      at = (std::min)(at, types.find(mark));
    if (at == types.npos) return {};
    // The text between the commas or brackets around it.
    std::size_t first = at, last = at;
    for (int depth = 0; first > 0; --first) {
      const char c = types[first - 1];
      depth += c == '>' || c == ')' ? 1 : c == '<' || c == '(' ? -1 : 0;
      if (depth < 0 || (depth == 0 && c == ',')) break;
    }
    for (int depth = 0; last < types.size(); ++last) {
      const char c = types[last];
      depth += c == '<' || c == '(' ? 1 : c == '>' || c == ')' ? -1 : 0;
      if (depth < 0 || (depth == 0 && c == ',')) break;
    }
    first += types[first] == ' ' ? 1 : 0;
    return types.substr(first, last - first);
  }
  [[nodiscard]] const disk_cache& cache() const noexcept { return cache_; }
  /// "13.0"; empty without a compiler.
  [[nodiscard]] std::string_view version() const noexcept { return backend().version(); }
  /// The compiler's log of the last kernel that failed to compile.
  [[nodiscard]] const std::string& log() const noexcept { return log_; }
  /// Why nothing can be compiled; empty if it can.
  [[nodiscard]] const text& reason() const noexcept { return backend().reason(); }

 private:
  runtime_compiler() : cache_(disk_cache::of_user()) {}

  static const auto& backend() { return compiler_of<Api>::type::get(); }
  [[noreturn]] void raise_failure(const char* op, std::string_view what, std::string_view lines,
                                  const compiled_source& made) {
    log_ = made.log;
    // Errors hold some hundred bytes: of a long log, its first error.
    const std::size_t error_at = log_.find("error");
    std::size_t line = error_at == log_.npos ? 0 : log_.rfind('\n', error_at) + 1;
    const std::string said = log_.substr(line, log_.find('\n', line) - line);
    const std::string_view unknown = unknown_name(said, lines);
    if (!unknown.empty()) {  // all other messages follow from that
      log_ = "does the header of \"" + std::string(unknown) + "\" end with FLAGGEMS_TEXT?\n" + said;
      line = 0;
    }
    raise(
        errc::driver_error, op,
        text("code, made of headers that end with FLAGGEMS_TEXT and include no others, of ") + what,
        made.failure + ": " + std::string_view(log_).substr(line));
  }
  // The unknown name in the instances' lines that the compiler reported; empty if none.
  static std::string_view unknown_name(std::string_view said, std::string_view lines) noexcept {
    if (said.find(source_name) != 0) return {};
    for (const std::string_view before : {"error: identifier \"", "\" has no member \""})
      if (const std::size_t at = said.find(before); at != said.npos) {
        said.remove_prefix(at + before.size());
        return said.substr(0, said.find('"'));
      }
    // An unnamed unknown namespace: that of the first type that is not the library's.
    if (said.find("name followed by \"::\"") == said.npos) return {};
    const auto in_name = [&](std::size_t k) {
      return lines[k] == ':' || letters_of_names.find(lines[k]) != letters_of_names.npos;
    };
    for (std::size_t p = 0; (p = lines.find("::", p)) != lines.npos;) {
      std::size_t first = p;
      while (first > 0 && in_name(first - 1)) --first;
      while (p < lines.size() && in_name(p)) ++p;
      const std::string_view name = lines.substr(first, p - first);
      if (name.find("flaggems::") != 0) return name;
    }
    return {};
  }

  std::string log_;
  disk_cache cache_;
};

}  // namespace flaggems::detail
