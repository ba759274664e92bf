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

constexpr double rounding = 1e-12;  // events that are closer than this part of the time are one

class Alone {
 public:
  explicit Alone(std::span<const std::shared_ptr<const TransferPlan>> plans) : plans_(plans) {
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
      while (!events_.empty() && events_.top().time <= now * (1 + rounding)) {
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
  enum class State : std::uint8_t { waits, goes, is_over };
  struct OneFlow {
    FlowPath path;
    Index plan = 0;
    State state = State::waits;
    double left = 0;   // bytes, at `since`
    double since = 0;  // seconds
    double rate = 0;
    Index version = 0;  // of its foreseen end
    Index seen = 0;     // the last round that reached it
  };
  struct Progress {
    std::vector<Index> first_flow;  // of each step, and behind the last
    Index step = 0;
    Index going = 0;  // flows of the step
    double end = 0;
  };
  struct Event {
    double time = 0;
    bool is_end = false;  // of a flow; else a plan's next step
    Index number = 0;
    Index version = 0;

    bool operator<(const Event& other) const {  // the first one is the greatest
      return std::tie(time, is_end, number, version) >
             std::tie(other.time, other.is_end, other.number, other.version);
    }
  };

  void add(Index plan, const Transfer& transfer) {
    OneFlow flow{.path = {}, .plan = plan, .left = static_cast<double>(transfer.bytes)};
    for (const cluster::Link* link :
         plans_[plan]->cluster->links_between(transfer.source, transfer.destination)) {
      if (!cluster::is_shared(link)) {
        flow.path.cap = std::min(flow.path.cap, cluster::Cluster::capacity_of(link));
        continue;
      }
      const auto number = numbers_.try_emplace(link, static_cast<Index>(links_.size())).first;
      if (number->second == links_.size()) links_.push_back(link);
      flow.path.links.push_back(number->second);
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
      flows_[i].state = State::goes;
      flows_[i].since = now;
      for (const Index link : flows_[i].path.links) active_[link].push_back(i);
      changed_.push_back(i);
      ++progress.going;
    }
    if (progress.going == 0) end_step(plan, now);
  }

  void end_step(Index plan, double now) {
    Progress& progress = progress_[plan];
    events_.push({.time = now + plans_[plan]->steps[progress.step++].latency, .number = plan});
  }

  void end_flow(Index number, Index version, double now) {
    OneFlow& flow = flows_[number];
    if (flow.state == State::is_over || flow.version != version) return;
    flow.state = State::is_over;
    for (const Index link : flow.path.links) std::erase(active_[link], number);
    changed_.push_back(number);
    if (--progress_[flow.plan].going == 0) end_step(flow.plan, now);
  }

  // What has begun or ended changes the rates of flows that it shares links with, of those that
  // these share links with, and so on: of no others.
  void share(double now) {
    if (changed_.empty()) return;
    ++round_;
    std::vector<Index> reached;
    const auto look_along = [&](const FlowPath& path) {
      for (const Index link : path.links) {
        if (std::exchange(seen_[link], round_) == round_) continue;
        for (const Index other : active_[link])
          if (std::exchange(flows_[other].seen, round_) != round_) reached.push_back(other);
      }
    };
    for (const Index number : changed_) {
      OneFlow& flow = flows_[number];
      if (flow.state == State::goes && std::exchange(flow.seen, round_) != round_)
        reached.push_back(number);
      look_along(flow.path);
    }
    changed_.clear();
    std::size_t looked = 0;
    while (looked < reached.size()) look_along(flows_[reached[looked++]].path);  // which adds some
    std::ranges::sort(reached);
    std::vector<const FlowPath*> paths;
    for (const Index number : reached) paths.push_back(&flows_[number].path);
    const std::vector<FairShare>& shares = sharing_->share(paths);
    for (std::size_t i = 0; i < reached.size(); ++i) foresee(reached[i], shares[i].rate, now);
  }

  void foresee(Index number, double rate, double now) {
    OneFlow& flow = flows_[number];
    if (flow.rate == rate && flow.since < now) return;
    flow.left = std::max(0.0, flow.left - flow.rate * (now - flow.since));
    flow.since = now;
    flow.rate = rate;
    events_.push({.time = now + flow.left / rate,
                  .is_end = true,
                  .number = number,
                  .version = ++flow.version});
  }

  std::span<const std::shared_ptr<const TransferPlan>> plans_;
  std::vector<Progress> progress_;
  std::vector<OneFlow> flows_;
  std::vector<const cluster::Link*> links_;  // the shared ones
  std::unordered_map<const cluster::Link*, Index> numbers_;
  std::vector<std::vector<Index>> active_;  // flows that go, by links, as often as they count there
  std::vector<Index> seen_;                 // the last round that reached a link
  std::optional<FairSharing> sharing_;
  std::priority_queue<Event> events_;
  std::vector<Index> changed_;
  Index round_ = 0;
};

}  // namespace

std::vector<double> seconds_alone(std::span<const std::shared_ptr<const TransferPlan>> plans) {
  return Alone(plans).run();
}

}  // namespace pipewright::execution
