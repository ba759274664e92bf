#include "analysis/comm/log_command.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <set>

#include "analysis/comm/log_words.hpp"

namespace pipewright::analysis {
namespace {

constexpr std::string_view nccl_suffix = "_perf";
constexpr std::string_view osu_prefix = "osu_";

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool has_options(std::string_view rest) {
  const std::size_t at = rest.find_first_not_of(' ');
  return at != 0 && at != std::string_view::npos && rest[at] == '-';
}

std::optional<std::uint32_t> number(std::string_view text) {
  const auto value = is_whole_number(text) ? parse_whole_number(text) : std::nullopt;
  constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
  if (!value || *value == 0 || *value > most) return std::nullopt;
  return static_cast<std::uint32_t>(*value);
}

// The value of the option at words[i]: "-n 4", "-n4", "--ntasks=4", "--ntasks 4".
std::string_view value_of(const Words& words, std::size_t i, std::string_view option) {
  const std::string_view word = words[i];
  if (word == option) return i + 1 < words.size() ? words[i + 1] : std::string_view();
  if (!word.starts_with(option)) return {};
  std::string_view rest = word.substr(option.size());
  if (rest.starts_with('=')) return rest.substr(1);
  const bool is_short = option.size() == 2;
  return is_short && is_whole_number(rest) ? rest : std::string_view();
}

using Options = std::initializer_list<std::string_view>;

std::optional<std::uint32_t> number_of(const Words& words, std::size_t i, Options options) {
  for (const std::string_view option : options)
    if (const auto value = number(value_of(words, i, option))) return value;
  return std::nullopt;
}

// "a:8,b:8": hosts, and slots of all of them if each has some.
void read_hosts(std::string_view list, CommandRanks& ranks) {
  std::set<std::string_view> hosts;
  std::uint32_t slots = 0;
  bool all_say = true;
  while (!list.empty()) {
    const std::string_view host = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), host.size() + 1));
    const std::size_t colon = host.rfind(':');
    hosts.insert(host.substr(0, colon));
    const auto of_host =
        colon == std::string_view::npos ? std::nullopt : number(host.substr(colon + 1));
    all_say = all_say && of_host.has_value();
    slots += of_host.value_or(0);
  }
  ranks.nodes = static_cast<std::uint32_t>(hosts.size());
  if (all_say && !ranks.processes) ranks.processes = slots;
}

std::string_view file_name(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);  // from 0 if there is none
}

bool launches(std::string_view word) {
  static constexpr std::array<std::string_view, 10> programs{
      "mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prun",
      "srun",   "flux",    "jsrun",         "aprun",   "ibrun"};
  return std::ranges::find(programs, file_name(word)) != programs.end();
}

}  // namespace

std::vector<NamedProgram> named_programs(std::string_view line) {
  std::vector<NamedProgram> found;
  for (std::size_t at = line.find(nccl_suffix); at != std::string_view::npos;
       at = line.find(nccl_suffix, at + 1)) {
    std::size_t start = at;
    while (start > 0 && is_name(line[start - 1])) --start;
    std::size_t end = at + nccl_suffix.size();
    if (line.substr(end).starts_with("_mpi")) end += 4;
    if (start < at && (end == line.size() || !is_name(line[end])))
      found.push_back({std::string(line.substr(start, at - start)), has_options(line.substr(end))});
  }
  for (std::size_t at = line.find(osu_prefix); at != std::string_view::npos;
       at = line.find(osu_prefix, at + 1)) {
    if (at > 0 && is_name(line[at - 1])) continue;
    std::size_t end = at;
    while (end < line.size() && is_name(line[end])) ++end;
    if (end < line.size() && (line[end] == '.' || line[end] == '/')) continue;  // a file, a folder
    found.push_back({std::string(line.substr(at, end - at)), true});
  }
  return found;
}

CommandRanks read_command(std::string_view line) {
  Words words;
  split_words(line, words);
  const auto program = std::ranges::find_if(
      words, [](std::string_view word) { return !named_programs(file_name(word)).empty(); });
  const auto launcher = std::find_if(words.begin(), program, launches);
  CommandRanks ranks;
  if (launcher == program) {
    ranks.processes = 1;
    ranks.nodes = 1;
  }
  const auto first = static_cast<std::size_t>(launcher - words.begin());
  const auto at_program = static_cast<std::size_t>(program - words.begin());
  // "-N" is nodes where Slurm or Flux launch, and processes of a node where Open MPI does.
  const bool tasks =
      launcher != program && (file_name(*launcher) == "srun" || file_name(*launcher) == "flux");
  std::optional<std::uint32_t> per_node;
  for (std::size_t i = first; i < at_program; ++i) {
    if (const auto n = number_of(words, i, {"-np", "--np", "-n", "--ntasks"})) ranks.processes = n;
    if (const auto n = number_of(
            words, i,
            {"--ntasks-per-node", "-ppn", "--ppn", "-npernode", "--npernode", "--tasks-per-node"}))
      per_node = n;
    if (const auto n = number_of(words, i, {"-N"})) (tasks ? ranks.nodes : per_node) = n;
    if (const auto n = number_of(words, i, {"--nodes"}); n && tasks) ranks.nodes = n;
    for (const std::string_view option : {"-H", "--host", "-host", "--hosts", "-hosts"})
      if (const auto hosts = value_of(words, i, option); !hosts.empty() && !tasks)
        read_hosts(hosts, ranks);
  }
  if (!ranks.processes && ranks.nodes && (per_node || tasks))
    ranks.processes = *ranks.nodes * per_node.value_or(1);
  if (!ranks.nodes && ranks.processes && per_node && *ranks.processes % *per_node == 0)
    ranks.nodes = *ranks.processes / *per_node;
  for (std::size_t i = at_program; i < words.size(); ++i)
    if (const auto n = number_of(words, i, {"-g", "--ngpus", "-t", "--nthreads"}))
      ranks.gpus_per_process *= *n;
  return ranks;
}

}  // namespace pipewright::analysis
