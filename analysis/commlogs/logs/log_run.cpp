#include "analysis/commlogs/logs/log_run.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "analysis/commlogs/logs/log_lines.hpp"

namespace pipewright::analysis {
namespace {

constexpr std::string_view nccl_suffix = "_perf";
constexpr std::string_view osu_prefix = "osu_";

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool is_followed_by_options(std::string_view rest) {
  const std::size_t start = rest.find_first_not_of(' ');
  return start != 0 && start != std::string_view::npos && rest[start] == '-';
}

std::optional<std::uint32_t> small_number(std::string_view word) {
  const auto value = is_whole_number(word) ? parse_whole_number(word) : std::nullopt;
  if (!value || *value > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  return static_cast<std::uint32_t>(*value);
}

// Parses a whole number above 0; returns no value for anything else.
std::optional<std::uint32_t> positive_number(std::string_view word) {
  const auto value = small_number(word);
  return value == 0U ? std::nullopt : value;
}

// Returns the value of the option at words[i], which may be written "-n 4", "-n4", "--ntasks=4" or
// "--ntasks 4".
std::string_view option_value(const Words& words, std::size_t i, std::string_view option) {
  const std::string_view word = words[i];
  if (word == option) return i + 1 < words.size() ? words[i + 1] : std::string_view();
  if (!word.starts_with(option)) return {};
  std::string_view rest = word.substr(option.size());
  if (rest.starts_with('=')) return rest.substr(1);
  const bool is_short = option.size() == 2;
  return is_short && is_whole_number(rest) ? rest : std::string_view();
}

using Options = std::initializer_list<std::string_view>;

std::optional<std::uint32_t> option_number(const Words& words, std::size_t i, Options options) {
  for (const std::string_view option : options)
    if (const auto value = positive_number(option_value(words, i, option))) return value;
  return std::nullopt;
}

// Reads a list of hosts such as "a:8,b:8". Sets the number of hosts and, if every host gives its
// number of slots, their sum.
void read_hosts(std::string_view list, CommandRanks& ranks) {
  std::set<std::string_view> hosts;
  std::uint32_t slots = 0;
  bool all_have_slots = true;
  while (!list.empty()) {
    const std::string_view host = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), host.size() + 1));
    const std::size_t colon = host.rfind(':');
    hosts.insert(host.substr(0, colon));
    const auto host_slots =
        colon == std::string_view::npos ? std::nullopt : positive_number(host.substr(colon + 1));
    all_have_slots = all_have_slots && host_slots.has_value();
    slots += host_slots.value_or(0);
  }
  ranks.nodes = static_cast<std::uint32_t>(hosts.size());
  if (all_have_slots && !ranks.processes) ranks.processes = slots;
}

std::string_view file_name(std::string_view path) {
  // A path without '/' stays whole: find_last_of() then returns npos, and npos + 1 is 0.
  return path.substr(path.find_last_of('/') + 1);
}

bool is_launcher(std::string_view word) {
  static constexpr std::array<std::string_view, 10> programs{
      "mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prun",
      "srun",   "flux",    "jsrun",         "aprun",   "ibrun"};
  return std::ranges::find(programs, file_name(word)) != programs.end();
}

constexpr std::size_t max_command_length = 1U << 14U;
constexpr std::size_t max_programs = 64;

std::string_view without_hash(std::string_view line) {
  while (!line.empty() && (line.front() == '#' || line.front() == ' ' || line.front() == '\t'))
    line.remove_prefix(1);
  return line;
}

// Returns the number that comes right after the word `name`, or 0 if there is none.
std::uint32_t number_after(const Words& words, std::string_view name) {
  const auto position = std::ranges::find(words, name);
  if (position == words.end() || position + 1 == words.end()) return 0;
  return small_number(*(position + 1)).value_or(0);
}

}  // namespace

std::vector<NamedProgram> named_programs(std::string_view line) {
  std::vector<NamedProgram> programs;
  for (std::size_t position = line.find(nccl_suffix); position != std::string_view::npos;
       position = line.find(nccl_suffix, position + 1)) {
    std::size_t start = position;
    while (start > 0 && is_name_character(line[start - 1])) --start;
    std::size_t end = position + nccl_suffix.size();
    if (line.substr(end).starts_with("_mpi")) end += 4;
    if (start < position && (end == line.size() || !is_name_character(line[end])))
      programs.push_back({std::string(line.substr(start, position - start)),
                          is_followed_by_options(line.substr(end))});
  }
  for (std::size_t position = line.find(osu_prefix); position != std::string_view::npos;
       position = line.find(osu_prefix, position + 1)) {
    if (position > 0 && is_name_character(line[position - 1])) continue;
    std::size_t end = position;
    while (end < line.size() && is_name_character(line[end])) ++end;
    // A name that '.' or '/' follows is a file or a folder, not a program.
    if (end < line.size() && (line[end] == '.' || line[end] == '/')) continue;
    programs.push_back({std::string(line.substr(position, end - position)), true});
  }
  return programs;
}

CommandRanks read_command(std::string_view line) {
  Words words;
  split_words(line, words);
  const auto program = std::ranges::find_if(
      words, [](std::string_view word) { return !named_programs(file_name(word)).empty(); });
  const auto launcher = std::find_if(words.begin(), program, is_launcher);
  CommandRanks ranks;
  if (launcher == program) {
    ranks.processes = 1;
    ranks.nodes = 1;
  }
  const auto launcher_index = static_cast<std::size_t>(launcher - words.begin());
  const auto program_index = static_cast<std::size_t>(program - words.begin());
  // "-N" is the number of nodes for Slurm and Flux, but the number of processes per node for Open
  // MPI.
  const bool launches_tasks =
      launcher != program && (file_name(*launcher) == "srun" || file_name(*launcher) == "flux");
  std::optional<std::uint32_t> per_node;
  for (std::size_t i = launcher_index; i < program_index; ++i) {
    if (const auto number = option_number(words, i, {"-np", "--np", "-n", "--ntasks"}))
      ranks.processes = number;
    if (const auto number = option_number(
            words, i,
            {"--ntasks-per-node", "-ppn", "--ppn", "-npernode", "--npernode", "--tasks-per-node"}))
      per_node = number;
    if (const auto number = option_number(words, i, {"-N"}))
      (launches_tasks ? ranks.nodes : per_node) = number;
    if (const auto number = option_number(words, i, {"--nodes"}); number && launches_tasks)
      ranks.nodes = number;
    for (const std::string_view option : {"-H", "--host", "-host", "--hosts", "-hosts"})
      if (const auto hosts = option_value(words, i, option); !hosts.empty() && !launches_tasks)
        read_hosts(hosts, ranks);
  }
  if (!ranks.processes && ranks.nodes && (per_node || launches_tasks))
    ranks.processes = *ranks.nodes * per_node.value_or(1);
  if (!ranks.nodes && ranks.processes && per_node && *ranks.processes % *per_node == 0)
    ranks.nodes = *ranks.processes / *per_node;
  for (std::size_t i = program_index; i < words.size(); ++i)
    if (const auto number = option_number(words, i, {"-g", "--ngpus", "-t", "--nthreads"}))
      ranks.gpus_per_process *= *number;
  return ranks;
}

// Reads a line such as "#  Rank  0 Group  0 Pid  38043 on x3006c0s1b1n0 device  0 [0x07] NVIDIA
// A100-SXM4-40GB". Older versions print no group or no process.
bool LogRunReader::take_device(const Words& words) {
  const auto rank_word = std::ranges::find(words, "Rank");
  const auto words_left = words.end() - rank_word;
  if (words_left < 6) return false;
  const auto rank = small_number(rank_word[1]);
  const bool has_group = rank_word[2] == "Group";
  const auto on_word = std::find(rank_word + 2, words.end(), "on");
  if (!rank || (!has_group && rank_word[2] != "Pid" && rank_word[2] != "on") ||
      words.end() - on_word < 3 || on_word[2] != "device")
    return false;
  LoggedDevice device{*rank, 0, std::string(on_word[1]), {}};
  // The index of the device and its bus, "[0x07]" or "[0000:07:00]", precede the name.
  for (auto word = on_word + 3; word != words.end(); ++word)
    if (!is_whole_number(*word) && !word->starts_with('['))
      device.gpu += fmt::format("{}{}", device.gpu.empty() ? "" : " ", *word);
  if (has_group) device.group = small_number(rank_word[3]).value_or(0);
  // Processes launched without MPI all report rank 0, so a rank that does not increase shows that
  // the output of several processes is interleaved.
  if (!run_.devices.empty() && device.rank <= run_.devices.back().rank) run_.interleaved = true;
  run_.devices.push_back(std::move(device));
  return true;
}

void LogRunReader::take_command(std::string_view line) {
  std::string command = std::exchange(continued_, {});
  command.append(line.substr(0, max_command_length - std::min(max_command_length, command.size())));
  if (command.ends_with('\\')) {
    command.back() = ' ';
    continued_ = std::move(command);
    return;
  }
  std::vector<NamedProgram> programs = named_programs(command);
  if (programs.empty()) return;
  if (programs.front().has_options) run_.command = command;
  return_programs(std::move(programs));
}

bool LogRunReader::take(std::string_view line, const Words& words, int number) {
  const bool is_row = !words.empty() && is_whole_number(words[0]) && continued_.empty();
  if (is_row) return false;
  if (line.find("nThread ") != std::string_view::npos &&
      line.find(" minBytes ") != std::string_view::npos) {
    run_.devices.clear();
    header_line_ = number;
    run_.aggregated = 1;
    if (const std::size_t position = line.find("agg iters: "); position != std::string_view::npos)
      run_.aggregated = std::max(
          1U,
          small_number(line.substr(position + 11, line.find(' ', position + 11) - position - 11))
              .value_or(1));
    return true;
  }
  if (take_device(words)) return true;
  const std::string_view text = without_hash(line);
  if (text.starts_with("Blocking Enabled")) {
    run_.blocking = true;
    return true;
  }
  if (text == "pairwise") {  // nccl-tests has no program for pairwise.
    run_.started_test = text;
    return true;
  }
  constexpr std::string_view starting = "Collective test starting: ";
  if (const std::size_t position = line.find(starting); position != std::string_view::npos) {
    const auto programs = named_programs(line.substr(position + starting.size()));
    if (!programs.empty()) run_.started_test = programs.front().name;
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
    if (run_.programs.size() < max_programs) run_.programs.push_back(std::move(program));
}

LogRun LogRunReader::take_run() {
  header_line_ = 0;
  return std::exchange(run_, {});
}

}  // namespace pipewright::analysis
