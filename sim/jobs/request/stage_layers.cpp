#include "sim/jobs/request/stage_layers.hpp"

namespace pipewright::jobs {

std::vector<std::uint32_t> stage_layers(const config::Partition& partition, std::uint32_t layers,
                                        std::size_t stages) {
  using Rule = config::Partition::Rule;
  if (!partition.layers.empty()) return partition.layers;
  if (stages == 0 || (partition.rule != Rule::even && partition.rule != Rule::ends_less)) return {};
  const bool counts_ends = partition.rule == Rule::ends_less;
  const std::uint32_t first = counts_ends && partition.embedding_counts ? 1 : 0;
  const std::uint32_t last = counts_ends && partition.loss_counts ? 1 : 0;
  const std::uint32_t total = layers + first + last;
  const auto count = static_cast<std::uint32_t>(stages);
  std::vector<std::uint32_t> dealt;
  for (std::uint32_t i = 0; i < count; ++i)
    dealt.push_back(total / count + (i < total % count ? 1 : 0));
  if (dealt.front() >= first) dealt.front() -= first;
  if (dealt.back() >= last) dealt.back() -= last;
  return dealt;
}

std::vector<std::uint32_t> planned_stage_layers(const config::Scenario& scenario,
                                                const config::LaunchPlan& plan,
                                                std::size_t stages) {
  if (plan.layers.size() == stages) return plan.layers;
  return stage_layers(scenario.partition, scenario.model->value.layers, stages);
}

}  // namespace pipewright::jobs
