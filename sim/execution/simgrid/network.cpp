#include "sim/execution/simgrid/network.hpp"

#include <algorithm>
#include <utility>

namespace pipewright::execution {
namespace {

// A boundary tensor has arrived when the last of its parts has.
std::unique_ptr<Channel> make_channel(const Job& job, const Wiring::TransferPlans& transfer_plans,
                                      const LinkAccount& account) {
  FlowRoute route{.account = account};
  for (const auto& transfer_plan : transfer_plans) {
    const TransferPlan::Step& step = transfer_plan->steps.front();
    route.latency = std::max(route.latency, step.latency);
    for (const Transfer& transfer : step.transfers) route.transfers.push_back(transfer);
  }
  return route.transfers.empty() ? make_latency_channel(route.latency, job.p2p)
                                 : make_flow_channel(std::move(route), job.p2p);
}

}  // namespace

Network::Network(const Job& job, const Wiring& wiring, std::uint32_t replica,
                 const LinkAccount& account)
    : routes_(job.schedule.routes) {
  const auto connect = [&](std::uint32_t from, std::uint32_t to, std::uint32_t route) {
    const std::uint32_t source = routes_.device(from, route);
    const std::uint32_t destination = routes_.device(to, route);
    End end{.source = source, .stage = from, .crosses = source != destination};
    if (!end.crosses) {
      channels_.push_back(make_latency_channel(0, schedules::P2p::eager));
    } else {
      LinkAccount own = account;
      own.traffic = from < to ? trace::TrafficClass::activation : trace::TrafficClass::gradient;
      channels_.push_back(make_channel(job, wiring.hop({replica, source}, destination), own));
    }
    end.channel = channels_.back().get();
    return end;
  };

  const std::uint32_t last = routes_.stages() - 1;
  for (std::uint32_t route = 0; route < routes_.count(); ++route) {
    for (std::uint32_t to = 0; to <= last; ++to) {
      Stage stage;
      if (to > 0) stage.activation = connect(to - 1, to, route);
      stage.gradient = connect(to < last ? to + 1 : to, to, route);
      stage.kept = connect(to, to, route);
      stages_.push_back(stage);
    }
  }
}

const Network::End& Network::input_of(const schedules::Pass& pass) const {
  static constexpr End none;
  if (pass.kind == schedules::PassKind::recompute) return none;  // its input was kept by F
  const Stage& here = stage(pass.stage, pass.microbatch);
  if (pass.kind == schedules::PassKind::forward) return here.activation;
  return schedules::sends_gradient(pass.kind) ? here.gradient : here.kept;
}

Channel* Network::output_of(const schedules::Pass& pass) const {
  if (pass.kind == schedules::PassKind::forward) {
    const bool is_last = pass.stage + 1U == routes_.stages();
    return is_last ? stage(pass.stage, pass.microbatch).gradient.channel
                   : stage(pass.stage + 1, pass.microbatch).activation.channel;
  }
  if (pass.stage == 0 || !schedules::sends_gradient(pass.kind)) return nullptr;
  return stage(pass.stage - 1, pass.microbatch).gradient.channel;
}

Channel* Network::kept_by(const schedules::Pass& pass) const {
  return pass.kind == schedules::PassKind::input_grad
             ? stage(pass.stage, pass.microbatch).kept.channel
             : nullptr;
}

}  // namespace pipewright::execution
