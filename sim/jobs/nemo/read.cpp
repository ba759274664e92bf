#include <algorithm>
#include <array>
#include <cctype>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/config/text/yaml.hpp"
#include "sim/jobs/nemo/nemo.hpp"
#include "sim/jobs/shell/split.hpp"

namespace pipewright::jobs::nemo {
namespace {

constexpr config::Document nemo_config{"a configuration", "model", "model: {}", true};

bool is_path(std::string_view text) {
  return !text.empty() && text.front() != '.' && text.back() != '.' &&
         std::ranges::all_of(text, [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
         });
}

void flatten_named(const config::Value& value, const std::string& path, std::vector<Named>& named) {
  if (value.kind == config::Value::Kind::map) {
    for (const config::Entry& entry : value.entries)
      flatten_named(entry.value, path.empty() ? entry.key : path + "." + entry.key, named);
    return;
  }
  Named entry{.path = path, .origin = value.origin};
  if (value.kind == config::Value::Kind::text) entry.values = {value.text};
  for (const config::Value& item : value.items)
    if (item.kind == config::Value::Kind::text) entry.values.push_back(item.text);
  const std::size_t dot = path.rfind('.');
  entry.written = fmt::format("{}: {}", dot == std::string::npos ? path : path.substr(dot + 1),
                              fmt::join(entry.values, ", "));
  named.push_back(std::move(entry));
}

// Resolves OmegaConf's references ${..}: keys of the file, ${multiply:4,..},
// ${oc.env:NAME,default}.
class Resolver {
 public:
  Resolver(const std::vector<Named>& entries, const JobWords& words) {
    for (const Named& entry : entries)
      if (entry.values.size() == 1) values_[entry.path] = entry.values.front();
    for (const auto& [name, value] : words.variables) variables_[name] = value;
  }

  std::string resolve(const std::string& text, const std::string& path, int depth = 0) const {
    constexpr int deepest = 16;
    const std::size_t begin = text.rfind("${");
    if (begin == std::string::npos || depth > deepest) return text;
    const std::size_t end = text.find('}', begin);
    if (end == std::string::npos) return text;
    const std::string inside = text.substr(begin + 2, end - begin - 2);
    const std::optional<std::string> value = value_of(inside, path, depth);
    if (!value) return text;
    return resolve(text.substr(0, begin) + *value + text.substr(end + 1), path, depth + 1);
  }

 private:
  std::optional<std::string> value_of(const std::string& inside, const std::string& path,
                                      int depth) const {
    const std::size_t colon = inside.find(':');
    if (colon == std::string::npos) return referred(inside, path, depth);
    const std::string function = inside.substr(0, colon);
    const std::string rest = inside.substr(colon + 1);
    const std::size_t comma = std::min(rest.find(','), rest.size());
    std::string first = rest.substr(0, comma);
    std::string second = comma < rest.size() ? rest.substr(comma + 1) : "";
    std::erase(first, ' ');
    std::erase(second, ' ');
    if (function == "oc.decode") return rest;
    if (function == "oc.env") {
      const auto it = variables_.find(first);
      if (it != variables_.end()) return it->second;
      return second.empty() ? std::nullopt : std::optional(second);
    }
    if (function != "multiply" && function != "floor_div" && function != "divide")
      return std::nullopt;
    Setting a{.values = {first}, .written = inside};
    Setting b{.values = {second}, .written = inside};
    const std::string digits = "0123456789";
    if (first.empty() || second.empty() || first.size() > 9 || second.size() > 9 ||
        first.find_first_not_of(digits) != std::string::npos ||
        second.find_first_not_of(digits) != std::string::npos)
      return std::nullopt;
    const std::uint64_t x = std::stoull(first);
    const std::uint64_t y = std::stoull(second);
    if (function == "multiply") return fmt::format("{}", x * y);
    return y == 0 ? std::nullopt : std::optional(fmt::format("{}", x / y));
  }

  std::optional<std::string> referred(const std::string& name, const std::string& path, int) const {
    std::string key = name;
    if (name.starts_with('.')) {
      const std::size_t dot = path.rfind('.');
      key = (dot == std::string::npos ? "" : path.substr(0, dot)) + name;
    }
    if (key.starts_with("training.")) key = key.substr(9);
    const auto it = values_.find(key);
    return it == values_.end() ? std::nullopt : std::optional(it->second);
  }

  std::map<std::string, std::string> values_;
  std::map<std::string, std::string> variables_;
};

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t\r") - first + 1));
}

// Values of a simple Python expression: the argument of a call ("bf16" for f("bf16")), or the words
// of a list.
std::vector<std::string> python_values(std::string text) {
  const std::size_t hash = text.find("  #");
  text = trimmed(text.substr(0, hash));
  while (text.ends_with(',')) text.pop_back();
  if (const std::size_t open = text.find('(');
      open != std::string::npos && text.ends_with(')') && open > 0)
    text = text.substr(open + 1, text.size() - open - 2);
  std::vector<std::string> values;
  const bool list = text.starts_with('[') && text.ends_with(']');
  if (list) text = text.substr(1, text.size() - 2);
  std::size_t at = 0;
  while (at <= text.size()) {
    const std::size_t end = list ? std::min(text.find(',', at), text.size()) : text.size();
    std::string part = trimmed(std::string_view(text).substr(at, end - at));
    std::erase_if(part, [](char c) { return c == '"' || c == '\''; });
    if (!part.empty()) values.push_back(part);
    at = end + 1;
  }
  return values;
}

// Option of a launcher of recipes, and the entry of the configuration that the option sets
// (COMMON_OVERRIDE_FIELDS of scripts/training/run_recipe.py in Megatron-Bridge).
struct RecipeOption {
  std::string_view option;
  std::string_view short_option;
  std::string_view path;
};
constexpr std::array recipe_options{
    RecipeOption{"--global_batch_size", "-gb", "train.global_batch_size"},
    RecipeOption{"--micro_batch_size", "-mb", "train.micro_batch_size"},
    RecipeOption{"--seq_length", "-sl", "model.seq_length"},
    RecipeOption{"--tensor_model_parallel_size", "-tp", "model.tensor_model_parallel_size"},
    RecipeOption{"--pipeline_model_parallel_size", "-pp", "model.pipeline_model_parallel_size"},
    RecipeOption{"--context_parallel_size", "-cp", "model.context_parallel_size"},
    RecipeOption{"--virtual_pipeline_model_parallel_size", "-vp",
                 "model.virtual_pipeline_model_parallel_size"},
    RecipeOption{"--expert_model_parallel_size", "-ep", "model.expert_model_parallel_size"},
    RecipeOption{"--expert_tensor_parallel_size", "-etp", "model.expert_tensor_parallel_size"},
};

// Value of an option, as the next word or after =; null if the words lack the option.
std::optional<Word> option_value(std::span<const Word> words, std::string_view option) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& text = words[i].text;
    if (text == option && i + 1 < words.size()) return words[i + 1];
    if (text.starts_with(option) && text.substr(option.size()).starts_with('='))
      return Word{text.substr(option.size() + 1), words[i].origin};
  }
  return std::nullopt;
}

// Name of a recipe that scripts/performance of Megatron-Bridge makes of options:
// "llama3_70b_pretrain_64gpu_h100_fp8cs_config" (recipe_function_name() of
// recipes/utils/naming.py).
std::optional<Word> composed_recipe(std::span<const Word> words) {
  const std::optional<Word> model = option_value(words, "--model_recipe_name");
  const std::optional<Word> gpus = option_value(words, "--num_gpus");
  const std::optional<Word> gpu = option_value(words, "--gpu");
  if (!model || !gpus || !gpu) return std::nullopt;
  const auto text = [&](const char* option, const char* otherwise) {
    const std::optional<Word> value = option_value(words, option);
    return value ? value->text : std::string(otherwise);
  };
  std::string precision = text("--compute_dtype", "bf16");
  std::erase(precision, '_');
  return Word{fmt::format("{}_{}_{}gpu_{}_{}_config", model->text, text("--task", "pretrain"),
                          gpus->text, gpu->text, precision),
              model->origin};
}

}  // namespace

std::vector<Named> read_yaml(const Source& source, const JobWords& words) {
  std::vector<Named> named;
  flatten_named(config::read_yaml_text(source.text, source.name, nemo_config), "", named);
  const Resolver resolver(named, words);
  std::vector<Named> resolved = named;
  for (Named& entry : resolved)
    for (std::string& value : entry.values) value = resolver.resolve(value, entry.path);
  // Configurations of NeMo's launcher have the same keys one level deeper, below `training`.
  for (Named& entry : resolved)
    if (entry.path.starts_with("training.")) entry.path = entry.path.substr(9);
  return resolved;
}

std::optional<NamedRecipe> recipe_in(std::span<const Word> words) {
  for (const std::string_view option : {"--recipe", "--factory"})
    if (std::optional<Word> name = option_value(words, option)) {
      const bool finetunes =
          std::ranges::any_of(words, [](const Word& word) { return word.text == "finetune"; });
      return NamedRecipe{.name = std::move(*name), .task = finetunes ? "finetune" : "pretrain"};
    }
  std::optional<Word> name = composed_recipe(words);
  if (!name) return std::nullopt;
  return NamedRecipe{.name = std::move(*name), .task = "pretrain"};
}

Recipe read_overrides(const Source& source, const JobWords& words, Request& request) {
  std::vector<Word> words_of_commands;
  const Script script = run_scripts(std::span(&source, 1), words);
  note_unfollowed(script, request);
  for (const auto& command : script.commands)
    for (const Word& word : command) {
      // A file that consists of overrides has one word per line.
      for (Word& part :
           word.text.find(' ') == std::string::npos ? std::vector{word} : split_words(word))
        words_of_commands.push_back(std::move(part));
    }
  count_gpus(words_of_commands, request);
  Recipe recipe;
  std::vector<Named>& named = recipe.named;
  if (const std::optional<NamedRecipe> started = recipe_in(words_of_commands)) {
    recipe = read_named_recipe(*started, words, request);
    named.push_back({.path = "recipe",
                     .values = {started->name.text},
                     .written = fmt::format("--recipe {}", started->name.text),
                     .origin = started->name.origin});
  }
  for (const RecipeOption& row : recipe_options)
    for (const std::string_view option : {row.option, row.short_option})
      if (const std::optional<Word> value = option_value(words_of_commands, option))
        named.push_back({.path = std::string(row.path),
                         .values = {value->text},
                         .written = fmt::format("{} {}", option, value->text),
                         .origin = value->origin});
  for (const Word& word : words_of_commands) {
    std::string text = word.text;
    while (text.starts_with('+') || text.starts_with('~')) text.erase(0, 1);
    const std::size_t equals = text.find('=');
    const bool dotted = text.find('.') < equals || text.starts_with("mixed_precision=");
    if (equals == std::string::npos || !dotted) continue;
    const std::string path = text.substr(0, equals);
    if (!is_path(path)) continue;
    named.push_back({.path = path,
                     .values = python_values(text.substr(equals + 1)),
                     .written = text,
                     .origin = word.origin});
  }
  return recipe;
}

}  // namespace pipewright::jobs::nemo
