#include "sim/execution/flows/alone.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "sim/execution/flows/fair_sharing.hpp"

namespace pipewright::execution {
namespace {

using Index = std::uint32_t;

// Relative difference of times below which two events count as simultaneous.
constexpr double time_tolerance = 1e-12;

class AloneSimulation {
 public:
  explicit AloneSimulation(std::span<const std::shared_ptr<const TransferPlan>> plans)
      : plans_(plans) {
    for (Index plan = 0; plan < plans_.size(); ++plan) {
      Progress& progress = progress_.emplace_back();
      for (const TransferPlan::Step& step : plans_[plan]->steps) {
        progress.first_flow.push_back(static_cast<Index>(flows_.size()));
        for (const Transfer& transfer : step.transfers) add(plan, transfer);
      }
      progress.first_flow.push_back(static_cast<Index>(flows_.size()));
    }
    active_.resize(links_.size());
    seen_.resize(links_.size());
    std::vector<double> bandwidth;
    for (const cluster::Link* link : links_)
      bandwidth.push_back(cluster::Cluster::capacity_of(link));
    sharing_.emplace(std::move(bandwidth));
  }

  std::vector<double> run() {
    for (Index plan = 0; plan < plans_.size(); ++plan) start_step(plan, 0);
    share(0);
    while (!events_.empty()) {
      const double now = events_.top().time;
      while (!events_.empty() && events_.top().time <= now * (1 + time_tolerance)) {
        const Event event = events_.top();
        events_.pop();
        if (event.is_end)
          end_flow(event.number, event.version, now);
        else
          start_step(event.number, now);
      }
      share(now);
    }
    std::vector<double> seconds;
    for (const Progress& progress : progress_) seconds.push_back(progress.end);
    return seconds;
  }

 private:
  enum class FlowState : std::uint8_t { waiting, running, ended };
  struct FlowProgress {
    FlowPath path;
    Index plan = 0;
    FlowState state = FlowState::waiting;
    double remaining = 0;  // bytes at time `updated`
    double updated = 0;    // seconds
    double rate = 0;
    Index version = 0;  // of the event for its end
    Index seen = 0;     // last round that reached it
  };
  struct Progress {
    std::vector<Index> first_flow;  // by step, plus the end of the last step
    Index step = 0;
    Index running_flows = 0;  // flows of the current step
    double end = 0;
  };
  struct Event {
    double time = 0;
    bool is_end = false;  // end of a flow; else a plan's next step
    Index number = 0;
    Index version = 0;

    // Reversed order of events, so that a priority queue has the earliest one on top.
    bool operator<(const Event& rhs) const {
      return std::tie(time, is_end, number, version) >
             std::tie(rhs.time, rhs.is_end, rhs.number, rhs.version);
    }
  };

  void add(Index plan, const Transfer& transfer) {
    FlowProgress flow{.path = {}, .plan = plan, .remaining = static_cast<double>(transfer.bytes)};
    for (const cluster::Link* link :
         plans_[plan]->cluster->links_between(transfer.source, transfer.destination)) {
      if (!cluster::is_shared(link)) {
        flow.path.cap = std::min(flow.path.cap, cluster::Cluster::capacity_of(link));
        continue;
      }
      const auto it = numbers_.try_emplace(link, static_cast<Index>(links_.size())).first;
      if (it->second == links_.size()) links_.push_back(link);
      flow.path.links.push_back(it->second);
    }
    flows_.push_back(std::move(flow));
  }

  void start_step(Index plan, double now) {
    Progress& progress = progress_[plan];
    if (progress.step == plans_[plan]->steps.size()) {
      progress.end = now;
      return;
    }
    for (Index i = progress.first_flow[progress.step]; i < progress.first_flow[progress.step + 1];
         ++i) {
      flows_[i].state = FlowState::running;
      flows_[i].updated = now;
      for (const Index link : flows_[i].path.links) active_[link].push_back(i);
      changed_.push_back(i);
      ++progress.running_flows;
    }
    if (progress.running_flows == 0) end_step(plan, now);
  }

  void end_step(Index plan, double now) {
    Progress& progress = progress_[plan];
    events_.push({.time = now + plans_[plan]->steps[progress.step++].latency, .number = plan});
  }

  void end_flow(Index number, Index version, double now) {
    FlowProgress& flow = flows_[number];
    if (flow.state == FlowState::ended || flow.version != version) return;
    flow.state = FlowState::ended;
    for (const Index link : flow.path.links) std::erase(active_[link], number);
    changed_.push_back(number);
    if (--progress_[flow.plan].running_flows == 0) end_step(flow.plan, now);
  }

  // Recomputes the rates of flows that share links, directly or through other flows, with a flow
  // that has begun or ended. All other rates stay the same.
  void share(double now) {
    if (changed_.empty()) return;
    ++round_;
    std::vector<Index> affected;
    const auto visit_links = [&](const FlowPath& path) {
      for (const Index link : path.links) {
        if (std::exchange(seen_[link], round_) == round_) continue;
        for (const Index flow_index : active_[link])
          if (std::exchange(flows_[flow_index].seen, round_) != round_)
            affected.push_back(flow_index);
      }
    };
    for (const Index number : changed_) {
      FlowProgress& flow = flows_[number];
      if (flow.state == FlowState::running && std::exchange(flow.seen, round_) != round_)
        affected.push_back(number);
      visit_links(flow.path);
    }
    changed_.clear();
    std::size_t visited = 0;
    while (visited < affected.size())
      visit_links(flows_[affected[visited++]].path);  // may append flows
    std::ranges::sort(affected);
    std::vector<const FlowPath*> paths;
    for (const Index number : affected) paths.push_back(&flows_[number].path);
    const std::vector<FairShare>& shares = sharing_->share(paths);
    for (std::size_t i = 0; i < affected.size(); ++i) set_rate(affected[i], shares[i].rate, now);
  }

  void set_rate(Index number, double rate, double now) {
    FlowProgress& flow = flows_[number];
    if (flow.rate == rate && flow.updated < now) return;
    flow.remaining = std::max(0.0, flow.remaining - flow.rate * (now - flow.updated));
    flow.updated = now;
    flow.rate = rate;
    events_.push({.time = now + flow.remaining / rate,
                  .is_end = true,
                  .number = number,
                  .version = ++flow.version});
  }

  std::span<const std::shared_ptr<const TransferPlan>> plans_;
  std::vector<Progress> progress_;
  std::vector<FlowProgress> flows_;
  std::vector<const cluster::Link*> links_;  // shared links
  std::unordered_map<const cluster::Link*, Index> numbers_;
  std::vector<std::vector<Index>>
      active_;               // running flows by link, each as often as it counts on the link
  std::vector<Index> seen_;  // last round that reached a link
  std::optional<FairSharing> sharing_;
  std::priority_queue<Event> events_;
  std::vector<Index> changed_;
  Index round_ = 0;
};

}  // namespace

std::vector<double> seconds_alone(std::span<const std::shared_ptr<const TransferPlan>> plans) {
  return AloneSimulation(plans).run();
}

}  // namespace pipewright::execution
