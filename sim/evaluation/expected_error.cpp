#include "sim/evaluation/expected_error.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/numbers.hpp"
#include "sim/config/text/library.hpp"

namespace pipewright::evaluation {
namespace {

constexpr std::array<std::string_view, 3> sequence_names{
    "up to 1,024 tokens", "1,025 to 16,384 tokens", "over 16,384 tokens"};

// An attribute of a kind that a search for similar runs may give up.
struct Attribute {
  bool (*is_same)(const RunKind&, const RunKind&);
};

template <auto member>
constexpr Attribute attribute() {
  return {[](const RunKind& left, const RunKind& right) { return left.*member == right.*member; }};
}

// Attributes in the order in which they are given up.
enum Order : std::size_t {
  sequence_range,
  stack,
  precision,
  gpu,
  family,
  bits,
  host_bound,
  architecture,
  experts,
  attribute_count,
};
constexpr std::array<Attribute, attribute_count> attributes{
    attribute<&RunKind::sequence_range>(), attribute<&RunKind::stack>(),
    attribute<&RunKind::precision>(),      attribute<&RunKind::gpu>(),
    attribute<&RunKind::family>(),         attribute<&RunKind::bits>(),
    attribute<&RunKind::is_host_bound>(),  attribute<&RunKind::architecture>(),
    attribute<&RunKind::has_experts>()};

constexpr std::ptrdiff_t min_sources = 2;  // of at least min_source_rows each
constexpr std::uint64_t min_source_rows = 3;
constexpr std::uint64_t min_rows = 10;
constexpr double nominal = 0.9;
constexpr double widening_by_source = 0.12;     // divided by the number of sources
constexpr double widening_by_attribute = 0.01;  // for each attribute that was given up
constexpr double widening_if_far = 0.10;        // for architecture and experts, in addition
constexpr std::uint64_t full_weight_rows = 10;  // sources with fewer rows have less weight
constexpr double error_of_assumed = 0.10;       // relative error of an assumed number

// Measured runs that are alike in all attributes from `relaxed` on.
struct NearRuns {
  std::size_t relaxed = 0;
  std::vector<const MeasuredRuns*> runs;
  std::map<std::string_view, std::uint64_t> rows_by_source;
  std::uint64_t rows = 0;

  bool is_enough() const {
    const auto is_counted = [](const auto& source) { return source.second >= min_source_rows; };
    return std::ranges::count_if(rows_by_source, is_counted) >= min_sources && rows >= min_rows;
  }
};

NearRuns similar_runs(const RunKind& kind, std::span<const MeasuredRuns> runs,
                      std::size_t relaxed) {
  NearRuns near{.relaxed = relaxed, .runs = {}, .rows_by_source = {}};
  for (const MeasuredRuns& each : runs) {
    if (!std::all_of(attributes.begin() + static_cast<std::ptrdiff_t>(relaxed), attributes.end(),
                     [&](const Attribute& same) { return same.is_same(kind, each.kind); }))
      continue;
    near.runs.push_back(&each);
    near.rows_by_source[each.source] += each.rows;
    near.rows += each.rows;
  }
  return near;
}

NearRuns nearest_runs(const RunKind& kind, std::span<const MeasuredRuns> runs) {
  for (std::size_t relaxed = 0; relaxed < attribute_count; ++relaxed)
    if (NearRuns near = similar_runs(kind, runs, relaxed); near.is_enough()) return near;
  return similar_runs(kind, runs, attribute_count);
}

// "h100-sxm, bf16, dense, megatron-core"; classes stand for attributes that were given up.
std::string basis_text(const RunKind& kind, std::size_t relaxed) {
  const auto text = [&](Order attribute, const std::string& exact, Order of_class,
                        const std::string& class_name, const char* any) -> std::string {
    if (relaxed <= attribute) return exact;
    return relaxed <= of_class && !class_name.empty() ? class_name : any;
  };
  std::vector<std::string> words{
      text(gpu, kind.gpu, architecture,
           kind.architecture.empty() ? "" : fmt::format("{} GPUs", kind.architecture), "any GPU"),
      text(precision, kind.precision, bits, fmt::format("{} bits", kind.bits), "any data type"),
      relaxed <= experts ? (kind.has_experts ? "experts" : "dense") : "any model",
      text(stack, kind.stack, family,
           kind.family.empty() ? "" : fmt::format("{} stacks", kind.family), "any stack")};
  if (relaxed <= host_bound && kind.is_host_bound) words.emplace_back("host-bound");
  if (relaxed <= sequence_range) words.emplace_back(sequence_names.at(kind.sequence_range));
  const bool is_far = relaxed > architecture;
  return fmt::format("{}{}", is_far ? "few or no measured runs are like this one; " : "",
                     fmt::join(words, ", "));
}

struct WeightedError {
  double error;
  double weight;
};

// Returns the errors in ascending order. The weights of a source's errors add up to the number of
// its rows, but at most to full_weight_rows.
std::vector<WeightedError> weighted_errors(const NearRuns& near) {
  std::vector<WeightedError> errors;
  for (const MeasuredRuns* const runs : near.runs) {
    const std::uint64_t rows = near.rows_by_source.at(runs->source);
    const double row_weight =
        static_cast<double>(std::min(rows, full_weight_rows)) / static_cast<double>(rows);
    for (const double error : runs->errors)
      errors.push_back({error, row_weight * static_cast<double>(runs->rows) /
                                   static_cast<double>(runs->errors.size())});
  }
  std::ranges::sort(errors, {}, &WeightedError::error);
  return errors;
}

// Returns a quantile: linear between the middles of the errors' weights, constant beyond them.
double weighted_quantile(const std::vector<WeightedError>& errors, double probability) {
  double total = 0;
  for (const WeightedError& each : errors) total += each.weight;
  double before = 0;
  double last_position = 0;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    const double position = (before + errors[i].weight / 2) / total;
    before += errors[i].weight;
    if (probability <= position)
      return i == 0 ? errors[i].error
                    : std::lerp(errors[i - 1].error, errors[i].error,
                                (probability - last_position) / (position - last_position));
    last_position = position;
  }
  return errors.back().error;
}

double pooled_scatter(const NearRuns& near) {
  double squares = 0;
  std::uint64_t compared = 0;
  for (const MeasuredRuns* const runs : near.runs) {
    squares += runs->variance * static_cast<double>(runs->compared);
    compared += runs->compared;
  }
  return compared == 0 ? 0 : std::sqrt(squares / static_cast<double>(compared));
}

bool is_host_bound(const workload::StageCosts& costs) {
  constexpr double threshold = 0.05;  // share of the passes' time
  double waiting = 0;
  double total = 0;
  for (std::size_t kind = 0; kind < costs.host_waits.size(); ++kind)
    for (std::size_t stage = 0; stage < costs.host_waits[kind].size(); ++stage) {
      const schedules::Pass pass{static_cast<schedules::PassKind>(kind),
                                 static_cast<std::uint16_t>(stage)};
      waiting +=
          std::max(0.0, costs.of(costs.host_waits, pass) - costs.of(costs.collective_waits, pass));
      total += costs.times(pass);
    }
  return waiting > threshold * total;
}

std::uint32_t sequence_range_of(std::uint64_t tokens) {
  constexpr std::uint64_t short_limit = 1024;
  constexpr std::uint64_t middle_limit = 16384;
  return tokens <= short_limit ? 0 : tokens <= middle_limit ? 1 : 2;
}

constexpr std::string_view csv_heading =
    "source,gpu,architecture,precision,bits,stack,family,model,launch,sequence_range,rows,"
    "compared_rows,scatter_percent,measured_over_predicted_percent\n";

std::vector<std::string> cells_of_line(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream stream(line);
  for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
  return cells;
}

template <class Number>
Number number_of(const std::string& cell) {
  const std::optional<Number> number = base::parse_number<Number>(cell);
  if (!number) throw config::Error(fmt::format("'{}' is not a number", cell));
  return *number;
}

double log_of_percent(double percent) { return std::log1p(percent / 100); }
double percent_of_log(double logarithm) { return 100 * std::expm1(logarithm); }

MeasuredRuns measured_runs_of(const std::string& line) {
  constexpr std::size_t columns = 14;
  const std::vector<std::string> cells = cells_of_line(line);
  if (cells.size() != columns)
    throw config::Error(fmt::format("a line has {} columns instead of {}", cells.size(), columns));
  MeasuredRuns runs{.source = cells[0],
                    .kind = {.gpu = cells[1],
                             .architecture = cells[2],
                             .precision = cells[3],
                             .bits = number_of<std::uint32_t>(cells[4]),
                             .stack = cells[5],
                             .family = cells[6],
                             .has_experts = cells[7] == "experts",
                             .is_host_bound = cells[8] == "host-bound",
                             .sequence_range = number_of<std::uint32_t>(cells[9])},
                    .rows = number_of<std::uint64_t>(cells[10]),
                    .errors = {},
                    .compared = number_of<std::uint64_t>(cells[11]),
                    .variance = std::pow(number_of<double>(cells[12]) / 100, 2)};
  std::istringstream errors(cells[13]);
  for (std::string error; errors >> error;)
    runs.errors.push_back(log_of_percent(number_of<double>(error)));
  if (runs.rows == 0 || runs.errors.empty()) throw config::Error("a line has no errors");
  if (runs.kind.sequence_range >= sequence_names.size())
    throw config::Error(fmt::format("{} is not a range of sequences", cells[9]));
  return runs;
}

}  // namespace

RunKind run_kind(const config::Scenario& scenario, const config::Gpu& gpu,
                 const workload::StageCosts& costs) {
  if (!scenario.model) return {};
  const config::Model& model = scenario.model->value;
  const config::Training& training = scenario.training;
  const std::string& name = training.stack.name;
  return {.gpu = gpu.name,
          .architecture = gpu.architecture,
          .precision = std::string(config::name_of(training.precision)),
          .bits = static_cast<std::uint32_t>(8 * config::element_bytes(training.precision)),
          .stack = name.substr(0, name.find(" (")),  // of "torchtitan (changed)"
          .family = training.stack.family,
          .has_experts = model.experts.has_value(),
          .is_host_bound = is_host_bound(costs),
          .sequence_range = sequence_range_of(training.sequence.value_or(model.sequence))};
}

std::vector<MeasuredRuns> read_measured_runs() {
  const std::filesystem::path file = config::library_file("accuracy", "iterations", ".csv");
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  std::vector<MeasuredRuns> runs;
  for (int number = 2; std::getline(stream, line); ++number) {
    try {
      runs.push_back(measured_runs_of(line));
    } catch (const config::Error& error) {
      throw error.at({.source = file.string(), .line = number});
    }
  }
  return runs;
}

std::string to_csv(std::span<const MeasuredRuns> runs) {
  std::string text(csv_heading);
  for (const MeasuredRuns& each : runs) {
    const RunKind& kind = each.kind;
    std::vector<std::string> errors;
    for (const double error : each.errors)
      errors.push_back(fmt::format("{:.1f}", percent_of_log(error)));
    text += fmt::format(
        "{},{},{},{},{},{},{},{},{},{},{},{},{:.2f},{}\n", each.source, kind.gpu, kind.architecture,
        kind.precision, kind.bits, kind.stack, kind.family, kind.has_experts ? "experts" : "dense",
        kind.is_host_bound ? "host-bound" : "gpu-bound", kind.sequence_range, each.rows,
        each.compared, 100 * std::sqrt(each.variance), fmt::join(errors, " "));
  }
  return text;
}

trace::ExpectedError expected_error(const RunKind& kind, std::span<const MeasuredRuns> runs,
                                    double assumed_share) {
  if (kind.gpu.empty()) return {};
  const NearRuns near = nearest_runs(kind, runs);
  if (near.rows == 0) return {};
  const std::vector<WeightedError> errors = weighted_errors(near);
  const std::size_t far = near.relaxed - std::min<std::size_t>(near.relaxed, architecture);
  double widening = widening_by_source / static_cast<double>(near.rows_by_source.size()) +
                    widening_by_attribute * static_cast<double>(near.relaxed) +
                    widening_if_far * static_cast<double>(far);
  std::string basis = basis_text(kind, near.relaxed);
  if (near.relaxed > gpu && assumed_share > 0) {
    widening += error_of_assumed * assumed_share;
    basis += fmt::format("; {:.0f} % of the time of kernels rests on assumed numbers",
                         100 * assumed_share);
  }
  constexpr double outside = (1 - nominal) / 2;
  return {.low = std::expm1(weighted_quantile(errors, outside) - widening),
          .high = std::expm1(weighted_quantile(errors, 1 - outside) + widening),
          .nominal = nominal,
          .median = std::expm1(weighted_quantile(errors, 0.5)),
          .scatter = pooled_scatter(near),
          .basis = std::move(basis),
          .rows = near.rows};
}

const trace::ExpectedError& known_error(const RunKind& kind, double assumed_share) {
  static const std::vector<MeasuredRuns> runs = read_measured_runs();
  static std::mutex mutex;
  static std::map<std::pair<RunKind, double>, trace::ExpectedError> known;
  const std::lock_guard lock(mutex);
  const auto [entry, is_new] = known.try_emplace({kind, assumed_share});
  if (is_new) entry->second = expected_error(kind, runs, assumed_share);
  return entry->second;
}

}  // namespace pipewright::evaluation
