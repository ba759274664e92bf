#include "sim/jobs/shell/batch.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>

#include <fmt/format.h>

#include "sim/base/numbers.hpp"
#include "sim/jobs/shell/split.hpp"

namespace pipewright::jobs {
namespace {

constexpr std::size_t max_batch_words = 10'000;

// Value of an option in the forms --nodes=4, --nodes 4, -N 4 and -N4. The last one holds.
std::optional<std::string> value_of(const std::vector<Word>& words, std::string_view name,
                                    std::string_view letter) {
  std::optional<std::string> value;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& text = words[i].text;
    const bool short_form = !letter.empty() && text.starts_with(letter) && !text.starts_with("--");
    if (text == name || (short_form && text.size() == letter.size())) {
      if (i + 1 < words.size()) value = words[i + 1].text;
    } else if (text.starts_with(name) && text.size() > name.size() && text[name.size()] == '=') {
      value = text.substr(name.size() + 1);
    } else if (short_form) {
      value = text.substr(letter.size());
    }
  }
  return value;
}

// Value of a variable that the command line sets. It replaces the option by which Slurm sets it.
std::optional<std::string> given(const Script& script,
                                 std::initializer_list<const char*> variables) {
  for (const char* const name : variables)
    if (const auto it = script.variables.find(name);
        it != script.variables.end() && it->second.from_user)
      return it->second.words.front().text;
  return std::nullopt;
}

// Number of GPUs in "8", "gpu:8" or "a100:8"; of --gres the part for GPUs.
std::string count_in(std::string_view value) {
  const std::size_t gpu = value.find("gpu:");
  if (gpu != std::string_view::npos) value = value.substr(gpu);
  value = value.substr(0, value.find_first_of(",("));
  return std::string(value.substr(value.rfind(':') + 1));
}

}  // namespace

void read_batch_lines(std::string_view text, const std::string& name, Script& script) {
  int line = 1;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    constexpr std::string_view mark = "#SBATCH";
    if (text.starts_with(mark) && script.batch.size() < max_batch_words) {
      std::string_view options = text.substr(mark.size(), end - mark.size());
      options = options.substr(0, options.find(" #"));
      for (Word& word :
           split_words({std::string(options), {.source = name, .line = line, .column = 1}}))
        script.batch.push_back(std::move(word));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line;
  }
}

void set_batch_variables(Script& script) {
  const std::vector<Word>& words = script.batch;
  const config::Origin origin = words.empty() ? config::Origin{} : words.front().origin;
  const auto set = [&](const std::string& name, const std::string& value) {
    if (script.variables.contains(name)) return;
    script.variables[name] = {.words = {{value, origin}}, .exported = true};
    script.batch_variables.emplace_back(name, value);
  };
  const auto option = [&](std::initializer_list<const char*> variables, std::string_view name,
                          std::string_view letter) {
    const auto value = given(script, variables);
    return value ? value : value_of(words, name, letter);
  };
  const auto nodes = option({"SLURM_NNODES", "SLURM_JOB_NUM_NODES"}, "--nodes", "-N");
  const auto per_node = option({"SLURM_NTASKS_PER_NODE"}, "--ntasks-per-node", "");
  const bool changes_tasks =
      given(script, {"SLURM_NNODES", "SLURM_JOB_NUM_NODES", "SLURM_NTASKS_PER_NODE"}).has_value();
  // The number of tasks follows the sizes that the command line gives.
  auto tasks = given(script, {"SLURM_NTASKS", "SLURM_NPROCS"});
  if (!tasks && !changes_tasks) tasks = value_of(words, "--ntasks", "-n");
  const auto gpus_per_node =
      option({"SLURM_GPUS_PER_NODE", "SLURM_GPUS_ON_NODE"}, "--gpus-per-node", "");
  const auto gres = value_of(words, "--gres", "");
  // A range such as 4-8 or 4:8 is no number of nodes.
  const std::uint64_t count = base::parse_number<std::uint64_t>(nodes.value_or("0")).value_or(0);
  if (count > 0)
    for (const char* const name : {"SLURM_NNODES", "SLURM_JOB_NUM_NODES"})
      set(name, fmt::format("{}", count));
  if (per_node) set("SLURM_NTASKS_PER_NODE", *per_node);
  const std::uint64_t task_count =
      base::parse_number<std::uint64_t>(per_node.value_or("0")).value_or(0);
  constexpr std::uint64_t limit = 1U << 24U;
  std::string all_tasks;
  if (tasks)
    all_tasks = *tasks;
  else if (count > 0 && task_count > 0 && count < limit && task_count < limit)
    all_tasks = fmt::format("{}", count * task_count);
  if (!all_tasks.empty())
    for (const char* const name : {"SLURM_NTASKS", "SLURM_NPROCS"}) set(name, all_tasks);
  // Slurm sets SLURM_GPUS_PER_NODE by --gpus-per-node alone, and SLURM_GPUS_ON_NODE by any option.
  if (gpus_per_node) set("SLURM_GPUS_PER_NODE", count_in(*gpus_per_node));
  if (gpus_per_node || (gres && gres->find("gpu") != std::string::npos))
    set("SLURM_GPUS_ON_NODE", count_in(gpus_per_node ? *gpus_per_node : *gres));
  if (const auto gpus = value_of(words, "--gpus", "-G")) set("SLURM_GPUS", count_in(*gpus));
  if (const auto cpus = value_of(words, "--cpus-per-task", "-c")) set("SLURM_CPUS_PER_TASK", *cpus);
  if (const auto job = value_of(words, "--job-name", "-J")) set("SLURM_JOB_NAME", *job);
  if (const auto queue = value_of(words, "--partition", "-p")) set("SLURM_JOB_PARTITION", *queue);
}

}  // namespace pipewright::jobs
