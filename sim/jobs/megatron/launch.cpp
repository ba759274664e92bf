#include "sim/jobs/megatron/launch.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "sim/base/numbers.hpp"
#include "sim/jobs/megatron/megatron.hpp"
#include "sim/jobs/request/draft.hpp"

namespace pipewright::jobs {
namespace {

bool is_flag(std::string_view text) {
  return text.size() > 2 && text.starts_with("--") && text[2] != '-';
}

// Index of the first word that is a Python program; the number of words if there is none.
std::size_t program_at(std::span<const Word> words) {
  for (std::size_t i = 0; i < words.size(); ++i)
    if (words[i].text.ends_with(".py") && !is_flag(words[i].text)) return i;
  return words.size();
}

// Splits words that hold several: "--fp8-format hybrid" of an array, or the command of bash -c.
std::vector<Word> flattened(std::span<const Word> words) {
  std::vector<Word> flat;
  for (const Word& word : words) {
    const std::size_t space = word.text.find_first_of(" \n\x03");
    const bool holds_flags = space != std::string::npos &&
                             (is_flag(word.text) || word.text.find(" --") != std::string::npos ||
                              word.text.find("\n--") != std::string::npos ||
                              word.text.find("\x03--") != std::string::npos);
    if (!holds_flags) {
      flat.push_back(word);
      continue;
    }
    for (Word& part : split_words(word)) flat.push_back(std::move(part));
  }
  return flat;
}

std::size_t count_flags(std::span<const Word> words) {
  return static_cast<std::size_t>(std::ranges::count_if(words, [](const Word& word) {
    return is_flag(word.text) &&
           megatron::knows(flag_name(word.text.substr(0, word.text.find('='))));
  }));
}

std::optional<std::uint64_t> number_in(std::string_view text) {
  // Ranges of nodes such as "1:4", for an elastic launch, are not numbers.
  const std::optional<std::uint64_t> value = base::parse_number<std::uint64_t>(text);
  if (!value || *value == 0 || *value > (1U << 24U)) return std::nullopt;
  return value;
}

// Number that an option or variable sets.
struct Option {
  std::uint64_t value;
  std::string written;
  config::Origin origin;
};
std::optional<Option> option_in(std::span<const Word> words,
                                std::span<const std::string_view> names) {
  std::optional<Option> option;
  for (std::size_t i = 0; i < words.size(); ++i)
    for (const std::string_view name : names) {
      const std::string& text = words[i].text;
      std::string value;
      if (text == name && i + 1 < words.size())
        value = words[i + 1].text;
      else if (text.starts_with(name) && text.size() > name.size() && text[name.size()] == '=')
        value = text.substr(name.size() + 1);
      // --gres has values such as gpu:8.
      if (const std::size_t colon = value.rfind(':'); colon != std::string::npos)
        value = value.substr(colon + 1);
      if (const auto number = number_in(value))
        option = Option{*number, fmt::format("{} {}", name, *number), words[i].origin};
    }
  return option;
}

constexpr std::array<std::string_view, 6> node_options{"--nnodes",    "--nnode", "--num_nodes",
                                                       "--num-nodes", "--nodes", "-N"};
constexpr std::array<std::string_view, 8> gpu_options{
    "--nproc_per_node",  "--nproc-per-node", "--num_gpus", "--num-gpus",
    "--ntasks-per-node", "--gpus-per-node",  "--gres",     "--gpus_per_node"};
constexpr std::array<std::string_view, 9> node_variables{
    "NNODES", "NUM_NODES", "SLURM_NNODES", "SLURM_JOB_NUM_NODES", "N_NODES",
    "NODES",  "NUM_NODE",  "DGXNNODES",    "PET_NNODES"};
constexpr std::array<std::string_view, 9> gpu_variables{
    "GPUS_PER_NODE", "NPROC_PER_NODE", "NUM_GPUS_PER_NODE", "GPU_PER_NODE",       "GPUS_PER_NODES",
    "NUM_GPUS",      "DGXNGPU",        "N_GPUS_PER_NODE",   "SLURM_GPUS_PER_NODE"};

std::optional<Option> variable_in(const Script& script, std::span<const std::string_view> names) {
  for (const std::string_view name : names) {
    const auto it = script.variables.find(std::string(name));
    if (it == script.variables.end() || it->second.words.empty()) continue;
    const Word& word = it->second.words.front();
    if (const auto number = number_in(word.text))
      return Option{*number, fmt::format("{}={}", name, *number), word.origin};
  }
  return std::nullopt;
}

void put_gpus(const std::optional<Option>& nodes, const std::optional<Option>& processes,
              Request& request) {
  if (!nodes && !processes) return;
  const std::uint64_t product = (nodes ? nodes->value : 1) * (processes ? processes->value : 1);
  if (!processes) return;
  request.gpus = product;
  request.gpus_from =
      nodes ? fmt::format("{} x {}", nodes->written, processes->written) : processes->written;
  request.gpus_origin = nodes ? nodes->origin : processes->origin;
}

// Words of all variables, if any of them holds flags. Scripts that are meant to be sourced by
// others have only variables, and no command that uses them.
std::vector<Word> flags_of_variables(const Script& script) {
  std::vector<Word> words;
  for (const auto& [name, variable] : script.variables)
    if (!variable.from_user)
      for (const Word& word : flattened(variable.words)) words.push_back(word);
  if (std::ranges::none_of(words, [](const Word& word) { return is_flag(word.text); }))
    words.clear();
  return words;
}

}  // namespace

std::vector<Setting> settings_of(std::span<const Word> words) {
  std::vector<Setting> settings;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& text = words[i].text;
    if (!is_flag(text)) continue;
    Setting setting{.origin = words[i].origin};
    const std::size_t equals = text.find('=');
    setting.name = flag_name(text.substr(0, equals));
    setting.written = text;
    if (equals != std::string::npos) setting.values.push_back(text.substr(equals + 1));
    while (i + 1 < words.size() && !is_flag(words[i + 1].text)) {
      setting.values.push_back(words[++i].text);
      setting.written += " " + words[i].text;
    }
    settings.push_back(std::move(setting));
  }
  return settings;
}

void count_gpus(std::span<const Word> words, Request& request) {
  put_gpus(option_in(words, node_options), option_in(words, gpu_options), request);
}

Script run_scripts(std::span<const Source> sources, const JobWords& words) {
  Script script;
  for (const auto& [name, value] : words.variables)
    script.variables[name] = {
        {{value, {.source = fmt::format("{}={}", name, value)}}}, false, true};
  script.read_file = [](const std::string& file) -> std::optional<std::string> {
    std::error_code failed;
    if (!std::filesystem::is_regular_file(file, failed)) return std::nullopt;
    return read_source(file).text;
  };
  for (const Source& source : sources) read_script(source.text, source.name, script);
  return script;
}

Request read_launch(const Script& script, const std::string& name) {
  Request request{.name = std::filesystem::path(name).stem().string()};
  std::vector<Word> best;
  std::size_t max_flags = 0;
  for (const auto& command : script.commands) {
    std::vector<Word> words = flattened(command);
    if (const std::size_t count = count_flags(words); count > 0 && count >= max_flags) {
      max_flags = count;
      best = std::move(words);
    }
  }
  if (best.empty()) best = flags_of_variables(script);
  // Commands with python -m have no program among their words; options of torchrun are unknown to
  // Megatron-LM.
  const std::size_t program = program_at(best);
  const bool has_program = program < best.size();
  const std::span<const Word> command_words(best);
  request.settings = settings_of(has_program ? command_words.subspan(program + 1) : command_words);
  const std::span<const Word> before = has_program ? command_words.first(program) : command_words;
  put_gpus(option_in(before, node_options) ? option_in(before, node_options)
                                           : option_in(script.batch, node_options),
           option_in(before, gpu_options) ? option_in(before, gpu_options)
                                          : option_in(script.batch, gpu_options),
           request);
  if (!request.gpus)
    put_gpus(variable_in(script, node_variables), variable_in(script, gpu_variables), request);
  for (const std::string& place : script.unsure)
    request.assumed.push_back(
        fmt::format("{}: only a running shell can evaluate this condition; it is taken as false",
                    std::filesystem::path(place).filename().string()));
  return request;
}

}  // namespace pipewright::jobs
