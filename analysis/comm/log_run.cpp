#include "analysis/comm/log_run.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace pipewright::analysis {
namespace {

constexpr std::size_t longest_command = 1U << 14U;
constexpr std::size_t most_programs = 64;

std::string_view without_hash(std::string_view line) {
  while (!line.empty() && (line.front() == '#' || line.front() == ' ' || line.front() == '\t'))
    line.remove_prefix(1);
  return line;
}

std::optional<std::uint32_t> small_number(std::string_view word) {
  const auto value = is_whole_number(word) ? parse_whole_number(word) : std::nullopt;
  if (!value || *value > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  return static_cast<std::uint32_t>(*value);
}

// The number behind a word of the line.
std::uint32_t number_after(const Words& words, std::string_view name) {
  const auto at = std::ranges::find(words, name);
  if (at == words.end() || at + 1 == words.end()) return 0;
  return small_number(*(at + 1)).value_or(0);
}

}  // namespace

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
