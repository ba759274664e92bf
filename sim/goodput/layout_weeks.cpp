#include "sim/goodput/layout_weeks.hpp"

#include <numeric>
#include <vector>

#include "sim/goodput/iteration.hpp"
#include "sim/goodput/make_setting.hpp"
#include "sim/goodput/runs.hpp"

namespace pipewright::goodput {
namespace {

Setting setting_of(const config::Scenario& scenario, const analysis::CandidateRow& row) {
  constexpr double any = 1;  // seconds; nothing that is sent is known either
  // A bound, which knows no time yet, and the simulation after it have the same intervals.
  return make_setting(scenario.goodput.value_or(config::Goodput{}), scenario.parallel,
                      {.seconds = row.time_s > 0 ? row.time_s : any,
                       .limits_intervals = false,
                       .gpus = static_cast<std::uint32_t>(row.work.gpus),
                       .nodes = row.site.nodes,
                       .cluster_nodes = row.site.cluster_nodes,
                       .state_bytes = state_bytes(scenario),
                       .traffic_bytes = row.site.traffic_bytes});
}

}  // namespace

double lost_part(const config::Scenario& scenario, const analysis::CandidateRow& row,
                 std::uint64_t seeds) {
  const std::vector<Variant> variants{{"as asked", setting_of(scenario, row), seeds}};
  const auto outcomes = run(variants, {.first_seed = scenario.variation.seed}).front();
  const double sum = std::accumulate(
      outcomes.begin(), outcomes.end(), 0.0,
      [](double so_far, const analysis::GoodputOutcome& one) { return so_far + one.ratio(); });
  return 1 - sum / static_cast<double>(seeds);
}

double least_lost_part(const config::Scenario& scenario, const analysis::CandidateRow& row,
                       AtBest& at_best) {
  return 1 - at_best.ratio(setting_of(scenario, row));
}

}  // namespace pipewright::goodput
