// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The command line of the model program.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <iostream>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>

namespace llama {

/// How the weights are held while the model runs.
enum class weight_dtype { q4, bf16, f32 };
/// How keys and values of the tokens run before are held.
enum class cache_dtype { f16, bf16, f32 };
/// What the quantised weights of the layers are multiplied with.
enum class activation_dtype { f32, q8 };

/// Where the model runs.
enum class device_kind { host, cuda, opencl };

/// What the command line asks for.
struct options {
  std::string model;      ///< empty: the file of fetch_model.py
  std::string synthetic;  ///< shapes of random weights, instead of a file
  device_kind device = device_kind::host;
  std::optional<std::string> prompt;  ///< nothing: read from standard input
  int n = 128;                        ///< tokens to generate at most
  int prompt_tokens = 16;             ///< of the prompt of a model of random weights
  int threads = 0;                    ///< 0: the library's default
  int context = 0;                    ///< positions of the KV cache; 0: as needed
  weight_dtype dtype = weight_dtype::q4;
  cache_dtype kv = cache_dtype::f16;
  activation_dtype activations = activation_dtype::q8;
  double temperature = 0;  ///< 0: greedy
  int top_k = 0;           ///< 0: all tokens
  double top_p = 1;
  std::uint64_t seed = 0;
  bool json = false, chat = false, raw = false, score = false, help = false;

  bool operator==(const options&) const = default;
};

/// A command line that cannot be obeyed: one line for a person. The program prints it and exits
/// with `exit_status`.
struct usage_error {
  static constexpr int exit_status = 2;
  std::string text;
};

/// The text of --help.
inline constexpr std::string_view usage =
    "usage: llama [options]\n"
    "Generates text with a model of the Llama architecture from a GGUF file.\n"
    "\n"
    "  --model FILE         the model (default: SmolLM2-135M-Instruct, from fetch_model.py)\n"
    "  --device host|cuda|opencl\n"
    "                       where it runs (default host)\n"
    "  --synthetic NAME     random weights of the shapes of llama-3-8b, smollm2-135m or tiny, "
    "instead\n"
    "                       of a file: prints the rate at which tokens are generated (--n, "
    "--seed)\n"
    "  --prompt-tokens N    tokens of the prompt of --synthetic, 1 or more (default 16)\n"
    "  --prompt TEXT        what to answer (default: read from standard input); goes through the\n"
    "                       model's chat template where its file has one that is known (ChatML)\n"
    "  --raw                continue the prompt as it stands, without the template\n"
    "  --chat               answer through the chat template, which must be there; without "
    "--prompt,\n"
    "                       interactive\n"
    "  --n N                generate at most N tokens, 0 or more (default 128)\n"
    "  --ctx N              positions of the context, 1 or more (default: as many as needed)\n"
    "  --dtype q4|bf16|f32  how weights are stored (default q4: as in the file; random ones: "
    "bf16)\n"
    "  --kv f16|bf16|f32    how keys and values of the context are stored (default f16; bf16, "
    "which\n"
    "                       is for GPUs, there)\n"
    "  --activations f32|q8 what quantised weights are multiplied with: q8 is faster (default "
    "q8)\n"
    "  --threads N          threads, 1 to 1024 (default: FLAGGEMS_NUM_THREADS or all cores)\n"
    "  --temperature X      0 to 100; 0 is greedy (default 0)\n"
    "  --top-k N            sample among the N most probable tokens; 0 is all (default 0)\n"
    "  --top-p X            above 0, to 1: sample among the most probable tokens that together\n"
    "                       have probability X (default 1)\n"
    "  --seed N             the random numbers' seed, 0 to 2^64-1 (default 0)\n"
    "  --score              print the prompt's perplexity instead of continuing it\n"
    "  --json               print one JSON object: text, ids, counts, tokens a second\n"
    "  --help               print this\n";

namespace detail {

/// The whole of `text` as a decimal integer from `least` to `most`, or nothing.
template <class Integer>
[[nodiscard]] std::optional<Integer> parse_integer(std::string_view text, Integer least,
                                                   Integer most) {
  Integer value{};
  const char* last = text.data() + text.size();
  const auto [end, code] = std::from_chars(text.data(), last, value);
  if (code != std::errc{} || end != last || value < least || value > most) return std::nullopt;
  return value;
}

/// The whole of `text` as a finite decimal number, or nothing. The program never sets a locale, so
/// the decimal point is a point.
[[nodiscard]] inline std::optional<double> parse_number(const std::string& text) {
  // strtod alone would take leading blanks, "inf", "nan" and hexadecimal.
  if (text.empty() || text.find_first_not_of("+-.0123456789eE") != text.npos) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end != text.c_str() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

}  // namespace detail

/// Reads the arguments behind the program's name. `--name value` and `--name=value` are the same;
/// of an option given twice the last one counts. Touches no file and no stream.
[[nodiscard]] inline std::variant<options, usage_error> parse_options(
    std::span<const char* const> arguments) {
  options result;
  std::size_t at = 0;
  std::string name, value, problem;
  bool has_value = false, has_dtype = false, has_kv = false;

  const auto refuse = [&](const std::string& wanted) {
    problem = name + " takes " + wanted + ", not '" + value + "'";
  };
  const auto integer = [&](auto& target, auto least, auto most, const char* wanted) {
    using integer_type = std::remove_reference_t<decltype(target)>;
    if (const auto parsed = detail::parse_integer<integer_type>(value, least, most))
      target = *parsed;
    else
      refuse(wanted);
  };
  constexpr int int_max = (std::numeric_limits<int>::max)();

  while (at < arguments.size() && problem.empty()) {
    const std::string_view argument = arguments[at++];
    const std::size_t equals = argument.substr(0, 2) == "--" ? argument.find('=') : argument.npos;
    name = argument.substr(0, equals);
    has_value = equals != argument.npos;
    value = has_value ? argument.substr(equals + 1) : "";

    bool* const flag = name == "--json"                   ? &result.json
                       : name == "--chat"                 ? &result.chat
                       : name == "--raw"                  ? &result.raw
                       : name == "--score"                ? &result.score
                       : name == "--help" || name == "-h" ? &result.help
                                                          : nullptr;
    if (flag != nullptr) {
      if (has_value) problem = name + " takes no value";
      *flag = true;
      continue;
    }
    bool known = false;
    for (const char* one : {"--model", "--device", "--synthetic", "--prompt", "--n", "--threads",
                            "--ctx", "--dtype", "--kv", "--activations", "--temperature", "--top-k",
                            "--top-p", "--seed", "--prompt-tokens"})
      known = known || name == one;
    if (!known) {
      problem = "unknown option '" + name + "'";
      break;
    }
    if (!has_value) {
      if (at == arguments.size()) {
        problem = name + " needs a value";
        break;
      }
      value = arguments[at++];
    }

    if (name == "--model") {
      if (value.empty()) problem = "--model needs the name of a file";
      result.model = value;
    } else if (name == "--synthetic") {
      if (value.empty()) problem = "--synthetic needs the name of a model";
      result.synthetic = value;
    } else if (name == "--device") {
      if (value == "host")
        result.device = device_kind::host;
      else if (value == "cuda")
        result.device = device_kind::cuda;
      else if (value == "opencl")
        result.device = device_kind::opencl;
      else
        refuse("host, cuda or opencl");
    } else if (name == "--prompt") {
      result.prompt = value;
    } else if (name == "--n") {
      integer(result.n, 0, int_max, "a count from 0 to 2147483647");
    } else if (name == "--prompt-tokens") {
      integer(result.prompt_tokens, 1, int_max, "a count from 1 to 2147483647");
    } else if (name == "--threads") {
      integer(result.threads, 1, 1024, "a count from 1 to 1024");
    } else if (name == "--ctx") {
      integer(result.context, 1, int_max, "a count from 1 to 2147483647");
    } else if (name == "--top-k") {
      integer(result.top_k, 0, int_max, "a count from 0 to 2147483647");
    } else if (name == "--seed") {
      integer(result.seed, std::uint64_t{0}, (std::numeric_limits<std::uint64_t>::max)(),
              "an integer from 0 to 2^64-1");
    } else if (name == "--dtype") {
      has_dtype = true;
      if (value == "q4")
        result.dtype = weight_dtype::q4;
      else if (value == "bf16")
        result.dtype = weight_dtype::bf16;
      else if (value == "f32")
        result.dtype = weight_dtype::f32;
      else
        refuse("q4, bf16 or f32");
    } else if (name == "--kv") {
      has_kv = true;
      if (value == "f16")
        result.kv = cache_dtype::f16;
      else if (value == "bf16")
        result.kv = cache_dtype::bf16;
      else if (value == "f32")
        result.kv = cache_dtype::f32;
      else
        refuse("f16, bf16 or f32");
    } else if (name == "--activations") {
      if (value == "f32")
        result.activations = activation_dtype::f32;
      else if (value == "q8")
        result.activations = activation_dtype::q8;
      else
        refuse("f32 or q8");
    } else if (name == "--temperature") {
      const auto parsed = detail::parse_number(value);
      if (parsed && *parsed >= 0 && *parsed <= 100)
        result.temperature = *parsed;
      else
        refuse("a number from 0 to 100");
    } else if (name == "--top-p") {
      const auto parsed = detail::parse_number(value);
      if (parsed && *parsed > 0 && *parsed <= 1)
        result.top_p = *parsed;
      else
        refuse("a number above 0, to 1");
    }
  }
  if (problem.empty() && result.score && (result.chat || result.json))
    problem = "--score goes without --chat and --json";
  if (problem.empty() && result.chat && result.raw) problem = "--raw goes without --chat";
  if (problem.empty() && result.chat && result.json && !result.prompt)
    problem = "--chat --json needs --prompt (an interactive chat is not one JSON object)";
  if (!has_kv && result.device != device_kind::host) result.kv = cache_dtype::bf16;
  if (problem.empty() && result.kv == cache_dtype::bf16 && result.device == device_kind::host)
    problem = "--kv bf16 needs a --device that is a GPU";
  if (problem.empty() && !result.synthetic.empty()) {
    if (!has_dtype) result.dtype = weight_dtype::bf16;
    if (result.dtype == weight_dtype::q4) problem = "--synthetic goes with --dtype bf16 and f32";
    if (result.score || result.chat || result.raw || result.prompt || !result.model.empty())
      problem = "--synthetic goes without --model, --prompt, --chat, --raw and --score";
  }
  if (!problem.empty()) return usage_error{"llama: " + problem + " (see --help)"};
  return result;
}

/// The prompt: what --prompt says, or all of `input`, less one line break at its end.
[[nodiscard]] inline std::string read_prompt(const options& chosen, std::istream& input) {
  if (chosen.prompt) return *chosen.prompt;
  std::string text{std::istreambuf_iterator<char>(input), {}};
  if (!text.empty() && text.back() == '\n') text.pop_back();
  if (!text.empty() && text.back() == '\r') text.pop_back();
  return text;
}

}  // namespace llama
