#include "analysis/report/search/cluster_costs.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "analysis/report/evidence.hpp"
#include "analysis/report/text_table.hpp"
#include "analysis/report/units_text.hpp"
#include "analysis/trace/evidence_json.hpp"

namespace pipewright::analysis {
namespace {

// Formats a quantity with two, one or no decimals: the fewer, the larger `largest` is.
Quantity cost_quantity() {
  return {.scale = [](double largest) {
    return ColumnScale{.decimals = largest < 10 ? 2 : largest < 100 ? 1 : 0};
  }};
}

// Formats a number with four digits, and without an exponent.
std::string four_digits(double value) {
  return value < 1e4 ? fmt::format("{:.4g}", value) : fmt::format("{:.0f}", value);
}

// Returns the sort key of a cluster: first clusters that keep the deadline by price, or without
// prices by time; then the others by time; then clusters without a candidate.
double cluster_rank(const ClusterCost& cost) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  if (!cost.row) return infinite;
  if (!cost.keeps_deadline()) return 1e100 * cost.days();
  return cost.has_price() ? cost.price() : cost.days();
}

Json cost_figure(const ClusterCost& cost, double (ClusterCost::*value)() const) {
  return cost.row ? Json((cost.*value)()) : Json(nullptr);
}
Json money_figure(const ClusterCost& cost, double (ClusterCost::*value)() const) {
  return cost.has_price() ? cost_figure(cost, value) : Json(nullptr);
}

ReportColumns<ClusterCost> cluster_cost_columns(const Objective& objective) {
  using Column = ReportColumn<ClusterCost>;
  return {{"cluster", {"cluster"}, Quantity::name(), &ClusterCost::cluster},
          optional(Column{"price_per_gpu_hour",
                          {fmt::format("{} per", objective.currency), "GPU-hour"},
                          cost_quantity(),
                          [](const ClusterCost& cost) {
                            return cost.has_price() ? Json(cost.objective.price_per_gpu_hour)
                                                    : Json();
                          }}),
          {"gpus",
           {"GPUs"},
           Quantity::count(),
           [](const ClusterCost& cost) { return cost.row ? Json(cost.row->work.gpus) : Json(); }},
          {"tokens_per_s",
           {"tokens"},
           Quantity::rate(),
           [](const ClusterCost& cost) {
             return cost.row ? Json(throughput(cost.row->work, cost.row->time_s)) : Json();
           }},
          optional(Column{
              "tokens_per_unit",
              {"tokens", fmt::format("per {}", objective.currency), "M"},
              Quantity::each_as([](double value) { return fmt::format("{:.3g}", value / 1e6); }),
              [](const ClusterCost& cost) {
                return money_figure(cost, &ClusterCost::tokens_per_unit);
              }}),
          {"train_time_days",
           {"days"},
           cost_quantity(),
           [](const ClusterCost& cost) { return cost_figure(cost, &ClusterCost::days); }},
          optional(Column{
              "price",
              {"price", fmt::format("k{}", objective.currency)},
              Quantity::each_as([](double value) { return four_digits(value / 1e3); }),
              [](const ClusterCost& cost) { return money_figure(cost, &ClusterCost::price); }}),
          {"energy_mwh",
           {"energy", "MWh"},
           Quantity::each_as(four_digits),
           [](const ClusterCost& cost) {
             const auto energy = cost.megawatt_hours();
             return energy ? Json(*energy) : Json();
           }}};
}

}  // namespace

double ClusterCost::days() const {
  return objective.tokens * row->time_s / row->work.tokens / seconds_per_day;
}

bool ClusterCost::keeps_deadline() const {
  return row && (objective.deadline_s == 0 || days() * seconds_per_day <= objective.deadline_s);
}

double ClusterCost::price() const {
  return days() * seconds_per_day / seconds_per_hour * static_cast<double>(row->work.gpus) *
         objective.price_per_gpu_hour;
}

double ClusterCost::tokens_per_unit() const { return objective.tokens / price(); }

std::optional<double> ClusterCost::megawatt_hours() const {
  if (!row || !power) return std::nullopt;
  const double busy = row->parts.compute + row->parts.optimizer;
  const double joules = static_cast<double>(row->work.gpus) *
                        (busy * power->compute + (row->time_s - busy) * power->idle);
  return joules * objective.tokens / row->work.tokens / seconds_per_hour / 1e6;
}

TextTable cluster_costs_table(const std::vector<ClusterCost>& costs) {
  TextTable table;
  add_columns(table, cluster_cost_columns(costs.front().objective), costs);
  return table;
}

AnswerReport cluster_costs_answer(std::vector<ClusterCost> costs) {
  AnswerReport report;
  if (costs.empty()) return report;
  std::ranges::stable_sort(costs, {}, cluster_rank);
  const Objective& objective = costs.front().objective;
  const std::string within =
      objective.deadline_s == 0
          ? ""
          : fmt::format(" within {:.4g} days", objective.deadline_s / seconds_per_day);
  const bool has_price = std::ranges::any_of(costs, &ClusterCost::has_price);
  report.add_heading(fmt::format("{} of {} tokens{}", has_price ? "cost" : "days and energy",
                                 format_scaled(objective.tokens), within));
  report.add_table(cluster_costs_table(costs));
  for (const ClusterCost& cost : costs) {
    const std::string words =
        cost.row ? fmt::format(
                       "{}{}{}", cost.candidate_name,
                       cost.keeps_deadline() ? "" : "; misses the deadline: the fastest candidate",
                       cost.is_proven ? "" : " (not proven: the search was stopped)")
                 : printable(cost.missing_reason);
    report.add_sentence(fmt::format("{}: {}", printable(cost.cluster), words));
    if (!cost.row) continue;
    if (std::string error = expected_error_text(cost.row->evidence.expected_error); !error.empty())
      report.add_long_item(std::move(error));
  }
  return report;
}

Json cluster_cost_json(const ClusterCost& cost) {
  Json object = json_object(cluster_cost_columns(cost.objective), cost);
  object["candidate"] = cost.row ? Json(cost.row->candidate) : Json();
  object["keeps_deadline"] = cost.keeps_deadline();
  object["currency"] = cost.objective.currency;
  object["is_proven"] = cost.is_proven;
  object["expected_error"] =
      cost.row ? trace::expected_error_json(cost.row->evidence.expected_error) : Json();
  return object;
}

Json cluster_costs_json(const std::vector<ClusterCost>& costs) {
  Json json = Json::array();
  for (const ClusterCost& cost : costs) json.push_back(cluster_cost_json(cost));
  return json;
}

}  // namespace pipewright::analysis
