#include "sim/jobs/request/launch_text.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/config/stack.hpp"
#include "sim/jobs/shell/quote.hpp"

namespace pipewright::jobs {

std::uint64_t gpus_of(const config::Scenario& scenario) {
  return static_cast<std::uint64_t>(scenario.parallel.gpus());
}

std::string words_of(const Setting& setting) {
  std::string text = flag_of(setting.name);
  for (const std::string& value : setting.values) text += " " + shell_word(value);
  return text;
}

std::string comment_text(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '\n')
      line += "\\n";
    else if ((code < 0x20U && c != '\t') || code == 0x7fU)
      line += fmt::format("\\x{:02x}", code);
    else
      line += c;
  }
  return line;
}

namespace {

// Beginnings of the lines that state the stack and placement of a launch, which are read back.
constexpr std::string_view stack_line = "# Stack of the prediction: ";
constexpr std::string_view domain_line = "# GPUs of each NVLink domain in the prediction: ";

// Keys of the stack that are no settings of a job, and that differ from those of its file.
std::string changed_keys(const config::Stack& stack) {
  const config::Value tree = config::stack_tree({config::make_text(stack.name, {}), "stack"});
  const config::Stack of_file = config::read_stack({tree, "stack"});
  std::vector<std::string_view> keys;
  if (stack.host != of_file.host) keys.emplace_back("host");
  if (stack.memory != of_file.memory) keys.emplace_back("memory");
  if (stack.sinks_skip_masked != of_file.sinks_skip_masked) keys.emplace_back("sinks_skip_masked");
  if (stack.replica_spread != of_file.replica_spread) keys.emplace_back("replica_spread");
  return fmt::format("{}", fmt::join(keys, ", "));
}

std::string stack_lines(const LaunchInput& input) {
  const config::Stack& stack = input.scenario.training.stack;
  if (input.on_foreign_stack)
    return fmt::format("# The prediction is for the stack {}.\n", comment_text(stack.name));
  std::string text;
  if (stack.name != input.stack) text += fmt::format("{}{}\n", stack_line, stack.name);
  if (const std::string keys = changed_keys(stack); !keys.empty())
    text += fmt::format("# Its file has other values than the prediction: {}\n", keys);
  return text;
}

}  // namespace

std::string heading(const LaunchInput& input, const Launch& launch) {
  std::string text =
      fmt::format("# {} on {} GPUs, for {}.\n", comment_text(input.scenario.model->value.name),
                  gpus_of(input.scenario), input.title);
  text +=
      "# Yours to add, as it changes no time: data, learning rate, base and scaling of rotary\n"
      "# positions, scores and biases of a router, checkpoints.\n";
  text += stack_lines(input);
  if (const auto& domain = input.scenario.placement.domain)
    text += fmt::format("{}{}\n", domain_line, domain->value);
  if (!input.plan.lacks_memory.empty())
    text += fmt::format("# {}\n", comment_text(input.plan.lacks_memory));
  if (!launch.refused.empty()) text += fmt::format("# {}\n", comment_text(launch.refused));
  for (const std::string& sentence : sentences_of(launch.differs))
    text += fmt::format("# not expressed: {}\n", comment_text(sentence));
  return text;
}

namespace {

// Returns whether the job has several hosts in each of several NVLink domains, so that it depends
// on the allocation of hosts.
bool spans_domains(const LaunchInput& input) {
  const config::LaunchPlan& plan = input.plan;
  return plan.gpus_per_domain > plan.gpus_per_host && plan.ranks_per_domain > 0 &&
         plan.ranks_per_domain < gpus_of(input.scenario);
}

// Hosts of each NVLink domain of a job that spans several; 0 if domains have different numbers of
// them, or if every allocation of whole hosts is right.
std::uint64_t hosts_per_domain(const LaunchInput& input) {
  const config::LaunchPlan& plan = input.plan;
  const std::uint64_t processes = launch_nodes(input.scenario, plan).processes;
  if (!spans_domains(input) || plan.ranks_per_domain % processes != 0) return 0;
  // Slurm accepts whole segments only.
  const std::uint64_t hosts = plan.ranks_per_domain / processes;
  return gpus_of(input.scenario) / processes % hosts == 0 ? hosts : 0;
}

// Ranks of a group of experts in one NVLink domain: as many as the domain has, in equal parts.
std::uint64_t expert_ranks_per_domain(const LaunchInput& input) {
  const config::Parallel& parallel = input.scenario.parallel;
  const std::uint64_t group = std::uint64_t{parallel.ep.value} * parallel.expert_tp();
  std::uint64_t ranks = std::min(group, std::max<std::uint64_t>(input.plan.gpus_per_domain, 1));
  while (group % ranks != 0) --ranks;
  return ranks;
}

}  // namespace

std::string refusal_of(const LaunchInput& input, const std::string& of_reader) {
  const std::string_view stack =
      input.on_foreign_stack ? input.stack : std::string_view(input.scenario.training.stack.name);
  std::string by_rule = input.plan.refusal ? input.plan.refusal(stack) : "";
  if (!by_rule.empty() || of_reader.empty()) return by_rule;
  return fmt::format("{} refuses this job: {}", input.title, of_reader);
}

std::string environment_lines(const LaunchInput& input) {
  std::string text;
  if (const std::uint64_t hosts = hosts_per_domain(input); hosts > 0)
    text += fmt::format("#SBATCH --segment={}\n", hosts);
  const config::Scenario& scenario = input.scenario;
  const bool is_hybrid = scenario.model->value.experts &&
                         scenario.training.experts.dispatcher == config::Dispatcher::hybridep;
  if (is_hybrid && input.plan.gpus_per_domain > 0)
    text += fmt::format(
        "export NUM_OF_HYBRID_EP_RANKS_PER_NVLINK_DOMAIN={}\n"
        "export NVLINK_DOMAIN_SIZE={}\n"
        "export USE_MNNVL={}\n",
        expert_ranks_per_domain(input), input.plan.gpus_per_domain,
        input.plan.gpus_per_domain > input.plan.gpus_per_host ? 1 : 0);
  return text;
}

std::vector<Difference> placement_differences(const LaunchInput& input) {
  const config::Placement& placement = input.scenario.placement;
  std::vector<Difference> differences;
  if (!placement.hosts.empty())
    differences.push_back({"placement", "the launcher chooses the hosts, and not placement"});
  if (!placement.gpu_types.empty())
    differences.push_back(
        {"placement.gpu_types", "the launcher chooses the hosts, and so the types of GPUs"});
  if (placement.domain && hosts_per_domain(input) == 0)
    differences.push_back(
        {"",  // reading the heading gives the domain again
         fmt::format("placement.domain is {}: the launcher has to give the job as many GPUs of "
                     "each NVLink domain",
                     placement.domain->value)});
  else if (!placement.domain && spans_domains(input) && hosts_per_domain(input) == 0)
    differences.push_back(
        {"", fmt::format("the prediction fills NVLink domains with {} GPUs each, and the launcher "
                         "may allocate other hosts",
                         input.plan.ranks_per_domain)});
  return differences;
}

namespace {

// First word after a line's beginning; empty if no line begins so.
std::string word_after(std::string_view text, std::string_view beginning) {
  const std::size_t at = text.find(beginning);
  if (at == std::string_view::npos || (at > 0 && text[at - 1] != '\n')) return "";
  const std::string_view rest = text.substr(at + beginning.size());
  return std::string(rest.substr(0, rest.find_first_of(" \r\n")));
}

}  // namespace

Stated stated_in(std::string_view text) {
  return {.stack = word_after(text, stack_line), .domain = word_after(text, domain_line)};
}

LaunchNodes launch_nodes(const config::Scenario& scenario, const config::LaunchPlan& plan) {
  const std::uint64_t gpus = gpus_of(scenario);
  std::uint64_t processes = std::clamp<std::uint64_t>(plan.gpus_per_host, 1, gpus);
  if (const auto& domain = scenario.placement.domain)
    processes = std::clamp<std::uint64_t>(domain->value, 1, processes);
  while (gpus % processes != 0) --processes;
  return {gpus / processes, processes};
}

}  // namespace pipewright::jobs
