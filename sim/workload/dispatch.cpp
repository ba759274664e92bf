#include "sim/workload/dispatch.hpp"

#include <algorithm>
#include <cmath>

namespace pipewright::workload {
namespace {

// That none of `drawn` out of `all` is among `some` of them.
double missed(double all, double some, double drawn) {
  if (drawn > all - some) return 0;
  double product = 1;
  for (double i = 0; i < drawn; ++i) product *= (all - some - i) / (all - i);
  return product;
}

double choose(double all, double some) {
  double product = 1;
  for (double i = 0; i < some; ++i) product *= (all - i) / (some - i);
  return product;
}

}  // namespace

// Measured with 4,096 tokens and more of 7,168 elements, top 8 of 256 experts, on H100: DeepEP
// writes 15 GB/s over NVLink for each of its SMs (20 of them dispatch and combine in 491 and 973
// us within a node), and takes 40 us with a single token, 90 us with its notification over nodes
// (AIConfigurator's tables). HybridEP is as fast as links with 16 SMs and takes 130 us besides
// (DeepEP, docs/README_Hybrid-EP.md: with and without its preparation on GB200).
Dispatch dispatch_of(const config::Model::Experts& of, const config::ExpertTraining& experts) {
  Dispatch dispatch{
      .experts = of.count, .top_k = of.top_k, .groups = of.groups, .top_groups = of.top_groups};
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
  const double all = dispatch.experts;
  const double each = all / parts;
  const double drawn = dispatch.top_k;
  const double groups = dispatch.groups;
  const double chosen = dispatch.top_groups;
  if (chosen >= groups) return parts * (1 - missed(all, each, drawn));
  const double open = all * chosen / groups;  // experts to draw from
  // A part is within a group, or of several.
  if (parts >= dispatch.groups)
    return parts * chosen / groups * (1 - missed(open, std::min(each, open), drawn));
  const double own = groups / parts;
  double hit = 0;
  for (double here = 0; here <= std::min(own, chosen); ++here)
    hit += choose(own, here) * choose(groups - own, chosen - here) / choose(groups, chosen) *
           (1 - missed(open, here * all / groups, drawn));
  return parts * hit;
}

}  // namespace pipewright::workload
