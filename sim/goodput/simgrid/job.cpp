#include "sim/goodput/simgrid/job.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace pipewright::goodput {
namespace {

using analysis::GoodputPart;
using config::Goodput;

std::uint64_t bytes_of(const Setting& setting) {
  return static_cast<std::uint64_t>(std::max(1.0, setting.bytes));
}

}  // namespace

Job::Job(const Setting& setting, std::uint64_t seed, JobNetwork lines, bool keep_spans)
    : setting_(setting),
      network_(lines),
      keep_spans_(keep_spans),
      incidents_(setting, seed),
      next_write_(setting.interval),
      next_copy_(setting.peer_interval),
      spares_(setting.spares.value_or(0)) {
  outcome_.seed = seed;
}

void Job::run() {
  try {
    while (trained_ < setting_.target - time_tolerance) {
      skip_steps();
      const double stop =
          setting_.mode == Goodput::Mode::peer ? std::min(next_write_, next_copy_) : next_write_;
      if (!train(std::min(stop, setting_.target)) ||
          (trained_ < setting_.target - time_tolerance && !checkpoint()))
        recover();
    }
  } catch (const TimeIsUp&) {
    outcome_.reached = setting_.target == never;
  }
  lose_flows();
  outcome_[Part::training] = trained_;
}

// Adds the time since `from` to the outcome's part. Training counts as if it ran at full speed, and
// the additional time as slowed; training that is lost later is moved to lost then.
void Job::account(Part part, double from) {
  const double to = now();
  double done = 0;
  if (part == Part::training) {
    const double left = training_ ? training_->get_remaining() / JobNetwork::pace(setting_)
                                  : segment_ - (to - from) * speed_;
    done = std::clamp(segment_ - left, 0.0, segment_);
    trained_for(done, to - from);
  } else {
    outcome_[part] += to - from;
  }
  keep_span({part, from, to, done});
}

void Job::trained_for(double done, double seconds) {
  segment_ -= done;
  trained_ += done;
  outcome_[Part::slowed] += seconds - done;
}

void Job::keep_span(analysis::GoodputSpan span) {
  if (!keep_spans_ || span.end <= span.start) return;
  if (span.part == Part::training && speed_ < 1) span.part = Part::slowed;
  if (!spans_.empty() && spans_.back().part == span.part && span.part != Part::training) {
    spans_.back().end = span.end;
    spans_.back().trained += span.trained;
  } else {
    spans_.push_back(span);
  }
}

// Waits until the given time, until training or the flow ends, or until an event stops the job, and
// returns which of these happened. Handles other events in the meantime.
Job::WaitEnd Job::wait(Part part, double until) {
  const bool trains = part == Part::training;
  for (;;) {
    const double from = now();
    const double event =
        std::min(incidents_.next(), upcoming_.empty() ? never : upcoming_.top().at);
    const double trained_at = trains && !training_ ? from + segment_ / speed_ : never;
    const double end = std::min({until, event, setting_.duration, trained_at, flow_ends_});
    std::vector<sg4::CommPtr> flows;
    if (trains && training_) flows.push_back(training_);
    if (flow_) flows.push_back(flow_);
    std::optional<std::size_t> ended;
    if (end > from + time_tolerance) ended = wait_for_first(flows, end - from);
    const bool training_ended = trains && (ended ? flows[*ended] == training_ : trained_at <= end);
    if (training_ended) {
      keep_span({part, from, now(), segment_});
      trained_for(segment_, now() - from);
      training_ = nullptr;
      return WaitEnd::training;
    }
    account(part, from);
    if (ended || flow_ends_ <= end) {
      end_flow();
      if (!trains) return WaitEnd::flow;
    } else if (setting_.duration <= end) {
      throw TimeIsUp{};
    } else if (event <= end) {
      if (handle_next_event()) return WaitEnd::stopped;
    } else {
      return WaitEnd::time;
    }
  }
}

// Begins a flow to or from the storage. SimGrid simulates it only if it shares the network with
// training; otherwise its duration is known.
void Job::begin_flow(sg4::Host* from, sg4::Host* to, double rate) {
  if (shares_network(setting_)) {
    flow_ = sg4::Comm::sendto_async(from, to, bytes_of(setting_));
    return;
  }
  flow_ends_ = now() + flow_seconds(setting_, rate);
}

void Job::end_flow() {
  flow_ = nullptr;
  flow_ends_ = never;
  if (!being_written_) return;
  stored_.push_back(*std::exchange(being_written_, std::nullopt));
  ++outcome_.checkpoints;
}

// Skips intervals of training and checkpoint in which nothing else happens, without simulating them
// one by one. Runs that record spans simulate every interval.
void Job::skip_steps() {
  const bool copies = setting_.mode == Goodput::Mode::peer;
  const double step = copies ? setting_.peer_interval : setting_.interval;
  const double next = copies ? next_copy_ : next_write_;
  if (keep_spans_ || shares_network(setting_) || std::abs(next - trained_ - step) > time_tolerance)
    return;
  if (dropped(missing_nodes_) < dropped_) return;
  update_speed();
  const double trains = step / speed_;
  const double write = flow_seconds(setting_, setting_.storage);
  const bool waits = setting_.mode == Goodput::Mode::sync;
  const double stop = waits ? write : setting_.copy;
  // Skipping requires that a pending write ends in the first interval, and that every checkpoint is
  // complete before the next one.
  if (flow_ends_ < never && flow_ends_ > now() + trains) return;
  if (!waits && !copies && write > trains) return;
  if (copies && setting_.peer > trains) return;
  double end = std::min(setting_.duration, incidents_.next());
  if (!upcoming_.empty()) end = std::min(end, upcoming_.top().at);
  const double max_steps =
      (std::min(setting_.target, copies ? next_write_ : never) - trained_) / step;
  const double steps =
      std::floor(std::min((end - now()) / (trains + stop), max_steps) - time_tolerance);
  if (steps < 2) return;
  if (flow_ends_ < never) end_flow();
  const double began = now();
  sg4::this_actor::sleep_for(steps * (trains + stop));
  const auto saved = [&](double number) {  // The state in the checkpoint of a step.
    const double at = began + number * (trains + stop) - (waits ? stop : 0);
    return Saved{at, trained_ + number * step};
  };
  for (double number = 1; !copies && number <= steps - (waits ? 0 : 1); ++number) {
    stored_.push_back(saved(number));
    ++outcome_.checkpoints;
  }
  if (copies) {
    at_peers_ = saved(steps - 1);
    copied_ = saved(steps);
  }
  trained_ += steps * step;
  outcome_[Part::checkpoint] += steps * stop;
  outcome_[Part::slowed] += steps * (trains - step);
  (copies ? next_copy_ : next_write_) = trained_ + step;
  if (!waits && !copies) start_write();
}

// Makes the newest copy the one that peers hold, if it has arrived there.
void Job::receive_copy() {
  if (copied_ && copied_->at + setting_.peer <= now()) at_peers_ = copied_;
  copied_.reset();
}

bool Job::wait_for(Part part, double seconds) {
  const double until = now() + seconds;
  while (now() < until - time_tolerance) {
    const WaitEnd ended = wait(part, until);
    if (ended == WaitEnd::stopped) return false;
    if (ended == WaitEnd::time) break;
  }
  return true;
}

bool Job::train(double until) {
  segment_ = until - trained_;
  if (segment_ <= time_tolerance) return true;
  update_speed();
  if (shares_network(setting_))
    training_ = sg4::Comm::sendto_async(
        network_.job, network_.peers,
        static_cast<std::uint64_t>(std::llround(segment_ * JobNetwork::pace(setting_))));
  return wait(Part::training, never) == WaitEnd::training;
}

// Takes a checkpoint. Returns true if training can continue.
bool Job::checkpoint() {
  const bool is_write = trained_ >= next_write_ - time_tolerance;
  if (is_write && !finish_flow(Part::checkpoint)) return false;  // Writes run one after the other.
  if (setting_.mode != Goodput::Mode::sync && !wait_for(Part::checkpoint, setting_.copy))
    return false;
  if (setting_.mode == Goodput::Mode::peer) {
    receive_copy();
    copied_ = {now(), trained_};
    next_copy_ = trained_ + setting_.peer_interval;
  }
  if (!is_write) return true;
  next_write_ = trained_ + setting_.interval;
  start_write();
  if (setting_.mode == Goodput::Mode::sync && !finish_flow(Part::checkpoint)) return false;
  if (dropped(missing_nodes_) >= dropped_) return true;
  // Nodes that have been repaired join the job again after a checkpoint.
  if (!finish_flow(Part::checkpoint)) return false;
  is_up_ = false;
  detection_ = 0;
  recover();
  return true;
}

void Job::start_write() {
  being_written_ = {now(), trained_};
  begin_flow(network_.job, network_.storage, setting_.storage);
}

bool Job::finish_flow(Part part) {
  while (flow_ || flow_ends_ < never)
    if (wait(part, never) == WaitEnd::stopped) return false;
  return true;
}

}  // namespace pipewright::goodput
