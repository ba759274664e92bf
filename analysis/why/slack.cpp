#include "analysis/why/slack.hpp"

#include "analysis/why/retiming.hpp"

namespace pipewright::analysis {

Slack slack(const trace::Trace& trace) { return slack(trace, TraceIndex(trace)); }

Slack slack(const trace::Trace& trace, const TraceIndex& index) {
  if (!index.knows_inputs()) return {};
  const Retiming retiming(trace, index);
  std::vector<Retiming::Class> classes;
  for (std::uint32_t i = 0; i < retiming.stages().size(); ++i) classes.push_back(retiming.stage(i));
  for (std::uint32_t i = 0; i < retiming.links().size(); ++i) classes.push_back(retiming.link(i));
  const std::vector<double> all = retiming.slack(classes);
  const std::vector<double> cost = retiming.cost(classes, 0.1);
  const auto mean = [](const Retiming::Members& members) {
    return members.count == 0 ? 0 : members.seconds / static_cast<double>(members.count);
  };
  Slack result;
  for (std::uint32_t i = 0; i < retiming.stages().size(); ++i) {
    const Retiming::Members& members = retiming.stages()[i];
    if (members.count == 0) continue;
    result.stages.push_back(
        {i, all[i], all[i] * mean(members), cost[i], mean(members), members.count});
  }
  for (std::uint32_t i = 0; i < retiming.links().size(); ++i) {
    const Retiming::Members& members = retiming.links()[i];
    const double of_class = all[retiming.link(i)];
    result.links.push_back({retiming.link_classes()[i], of_class,
                            members.seconds > 0 ? of_class * mean(members) : of_class,
                            cost[retiming.link(i)], mean(members), members.count});
  }
  return result;
}

}  // namespace pipewright::analysis
