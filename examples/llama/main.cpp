// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A language model out of flaggems' operators: generates text with a Llama model from a GGUF file.
#include "chat.hpp"
#include "generate.hpp"
#include "gguf.hpp"
#include "instances.hpp"
#include "model.hpp"
#include "options.hpp"
#include "report.hpp"
#include "sampler.hpp"
#include "synthetic.hpp"
#include "tokenizer.hpp"

#include <flaggems/error.hpp>
#include <flaggems/ops/copy.hpp>
#include <flaggems/vendors/cuda.hpp>
#include <flaggems/vendors/host.hpp>

#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <variant>
#include <vector>

namespace {

using flaggems::i64;
using clock_type = std::chrono::steady_clock;

/// What cannot be done: one line for a person.
struct failure {
  std::string line;
};

double seconds_since(clock_type::time_point start) {
  return std::chrono::duration<double>(clock_type::now() - start).count();
}

/// The file that fetch_model.py keeps. Throws failure if it is not there.
std::string fetched_model() {
  const auto set = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value != nullptr ? value : "");
  };
  std::filesystem::path folder = set("FLAGGEMS_MODEL_DIR");
  if (folder.empty()) {
    const std::filesystem::path cache = set("XDG_CACHE_HOME");
    folder = (cache.is_absolute() ? cache : std::filesystem::path(set("HOME")) / ".cache") /
             "flaggems" / "models";
  }
  const std::string file = (folder / "SmolLM2-135M-Instruct.Q4_1.gguf").string();
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored))
    throw failure{"no model at '" + file +
                  "': fetch it with examples/llama/fetch_model.py, or give one with --model FILE"};
  return file;
}

/// A model that answers prompts, one after the other in the same context. Choosing a SIMT device is
/// choosing a type.
template <class Device>
class session {
 public:
  session(const llama::gguf& file, const llama::options& chosen)
      : chosen_(chosen),
        tokens_(file),
        model_(file, stream_, chosen.dtype, chosen.kv, llama::model<Device>::usual_batch,
               chosen.activations),
        sampler_(stream_, {chosen.temperature, chosen.top_k, chosen.top_p, chosen.seed},
                 model_.sizes().vocabulary),
        generates_(stream_, model_, sampler_),
        limit_(chosen.context > 0 ? chosen.context : model_.sizes().context) {
    const auto& sizes = model_.sizes();
    if (limit_ > sizes.context)
      throw failure{"--ctx " + std::to_string(limit_) + " is more than the " +
                    std::to_string(sizes.context) + " positions of this model"};
    if (static_cast<i64>(tokens_.size()) != sizes.vocabulary)
      file.refuse("as many tokens as the embedding has rows, " + std::to_string(sizes.vocabulary),
                  std::to_string(tokens_.size()));
  }

  [[nodiscard]] const llama::tokenizer& tokens() const { return tokens_; }
  [[nodiscard]] llama::statistics& counts() { return counts_; }
  /// The tokens of the last answer.
  [[nodiscard]] const std::vector<llama::token_id>& answer() const { return answer_; }

  /// Runs `prompt` behind all before, then up to --n tokens; calls say(bytes) for each. Throws
  /// failure if the prompt does not fit.
  template <class Say>
  llama::ending run(std::vector<llama::token_id> prompt, Say&& say) {
    // What the last answer ended with may not have been run.
    prompt.insert(prompt.begin(), waiting_.begin(), waiting_.end());
    const i64 size = make_room(prompt, chosen_.n);
    answer_.clear();
    waiting_.clear();
    auto start = clock_type::now();
    const auto logits = model_.run(prompt);
    stream_.synchronize();
    counts_.prompt_tokens += size;
    counts_.prompt_seconds += seconds_since(start);

    start = clock_type::now();
    std::string bytes;
    const llama::generated result =
        generates_.run(logits, chosen_.n, limit_, [&](llama::token_id id) {
          if (tokens_.is_stop(id)) return false;
          answer_.push_back(id);
          bytes.clear();
          tokens_.decode_to(id, bytes);
          say(bytes);
          return true;
        });
    if (result.waiting) waiting_.push_back(*result.waiting);
    counts_.step_seconds += seconds_since(start);
    counts_.steps += result.steps;
    counts_.generated_tokens += static_cast<i64>(answer_.size());
    return result.end;
  }

  /// e to the mean of -log p over the tokens of `text` but the first, p being a token's probability
  /// behind those before it. Throws failure if the text does not fit.
  double perplexity(const std::vector<llama::token_id>& text) {
    counts_.prompt_tokens = make_room(text, 0);
    if (text.size() < 2) throw failure{"the perplexity of one token is nothing"};
    const auto start = clock_type::now();
    double sum = 0;
    for (std::size_t i = 0; i + 1 < text.size(); ++i) {
      const auto logits = flaggems::to_host(stream_, model_.run({&text[i], 1}));
      const std::span<const float> all(logits.data(), static_cast<std::size_t>(logits.numel()));
      const double largest = *std::max_element(all.begin(), all.end());
      double exponentials = 0;
      for (const float x : all) exponentials += std::exp(x - largest);
      sum += std::log(exponentials) + largest - all[static_cast<std::size_t>(text[i + 1])];
    }
    counts_.prompt_seconds = seconds_since(start);
    return std::exp(sum / static_cast<double>(text.size() - 1));
  }

 private:
  /// Makes room for `prompt` and `more` tokens, or as many as the context holds; the prompt's size.
  i64 make_room(const std::vector<llama::token_id>& prompt, i64 more) {
    const auto size = static_cast<i64>(prompt.size());
    if (size == 0) throw failure{"the prompt is empty"};
    if (size > limit_ - model_.past())
      throw failure{"the context is full: " + llama::counted(model_.past() + size, "token") +
                    " do not fit in " + llama::counted(limit_, "position")};
    model_.reserve((std::min)(limit_, model_.past() + size + more));
    return size;
  }

  const llama::options& chosen_;
  flaggems::stream<Device> stream_;
  llama::tokenizer tokens_;
  llama::model<Device> model_;
  llama::sampler<Device> sampler_;
  llama::generator<Device> generates_;
  i64 limit_;
  llama::statistics counts_;
  std::vector<llama::token_id> answer_, waiting_;
};

/// Prints bytes as they come, whole characters at a time.
class printer {
 public:
  explicit printer(std::ostream& out) : out_(out) {}
  void operator()(std::string_view bytes) { out_ << characters_.push(bytes) << std::flush; }
  void end_line() { out_ << characters_.flush() << std::endl; }

 private:
  std::ostream& out_;
  llama::utf8_stream characters_;
};

template <class Device>
failure context_full(const session<Device>& full) {
  return {"the context is full after " +
          llama::counted(static_cast<i64>(full.answer().size()), "token") +
          " of the answer (--ctx sets its size)"};
}

/// Says so if there was more to say.
void say_if_cut(llama::ending end, const llama::options& chosen) {
  if (end == llama::ending::length)
    std::cerr << "cut at " << llama::counted(chosen.n, "token") << " (--n sets how many)\n";
}

template <class Device>
void one_answer(session<Device>& speaker, const llama::options& chosen, const llama::gguf& file) {
  const std::string text = llama::read_prompt(chosen, std::cin);
  std::vector<llama::token_id> prompt;
  const bool answers = chosen.chat || (!chosen.raw && !chosen.score &&
                                       llama::chat_template::is_in(file, speaker.tokens()));
  if (answers) {
    if (text.empty()) throw failure{"the prompt is empty"};
    prompt = llama::chat_template(file, speaker.tokens()).encode({{"user", text}});
  } else {
    if (speaker.tokens().add_bos()) prompt.push_back(speaker.tokens().bos());
    speaker.tokens().encode_to(text, false, prompt);
  }
  if (chosen.score) {
    std::cout << std::setprecision(8) << speaker.perplexity(prompt) << std::endl;
    return;
  }
  llama::ending end{};
  if (chosen.json) {
    std::string all;
    end = speaker.run(prompt, [&](std::string_view bytes) { all.append(bytes); });
    llama::print_json(std::cout, all, speaker.answer(), end, speaker.counts());
  } else {
    printer say(std::cout);
    end = speaker.run(prompt, say);
    say.end_line();
    say_if_cut(end, chosen);
  }
  if (end == llama::ending::context) throw context_full(speaker);
}

template <class Device>
void conversation(session<Device>& speaker, const llama::options& chosen, const llama::gguf& file) {
  const llama::chat_template chat(file, speaker.tokens());
  const bool person = ::isatty(STDIN_FILENO) == 1;
  printer say(std::cout);
  std::string line;
  for (bool first = true;;) {
    if (person) std::cout << "> " << std::flush;
    if (!std::getline(std::cin, line)) break;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty()) continue;
    std::vector<llama::token_id> prompt;
    if (first) {
      prompt = chat.encode({{"user", line}});
    } else {
      chat.append_end_of_answer(prompt);
      chat.append({"user", line}, prompt);
      chat.append_generation_prompt(prompt);
    }
    first = false;
    const llama::ending end = speaker.run(prompt, say);
    say.end_line();
    say_if_cut(end, chosen);
    if (end == llama::ending::context) throw context_full(speaker);
  }
  if (person) std::cout << std::endl;
}

template <class Device>
void run_on(const llama::options& chosen) {
  if (!chosen.synthetic.empty()) {
    const auto sizes = llama::hyperparameters::named(chosen.synthetic);
    if (!sizes) throw failure{"--synthetic knows no model '" + chosen.synthetic + "' (see --help)"};
    return llama::run_synthetic<Device>(*sizes, chosen, std::cout);
  }
  const auto start = clock_type::now();
  const llama::gguf file = llama::gguf::open(chosen.model.empty() ? fetched_model() : chosen.model);
  session<Device> speaker(file, chosen);
  speaker.counts().load_seconds = seconds_since(start);
  if (chosen.chat && !chosen.prompt)
    conversation(speaker, chosen, file);
  else
    one_answer(speaker, chosen, file);
  llama::print_line(std::cerr, speaker.counts());
}

void run(const llama::options& chosen) {
  if (chosen.threads > 0) flaggems::host::set_num_threads(chosen.threads);
  if (chosen.device == llama::device_kind::cuda)
    run_on<flaggems::cuda>(chosen);
  else if (chosen.device == llama::device_kind::opencl)
    run_on<flaggems::opencl>(chosen);
  else
    run_on<flaggems::host>(chosen);
  if (!std::cout) throw failure{"the output cannot be written"};
}

int refuse(std::string_view line) {
  std::cout << std::flush;
  std::cerr << "llama: " << line << '\n';
  return llama::usage_error::exit_status;
}

}  // namespace

int main(int count, char** arguments) {
  const auto parsed = llama::parse_options(
      std::span<const char* const>(arguments + (count > 0), arguments + count));
  if (const auto* problem = std::get_if<llama::usage_error>(&parsed)) {
    std::cerr << problem->text << '\n';
    return llama::usage_error::exit_status;
  }
  const auto& chosen = std::get<llama::options>(parsed);
  if (chosen.help) {
    std::cout << llama::usage;
    return 0;
  }
  try {
    run(chosen);
    return 0;
  } catch (const failure& problem) {
    return refuse(problem.line);
  } catch (const flaggems::error& problem) {
    return refuse(problem.what());
  } catch (const std::bad_alloc&) {
    return refuse("out of memory");
  }
}
