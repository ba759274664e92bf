#include "sim/jobs/request/model_names.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <ranges>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/base/letters.hpp"
#include "sim/config/text/library.hpp"

namespace pipewright::jobs {
namespace {

// Names of a model besides that of its file: repositories of Hugging Face without their owners, and
// names in recipes of Megatron-Bridge, NeMo, Primus and torchtitan. Only names of models with
// exactly the sizes of the file are listed; dots, dashes and capitals do not matter.
struct Aliases {
  std::string_view model;
  std::string_view names;  // separated by spaces
};
constexpr std::array model_aliases{
    Aliases{"deepseek-v2", "DeepSeek-V2-236B"},
    Aliases{"deepseek-v3", "DeepSeek-V3-671B DeepSeek-V3-0324 DeepSeek-V3.1 DeepSeek-R1"},
    Aliases{"deepseek-v3.2", "DeepSeek-V3.2-Exp"},
    Aliases{"deepseek-v4-flash", "DeepSeek-V4-Flash-284B"},
    Aliases{"gemma-4-26b-a4b", "gemma4_vl_26b"},
    Aliases{"glm-4.5", "GLM-4.5-355B GLM-4.5-355B-A32B"},
    Aliases{"glm-4.5-air", "GLM-4.5-Air-106B GLM-4.5-Air-106B-A12B"},
    Aliases{"glm-5", "GLM-5-744B GLM-5.1"},
    Aliases{"gpt3-175b", "GPT-3-175B"},
    Aliases{"kimi-k2", "Kimi-K2-1T Kimi-K2-Thinking"},
    Aliases{"llama-3-8b", "Meta-Llama-3-8B Llama-3.1-8B Meta-Llama-3.1-8B"},
    Aliases{"llama-3-70b",
            "Meta-Llama-3-70B Llama-3.1-70B Meta-Llama-3.1-70B Llama-3.3-70B Meta-Llama-3.3-70B"},
    Aliases{"llama-3-405b", "Llama-3.1-405B Meta-Llama-3.1-405B"},
    Aliases{"llama-4-scout", "Llama-4-Scout-17B-16E Llama-4-17B-16E Llama-4-17Bx16E"},
    Aliases{"llama-4-maverick", "Llama-4-Maverick-17B-128E Llama-4-17B-128E Llama-4-17Bx128E"},
    Aliases{"mixtral-8x7b", "Mixtral-8x7B-v0.1"},
    Aliases{"mixtral-8x22b", "Mixtral-8x22B-v0.1"},
    Aliases{"moonlight-16b", "Moonlight-16B-A3B"},
    Aliases{"nemotron-3-nano-30b-a3b", "Nemotron-3-Nano NVIDIA-Nemotron-3-Nano-30B-A3B"},
    Aliases{"nemotron-3-super-120b-a12b", "Nemotron-3-Super NVIDIA-Nemotron-3-Super-120B-A12B"},
    Aliases{"olmo-2-32b", "OLMo-2-0325-32B"},
    Aliases{"qwen3-30b-a3b", "Qwen3-30B-A3B-Instruct-2507"},
    Aliases{"qwen3-235b-a22b", "Qwen3-235B-A22B-Instruct-2507"},
    Aliases{"qwen3.6-35b-a3b", "Qwen3.5-35B-A3B qwen35_vl_35b_a3b"},
};

// Words around a model's name in names of recipes, files and repositories. Sizes, generations and
// variants such as "lite" are no such words.
constexpr std::array<std::string_view, 36> other_words{
    "pretrain", "pretraining", "train",  "training", "sft",    "peft",  "lora",        "dora",
    "finetune", "finetuning",  "config", "conf",     "recipe", "perf",  "performance", "megatron",
    "mcore",    "nemo",        "bf16",   "fp16",     "fp8",    "fp8cs", "fp8mx",       "nvfp4",
    "base",     "instruct",    "chat",   "it",       "pt",     "hf",    "h100",        "b200",
    "mi300x",   "mock",        "dist",   "torch"};

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// Splits a name at _, - and blanks. Dots are parts of words, as in "llama3.1".
std::vector<std::string> words_of_name(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : text) {
    const bool separates = c == '_' || c == '-' || c == ' ';
    if (!separates) word += c;
    if (separates && !word.empty()) words.push_back(std::exchange(word, {}));
  }
  if (!word.empty()) words.push_back(word);
  for (std::string& each : words) each = base::letters_and_digits(each);
  std::erase(words, "");
  return words;
}

// Returns whether a word is a number with a unit that recipes have beside a model's name: 64gpu,
// 8nodes, or 16k for the length of sequences.
bool counts_other(std::string_view word) {
  const std::size_t digits =
      std::min(static_cast<std::size_t>(std::ranges::find_if_not(word, is_digit) - word.begin()),
               word.size());
  const std::string_view unit = word.substr(digits);
  return digits > 0 &&
         (unit == "gpu" || unit == "gpus" || unit == "node" || unit == "nodes" || unit == "k");
}

// Returns whether a word is a year and month, or a month and day, of a checkpoint: 2507, 0324.
bool is_date(std::string_view word) {
  return word.size() == 4 && std::ranges::all_of(word, is_digit);
}

bool is_other(const std::string& word) {
  return counts_other(word) || is_date(word) ||
         std::ranges::find(other_words, std::string_view(word)) != other_words.end();
}

std::string exact_model(const std::string& letters) {
  for (const std::string& name : config::library_names("models", ".yaml"))
    if (base::letters_and_digits(name) == letters) return name;
  for (const Aliases& row : model_aliases)
    for (const auto part : std::views::split(row.names, ' '))
      if (base::letters_and_digits(std::string_view(part.begin(), part.end())) == letters)
        return std::string(row.model);
  return "";
}

// Last part of a path, without the extension of a configuration.
std::string_view stem_of(std::string_view text) {
  while (text.ends_with('/')) text.remove_suffix(1);
  text = text.substr(text.rfind('/') + 1);
  for (const std::string_view extension : {".yaml", ".yml", ".json", ".toml", ".py", ".sh"})
    if (text.ends_with(extension)) text.remove_suffix(extension.size());
  return text;
}

// Words with digits: generations and sizes.
std::vector<std::string> numbers_of(std::string_view text) {
  std::vector<std::string> numbers;
  for (std::string& word : words_of_name(text))
    if (std::ranges::any_of(word, is_digit)) numbers.push_back(std::move(word));
  return numbers;
}

}  // namespace

std::string model_named(std::string_view text) {
  const std::vector<std::string> words = words_of_name(stem_of(text));
  for (std::size_t first = 0; first < words.size(); ++first) {
    std::string letters;
    for (std::size_t last = first; last < words.size(); ++last) {
      letters += words[last];
      const bool ends = last + 1 == words.size() || is_other(words[last + 1]);
      if (!ends) continue;
      if (std::string model = exact_model(letters); !model.empty()) return model;
    }
    if (!is_other(words[first])) break;
  }
  return "";
}

std::string model_advice(std::string_view text) {
  std::vector<std::string> names;
  std::vector<std::string> letters;
  for (std::string& name : config::library_names("models", ".yaml"))
    if (numbers_of(name) == numbers_of(stem_of(text))) {
      letters.push_back(base::letters_and_digits(name));
      names.push_back(std::move(name));
    }
  const std::vector<std::string_view> candidates(letters.begin(), letters.end());
  const std::string_view nearest =
      config::nearest_name(base::letters_and_digits(stem_of(text)), candidates);
  if (nearest.empty()) return "give --model";
  const auto at = std::ranges::find(letters, nearest) - letters.begin();
  return fmt::format("give --model, such as --model {}", names[static_cast<std::size_t>(at)]);
}

}  // namespace pipewright::jobs
