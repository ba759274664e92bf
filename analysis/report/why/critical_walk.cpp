#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/report/why/critical_path.hpp"
#include "analysis/report/why/trace_index.hpp"

namespace pipewright::analysis {
namespace {

using trace::CollectiveKind;
using trace::CollectiveRow;
using trace::PassRow;
using trace::StepRow;
using trace::WaitEvent;
using trace::WaitRow;

CriticalPart critical_part(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::gather_weights:
      return CriticalPart::weights;
    case CollectiveKind::tie_embeddings:
      return CriticalPart::embeddings;
    case CollectiveKind::reduce_gradients:
      break;
  }
  return CriticalPart::gradients;
}

// Collectives of a stage (0 for tied embeddings, which have two) and an iteration.
using InstanceKey = std::tuple<CollectiveKind, std::uint32_t, std::uint32_t>;

InstanceKey instance_of(const CollectiveRow& row) {
  const bool is_tied = row.kind == CollectiveKind::tie_embeddings;
  return {row.kind, is_tied ? 0 : row.stage, row.iteration};
}

// Rows of one collective of a stage and an iteration, from all devices that take part in it.
struct Instances {
  std::vector<const CollectiveRow*> by_post;  // in order of `posted`
  std::set<std::uint32_t> devices;
};

// Events at which the devices of one replica wait for each other, or for other replicas.
struct Meetings {
  explicit Meetings(const trace::Trace& trace) {
    for (const StepRow& row : trace.steps) {
      const StepRow*& last = last_reduced[row.iteration];
      if (last == nullptr || row.reduced > last->reduced) last = &row;
    }
    for (const CollectiveRow& row : trace.collectives) {
      Instances& instances = collectives[instance_of(row)];
      instances.by_post.push_back(&row);
      instances.devices.insert(row.device);
    }
    for (auto& [key, instances] : collectives)
      std::ranges::stable_sort(instances.by_post, {}, &CollectiveRow::posted);
    for (const WaitRow& row : trace.waits)
      waits[{row.event, row.stage, row.iteration}].push_back(&row);
  }

  std::map<std::uint32_t, const StepRow*> last_reduced;  // by iteration
  std::map<InstanceKey, Instances> collectives;
  // Waits for other replicas, by event, stage and iteration.
  std::map<std::tuple<WaitEvent, std::uint32_t, std::uint32_t>, std::vector<const WaitRow*>> waits;
};

// Walks back in time from the last event of a run. At each event it finds the earlier event that
// determined its time, adds the time between the two as a piece, and continues from the earlier
// event. Where the run waits for another replica, the walk continues in the trace of that replica.
class CriticalWalk {
 public:
  explicit CriticalWalk(Replicas& run) : run_(run) { enter(0); }

  std::vector<CriticalPiece> walk() {
    now_ = index().makespan();
    if (!index().has_inputs()) {
      add(0, {.part = CriticalPart::other});
      return std::move(pieces_);
    }
    Position position = last_event();
    // The walk should visit each event about once. The limit ends endless loops, which rows that
    // contradict each other may cause.
    const std::size_t events =
        trace().passes.size() + 4 * trace().steps.size() + trace().collectives.size();
    std::size_t steps_left = 4 * events + 16;
    while (position.kind != EventKind::start && now_ > 0 && steps_left-- > 0)
      position = go_back(position);
    if (now_ > time_tolerance(now_))
      add(0, {.part = CriticalPart::other});
    else if (!pieces_.empty())
      pieces_.back().start = 0;
    std::ranges::reverse(pieces_);
    return std::move(pieces_);
  }

 private:
  // Kind of event that the walk has reached, at the time `now_`.
  enum class EventKind : std::uint8_t {
    start,       // start of the run
    unit,        // inside or at the end of unit `row`
    unit_start,  // start of unit `row`
    step_end,    // end of the step `step`
    collective,  // end of `collective`
    device,      // any event of `device`
  };
  struct Position {
    EventKind kind = EventKind::start;
    std::size_t row = no_row;
    const trace::StepRow* step = nullptr;
    const trace::CollectiveRow* collective = nullptr;
    std::uint32_t device = 0;
  };

  const TraceIndex& index() const { return *index_; }
  const trace::Trace& trace() const { return index_->trace(); }

  // Makes the trace of a replica the current one. Returns false if the replica has no trace.
  bool enter(std::uint32_t replica) {
    const TraceIndex* const index = run_.find(replica);
    if (index == nullptr) return false;
    index_ = index;
    replica_ = replica;
    auto [it, is_new] = meetings_.try_emplace(replica);
    if (is_new) it->second = std::make_unique<Meetings>(index->trace());
    meetings_of_replica_ = it->second.get();
    return true;
  }

  // Returns the wait for another replica that ends at `now_`, or null.
  const WaitRow* wait_at(WaitEvent event, std::uint32_t stage, std::uint32_t iteration) const {
    const auto it = meetings_of_replica_->waits.find({event, stage, iteration});
    if (it == meetings_of_replica_->waits.end()) return nullptr;
    for (const WaitRow* row : it->second)
      if (is_now(row->time)) return row;
    return nullptr;
  }

  bool is_now(double time) const { return std::abs(time - now_) <= time_tolerance(now_); }
  bool is_past(double time) const { return time < now_ - time_tolerance(now_); }

  Position last_event() {
    double end = 0;
    for (const StepRow& row : trace().steps) end = std::max(end, row.end);
    for (const PassRow& row : trace().passes) end = std::max(end, row.end);
    if (end < now_) {  // another replica ends last
      const auto last = std::ranges::max_element(trace().waits, {}, &WaitRow::time);
      if (enter(last->replica)) {
        const StepRow* step = index().step_at(last->device, now_ - time_tolerance(now_));
        if (step != nullptr) return {.kind = EventKind::step_end, .step = step};
      }
      add(end, {.part = CriticalPart::other_replicas});
    }
    for (const StepRow& row : trace().steps)
      if (row.end == now_) return {.kind = EventKind::step_end, .step = &row};
    for (std::size_t i = 0; i < trace().passes.size(); ++i)
      if (trace().passes[i].end == now_) return end_of(i);
    return {};
  }

  Position go_back(const Position& position) {
    switch (position.kind) {
      case EventKind::start:
        break;
      case EventKind::unit:
        return through_unit(position.row);
      case EventKind::unit_start:
        return before_unit(position.row);
      case EventKind::step_end:
        return step_end(*position.step);
      case EventKind::collective:
        return through_collective(*position.collective);
      case EventKind::device:
        return on_device(position.device);
    }
    return {};
  }

  // Adds a piece of the path that lasts from `start` to `now_`, and moves `now_` back to `start`.
  void add(double start, CriticalPiece piece) {
    start = std::max(start, 0.0);
    if (start >= now_) return;
    piece.replica = replica_;
    piece.start = start;
    piece.end = now_;
    pieces_.push_back(piece);
    now_ = start;
  }

  Position end_of(std::size_t pass) {
    return {.kind = EventKind::unit, .row = index().unit_of(pass)};
  }

  // Adds a pass to the path. The trace does not say when within a pass its waits occur; the path
  // shows them at the end of the pass.
  void add_pass(std::size_t pass, double start) {
    const PassRow& row = trace().passes[pass];
    const double duration = index().own_seconds(pass);
    const double share = duration > 0 ? std::min(1.0, (now_ - start) / duration) : 0;
    CriticalPiece piece{
        .device = row.device, .pass = pass, .stage = row.stage, .microbatch = row.microbatch};
    piece.part = CriticalPart::in_passes;
    const double waits = index().exposed_within(pass) * share;
    if (waits > 0) add(std::max(start, now_ - waits), piece);
    piece.part = CriticalPart::compute;
    add(start, piece);
  }

  Position through_unit(std::size_t number) {
    const PassUnit& unit = index().units()[number];
    const double start = trace().passes[unit.first].start;
    // The trace does not say how a fused pair divides its time, so each pass gets half.
    if (unit.is_fused() && start < now_) add_pass(unit.last, start + (now_ - start) / 2);
    add_pass(unit.first, start);
    return {.kind = EventKind::unit_start, .row = number};
  }

  // Returns the time from which on the device was free to start the unit.
  double device_ready(std::size_t number) const {
    const std::size_t previous = index().units()[number].previous;
    const StepRow* step = index().step_before_unit(number);
    const double released =
        previous == no_row ? 0 : trace().passes[index().units()[previous].last].released;
    return step == nullptr ? released : std::max(step->end, released);
  }

  Position before_unit(std::size_t number) {
    const PassUnit& unit = index().units()[number];
    const double free = device_ready(number);
    if (!is_past(free)) return before_on_device(number);

    const PassRow* pass = &trace().passes[unit.first];  // the pass with the later input
    if (trace().passes[unit.last].ready > pass->ready) pass = &trace().passes[unit.last];
    const auto row = static_cast<std::size_t>(pass - trace().passes.data());
    if (!is_past(pass->ready)) return input_of(row);

    const trace::CollectiveRow* weights = weights_for(unit);
    if (weights != nullptr) return {.kind = EventKind::collective, .collective = weights};

    add(std::max(free, pass->ready),
        {.device = pass->device, .stage = pass->stage, .microbatch = pass->microbatch});
    return pass->ready > free ? input_of(row) : before_on_device(number);
  }

  Position before_on_device(std::size_t number) {
    if (const StepRow* step = index().step_before_unit(number))
      return {.kind = EventKind::step_end, .step = step};
    const std::size_t previous = index().units()[number].previous;
    if (previous == no_row) return {};
    const std::size_t last = index().units()[previous].last;
    if (is_past(trace().passes[last].end)) add_blocked_send(last, trace().passes[last].end);
    return {.kind = EventKind::unit, .row = previous};
  }

  static void set_link(const trace::PathRow* path, CriticalPiece& piece) {
    if (path == nullptr) return;
    piece.link = path->link;
    piece.alone = path->alone;
  }

  void add_blocked_send(std::size_t pass, double start) {
    const PassRow& row = trace().passes[pass];
    CriticalPiece piece{.part = CriticalPart::blocked_send,
                        .device = row.device,
                        .stage = row.stage,
                        .microbatch = row.microbatch};
    if (const std::size_t to = index().consumer(row); to != no_row)
      piece.row = index().transfer_to(trace().passes[to]);
    set_link(index().path_of_output(pass), piece);
    add(start, piece);
  }

  Position input_of(std::size_t pass) {
    const PassRow& row = trace().passes[pass];
    const std::size_t producer = index().producer(row);
    if (producer == no_row) {
      add(row.sent, {.device = row.device, .stage = row.stage, .microbatch = row.microbatch});
      return {};
    }
    const PassRow& from = trace().passes[producer];
    CriticalPiece piece{.part = CriticalPart::transfer,
                        .device = row.device,
                        .stage = from.stage,
                        .microbatch = row.microbatch};
    if (from.device != row.device) set_link(index().path_of_output(producer), piece);
    const std::size_t transfer = piece.row = index().transfer_to(row);
    if (transfer != no_row && trace().transfers[transfer].start > row.sent) {
      add(std::min(now_, trace().transfers[transfer].start), piece);
      if (is_past(row.sent)) {
        // The rendezvous began when the receiver was ready, so the walk continues there.
        const std::size_t number = index().unit_of(pass);
        const PassUnit& unit = index().units()[number];
        if (is_now(device_ready(number))) return before_on_device(number);
        if (pass == unit.last && unit.is_fused() && is_now(trace().passes[unit.first].ready))
          return input_of(unit.first);
        piece.part = CriticalPart::rendezvous;
      }
    }
    add(row.sent, piece);
    // The second output of a fused pair is sent after the first, whose send blocks.
    if (is_past(from.end)) add_blocked_send(producer, from.end);
    return end_of(producer);
  }

  // Returns a collective of the device that ends at `now_` and satisfies the predicate, or null.
  template <class Predicate>
  const CollectiveRow* collective_at(std::uint32_t device, const Predicate& matches) const {
    const auto& rows = index().collectives_on(device);
    auto it =
        std::lower_bound(rows.begin(), rows.end(), now_ - time_tolerance(now_),
                         [](const CollectiveRow* row, double limit) { return row->end < limit; });
    for (; it != rows.end() && is_now((*it)->end); ++it)
      if ((*it)->posted < now_ && matches(**it)) return *it;
    return nullptr;
  }

  const CollectiveRow* weights_for(const PassUnit& unit) const {
    const trace::PassRow& first = trace().passes[unit.first];
    const trace::PassRow& last = trace().passes[unit.last];
    const auto gathers_weights = [&](const CollectiveRow& row) {
      return row.kind == CollectiveKind::gather_weights &&
             (row.stage == first.stage || row.stage == last.stage);
    };
    if (const CollectiveRow* row = collective_at(first.device, gathers_weights)) return row;
    // A trace counts waits of a running pass for parts of its weights before the start of the pass,
    // so the gathering that it waited for may end during the pass.
    const auto& rows = index().collectives_on(first.device);
    for (auto it = std::ranges::lower_bound(rows, now_, {}, &CollectiveRow::end);
         it != rows.end() && (*it)->end <= last.end + time_tolerance(last.end); ++it)
      if (gathers_weights(**it) && is_past(std::max((*it)->start, (*it)->posted))) return *it;
    return nullptr;
  }

  Position step_end(const StepRow& step) {
    if (!is_past(step.updated)) return step_updated(step);
    const CollectiveRow* weights = collective_at(step.device, [&](const CollectiveRow& row) {
      return row.kind == CollectiveKind::gather_weights;
    });
    if (weights != nullptr) return {.kind = EventKind::collective, .collective = weights};
    add(step.updated, {.part = CriticalPart::weights, .device = step.device});
    return step_updated(step);
  }

  Position step_updated(const StepRow& step) {
    add(step.synchronized, {.part = CriticalPart::optimizer, .device = step.device});
    return step_synchronized(step);
  }

  // The norm needs the gradients of all devices, so the last device determines its time.
  Position step_synchronized(const StepRow& step) {
    if (!is_past(step.reduced)) return step_reduced(step);
    const StepRow* last = meetings_of_replica_->last_reduced.at(step.iteration);
    if (last->reduced > now_ + time_tolerance(now_)) last = &step;
    const auto waits = meetings_of_replica_->waits.find({WaitEvent::norm, 0, step.iteration});
    if (waits != meetings_of_replica_->waits.end()) {
      const WaitRow& wait = *waits->second.front();
      add(wait.time, {.part = CriticalPart::norm, .device = step.device});
      if (enter(wait.replica))
        for (const StepRow* last_step : index().steps_on(wait.device))
          if (last_step->iteration == step.iteration) return step_reduced(*last_step);
      add(last->reduced, {.part = CriticalPart::other_replicas, .device = step.device});
    }
    add(last->reduced, {.part = CriticalPart::norm, .device = step.device});
    return step_reduced(*last);
  }

  Position step_reduced(const StepRow& step) {
    if (is_past(step.start)) {
      const CollectiveRow* row = collective_at(step.device, [&](const CollectiveRow& reduction) {
        return reduction.kind != CollectiveKind::gather_weights &&
               reduction.iteration == step.iteration;
      });
      if (row != nullptr) return {.kind = EventKind::collective, .collective = row};
      add(step.start, {.part = CriticalPart::gradients, .device = step.device});
    }
    return {.kind = EventKind::device, .device = step.device};
  }

  Position through_collective(const CollectiveRow& row) {
    CriticalPiece piece{.part = critical_part(row.kind), .device = row.device, .stage = row.stage};
    piece.row = static_cast<std::size_t>(&row - trace().collectives.data());
    set_link(index().path(traffic_of(row.kind), row.device, row.device, row.stage), piece);
    add(std::max(row.start, row.posted), piece);
    if (!is_past(row.posted)) return {.kind = EventKind::device, .device = row.device};

    // The collective began after it was posted: another participant posted later, or an earlier
    // collective of a participant occupied the stream.
    const Instances& instances = meetings_of_replica_->collectives.at(instance_of(row));
    auto peer = std::ranges::lower_bound(instances.by_post, now_ - time_tolerance(now_), {},
                                         &CollectiveRow::posted);
    for (; peer != instances.by_post.end() && is_now((*peer)->posted); ++peer)
      if ((*peer)->device != row.device)
        return {.kind = EventKind::device, .device = (*peer)->device};
    const WaitEvent event = row.kind == CollectiveKind::gather_weights
                                ? WaitEvent::gather_weights
                                : WaitEvent::reduce_gradients;
    if (const WaitRow* wait = wait_at(event, row.stage, row.iteration))
      if (enter(wait->replica)) return {.kind = EventKind::device, .device = wait->device};
    for (const std::uint32_t device : instances.devices) {
      const CollectiveRow* before = collective_at(device, [this](const CollectiveRow& earlier) {
        return earlier.kind != CollectiveKind::tie_embeddings && is_past(earlier.start);
      });
      if (before != nullptr) return {.kind = EventKind::collective, .collective = before};
    }
    piece.part = CriticalPart::other_replicas;
    piece.row = no_row;
    add(row.posted, piece);
    return {.kind = EventKind::device, .device = row.device};
  }

  Position on_device(std::uint32_t device) {
    const auto& units = index().units_on(device);
    const auto start_of = [&](std::uint32_t unit) {
      return trace().passes[index().units()[unit].first].start;
    };
    const auto after = std::partition_point(
        units.begin(), units.end(), [&](std::uint32_t unit) { return is_past(start_of(unit)); });
    const std::size_t before = after == units.begin() ? no_row : *(after - 1);
    const double end = before == no_row ? 0 : trace().passes[index().units()[before].last].end;
    if (before != no_row && !is_past(end)) return {.kind = EventKind::unit, .row = before};
    if (after != units.end() && is_now(start_of(*after)))
      return {.kind = EventKind::unit_start, .row = *after};

    const StepRow* step = index().step_at(device, now_ - time_tolerance(now_));
    if (step != nullptr && is_past(step->start) &&
        (before == no_row || step->start >= end - time_tolerance(end)))
      return within_step(*step);
    if (before == no_row) return {};
    const std::size_t last = index().units()[before].last;
    if (now_ <= trace().passes[last].released + time_tolerance(now_))
      add_blocked_send(last, end);
    else
      add(end, {.device = device});
    return {.kind = EventKind::unit, .row = before};
  }

  // Continues the walk within an optimizer step, in the phase of the step at the time `now_`.
  Position within_step(const StepRow& step) {
    if (is_past(step.updated)) return step_end(step);
    if (is_past(step.synchronized)) return step_updated(step);
    if (is_past(step.reduced)) return step_synchronized(step);
    return step_reduced(step);
  }

  Replicas& run_;
  std::map<std::uint32_t, std::unique_ptr<Meetings>> meetings_;  // by replica
  // The replica that the walk has reached.
  std::uint32_t replica_ = 0;
  const TraceIndex* index_ = nullptr;
  const Meetings* meetings_of_replica_ = nullptr;
  double now_ = 0;
  std::vector<CriticalPiece> pieces_;  // in reverse order of time
};

}  // namespace

std::vector<CriticalPiece> critical_path(Replicas& run) { return CriticalWalk(run).walk(); }

std::vector<CriticalPiece> critical_path(const TraceIndex& index) {
  Replicas run(index);
  return critical_path(run);
}

}  // namespace pipewright::analysis
