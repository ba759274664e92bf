#include "sim/search/cluster_costs.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/report/search/findings.hpp"
#include "sim/config/gpu.hpp"
#include "sim/config/power_cap.hpp"
#include "sim/config/scenario.hpp"
#include "sim/config/text/library.hpp"
#include "sim/config/text/units.hpp"
#include "sim/search/why_not.hpp"
#include "sim/sweep/objective_value.hpp"

namespace pipewright::search {
namespace {

using analysis::Objective;

// Parses a deadline, "30 days", "30d" or a time with another unit, and returns it in seconds.
double read_deadline(const std::string& text, const std::string& option) {
  constexpr double day = 86400;
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, fault] = std::from_chars(text.data(), end, number);
  std::string_view unit(rest, end);
  unit.remove_prefix(std::min(unit.find_first_not_of(' '), unit.size()));
  const bool is_days = unit == "d" || unit == "day" || unit == "days";
  if (fault != std::errc{} || !is_days)
    number = config::parse_time(text, option + ": deadline", "a deadline, such as 30d,") / day;
  if (!(number > 0))
    throw config::Error(fmt::format("{}: deadline is '{}'", option, config::shown(text)))
        .allow("a time above 0, such as 30d");
  return number * day;
}

// Returns the name that constraints use for a value of the key `cluster`: the library name or the
// label of a file.
std::string cluster_name(const std::string& value) {
  return config::is_library_name(value, ".xml") ? value : config::label_of_file(value);
}

void check_cluster_names(const CostQuestion& question, const std::vector<std::string>& clusters,
                         const std::string& option) {
  std::vector<std::string> names;
  for (const std::string& value : clusters) names.push_back(cluster_name(value));
  for (const auto& [name, price] : question.prices)
    if (std::ranges::count(names, name) == 0)
      throw config::Error(fmt::format("{}: unknown word {}", option, config::shown(name)))
          .allow(fmt::format("tokens, deadline, price, and the clusters of the sweep: {}",
                             fmt::join(names, ", ")));
}

std::optional<analysis::GpuPower> power_of(const Space& part, std::uint64_t candidate,
                                           const std::string& gpu) {
  const config::Scenario scenario = config::read_scenario(part.candidate(candidate));
  config::Gpu type = scenario.gpu ? *scenario.gpu : config::find_gpu(gpu);
  if (scenario.variation.power_cap)
    type = config::with_power_cap(std::move(type), *scenario.variation.power_cap);
  if (!type.power) return std::nullopt;
  return analysis::GpuPower{.compute = type.power->compute, .idle = type.power->idle};
}

// Returns the fastest simulated candidate, whatever its price; null if none was simulated.
const analysis::CandidateRow* fastest_row(const analysis::SearchRun& run) {
  const analysis::CandidateRow* best = nullptr;
  const auto seconds = [](const analysis::CandidateRow& row) {
    return analysis::seconds_per_unit(row.work, row.time_s);
  };
  for (const analysis::CandidateRow& row : run.rows)
    if (row.outcome == analysis::Outcome::simulated && row.work.tokens > 0 &&
        (best == nullptr || seconds(row) < seconds(*best)))
      best = &row;
  return best;
}

}  // namespace

CostQuestion read_cost_question(std::span<const std::string> words, const std::string& option) {
  CostQuestion question;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos)
      throw config::Error(fmt::format("{}: '{}' has no value", option, config::shown(word)))
          .suggest("write it as in tokens=300B");
    const std::string key = word.substr(0, equals);
    const config::Value value = config::make_text(word.substr(equals + 1), {option});
    if (key == "tokens") {
      question.objective.tokens = read_tokens({value, key});
    } else if (key == "deadline") {
      question.objective.deadline_s = read_deadline(value.text, option);
    } else {
      Objective price;
      read_price({value, key}, price);
      question.objective.currency = price.currency;
      (key == "price" ? question.objective.price_per_gpu_hour : question.prices[key]) =
          price.price_per_gpu_hour;
    }
  }
  question.objective.kind =
      question.has_price() ? Objective::Kind::price : Objective::Kind::time_to_train;
  if (question.objective.tokens == 0)
    throw config::Error(fmt::format("{} needs a number of tokens", option))
        .suggest("add tokens=300B");
  return question;
}

std::vector<Space> cost_parts(const CostQuestion& question, const config::Value& sweep,
                              const std::vector<ClusterFacts>& facts, const std::string& option) {
  const std::vector<std::string> clusters = cluster_values(read_sweep(sweep));
  check_cluster_names(question, clusters, option);
  std::vector<Space> parts;
  for (std::size_t i = 0; i < clusters.size(); ++i) {
    const std::string name = cluster_name(clusters[i]);
    Sweep part =
        clusters.size() > 1
            ? part_with_constraint(sweep, facts, fmt::format("cluster == '{}'", name), option)
                  .sweep()
            : read_sweep(sweep);
    part.objective = question.objective;
    const auto price = question.prices.find(name);
    if (price != question.prices.end()) part.objective.price_per_gpu_hour = price->second;
    if (question.has_price() && part.objective.price_per_gpu_hour == 0)
      throw config::Error(fmt::format("{} needs the price of a GPU-hour of '{}'", option, name))
          .suggest(fmt::format("add {}=2.5, or price=2.5 for all clusters", name));
    parts.emplace_back(std::move(part), facts);
  }
  return parts;
}

std::string cluster_of_part(const std::vector<Space>& parts, std::size_t part) {
  return cluster_name(cluster_values(parts[part].sweep()).at(part));
}

analysis::ClusterCost cluster_cost(const analysis::SearchRun& run, const std::vector<Space>& parts,
                                   std::size_t part, Workers& workers, const SearchOptions& options,
                                   const SearchCalls& calls) {
  const Space& space = parts[part];
  const analysis::SearchRun part_run = search_part(run, space, workers, options, calls);
  const std::optional<std::size_t> best = analysis::find(part_run).best;
  const analysis::CandidateRow* const row = best ? &part_run.rows[*best] : fastest_row(part_run);
  analysis::ClusterCost cost{.cluster = cluster_of_part(parts, part),
                             .objective = space.sweep().objective,
                             .missing_reason = "nothing fits, or nothing was simulated"};
  if (row != nullptr) cost = cost_of_row(part_run, *row, space, options.facts);
  cost.is_proven = part_run.finished;
  return cost;
}

analysis::ClusterCost cost_of_row(const analysis::SearchRun& run, const analysis::CandidateRow& row,
                                  const Space& part, const std::vector<ClusterFacts>& facts) {
  const std::size_t cluster = part.cluster(row.candidate / part.schedules());
  return {.cluster = cluster_name(cluster_values(part.sweep()).at(cluster)),
          .objective = part.sweep().objective,
          .power = power_of(part, row.candidate, facts.at(cluster).gpu),
          .row = row,
          .candidate_name = candidate_name(run, row)};
}

}  // namespace pipewright::search
