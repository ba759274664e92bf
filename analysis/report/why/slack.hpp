#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "analysis/report/why/trace_index.hpp"
#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

// A run as a graph of dependencies, which can be timed again with other durations. Each device
// keeps the order of its passes. A pass starts when the previous pass has ended and its inputs have
// arrived; a transfer when its tensor and, under rendezvous, its receiver are ready; a step ends an
// iteration when all devices have reached it. All other delays, mainly collectives, keep their
// length.
class Retiming {
 public:
  using Class = std::uint32_t;  // number of a class of work that is slowed down together
  static constexpr Class no_class = std::numeric_limits<Class>::max();

  explicit Retiming(const TraceIndex& index);

  struct Members {
    std::uint64_t count = 0;
    double seconds = 0;  // sum of their durations
    double longest = 0;
  };
  // Totals of each class of durations that can be varied: the compute of a stage's passes, or the
  // transfers whose narrowest link is of one link class.
  const std::vector<Members>& stages() const { return stages_; }
  const std::vector<Members>& links() const { return links_; }
  const std::vector<std::string>& link_classes() const { return link_classes_; }
  static Class stage(std::uint32_t number) { return number; }
  Class link(std::uint32_t number) const { return static_cast<Class>(stages_.size()) + number; }

  // Largest relative increase of a class's durations that leaves the makespan unchanged; infinite
  // for a class that takes no time. Several classes in one call are faster than one by one.
  std::vector<double> slack(const std::vector<Class>& classes) const;
  // Increase of the makespan in seconds if all durations of a class increase by this fraction.
  std::vector<double> cost(const std::vector<Class>& classes, double increase) const;
  double makespan() const { return makespan_; }  // of the graph with unchanged durations

 private:
  static constexpr std::size_t lanes = 8;  // classes that one call of time_again handles
  struct Node {
    double delay = 0;     // constant seconds, which include collectives inside a pass
    double duration = 0;  // seconds that scale with its class
    Class kind = no_class;
    std::uint32_t first_edge = 0;  // index into edges_, up to that of the next node
    bool ends_run = false;         // the makespan is the latest end of such nodes
  };
  using Lanes = std::array<double, lanes>;
  // Values at a node for each lane, that is, for each class that is varied in parallel: the time at
  // which the node ends, and how many of these seconds, on the longest path, belong to the class.
  struct Front {
    Lanes time{};
    Lanes work{};
  };
  class Builder;

  const Members& members(Class kind) const {
    return kind < stages_.size() ? stages_[kind] : links_[kind - stages_.size()];
  }
  std::size_t end_of_edges(std::size_t node) const {
    return node + 1 < nodes_.size() ? nodes_[node + 1].first_edge : edges_.size();
  }
  // Returns for each lane the makespan if all durations of the lane's class grow by the factor 1 +
  // increase.
  Front time_again(const std::array<Class, lanes>& classes, const Lanes& increase,
                   std::vector<Front>& fronts) const;
  void find_critical();
  void find_slack(const std::vector<Class>& classes, std::vector<double>& slack) const;

  std::vector<Node> nodes_;
  std::vector<std::uint32_t> edges_;  // predecessors, whose numbers are smaller
  std::vector<Members> stages_;
  std::vector<Members> links_;
  std::vector<std::string> link_classes_;
  std::vector<bool> critical_;  // by class: whether a critical path contains some of it
  double makespan_ = 0;
};

// Slack of a stage: how much slower its passes may compute before the run takes longer, if
// everything else, including collectives inside passes, stays as it is. See Retiming.
struct StageSlack {
  std::uint32_t stage = 0;
  double slack = 0;        // relative, 0.1: 10 % longer; infinite: no limit
  double seconds = 0;      // the slack of a pass of mean duration
  double cost_s = 0;       // increase of the makespan if the passes are 10 % slower
  double mean_pass_s = 0;  // without collectives inside it
  std::uint64_t passes = 0;
};

// Slack of the transfers of boundary tensors over one class of links: how much slower they may
// become before the run takes longer.
struct LinkSlack {
  std::string link_class;  // class of the narrowest link of the route; empty: unknown
  double slack = 0;
  double seconds = 0;
  double cost_s = 0;
  double mean_transfer_s = 0;
  std::uint64_t transfers = 0;
};

// Slack of all stages and link classes; empty for a trace without arrival times of inputs.
struct Slack {
  std::vector<StageSlack> stages;
  std::vector<LinkSlack> links;
};

Slack slack(const TraceIndex& index);

}  // namespace pipewright::analysis
