#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/report/statistics.hpp"
#include "support/coverage.hpp"
#include "validation/accuracy.hpp"

namespace pipewright::accuracy {
namespace {

// "Megatron-LM's tests" of "Megatron-LM's tests, small GPT models on 8 A100: iterations".
std::string source_of(const std::string& title) {
  std::string source = title.substr(0, title.find_first_of(",(:"));
  while (source.ends_with(' ')) source.pop_back();
  return source;
}

// Errors of the runs of one source and kind, in all and by model.
struct Errors {
  std::vector<double> all;
  std::map<std::string, std::vector<double>> by_model;
};

double squares_of(const std::vector<double>& errors) {
  double mean = 0;
  for (const double error : errors) mean += error / static_cast<double>(errors.size());
  double squares = 0;
  for (const double error : errors) squares += (error - mean) * (error - mean);
  return squares;
}

}  // namespace

std::optional<double> log_error(const Table& table, const Row& row) {
  if (row.kind.run.gpu.empty() || !row.against.empty() || std::isnan(row.predicted))
    return std::nullopt;
  if (table.unit == "s") return std::log(row.measured / row.predicted);
  if (table.unit == "samples/s") return std::log(row.predicted / row.measured);
  return std::nullopt;
}

std::vector<evaluation::MeasuredRuns> measured_runs(const std::vector<Table>& tables) {
  std::map<std::pair<std::string, evaluation::RunKind>, Errors> by_kind;
  for (const Table& table : tables)
    for (const Row& row : table.rows)
      if (const std::optional<double> error = log_error(table, row)) {
        Errors& errors = by_kind[{source_of(table.title), row.kind.run}];
        errors.all.push_back(*error);
        errors.by_model[row.kind.model].push_back(*error);
      }
  std::vector<evaluation::MeasuredRuns> runs;
  for (auto& [key, errors] : by_kind) {
    evaluation::MeasuredRuns& added = runs.emplace_back();
    added.source = key.first;
    added.kind = key.second;
    added.rows = errors.all.size();
    added.errors = std::move(errors.all);
    std::ranges::sort(added.errors);
    for (const auto& [model, of_model] : errors.by_model) {
      added.variance += squares_of(of_model);
      added.compared += of_model.size() - 1;
    }
    if (added.compared > 0) added.variance /= static_cast<double>(added.compared);
  }
  return runs;
}

std::string bands(const std::vector<Table>& tables) {
  constexpr std::size_t max_quantiles = 10;
  std::vector<evaluation::MeasuredRuns> runs = measured_runs(tables);
  for (evaluation::MeasuredRuns& each : runs) {
    if (each.errors.size() <= max_quantiles) continue;
    std::vector<double> quantiles;
    for (std::size_t i = 0; i < max_quantiles; ++i)
      quantiles.push_back(analysis::quantile(
          each.errors, (static_cast<double>(i) + 0.5) / static_cast<double>(max_quantiles)));
    each.errors = std::move(quantiles);
  }
  return evaluation::to_csv(runs);
}

bool print_coverage(const std::vector<Table>& tables) {
  constexpr double least = 0.85;
  constexpr double most = 0.95;
  const std::vector<tests::Coverage> coverage = tests::left_out_coverage(measured_runs(tables));
  fmt::print(
      "Expected errors of the runs of a source, from all other sources (90 %)\n"
      "  {:<40} {:>5} {:>9} {:>11}\n",
      "", "runs", "within, %", "width, %");
  for (const tests::Coverage& source : coverage)
    fmt::print("  {:<40} {:>5.0f} {:>9.0f} {:>11.0f}\n", source.source, source.rows,
               100 * source.share(), 100 * source.width);
  bool is_met = true;
  for (const auto& [name, share] : {std::pair{"all runs", tests::row_share(coverage)},
                                    std::pair{"mean over sources", tests::mean_share(coverage)}}) {
    const bool is_within = share >= least && share <= most;
    is_met = is_met && is_within;
    fmt::print("  {}: {:.1f} % within; 85 to 95 allowed: {}\n", name, 100 * share,
               is_within ? "met" : "MISSED");
  }
  fmt::print("\n");
  return is_met;
}

std::string rows_csv(const std::vector<Table>& tables) {
  std::string text =
      "set,unit,row,gpu,precision,model,stack,experts,launch,sequence,gpus,fitted,measured,"
      "predicted,bare\n";
  for (const Table& table : tables)
    for (const Row& row : table.rows) {
      const evaluation::RunKind& kind = row.kind.run;
      text += fmt::format("\"{}\",\"{}\",\"{}\",{},{},\"{}\",{},{:d},{},{},{},{:d},{},{},{}\n",
                          table.title, table.unit, row.name, kind.gpu, kind.precision,
                          row.kind.model, kind.stack, kind.has_experts,
                          kind.is_host_bound ? "host-bound" : "gpu-bound", row.kind.sequence,
                          row.kind.gpus, row.is_fitted, row.measured, row.predicted, row.bare);
    }
  return text;
}

}  // namespace pipewright::accuracy
