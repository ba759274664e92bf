#include "sim/search/merge.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>

#include "analysis/report/search/findings.hpp"
#include "analysis/report/search/front.hpp"
#include "analysis/report/search/objective.hpp"
#include "sim/config/text/value.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/sweep/sweep.hpp"

namespace pipewright::search {
namespace {

using analysis::SearchRun;

// Returns the text of a run's sweep without the key of its shard, to compare the sweeps of several
// shards.
std::string whole_sweep(const SearchRun& run) {
  config::Value root = config::read_yaml_text(run.sweep, "the sweep");
  if (config::Value* const section = config::find(root, "search")) {
    const auto has_key = [](const char* key) {
      return [key](const config::Entry& entry) { return entry.key == key; };
    };
    std::erase_if(section->entries, has_key("shard"));
    if (section->entries.empty()) std::erase_if(root.entries, has_key("search"));
  }
  return config::to_yaml(root);
}

std::optional<double> cost_of_best(const SearchRun& run) {
  const std::optional<std::size_t> best = analysis::find(run).best;
  if (!best) return std::nullopt;
  const analysis::CandidateRow& row = run.rows[*best];
  return analysis::cost(run.objective, row.work, row.time_s, row.peak_bytes);
}

}  // namespace

SearchRun merge(std::vector<std::pair<std::string, SearchRun>> parts) {
  const auto& [first_file, first] = parts.front();
  const std::string sweep = whole_sweep(first);
  SearchRun whole = first;
  whole.rows.clear();
  whole.sweep = sweep;
  whole.shard = {};
  whole.finished = true;
  constexpr double infinite = std::numeric_limits<double>::infinity();
  double least_open = infinite;                  // least cost that open candidates may have
  std::map<std::uint32_t, std::string> file_of;  // by shard
  std::uint32_t count = 0;
  for (auto& [file, part] : parts) {
    const Shard shard = read_sweep(config::read_yaml_text(part.sweep, file + " (its sweep)")).shard;
    if (whole_sweep(part) != sweep)
      throw std::runtime_error(fmt::format(
          "{} belongs to another sweep than {}; merge shards of one sweep", file, first_file));
    if (count != 0 && shard.count != count)
      throw std::runtime_error(fmt::format("{} is one of {} shards, but {} is one of {}", file,
                                           shard.count, first_file, count));
    count = shard.count;
    if (const auto [earlier, is_new] = file_of.emplace(shard.number, file); !is_new)
      throw std::runtime_error(fmt::format("{} and {} are both shard {} of {}", earlier->second,
                                           file, shard.number, count));
    whole.finished = whole.finished && part.finished;
    whole.exhaustive = whole.exhaustive && part.exhaustive;
    whole.fronts = whole.fronts && part.fronts;
    if (!part.finished)
      least_open = std::min(least_open, cost_of_best(part).value_or(0) * (1 - part.gap));
    std::ranges::move(part.rows, std::back_inserter(whole.rows));
  }
  const bool is_whole = file_of.size() == count;
  whole.finished = whole.finished && is_whole;
  std::ranges::sort(whole.rows, {}, &analysis::CandidateRow::candidate);
  const std::optional<double> best = cost_of_best(whole);
  const bool is_open = !is_whole || least_open < infinite;
  whole.gap = !is_open ? 0 : is_whole && best ? std::max(0.0, 1 - least_open / *best) : 1;
  return whole;
}

}  // namespace pipewright::search
