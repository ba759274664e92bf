#include <algorithm>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "sim/goodput/simgrid/job.hpp"

// Part of Job: interruptions, and the recovery from them.
namespace pipewright::goodput {

// Handles the next incident or scheduled event. Returns true if it stops the job.
bool Job::handle_next_event() {
  if (!upcoming_.empty() && upcoming_.top().at <= incidents_.next()) {
    const Upcoming event = upcoming_.top();
    upcoming_.pop();
    return handle(event);
  }
  // A job whose nodes fail faster than they are repaired never finishes training its tokens.
  if (++incidents_seen_ > max_incidents && setting_.target < never)
    throw std::runtime_error(fmt::format(
        "after {:.4g} failures and other incidents in {:.4g} days, only {:.3g} % of the tokens "
        "(--tokens) are trained; lower the rates, add spares or train fewer tokens, or leave out "
        "the "
        "what-ifs (--only)",
        max_incidents, now() / 86400, 100 * trained_ / setting_.target));
  return handle(incidents_.take());
}

bool Job::handle(const Incident& incident) {
  switch (incident.type) {
    case Incident::Type::failure:
      fail(*incident.kind);
      return true;
    case Incident::Type::straggler: {
      if (!is_up_) return false;
      ++outcome_.stragglers;
      ++slow_nodes_;
      const bool is_replaced = setting_.straggler_replaced_after < incident.lasts;
      upcoming_.push(
          {now() + (is_replaced ? setting_.straggler_replaced_after : incident.lasts),
           is_replaced ? Upcoming::Type::straggler_found : Upcoming::Type::straggler_goes,
           {}});
      update_speed();
      return false;
    }
    case Incident::Type::corruption:
      if (is_up_)
        upcoming_.push(
            {now() + incident.lasts, Upcoming::Type::corruption_found, {now(), trained_}});
      return false;
    case Incident::Type::planned:
      if (!is_up_) return false;  // The maintenance takes place while the job is down.
      stop_as_planned();
      return true;
  }
  return false;
}

bool Job::handle(const Upcoming& event) {
  switch (event.type) {
    case Upcoming::Type::straggler_goes:
      --slow_nodes_;
      update_speed();
      return false;
    case Upcoming::Type::straggler_found:
      --slow_nodes_;
      fail({.drained = setting_.drained, .repair = setting_.repair});
      return true;
    case Upcoming::Type::corruption_found: {
      ++outcome_.corruptions;
      while (stored_.back().at > event.since.at) stored_.pop_back();
      receive_copy();
      if (at_peers_ && at_peers_->at > event.since.at) at_peers_.reset();
      fail({.drained = setting_.drained, .repair = setting_.repair});
      return true;
    }
    case Upcoming::Type::node_back:
      if (missing_nodes_ > 0)
        --missing_nodes_;
      else
        ++spares_;
      return false;
  }
  return false;
}

// Replaces failed nodes by spares, goes back to the last saved state, and stops the job until
// recover().
void Job::fail(const FailureKind& kind) {
  if (is_up_) failed_now_ = 0;
  is_up_ = false;
  if (planned_) planned_until_ = now() + *std::exchange(planned_, std::nullopt);
  ++outcome_.interruptions;
  failed_now_ += kind.nodes;
  detection_ = kind.detection;
  if (setting_.spares)
    for (std::uint32_t i = 0; i < kind.nodes + kind.drained; ++i) {
      upcoming_.push({now() + kind.repair, Upcoming::Type::node_back, {}});
      if (spares_ > 0)
        --spares_;
      else
        ++missing_nodes_;
    }
  lose_flows();
  go_back_to_last();
}

// Stops the job for maintenance. Nothing is lost, because the state is stored first.
void Job::stop_as_planned() {
  is_up_ = false;
  failed_now_ = 0;
  planned_ = setting_.planned_lasts;
  lose_flows();
}

void Job::lose_flows() {
  for (sg4::CommPtr* const flow : {&training_, &flow_})
    if (*flow) {
      (*flow)->cancel();
      *flow = nullptr;
    }
  flow_ends_ = never;
  being_written_.reset();
}

// Goes back to the newest saved state. Copies in memory are used only if a single node failed,
// because two nodes may take both copies of a state with them.
void Job::go_back_to_last() {
  receive_copy();
  if (failed_now_ > 1) at_peers_.reset();
  const bool is_newer = at_peers_ && at_peers_->trained > stored_.back().trained;
  go_back(is_newer ? *at_peers_ : stored_.back());
}

// Returns to a saved state. The training since then is lost, along with later saved states and
// later corruptions.
void Job::go_back(const Saved& to) {
  outcome_[Part::lost] += trained_ - to.trained;
  trained_ = to.trained;
  while (stored_.back().at > to.at) stored_.pop_back();
  if (at_peers_ && at_peers_->at > to.at) at_peers_.reset();
  if (setting_.corruption_rate > 0) forget_corruptions(to.at);
  next_write_ = stored_.back().trained + setting_.interval;
  next_copy_ = trained_ + setting_.peer_interval;
  for (auto span = spans_.rbegin(); span != spans_.rend() && span->start >= to.at - time_tolerance;
       ++span)
    if (span->part == Part::training || span->part == Part::slowed)
      *span = {.part = Part::lost, .start = span->start, .end = span->end};
}

void Job::forget_corruptions(double since) {
  std::vector<Upcoming> remaining;
  for (; !upcoming_.empty(); upcoming_.pop()) {
    const Upcoming& event = upcoming_.top();
    const bool corrupted = event.type == Upcoming::Type::corruption_found;
    if (corrupted && event.since.at >= since) continue;
    remaining.push_back(event);
  }
  for (const Upcoming& event : remaining) upcoming_.push(event);
}

std::uint32_t Job::dropped(std::uint32_t nodes) const {
  if (!setting_.elastic || nodes == 0) return 0;
  return replicas_of(setting_, nodes);
}

void Job::update_speed() {
  const double replicas = setting_.replicas;
  const double speed =
      (replicas - dropped_) / replicas / (slow_nodes_ > 0 ? setting_.straggler_factor : 1);
  if (speed == speed_) return;
  speed_ = speed;
  if (shares_network(setting_))
    network_.training->set_bandwidth(JobNetwork::pace(setting_) * speed);
}

void Job::recover() {
  while (!try_recovery()) {  // A failure during recovery starts it again.
  }
  is_up_ = true;
  failed_now_ = 0;
}

bool Job::try_recovery() {
  if (planned_) {
    next_write_ = trained_ + setting_.interval;
    next_copy_ = trained_ + setting_.peer_interval;
    start_write();
    if (!finish_flow(Part::checkpoint)) return false;
    planned_until_ = now() + *std::exchange(planned_, std::nullopt);
  }
  if (!wait_for(Part::planned, planned_until_ - now())) return false;
  if (!wait_for(Part::detection, std::exchange(detection_, 0))) return false;
  const auto has_enough = [&] {
    return missing_nodes_ == 0 || (setting_.elastic && dropped(missing_nodes_) < setting_.replicas);
  };
  while (!has_enough())
    if (wait(Part::waiting, std::max(now(), upcoming_.top().at)) == WaitEnd::stopped) return false;
  dropped_ = dropped(missing_nodes_);
  return wait_for(Part::restart, setting_.restart) && load();
}

bool Job::load() {
  if (at_peers_ && at_peers_->trained > stored_.back().trained)
    return wait_for(Part::loading, setting_.peer);
  begin_flow(network_.storage, network_.job, setting_.read);
  return finish_flow(Part::loading);
}

}  // namespace pipewright::goodput
