#include <algorithm>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "sim/goodput/simgrid/job.hpp"

// What stops a job, and how it gets going again.
namespace pipewright::goodput {

// What comes first of what can come. True: it stops the job.
bool Job::happen() {
  if (!coming_.empty() && coming_.top().at <= incidents_.next()) {
    const Coming event = coming_.top();
    coming_.pop();
    return happen(event);
  }
  // A job whose nodes fail faster than they are back never trains the tokens that it is to.
  if (++incidents_seen_ > most_incidents && setting_.target < never)
    throw std::runtime_error(fmt::format(
        "after {:.4g} failures and other incidents in {:.4g} days {:.3g} % of the tokens "
        "(--tokens) "
        "are trained; allowed: what is trained in so many, with lower rates, more spares or fewer "
        "tokens, or by itself, with no what-ifs (--only)",
        most_incidents, now() / 86400, 100 * trained_ / setting_.target));
  return happen(incidents_.take());
}

bool Job::happen(const Incident& incident) {
  switch (incident.what) {
    case Incident::What::failure:
      fail(incident.kind->nodes, incident.kind->repair, incident.kind->detection);
      return true;
    case Incident::What::straggler: {
      if (!is_up_) return false;
      ++outcome_.stragglers;
      ++slow_nodes_;
      const bool found = setting_.straggler_replaced_after < incident.lasts;
      coming_.push({now() + (found ? setting_.straggler_replaced_after : incident.lasts),
                    found ? Coming::What::straggler_found : Coming::What::straggler_goes,
                    {}});
      settle_speed();
      return false;
    }
    case Incident::What::corruption:
      if (is_up_)
        coming_.push({now() + incident.lasts, Coming::What::corruption_found, {now(), trained_}});
      return false;
    case Incident::What::planned:
      if (!is_up_) return false;  // it is seen to while the job is down
      stop_as_planned();
      return true;
  }
  return false;
}

bool Job::happen(const Coming& event) {
  switch (event.what) {
    case Coming::What::straggler_goes:
      --slow_nodes_;
      settle_speed();
      return false;
    case Coming::What::straggler_found:
      --slow_nodes_;
      fail(1, setting_.repair, 0);
      return true;
    case Coming::What::corruption_found: {
      ++outcome_.corruptions;
      while (stored_.back().at > event.since.at) stored_.pop_back();
      receive_copy();
      if (at_peers_ && at_peers_->at > event.since.at) at_peers_.reset();
      fail(1, setting_.repair, 0);
      return true;
    }
    case Coming::What::node_back:
      if (short_of_ > 0)
        --short_of_;
      else
        ++spares_;
      return false;
  }
  return false;
}

// The node that failed makes room for another, the job goes back, and is down until recover().
void Job::fail(std::uint32_t nodes, double repair, double detection) {
  if (is_up_) failed_now_ = 0;
  is_up_ = false;
  if (planned_) planned_until_ = now() + *std::exchange(planned_, std::nullopt);
  ++outcome_.interruptions;
  failed_now_ += nodes;
  detection_ = detection;
  if (setting_.spares)
    for (std::uint32_t i = 0; i < nodes; ++i) {
      coming_.push({now() + repair, Coming::What::node_back, {}});
      if (spares_ > 0)
        --spares_;
      else
        ++short_of_;
    }
  lose_flows();
  go_back_to_last();
}

// Nothing is lost: it is stored first.
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

// A node's copy is in the memory of one peer: two that fail at once may take both.
void Job::go_back_to_last() {
  receive_copy();
  if (failed_now_ > 1) at_peers_.reset();
  const bool is_newer = at_peers_ && at_peers_->trained > stored_.back().trained;
  go_back(is_newer ? *at_peers_ : stored_.back());
}

// What was saved after it is of a training that did not last, and so is what was corrupted then.
void Job::go_back(const Saved& to) {
  outcome_[Part::lost] += trained_ - to.trained;
  trained_ = to.trained;
  while (stored_.back().at > to.at) stored_.pop_back();
  if (at_peers_ && at_peers_->at > to.at) at_peers_.reset();
  if (setting_.corruption_rate > 0) forget_corruptions(to.at);
  next_write_ = stored_.back().trained + setting_.interval;
  next_copy_ = trained_ + setting_.peer_interval;
  for (auto span = spans_.rbegin(); span != spans_.rend() && span->start >= to.at - same; ++span)
    if (span->part == Part::training || span->part == Part::slowed) span->part = Part::lost;
}

void Job::forget_corruptions(double since) {
  std::vector<Coming> kept;
  for (; !coming_.empty(); coming_.pop()) {
    const Coming& event = coming_.top();
    const bool corrupted = event.what == Coming::What::corruption_found;
    if (corrupted && event.since.at >= since) continue;
    kept.push_back(event);
  }
  for (const Coming& event : kept) coming_.push(event);
}

std::uint32_t Job::dropped(std::uint32_t nodes) const {
  if (!setting_.elastic || nodes == 0) return 0;
  return replicas_of(setting_, nodes);
}

void Job::settle_speed() {
  const double replicas = setting_.replicas;
  const double speed =
      (replicas - dropped_) / replicas / (slow_nodes_ > 0 ? setting_.straggler_factor : 1);
  if (speed == speed_) return;
  speed_ = speed;
  if (shares(setting_)) lines_.training->set_bandwidth(Lines::pace(setting_) * speed);
}

void Job::recover() {
  while (!get_going()) {  // a failure meanwhile begins it anew
  }
  is_up_ = true;
  failed_now_ = 0;
}

bool Job::get_going() {
  if (planned_) {
    next_write_ = trained_ + setting_.interval;
    next_copy_ = trained_ + setting_.peer_interval;
    start_write();
    if (!finish_flow(Part::checkpoint)) return false;
    planned_until_ = now() + *std::exchange(planned_, std::nullopt);
  }
  if (!spend(Part::planned, planned_until_ - now())) return false;
  if (!spend(Part::detection, std::exchange(detection_, 0))) return false;
  const auto has_enough = [&] {
    return short_of_ == 0 || (setting_.elastic && dropped(short_of_) < setting_.replicas);
  };
  while (!has_enough())
    if (wait(Part::waiting, std::max(now(), coming_.top().at)) == Ended::stopped) return false;
  dropped_ = dropped(short_of_);
  return spend(Part::restart, setting_.restart) && load();
}

bool Job::load() {
  if (at_peers_ && at_peers_->trained > stored_.back().trained)
    return spend(Part::loading, setting_.peer);
  begin_flow(lines_.storage, lines_.job, setting_.read);
  return finish_flow(Part::loading);
}

}  // namespace pipewright::goodput
