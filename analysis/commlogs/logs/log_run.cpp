#include "analysis/commlogs/logs/log_run.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <set>
#include <utility>

#include "analysis/commlogs/logs/log_lines.hpp"

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

std::optional<std::uint32_t> small_number(std::string_view word) {
  const auto value = is_whole_number(word) ? parse_whole_number(word) : std::nullopt;
  if (!value || *value > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  return static_cast<std::uint32_t>(*value);
}

// Above 0.
std::optional<std::uint32_t> number(std::string_view word) {
  const auto value = small_number(word);
  return value == 0U ? std::nullopt : value;
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

constexpr std::size_t longest_command = 1U << 14U;
constexpr std::size_t most_programs = 64;

std::string_view without_hash(std::string_view line) {
  while (!line.empty() && (line.front() == '#' || line.front() == ' ' || line.front() == '\t'))
    line.remove_prefix(1);
  return line;
}

// The number behind a word of the line.
std::uint32_t number_after(const Words& words, std::string_view name) {
  const auto at = std::ranges::find(words, name);
  if (at == words.end() || at + 1 == words.end()) return 0;
  return small_number(*(at + 1)).value_or(0);
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

// "#  Rank  0 Group  0 Pid  38043 on x3006c0s1b1n0 device  0 [0x07] NVIDIA A100-SXM4-40GB", older
// ones without a group or a process.
bool LogRunReader::take_device(const Words& words) {
  const auto at = std::ranges::find(words, "Rank");
  const auto left = words.end() - at;
  if (left < 6) return false;
  const auto rank = small_number(at[1]);
  const bool grouped = at[2] == "Group";
  const auto on = std::find(at + 2, words.end(), "on");
  if (!rank || (!grouped && at[2] != "Pid" && at[2] != "on") || words.end() - on < 3 ||
      on[2] != "device")
    return false;
  LoggedDevice device{*rank, 0, std::string(on[1])};
  if (grouped) device.group = small_number(at[3]).value_or(0);
  // Launched without MPI, each process believes to be the only one, and of rank 0.
  if (!run_.devices.empty() && device.rank <= run_.devices.back().rank) run_.interleaved = true;
  run_.devices.push_back(std::move(device));
  return true;
}

void LogRunReader::take_command(std::string_view line) {
  std::string whole = std::exchange(continued_, {});
  whole.append(line.substr(0, longest_command - std::min(longest_command, whole.size())));
  if (whole.ends_with('\\')) {
    whole.back() = ' ';
    continued_ = std::move(whole);
    return;
  }
  std::vector<NamedProgram> programs = named_programs(whole);
  if (programs.empty()) return;
  if (programs.front().with_options) run_.command = whole;
  return_programs(std::move(programs));
}

bool LogRunReader::take(std::string_view line, const Words& words, int number) {
  const bool is_row = !words.empty() && is_whole_number(words[0]) && continued_.empty();
  if (is_row) return false;
  if (line.find("nThread ") != std::string_view::npos &&
      line.find(" minBytes ") != std::string_view::npos) {
    run_.devices.clear();
    begun_ = number;
    run_.aggregated = 1;
    if (const std::size_t at = line.find("agg iters: "); at != std::string_view::npos)
      run_.aggregated = std::max(
          1U, small_number(line.substr(at + 11, line.find(' ', at + 11) - at - 11)).value_or(1));
    return true;
  }
  if (take_device(words)) return true;
  const std::string_view text = without_hash(line);
  if (text.starts_with("Blocking Enabled")) {
    run_.blocking = true;
    return true;
  }
  if (text == "pairwise") {  // for which nccl-tests have no program
    run_.started = text;
    return true;
  }
  constexpr std::string_view starting = "Collective test starting: ";
  if (const std::size_t at = line.find(starting); at != std::string_view::npos) {
    const auto programs = named_programs(line.substr(at + starting.size()));
    if (!programs.empty()) run_.started = programs.front().name;
    return true;
  }
  if (const std::uint32_t ranks = number_after(words, "nRanks")) {
    run_.communicator_ranks = ranks;
    run_.communicator_nodes = number_after(words, "nNodes");
    return true;
  }
  const bool continues = !line.empty() && line.back() == '\\';
  if (!continued_.empty() || continues || line.find("_perf") != std::string_view::npos ||
      line.find("osu_") != std::string_view::npos)
    take_command(line);
  return false;
}

void LogRunReader::return_programs(std::vector<NamedProgram> programs) {
  for (NamedProgram& program : programs)
    if (run_.programs.size() < most_programs) run_.programs.push_back(std::move(program));
}

LogRun LogRunReader::take_run() {
  begun_ = 0;
  return std::exchange(run_, {});
}

}  // namespace pipewright::analysis
