#include "sim/workload/dispatch.hpp"

#include <algorithm>
#include <cmath>

namespace pipewright::workload {
namespace {

// Returns the probability that `draws` draws without replacement from a population of `population`
// elements hit none of `targets` given elements.
double miss_probability(double population, double targets, double draws) {
  if (draws > population - targets) return 0;
  double product = 1;
  for (double i = 0; i < draws; ++i) product *= (population - targets - i) / (population - i);
  return product;
}

double choose(double n, double k) {
  double product = 1;
  for (double i = 0; i < k; ++i) product *= (n - i) / (k - i);
  return product;
}

// Returns the number of groups of consecutive experts from which tokens choose in turn: each token
// takes those of one group. If top_k does not divide the experts, a group is the next larger part
// of them that does, so that a token whose experts belong to two ranks counts as one for one rank.
std::uint32_t groups_in_turn(const config::Model::Experts& experts) {
  std::uint32_t size = experts.top_k;
  while (experts.count % size != 0) ++size;
  return experts.count / size;
}

}  // namespace

// The library's limits are measurements with at least 4,096 tokens of 7,168 elements, top 8 of 256
// experts, on H100. DeepEP writes 15 GB/s over NVLink per SM that it uses (with 20 SMs, dispatch
// and combine take 491 and 973 us within a node). It takes 40 us with a single token, and 90 us
// with its notification across nodes (AIConfigurator's tables). HybridEP reaches the speed of the
// links with 16 SMs and takes 130 us in addition (DeepEP, docs/README_Hybrid-EP.md: with and
// without its preparation on GB200).
Dispatch dispatch_of(const config::Model::Experts& model_experts,
                     const config::ExpertTraining& experts) {
  Dispatch dispatch{.experts = model_experts.count,
                    .top_k = model_experts.top_k,
                    .groups = model_experts.groups,
                    .top_groups = model_experts.top_groups};
  if (experts.round_robin) {
    dispatch.groups = groups_in_turn(model_experts);
    dispatch.top_groups = 1;
  }
  if (experts.dispatcher == config::Dispatcher::deepep) {
    dispatch.inside_rate = 15e9 * config::dispatch_sms(experts);
    dispatch.inside_latency = 40e-6;
    dispatch.outside_latency = 90e-6;
  } else {
    dispatch.inside_latency = dispatch.outside_latency = 130e-6;
  }
  return dispatch;
}

double parts_visited(const Dispatch& dispatch, std::uint32_t parts) {
  const double experts = dispatch.experts;
  const double experts_per_part = experts / parts;
  const double drawn = dispatch.top_k;
  const double groups = dispatch.groups;
  const double top_groups = dispatch.top_groups;
  if (top_groups >= groups) return parts * (1 - miss_probability(experts, experts_per_part, drawn));
  const double open_experts = experts * top_groups / groups;  // experts to draw from
  // A part lies within a group if there are at least as many parts as groups; otherwise it consists
  // of several groups.
  if (parts >= dispatch.groups)
    return parts * top_groups / groups *
           (1 - miss_probability(open_experts, std::min(experts_per_part, open_experts), drawn));
  const double groups_per_part = groups / parts;
  double hit = 0;
  for (double drawn_here = 0; drawn_here <= std::min(groups_per_part, top_groups); ++drawn_here)
    hit += choose(groups_per_part, drawn_here) *
           choose(groups - groups_per_part, top_groups - drawn_here) / choose(groups, top_groups) *
           (1 - miss_probability(open_experts, drawn_here * experts / groups, drawn));
  return parts * hit;
}

}  // namespace pipewright::workload
