#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "analysis/report/why/trace_index.hpp"
#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

// A run as a graph of what waits for what, to time it again with other durations: each device keeps
// the order of its passes; a pass starts when the one before is over and its inputs are there; a
// transfer starts when its tensor is there, under rendezvous also its receiver; a step ends an
// iteration when all devices have come so far. Whatever else delayed something, collectives above
// all, does so by as much again.
class Retiming {
 public:
  using Class = std::uint32_t;  // of what gets slower at once
  static constexpr Class no_class = std::numeric_limits<Class>::max();

  explicit Retiming(const TraceIndex& index);

  struct Members {
    std::uint64_t count = 0;
    double seconds = 0;  // sum of their durations
    double longest = 0;
  };
  // What passes compute by stage, and transfers by the class of the narrowest link on their way.
  const std::vector<Members>& stages() const { return stages_; }
  const std::vector<Members>& links() const { return links_; }
  const std::vector<std::string>& link_classes() const { return link_classes_; }
  static Class stage(std::uint32_t number) { return number; }
  Class link(std::uint32_t number) const { return static_cast<Class>(stages_.size()) + number; }

  // By how much, as a part of their durations, all of a class may get longer before the makespan
  // does; infinite if there are none that take time. Of several classes at once, which is faster.
  std::vector<double> slack(const std::vector<Class>& classes) const;
  // By how many seconds the makespan grows if all of a class take so much longer.
  std::vector<double> cost(const std::vector<Class>& classes, double more) const;
  double makespan() const { return makespan_; }  // as timed again, unchanged

 private:
  static constexpr std::size_t lanes = 8;  // classes that one time_again looks at
  struct Node {
    double delay = 0;     // seconds, whatever its class; collectives within a pass too
    double duration = 0;  // that its class stretches
    Class kind = no_class;
    std::uint32_t first_edge = 0;  // into edges_, to the next node's
    bool ends_run = false;         // what the makespan looks at
  };
  using Lanes = std::array<double, lanes>;
  // Where each lane's longest path has come to, and how much of its class is on it, in seconds.
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
  // The makespan of each lane with its class longer by a factor 1 + more.
  Front time_again(const std::array<Class, lanes>& classes, const Lanes& more,
                   std::vector<Front>& room) const;
  void find_critical();
  void narrow(const std::vector<Class>& classes, std::vector<double>& slack) const;

  std::vector<Node> nodes_;
  std::vector<std::uint32_t> edges_;  // numbers of nodes, each of which comes before its own
  std::vector<Members> stages_;
  std::vector<Members> links_;
  std::vector<std::string> link_classes_;
  std::vector<bool> critical_;  // by class: some of it is on a critical path
  double makespan_ = 0;
};

// By how much something may get slower before the run takes longer, everything else being as it
// was, collectives within passes too; timed again as Retiming says.
struct StageSlack {
  std::uint32_t stage = 0;
  double slack = 0;        // of what its passes compute, 0.1: 10 % longer; infinite: whatever
  double seconds = 0;      // the same of a pass of mean duration
  double cost_s = 0;       // by which the run takes longer if they are 10 % slower
  double mean_pass_s = 0;  // without collectives within it
  std::uint64_t passes = 0;
};

struct LinkSlack {
  std::string link_class;  // of the narrowest link on the way; empty: not known
  double slack = 0;        // of its boundary tensors' transfers
  double seconds = 0;
  double cost_s = 0;
  double mean_transfer_s = 0;
  std::uint64_t transfers = 0;
};

// Empty where the trace does not say when inputs arrived.
struct Slack {
  std::vector<StageSlack> stages;
  std::vector<LinkSlack> links;
};

Slack slack(const TraceIndex& index);

}  // namespace pipewright::analysis
