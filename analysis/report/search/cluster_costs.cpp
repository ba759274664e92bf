#include "analysis/report/search/cluster_costs.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "analysis/report/text_table.hpp"
#include "analysis/report/units_text.hpp"

namespace pipewright::analysis {
namespace {

Quantity plain() {
  return {.scale = [](double largest) {
    return ColumnScale{.decimals = largest < 10 ? 2 : largest < 100 ? 1 : 0};
  }};
}

// The cheapest that keep the deadline, then the fastest of those that do not, then none.
double rank(const ClusterCost& one) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  if (!one.row) return infinite;
  return one.keeps_deadline() ? one.price() : 1e100 * one.days();
}

Json number(const ClusterCost& one, double (ClusterCost::*value)() const) {
  return one.row ? Json((one.*value)()) : Json(nullptr);
}

ReportColumns<ClusterCost> columns_of(const Objective& objective) {
  return {{"cluster", {"cluster"}, Quantity::name(), &ClusterCost::cluster},
          {"price_per_gpu_hour",
           {fmt::format("{} a", objective.currency), "GPU-hour"},
           plain(),
           [](const ClusterCost& one) { return one.objective.price_per_gpu_hour; }},
          {"gpus",
           {"GPUs"},
           Quantity::count(),
           [](const ClusterCost& one) { return one.row ? Json(one.row->work.gpus) : Json(); }},
          {"tokens_per_s",
           {"tokens"},
           Quantity::rate(),
           [](const ClusterCost& one) {
             return one.row ? Json(throughput(one.row->work, one.row->time_s)) : Json();
           }},
          {"tokens_per_unit",
           {"tokens", fmt::format("a {}", objective.currency), "M"},
           Quantity::each_as([](double value) { return fmt::format("{:.3g}", value / 1e6); }),
           [](const ClusterCost& one) { return number(one, &ClusterCost::tokens_per_unit); }},
          {"train_time_days",
           {"days"},
           plain(),
           [](const ClusterCost& one) { return number(one, &ClusterCost::days); }},
          {"price",
           {"price", fmt::format("k{}", objective.currency)},
           Quantity::each_as([](double value) { return fmt::format("{:.4g}", value / 1e3); }),
           [](const ClusterCost& one) { return number(one, &ClusterCost::price); }},
          {"energy_mwh",
           {"energy", "MWh"},
           Quantity::each_as([](double value) { return fmt::format("{:.4g}", value); }),
           [](const ClusterCost& one) {
             const auto energy = one.megawatt_hours();
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

std::string cluster_costs_text(std::vector<ClusterCost> costs) {
  if (costs.empty()) return "";
  std::ranges::stable_sort(costs, {}, rank);
  const Objective& objective = costs.front().objective;
  const std::string within =
      objective.deadline_s == 0
          ? ""
          : fmt::format(" within {:.4g} days", objective.deadline_s / seconds_per_day);
  std::string text =
      fmt::format("what {} tokens cost{}\n", format_scaled(objective.tokens), within);
  text += table_text(columns_of(objective), costs);
  for (const ClusterCost& one : costs) {
    if (!one.row) {
      text += fmt::format("{}: {}\n", printable(one.cluster), printable(one.why_none));
      continue;
    }
    text += fmt::format("{}: {}{}{}\n", printable(one.cluster), one.named,
                        one.keeps_deadline() ? "" : "; past the deadline, and the fastest there",
                        one.is_proven ? "" : " (not proven: the search was stopped)");
  }
  return text;
}

Json cluster_costs_json(const std::vector<ClusterCost>& costs) {
  Json json = Json::array();
  for (const ClusterCost& one : costs) {
    Json object = json_object(columns_of(one.objective), one);
    object["candidate"] = one.row ? Json(one.row->candidate) : Json();
    object["keeps_deadline"] = one.keeps_deadline();
    object["currency"] = one.objective.currency;
    object["is_proven"] = one.is_proven;
    json.push_back(object);
  }
  return json;
}

}  // namespace pipewright::analysis
