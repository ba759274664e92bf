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

constexpr std::uint32_t usual_phases = 8;
constexpr std::array own_options{"placing", "phases", "phase", "jobs"};

}  // namespace

void add_together_options(po::options_description& options) {
  auto add = options.add_options();
  add("together", "several scenarios at once on one cluster: how much slower each gets");
  add("placing", several_words("side-by-side|interleaved"),
      "with --together: nodes for one job after the other, or to each in turn (side-by-side); "
      "a scenario's placement stands above it");
  add("phases", several_words("N"),
      "with --together: so many offsets of the other jobs, over an iteration of the first (8)");
  add("phase", several_words("P.."), "with --together: these offsets, as in '25 %', of that");
  add("jobs,j", several_words("N"),
      "with --together: simulations at a time (as many as the machine has processors)");
}

void check_together_options(const po::variables_map& given) {
  for (const char* const option : own_options)
    if (given.count(option) != 0)
      throw UsageError(fmt::format("--{} is of jobs that run at once: give --together", option));
}

evaluation::Placing placing_of(const po::variables_map& given) {
  const std::vector<std::string> words = values(given, "placing");
  if (words.empty()) return evaluation::Placing::side_by_side;
  const std::string& word = single(words, "--placing");
  const auto& names = evaluation::placing_names;
  const auto* const found = std::ranges::find(names, word);
  if (found == names.end())
    throw UsageError(fmt::format("--placing is '{}'; allowed: {}", word, fmt::join(names, ", ")));
  return static_cast<evaluation::Placing>(found - names.begin());
}

std::vector<double> phases_of(const po::variables_map& given) {
  const std::vector<std::string> words = values(given, "phase");
  const std::vector<std::string> count = values(given, "phases");
  if (!words.empty() && !count.empty())
    throw UsageError("--phases says how many there are, --phase which; leave out one of them");
  if (words.empty())
    return evaluation::even_phases(
        count.empty() ? usual_phases
                      : config::read_count(
                            {config::make_text(single(count, "--phases"), {}), "--phases"}, "8"));
  std::vector<double> phases;
  for (const std::string& word : words) {
    const config::Value value = config::make_text(word, {.source = "--phase"});
    phases.push_back(config::read_part({value, "a phase"}, "a part of an iteration"));
  }
  return phases;
}

std::size_t count_jobs(const po::variables_map& given) {
  const std::vector<std::string> words = values(given, "jobs");
  if (words.empty()) return std::max(1U, std::thread::hardware_concurrency());
  return config::read_count({config::make_text(single(words, "--jobs"), {}), "--jobs"}, "8");
}

}  // namespace pipewright::cli
