#include "analysis/report/why/slack.hpp"

#include <algorithm>

namespace pipewright::analysis {
namespace {

constexpr double rounding = 1e-9;  // of the makespan

}  // namespace

// Times everything once from the start and once from the end.
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
  std::vector<double> left(nodes_.size(), -1);  // until the end of the run; -1: not on a way there
  for (std::size_t i = nodes_.size(); i-- > 0;) {
    const Node& node = nodes_[i];
    if (node.ends_run) left[i] = std::max(left[i], 0.0);
    if (left[i] < 0) continue;
    const double all = left[i] + node.delay + node.duration;
    for (std::size_t edge = node.first_edge; edge < end_of_edges(i); ++edge)
      left[edges_[edge]] = std::max(left[edges_[edge]], all);
    if (node.kind != no_class && node.duration > time_tolerance(ends[i]) &&
        ends[i] + left[i] >= makespan_ * (1 - rounding))
      critical_[node.kind] = true;
  }
}

Retiming::Front Retiming::time_again(const std::array<Class, lanes>& classes, const Lanes& more,
                                     std::vector<Front>& room) const {
  room.resize(nodes_.size());
  Front last;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    Front at;
    for (std::size_t edge = node.first_edge; edge < end_of_edges(i); ++edge) {
      const Front& from = room[edges_[edge]];
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        const bool later = from.time[lane] > at.time[lane];
        at.work[lane] = later ? from.work[lane] : at.work[lane];
        at.time[lane] = later ? from.time[lane] : at.time[lane];
      }
    }
    for (std::size_t lane = 0; lane < lanes; ++lane) at.time[lane] += node.delay + node.duration;
    for (std::size_t lane = 0; lane < lanes; ++lane)
      if (node.kind == classes[lane] && node.kind != no_class) {
        at.time[lane] += node.duration * more[lane];
        at.work[lane] += node.duration;
      }
    room[i] = at;
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
  std::vector<Class> some;  // that have any
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if (critical_[classes[i]]) result[i] = 0;
    if (!critical_[classes[i]] && members(classes[i]).longest > 0) some.push_back(classes[i]);
  }
  std::vector<double> of_some(some.size());
  narrow(some, of_some);
  for (std::size_t i = 0; i < classes.size(); ++i)
    for (std::size_t k = 0; k < some.size(); ++k)
      if (some[k] == classes[i]) result[i] = of_some[k];
  return result;
}

// The makespan is a convex function of `more`, the greatest of straight lines, one for each way
// through the graph. From above, Newton's method goes down from line to line, and ends at the last
// point where the makespan is what it was.
void Retiming::narrow(const std::vector<Class>& classes, std::vector<double>& slack) const {
  std::vector<Front> room;
  for (std::size_t begin = 0; begin < classes.size(); begin += lanes) {
    const std::size_t count = std::min(lanes, classes.size() - begin);
    std::array<Class, lanes> kinds;
    kinds.fill(no_class);
    Lanes more{};
    for (std::size_t lane = 0; lane < count; ++lane) {
      kinds[lane] = classes[begin + lane];
      more[lane] = makespan_ / members(kinds[lane]).longest;  // surely too much
    }
    for (bool going = true; going;) {
      going = false;
      const Front end = time_again(kinds, more, room);
      for (std::size_t lane = 0; lane < count; ++lane) {
        const double over = end.time[lane] - makespan_;
        if (over <= rounding * makespan_ || end.work[lane] <= 0 || more[lane] <= 0) continue;
        more[lane] = std::max(0.0, more[lane] - over / end.work[lane]);
        going = true;
      }
    }
    std::copy_n(more.begin(), count, slack.begin() + static_cast<std::ptrdiff_t>(begin));
  }
}

std::vector<double> Retiming::cost(const std::vector<Class>& classes, double more) const {
  std::vector<double> result(classes.size());
  std::vector<Front> room;
  Lanes all;
  all.fill(more);
  for (std::size_t begin = 0; begin < classes.size(); begin += lanes) {
    const std::size_t count = std::min(lanes, classes.size() - begin);
    std::array<Class, lanes> kinds;
    kinds.fill(no_class);
    std::copy_n(classes.begin() + static_cast<std::ptrdiff_t>(begin), count, kinds.begin());
    const Front end = time_again(kinds, all, room);
    for (std::size_t lane = 0; lane < count; ++lane)
      result[begin + lane] = end.time[lane] - makespan_;
  }
  return result;
}

Slack slack(const TraceIndex& index) {
  if (!index.knows_inputs()) return {};
  const Retiming retiming(index);
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
