#include "analysis/report/training_cost.hpp"

#include <vector>

#include <fmt/format.h>

#include "analysis/report/report_table.hpp"
#include "analysis/report/units_text.hpp"

namespace pipewright::analysis {
namespace {

struct CostRow {
  std::string name;
  TrainingCost cost;
};

// Returns the energy, in joules, that all GPUs need for the simulated iterations.
double energy(const Summary& run, const GpuPower& power) {
  const double gpus_per_device =
      static_cast<double>(gpus(run.run)) / static_cast<double>(run.devices.size());
  double joules = 0;
  for (const DeviceSummary& device : run.devices) {
    const double computing = device.parts.compute + device.parts.optimizer;
    joules +=
        gpus_per_device * (computing * power.compute + (run.makespan_s - computing) * power.idle);
  }
  return joules;
}

ReportColumns<CostRow> cost_columns(const TrainingQuestion& question) {
  const auto in = [](const std::string& unit) {
    return Quantity{.scale = [unit](double largest) {
      return ColumnScale{.decimals = largest < 10 ? 2 : largest < 100 ? 1 : 0, .unit = unit};
    }};
  };
  ReportColumns<CostRow> columns{
      {"schedule", {"schedule"}, Quantity::name(), &CostRow::name},
      {"train_time_days",
       {"days"},
       in(""),
       [](const CostRow& row) { return row.cost.seconds / seconds_per_day; }},
      {"gpu_hours", {"GPU-hours"}, in(""), [](const CostRow& row) { return row.cost.gpu_hours; }}};
  if (question.price_per_gpu_hour)
    columns.push_back({"price", {"price"}, in(question.currency), [](const CostRow& row) {
                         return Json(*row.cost.price);
                       }});
  if (question.power)
    columns.push_back({"energy_mwh", {"energy"}, in("MWh"), [](const CostRow& row) {
                         return Json(*row.cost.joules / seconds_per_hour / 1e6);
                       }});
  return columns;
}

}  // namespace

std::optional<TrainingCost> training_cost(const Summary& run, const TrainingQuestion& question) {
  if (!run.tokens_per_s || *run.tokens_per_s <= 0) return std::nullopt;
  TrainingCost cost;
  cost.seconds = question.tokens / *run.tokens_per_s;
  cost.gpu_hours = cost.seconds / seconds_per_hour * static_cast<double>(gpus(run.run));
  if (question.price_per_gpu_hour) cost.price = cost.gpu_hours * *question.price_per_gpu_hour;
  if (question.power) cost.joules = energy(run, *question.power) * cost.seconds / run.makespan_s;
  return cost;
}

std::string training_cost_table(std::span<const Summary> runs, const TrainingQuestion& question) {
  const std::vector<std::string> names = names_of(runs);
  std::vector<CostRow> rows;
  for (std::size_t i = 0; i < runs.size(); ++i)
    if (const auto cost = training_cost(runs[i], question)) rows.push_back({names[i], *cost});
  if (rows.empty()) return "";
  return fmt::format("\n{} tokens, without failures and restarts:\n\n{}",
                     format_scaled(question.tokens), table_text(cost_columns(question), rows));
}

JsonFields training_cost_fields(const Summary& run, const TrainingQuestion& question) {
  const auto cost = training_cost(run, question);
  if (!cost) return {};
  JsonFields fields{{"train_tokens", question.tokens},
                    {"train_time_s", cost->seconds},
                    {"gpu_hours", cost->gpu_hours}};
  if (cost->price) fields.push_back({"price", *cost->price});
  if (cost->joules) fields.push_back({"energy_j", *cost->joules});
  return fields;
}

}  // namespace pipewright::analysis
