#include "analysis/report/why/slack.hpp"

#include <algorithm>

namespace pipewright::analysis {
namespace {

constexpr double slack_rounding = 1e-9;  // relative to the makespan

}  // namespace

// Computes the longest path from the start to each node, then from each node to the end.
void Retiming::find_critical() {
  std::vector<double> ends(nodes_.size());
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    double start = 0;
    for (std::size_t edge = node.first_edge; edge < end_of_edges(i); ++edge)
      start = std::max(start, ends[edges_[edge]]);
    ends[i] = start + node.delay + node.duration;
    if (node.ends_run) makespan_ = std::max(makespan_, ends[i]);
  }
  critical_.assign(stages_.size() + links_.size(), false);
  std::vector<double> left(nodes_.size(), -1);  // seconds to the end of the run; -1: no path to it
  for (std::size_t i = nodes_.size(); i-- > 0;) {
    const Node& node = nodes_[i];
    if (node.ends_run) left[i] = std::max(left[i], 0.0);
    if (left[i] < 0) continue;
    const double from_start = left[i] + node.delay + node.duration;
    for (std::size_t edge = node.first_edge; edge < end_of_edges(i); ++edge)
      left[edges_[edge]] = std::max(left[edges_[edge]], from_start);
    if (node.kind != no_class && node.duration > time_tolerance(ends[i]) &&
        ends[i] + left[i] >= makespan_ * (1 - slack_rounding))
      critical_[node.kind] = true;
  }
}

Retiming::Front Retiming::time_again(const std::array<Class, lanes>& classes, const Lanes& increase,
                                     std::vector<Front>& fronts) const {
  fronts.resize(nodes_.size());
  Front last;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    Front at;
    for (std::size_t edge = node.first_edge; edge < end_of_edges(i); ++edge) {
      const Front& from = fronts[edges_[edge]];
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        const bool later = from.time[lane] > at.time[lane];
        at.work[lane] = later ? from.work[lane] : at.work[lane];
        at.time[lane] = later ? from.time[lane] : at.time[lane];
      }
    }
    for (std::size_t lane = 0; lane < lanes; ++lane) at.time[lane] += node.delay + node.duration;
    for (std::size_t lane = 0; lane < lanes; ++lane)
      if (node.kind == classes[lane] && node.kind != no_class) {
        at.time[lane] += node.duration * increase[lane];
        at.work[lane] += node.duration;
      }
    fronts[i] = at;
    if (!node.ends_run) continue;
    for (std::size_t lane = 0; lane < lanes; ++lane)
      if (at.time[lane] > last.time[lane]) {
        last.time[lane] = at.time[lane];
        last.work[lane] = at.work[lane];
      }
  }
  return last;
}

std::vector<double> Retiming::slack(const std::vector<Class>& classes) const {
  std::vector<double> result(classes.size(), std::numeric_limits<double>::infinity());
  std::vector<Class> slack_classes;  // classes with a finite slack above 0
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if (critical_[classes[i]]) result[i] = 0;
    if (!critical_[classes[i]] && members(classes[i]).longest > 0)
      slack_classes.push_back(classes[i]);
  }
  std::vector<double> slacks(slack_classes.size());
  find_slack(slack_classes, slacks);
  for (std::size_t i = 0; i < classes.size(); ++i)
    for (std::size_t k = 0; k < slack_classes.size(); ++k)
      if (slack_classes[k] == classes[i]) result[i] = slacks[k];
  return result;
}

// The makespan is a convex, piecewise linear function of the increase: the maximum of a straight
// line for each path through the graph. Newton's method, started above the slack, descends from
// line to line and ends at the largest increase that leaves the makespan unchanged.
void Retiming::find_slack(const std::vector<Class>& classes, std::vector<double>& slack) const {
  std::vector<Front> fronts;
  for (std::size_t begin = 0; begin < classes.size(); begin += lanes) {
    const std::size_t count = std::min(lanes, classes.size() - begin);
    std::array<Class, lanes> kinds;
    kinds.fill(no_class);
    Lanes increase{};
    for (std::size_t lane = 0; lane < count; ++lane) {
      kinds[lane] = classes[begin + lane];
      increase[lane] = makespan_ / members(kinds[lane]).longest;  // an upper bound
    }
    for (bool has_changed = true; has_changed;) {
      has_changed = false;
      const Front end = time_again(kinds, increase, fronts);
      for (std::size_t lane = 0; lane < count; ++lane) {
        const double over = end.time[lane] - makespan_;
        if (over <= slack_rounding * makespan_ || end.work[lane] <= 0 || increase[lane] <= 0)
          continue;
        increase[lane] = std::max(0.0, increase[lane] - over / end.work[lane]);
        has_changed = true;
      }
    }
    std::copy_n(increase.begin(), count, slack.begin() + static_cast<std::ptrdiff_t>(begin));
  }
}

std::vector<double> Retiming::cost(const std::vector<Class>& classes, double increase) const {
  std::vector<double> result(classes.size());
  std::vector<Front> fronts;
  Lanes increases;
  increases.fill(increase);
  for (std::size_t begin = 0; begin < classes.size(); begin += lanes) {
    const std::size_t count = std::min(lanes, classes.size() - begin);
    std::array<Class, lanes> kinds;
    kinds.fill(no_class);
    std::copy_n(classes.begin() + static_cast<std::ptrdiff_t>(begin), count, kinds.begin());
    const Front end = time_again(kinds, increases, fronts);
    for (std::size_t lane = 0; lane < count; ++lane)
      result[begin + lane] = end.time[lane] - makespan_;
  }
  return result;
}

Slack slack(const TraceIndex& index) {
  if (!index.has_inputs()) return {};
  const Retiming retiming(index);
  std::vector<Retiming::Class> classes;
  for (std::uint32_t i = 0; i < retiming.stages().size(); ++i) classes.push_back(retiming.stage(i));
  for (std::uint32_t i = 0; i < retiming.links().size(); ++i) classes.push_back(retiming.link(i));
  const std::vector<double> slacks = retiming.slack(classes);
  const std::vector<double> cost = retiming.cost(classes, 0.1);
  const auto mean = [](const Retiming::Members& members) {
    return members.count == 0 ? 0 : members.seconds / static_cast<double>(members.count);
  };
  Slack result;
  for (std::uint32_t i = 0; i < retiming.stages().size(); ++i) {
    const Retiming::Members& members = retiming.stages()[i];
    if (members.count == 0) continue;
    result.stages.push_back(
        {i, slacks[i], slacks[i] * mean(members), cost[i], mean(members), members.count});
  }
  for (std::uint32_t i = 0; i < retiming.links().size(); ++i) {
    const Retiming::Members& members = retiming.links()[i];
    const double slack = slacks[retiming.link(i)];
    result.links.push_back({retiming.link_classes()[i], slack,
                            members.seconds > 0 ? slack * mean(members) : slack,
                            cost[retiming.link(i)], mean(members), members.count});
  }
  return result;
}

}  // namespace pipewright::analysis
