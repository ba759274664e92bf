#include "sim/jobs/megatron/launch.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "sim/base/numbers.hpp"
#include "sim/jobs/megatron/bash.hpp"
#include "sim/jobs/megatron/megatron.hpp"
#include "sim/jobs/request/draft.hpp"
#include "sim/jobs/shell/split.hpp"

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

// Programs of Megatron-LM that train another model than a language model of decoder layers.
struct OtherProgram {
  std::string_view name, what;
};
constexpr std::array other_programs{
    OtherProgram{"pretrain_bert.py", "BERT, whose layers see the whole text"},
    OtherProgram{"pretrain_t5.py", "T5, an encoder and a decoder"},
    OtherProgram{"pretrain_ict.py", "two encoders for retrieval"},
    OtherProgram{"pretrain_retro.py", "RETRO, with an encoder of passages"},
    OtherProgram{"pretrain_vlm.py", "an encoder of images beside the language model"},
    OtherProgram{"pretrain_vision_classify.py", "a model of images"},
    OtherProgram{"pretrain_vision_inpaint.py", "a model of images"},
    OtherProgram{"pretrain_vision_dino.py", "a model of images"},
    OtherProgram{"train_rl.py", "by reinforcement learning, which also generates texts"}};

// Throws config::Error if the program trains no language model.
void check_program(const Word& program) {
  const std::string_view text = program.text;
  const std::string_view name = text.substr(text.rfind('/') + 1);
  const auto row = std::ranges::find(other_programs, name, &OtherProgram::name);
  if (row == other_programs.end()) return;
  throw config::Error(program.origin,
                      fmt::format("{} trains {}, which is not modelled", name, row->what))
      .allow("pretrain_gpt.py, pretrain_mamba.py, or another program for decoders");
}

// Splits words that hold several: "--fp8-format hybrid" of an array, or the command of bash -c.
std::vector<Word> flattened(std::span<const Word> words) {
  std::vector<Word> flat;
  for (const Word& word : words) {
    const std::size_t space = word.text.find_first_of(" \n");
    const bool holds_flags = space != std::string::npos &&
                             (is_flag(word.text) || word.text.find(" --") != std::string::npos ||
                              word.text.find("\n--") != std::string::npos);
    if (!holds_flags) {
      flat.push_back(word);
      continue;
    }
    for (Word& part : split_words(word)) flat.push_back(std::move(part));
  }
  return flat;
}

std::size_t count_flags(std::span<const Word> words, FlagTest is_known_flag) {
  return static_cast<std::size_t>(std::ranges::count_if(words, [is_known_flag](const Word& word) {
    return is_flag(word.text) && is_known_flag(flag_name(word.text.substr(0, word.text.find('='))));
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
constexpr std::array<std::string_view, 11> gpu_variables{"GPUS_PER_NODE",
                                                         "NPROC_PER_NODE",
                                                         "NUM_GPUS_PER_NODE",
                                                         "GPU_PER_NODE",
                                                         "GPUS_PER_NODES",
                                                         "NUM_GPUS",
                                                         "DGXNGPU",
                                                         "N_GPUS_PER_NODE",
                                                         "SLURM_GPUS_PER_NODE",
                                                         "SLURM_GPUS_ON_NODE",
                                                         "SLURM_NTASKS_PER_NODE"};

std::optional<Option> variable_in(const Script& script, std::span<const std::string_view> names,
                                  bool of_user = false) {
  for (const std::string_view name : names) {
    const auto it = script.variables.find(std::string(name));
    if (it == script.variables.end() || it->second.words.empty()) continue;
    if (of_user && !it->second.from_user) continue;
    const Word& word = it->second.words.front();
    if (const auto number = number_in(word.text))
      return Option{*number, fmt::format("{}={}", name, *number), word.origin};
  }
  return std::nullopt;
}

// Number that the options of the launcher give, or a variable of the command line, or the options
// of Slurm in the script.
std::optional<Option> size_of(const Script& script, std::span<const Word> launcher,
                              std::span<const std::string_view> options,
                              std::span<const std::string_view> variables) {
  if (auto option = option_in(launcher, options)) return option;
  if (auto variable = variable_in(script, variables, true)) return variable;
  return option_in(script.batch, options);
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

// Adds the number of threads that a process has on the CPU, if the job's optimizer runs there.
// torchrun sets OMP_NUM_THREADS to 1 for several processes on a host, unless the variable is set
// (torch/distributed/run.py).
void add_cpu_threads(const Script& script, std::span<const Word> launcher, Request& request) {
  constexpr std::array<std::string_view, 1> variable{"OMP_NUM_THREADS"};
  const auto offload = std::ranges::find(request.settings, "optimizer_cpu_offload", &Setting::name);
  if (offload == request.settings.end()) return;
  const auto add = [&](std::uint64_t threads, std::string written, const config::Origin& origin) {
    request.settings.push_back({.name = "omp_num_threads",
                                .values = {fmt::format("{}", threads)},
                                .written = std::move(written),
                                .origin = origin});
  };
  if (const auto threads = variable_in(script, variable))
    return add(threads->value, threads->written, threads->origin);
  constexpr std::array<std::string_view, 2> processes_options{"--nproc_per_node",
                                                              "--nproc-per-node"};
  const auto is_torchrun = [](const Word& word) {
    return word.text.ends_with("torchrun") || word.text.starts_with("torch.distributed.");
  };
  const auto processes = option_in(launcher, processes_options);
  if (processes && processes->value > 1 && std::ranges::any_of(launcher, is_torchrun))
    add(1, "torchrun without OMP_NUM_THREADS", offload->origin);
}

// Adds the variables of PyTorch's allocator and of Transformer Engine that a script exports to its
// program.
void add_variables(const Script& script, Request& request) {
  constexpr std::array<std::pair<const char*, const char*>, 4> names{
      {{"PYTORCH_CUDA_ALLOC_CONF", "pytorch_cuda_alloc_conf"},
       {"PYTORCH_ALLOC_CONF", "pytorch_cuda_alloc_conf"},
       {"NVTE_DPA_FP8_RECIPE", "nvte_dpa_fp8_recipe"},
       {"NVTE_FP8_DPA_BWD", "nvte_fp8_dpa_bwd"}}};
  for (const auto& [name, setting] : names) {
    const auto it = script.variables.find(name);
    if (it == script.variables.end() || !it->second.exported || it->second.words.empty()) continue;
    const Word& word = it->second.words.front();
    request.settings.push_back({.name = setting,
                                .values = {word.text},
                                .written = fmt::format("{}={}", name, word.text),
                                .origin = word.origin});
  }
}

// Words of the variables that hold flags, each from its first flag on. Scripts that are meant to be
// sourced by others have only variables, and no command that uses them.
std::vector<Word> flags_of_variables(const Script& script) {
  std::vector<Word> words;
  for (const auto& [name, variable] : script.variables) {
    if (variable.from_user) continue;
    const std::vector<Word> own = flattened(variable.words);
    const auto first =
        std::ranges::find_if(own, [](const Word& word) { return is_flag(word.text); });
    words.insert(words.end(), first, own.end());
  }
  return words;
}

// Indexes of the commands with the most flags that are known.
std::vector<std::size_t> best_commands(const Script& script, FlagTest is_known_flag) {
  std::vector<std::size_t> best;
  std::size_t max_flags = 1;
  for (std::size_t i = 0; i < script.commands.size(); ++i) {
    const std::size_t count = count_flags(flattened(script.commands[i]), is_known_flag);
    if (count < max_flags) continue;
    if (count > max_flags) best.clear();
    max_flags = count;
    best.push_back(i);
  }
  return best;
}

// Says which of several commands with as many flags is read, if they differ.
std::optional<Note> choice_in(const Script& script, FlagTest is_known_flag) {
  const std::vector<std::size_t> best = best_commands(script, is_known_flag);
  std::set<std::string> different;
  for (const std::size_t index : best) {
    std::string text;
    for (const Word& word : script.commands[index]) text += word.text + " ";
    different.insert(std::move(text));
  }
  if (different.size() < 2) return std::nullopt;
  const Word& first = script.commands[best.back()].front();
  return Note{
      .text = readable(first.text),
      .origin = first.origin,
      .why = fmt::format(
          "of {} training commands, the last is read; NAME=VALUE sets the variable of a loop",
          different.size())};
}

// Lists the unset variables of a command that are taken as nothing and that no script sets.
void note_unset(const Script& script, std::span<const Word> words, Request& request) {
  std::set<std::string> names;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (!words[i].may_vanish || is_flag(words[i - 1].text)) continue;
    const std::string name = unknown_in(words[i].text).value_or("");
    if (!script.written.contains(name) && names.insert(name).second)
      request.assumed.push_back(
          fmt::format("${} adds no flags, as no script sets it; {}=VALUE does", name, name));
  }
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
    const std::size_t begin = i + 1;
    while (i + 1 < words.size() && !is_flag(words[i + 1].text)) ++i;
    const std::span<const Word> values = words.subspan(begin, i + 1 - begin);
    // A shell drops an unset variable. Where nothing else is the flag's value, it may be asked for.
    const bool has_others = !setting.values.empty() ||
                            std::ranges::any_of(values, std::logical_not{}, &Word::may_vanish);
    for (const Word& value : values) {
      if (value.may_vanish && (has_others || !setting.values.empty())) continue;
      setting.values.push_back(value.text);
      setting.written += " " + value.text;
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
    script.variables[name] = {.words = {{value, {.source = fmt::format("{}={}", name, value)}}},
                              .from_user = true,
                              .exported = true};
  if (words.with_bash) {
    run_with_bash(sources, words, script);
    return script;
  }
  script.read_file = [](const std::string& file) -> std::optional<std::string> {
    std::error_code failed;
    if (!std::filesystem::is_regular_file(file, failed)) return std::nullopt;
    return read_source(file).text;
  };
  for (const Source& source : sources) read_script(source.text, source.name, script);
  return script;
}

std::vector<Word> training_command(const Script& script, FlagTest is_known_flag) {
  const auto best = best_commands(script, is_known_flag);
  return best.empty() ? flags_of_variables(script) : script.commands[best.back()];
}

std::vector<Note> notes_of(const Script& script, FlagTest is_known_flag) {
  std::vector<Note> notes;
  for (const Unfollowed& place : script.unfollowed)
    notes.push_back({.text = place.text, .origin = place.origin, .why = place.why});
  if (std::optional<Note> choice = choice_in(script, is_known_flag))
    notes.push_back(std::move(*choice));
  return notes;
}

void note_unfollowed(const Script& script, Request& request) {
  for (const Note& note : notes_of(script)) request.not_followed.push_back(note);
}

Request read_launch(const Script& script, const std::string& name, FlagTest is_known_flag) {
  Request request{.name = std::filesystem::path(name).stem().string()};
  const std::vector<std::size_t> found = best_commands(script, is_known_flag);
  std::vector<Word> best;
  if (!found.empty()) best = flattened(script.commands[found.back()]);
  if (best.empty() && script.ended_at)
    throw config::Error(*script.ended_at,
                        "the script exits here, before it starts a training command")
        .suggest("give the variables that its conditions ask for, as in NAME=8, or 1=8 for $1");
  if (best.empty()) best = flags_of_variables(script);
  // Commands with python -m have no program among their words; options of torchrun are unknown to
  // Megatron-LM.
  const std::size_t program = program_at(best);
  const bool has_program = program < best.size();
  if (has_program) check_program(best[program]);
  const std::span<const Word> command_words(best);
  const std::span<const Word> flags =
      has_program ? command_words.subspan(program + 1) : command_words;
  request.settings = settings_of(flags);
  note_unset(script, flags, request);
  const std::span<const Word> before = has_program ? command_words.first(program) : command_words;
  put_gpus(size_of(script, before, node_options, node_variables),
           size_of(script, before, gpu_options, gpu_variables), request);
  if (!request.gpus)
    put_gpus(variable_in(script, node_variables), variable_in(script, gpu_variables), request);
  add_cpu_threads(script, before, request);
  add_variables(script, request);
  request.not_followed = notes_of(script, is_known_flag);
  return request;
}

}  // namespace pipewright::jobs
