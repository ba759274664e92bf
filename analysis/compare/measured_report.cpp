#include <fmt/format.h>

#include "analysis/compare/against_measured.hpp"
#include "analysis/text_table.hpp"
#include "analysis/units_text.hpp"

namespace pipewright::analysis {
namespace {

constexpr const char* unknown = "-";

using Cells = std::vector<std::string>;

std::string describe(const std::string& role, const std::string& name, const trace::RunInfo& run,
                     std::uint32_t iterations) {
  return fmt::format("{:<10} {}: {}, {} x {} x {}\n", role, printable(name),
                     printable(run.schedule), counted(run.devices, "device"),
                     counted(run.microbatches, "microbatch"), counted(iterations, "iteration"));
}

std::string spread(const PassTime& time) {
  const std::string least = format_seconds(time.least);
  const std::string most = format_seconds(time.most);
  return least == most ? most : least + ".." + most;
}

// Errors say how much the prediction is above the measurement.
std::string run_table(const AgainstMeasured& result) {
  const Metrics predicted = metrics_of(result.predicted);
  const Metrics measured = metrics_of(result.measured);
  Cells labels, said, found, errors;
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    const Metric& ours = predicted[i];
    const Metric& theirs = measured[i];
    labels.push_back(ours.label);
    said.push_back(ours.value ? format_value(ours.quantity, *ours.value) : unknown);
    found.push_back(theirs.value ? format_value(theirs.quantity, *theirs.value) : unknown);
    errors.push_back(!ours.value || !theirs.value ? unknown
                     : ours.quantity == MetricKind::ratio
                         ? format_difference(ours.quantity, *theirs.value, *ours.value)
                         : format_change(*theirs.value, *ours.value));
  }
  TextTable table;
  table.add_names("", std::move(labels));
  table.add_numbers({"predicted"}, std::move(said));
  table.add_numbers({"measured"}, std::move(found));
  table.add_numbers({"error"}, std::move(errors));
  return table.text();
}

std::string pass_table(const std::vector<PassTimeError>& passes) {
  Cells stages, kinds, counts, said, found, deviations, spreads, errors;
  for (const PassTimeError& one : passes) {
    stages.push_back(std::to_string(one.stage));
    kinds.push_back(pass_letter(one.kind));
    counts.push_back(one.measured ? std::to_string(one.measured->passes) : unknown);
    said.push_back(one.predicted ? format_seconds(one.predicted->mean) : unknown);
    found.push_back(one.measured ? format_seconds(one.measured->mean) : unknown);
    deviations.push_back(one.measured ? format_seconds(one.measured->deviation) : unknown);
    spreads.push_back(one.measured ? spread(*one.measured) : unknown);
    const auto error = one.error();
    errors.push_back(error ? format_change(1, 1 + *error) : unknown);
  }
  TextTable table;
  table.add_names("stage", std::move(stages));
  table.add_names("kind", std::move(kinds));
  table.add_numbers({"measured", "passes"}, std::move(counts));
  table.add_numbers({"predicted", "mean"}, std::move(said));
  table.add_numbers({"measured", "mean"}, std::move(found));
  table.add_numbers({"standard", "deviation"}, std::move(deviations));
  table.add_numbers({"least..most"}, std::move(spreads));
  table.add_numbers({"error"}, std::move(errors));
  return table.text();
}

}  // namespace

std::string console_text(const MeasuredComparison& comparison) {
  const AgainstMeasured& result = comparison.result;
  std::string text = describe("predicted", comparison.predicted_name, comparison.predicted_run,
                              result.predicted.iterations) +
                     describe("measured", comparison.measured_name, comparison.measured_run,
                              result.measured.iterations);
  for (const std::string& note : comparison.notes) text += fmt::format("note: {}\n", note);
  text += '\n' + run_table(result);
  text += '\n' + pass_table(result.passes);
  if (!comparison.judgements.empty()) text += '\n' + describe(comparison.judgements);
  return text;
}

}  // namespace pipewright::analysis
