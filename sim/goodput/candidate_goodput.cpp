#include "sim/goodput/candidate_goodput.hpp"

#include <numeric>
#include <vector>

#include "sim/goodput/iteration.hpp"
#include "sim/goodput/make_setting.hpp"
#include "sim/goodput/runs.hpp"

namespace pipewright::goodput {
namespace {

Setting setting_of(const config::Scenario& scenario, const analysis::CandidateRow& row) {
  constexpr double placeholder = 1;  // In seconds; the traffic is unknown, too.
  // No limit by the duration of an iteration: the bound does not know it, and the simulation must
  // use the same checkpoint intervals.
  return make_setting(scenario.goodput.value_or(config::Goodput{}), scenario.parallel,
                      {.seconds = row.time_s > 0 ? row.time_s : placeholder,
                       .limits_intervals = false,
                       .gpus = static_cast<std::uint32_t>(row.work.gpus),
                       .nodes = row.site.nodes,
                       .cluster_nodes = row.site.cluster_nodes,
                       .racks = row.site.racks,
                       .rack_nodes = row.site.rack_nodes,
                       .state_bytes = state_bytes(scenario),
                       .traffic_bytes = row.site.traffic_bytes});
}

}  // namespace

double lost_part(const config::Scenario& scenario, const analysis::CandidateRow& row,
                 std::uint64_t seeds) {
  const std::vector<Variant> variants{{"requested", setting_of(scenario, row), seeds}};
  const auto outcomes = run(variants, {.first_seed = scenario.variation.seed}).front();
  const double sum = std::accumulate(outcomes.begin(), outcomes.end(), 0.0,
                                     [](double total, const analysis::GoodputOutcome& outcome) {
                                       return total + outcome.ratio();
                                     });
  return 1 - sum / static_cast<double>(seeds);
}

double lost_part_bound(const config::Scenario& scenario, const analysis::CandidateRow& row,
                       RatioBound& bound) {
  return 1 - bound.ratio(setting_of(scenario, row));
}

}  // namespace pipewright::goodput
