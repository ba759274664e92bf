#include "sim/cli/run/together_options.hpp"

#include <algorithm>
#include <array>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/config/text/fields.hpp"
#include "sim/evaluation/sharing/sweep_phases.hpp"

namespace pipewright::cli {
namespace {

constexpr std::uint32_t default_phases = 8;
constexpr std::array together_options{"placing", "phases", "phase", "jobs"};

}  // namespace

void add_together_options(po::options_description& options) {
  auto add = options.add_options();
  add("together", "run several scenarios at once on one cluster; print how much each slows down");
  add("placing", several_words("side-by-side|interleaved"),
      "node assignment for --together: job by job, or to each job in turn (side-by-side); "
      "a scenario's placement overrides it");
  add("phases", several_words("N"),
      "number of start offsets between the jobs for --together, spread over an iteration of the "
      "first job (8)");
  add("phase", several_words("P.."),
      "list of start offsets between the jobs for --together, as fractions of the first job's "
      "iteration, such as '25 %'");
  add("jobs,j", several_words("N"),
      "number of parallel simulations for --together (default: number of processors)");
}

void check_together_options(const po::variables_map& flags) {
  for (const char* const option : together_options)
    if (flags.count(option) != 0) throw UsageError(fmt::format("--{} needs --together", option));
}

evaluation::Placing placing_of(const po::variables_map& flags) {
  const std::vector<std::string> words = values(flags, "placing");
  if (words.empty()) return evaluation::Placing::side_by_side;
  const std::string& word = single(words, "--placing");
  const auto& names = evaluation::placing_names;
  const auto* const match = std::ranges::find(names, word);
  if (match == names.end())
    throw UsageError(fmt::format("--placing is '{}'", word))
        .allow(fmt::format("{}", fmt::join(names, ", ")));
  return static_cast<evaluation::Placing>(match - names.begin());
}

std::vector<double> phases_of(const po::variables_map& flags) {
  const std::vector<std::string> words = values(flags, "phase");
  const std::vector<std::string> count = values(flags, "phases");
  if (!words.empty() && !count.empty())
    throw UsageError("--phases and --phase exclude each other").suggest("leave out one");
  if (words.empty())
    return evaluation::even_phases(
        count.empty() ? default_phases
                      : config::read_count(
                            {config::make_text(single(count, "--phases"), {}), "--phases"}, "8"));
  std::vector<double> phases;
  for (const std::string& word : words) {
    const config::Value value = config::make_text(word, {.source = "--phase"});
    phases.push_back(config::read_part({value, "a phase"}, "a part of an iteration"));
  }
  return phases;
}

std::size_t count_jobs(const po::variables_map& flags) {
  const std::vector<std::string> words = values(flags, "jobs");
  if (words.empty()) return std::max(1U, std::thread::hardware_concurrency());
  return config::read_count({config::make_text(single(words, "--jobs"), {}), "--jobs"}, "8");
}

}  // namespace pipewright::cli
