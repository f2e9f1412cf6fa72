// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What the program says about a run: one line for people, or one JSON object.
#pragma once

#include "pretokenizer.hpp"
#include "tokenizer.hpp"

#include <cstddef>
#include <cstdint>
#include <iomanip>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace llama {

/// Why a text ended.
enum class ending { stop_token, length, context };

/// Counts and seconds of what has been run.
struct statistics {
  double load_seconds = 0;
  std::int64_t prompt_tokens = 0;
  double prompt_seconds = 0;
  std::int64_t generated_tokens = 0;
  std::int64_t steps = 0;  ///< tokens that a run of the model produced after the prompt's
  double step_seconds = 0;

  [[nodiscard]] double prompt_rate() const {
    return prompt_seconds > 0 ? static_cast<double>(prompt_tokens) / prompt_seconds : 0;
  }
  /// Tokens a second between the first token and the last.
  [[nodiscard]] double generation_rate() const {
    return step_seconds > 0 ? static_cast<double>(steps) / step_seconds : 0;
  }
};

/// `text` as a JSON string, its quotes included; bytes that are no UTF-8 become U+FFFD.
[[nodiscard]] inline std::string json_string(std::string_view text) {
  std::string result = "\"";
  for (std::size_t at = 0; at < text.size();) {
    std::uint32_t point = detail::next_code_point(text, at);
    if (point >= 0xd800 && point < 0xe000) point = detail::replacement_character;
    if (point < 0x20 || point == 0x7f) {
      constexpr const char* digits = "0123456789abcdef";
      result.append("\\u00") += digits[point >> 4];
      result += digits[point & 15];
    } else {
      if (point == '"' || point == '\\') result += '\\';
      detail::append_utf8(result, point);
    }
  }
  return result += '"';
}

/// "1 token", "2 tokens".
[[nodiscard]] inline std::string counted(std::int64_t count, std::string_view thing) {
  return std::to_string(count) + " " + std::string(thing) + (count == 1 ? "" : "s");
}

/// A run as one JSON object and a line break.
inline void print_json(std::ostream& out, std::string_view text, const std::vector<token_id>& ids,
                       ending end, const statistics& run) {
  constexpr const char* endings[] = {"stop_token", "length", "context"};
  std::ostringstream line;
  line << "{\"text\": " << json_string(text) << ", \"ids\": [";
  for (std::size_t i = 0; i < ids.size(); ++i) line << (i > 0 ? ", " : "") << ids[i];
  line << std::fixed << std::setprecision(3) << "], \"end\": \"" << endings[static_cast<int>(end)]
       << "\", \"prompt_tokens\": " << run.prompt_tokens
       << ", \"generated_tokens\": " << run.generated_tokens
       << ", \"prompt_tokens_per_second\": " << run.prompt_rate()
       << ", \"generation_tokens_per_second\": " << run.generation_rate()
       << ", \"load_seconds\": " << run.load_seconds << "}\n";
  out << line.str();
}

/// The same numbers as one line for a person.
inline void print_line(std::ostream& out, const statistics& run) {
  std::ostringstream line;
  line << std::fixed << std::setprecision(1) << "load " << run.load_seconds * 1000 << " ms; prompt "
       << counted(run.prompt_tokens, "token") << ", " << run.prompt_rate()
       << " tokens/s; generation " << counted(run.generated_tokens, "token") << ", "
       << run.generation_rate() << " tokens/s\n";
  out << line.str();
}

/// What a model of random weights did.
struct synthetic_report {
  std::string model, device;
  std::int64_t step_bytes = 0;  ///< of weights, that a step reads
  double copy_bandwidth = 0;    ///< of the device, bytes read and written a second
  statistics run;
  std::vector<token_id> ids;

  /// Of the rate at which the bytes of the weights could be copied.
  [[nodiscard]] double fraction() const {
    return copy_bandwidth > 0
               ? run.generation_rate() * static_cast<double>(step_bytes) / copy_bandwidth
               : 0;
  }
};

/// The report as one JSON object and a line break.
inline void print_json(std::ostream& out, const synthetic_report& report) {
  std::ostringstream line;
  line << "{\"model\": " << json_string(report.model)
       << ", \"device\": " << json_string(report.device) << ", \"ids\": [";
  for (std::size_t i = 0; i < report.ids.size(); ++i) line << (i > 0 ? ", " : "") << report.ids[i];
  line << std::fixed << std::setprecision(3) << "], \"prompt_tokens\": " << report.run.prompt_tokens
       << ", \"generated_tokens\": " << report.run.generated_tokens
       << ", \"prompt_tokens_per_second\": " << report.run.prompt_rate()
       << ", \"generation_tokens_per_second\": " << report.run.generation_rate()
       << ", \"bytes_of_weights\": " << report.step_bytes
       << ", \"copy_bytes_per_second\": " << report.copy_bandwidth
       << ", \"fraction_of_copy\": " << report.fraction()
       << ", \"load_seconds\": " << report.run.load_seconds << "}\n";
  out << line.str();
}

/// The same numbers as one line for a person: a step's time goes by reading weights, so the rate is
/// shown beside that of copying memory.
inline void print_line(std::ostream& out, const synthetic_report& report) {
  std::ostringstream line;
  line << std::fixed << std::setprecision(1) << report.model << " on " << report.device
       << ": prompt " << report.run.prompt_rate() << " tokens/s; generation "
       << report.run.generation_rate() << " tokens/s; each reads "
       << 1e-9 * static_cast<double>(report.step_bytes) << " GB of weights, which is "
       << std::setprecision(0) << 100 * report.fraction()
       << " % of the rate at which memory is copied here (" << std::setprecision(1)
       << 1e-9 * report.copy_bandwidth << " GB/s, reading and writing)\n";
  out << line.str();
}

}  // namespace llama
