// The end of an iteration on the critical path: collectives and the optimizer's step.

#include <algorithm>

#include "analysis/why/critical_walk.hpp"

namespace pipewright::analysis {

using trace::CollectiveKind;
using trace::CollectiveRow;
using trace::StepRow;

namespace {

CriticalPart part_of(CollectiveKind kind) {
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

trace::TrafficClass traffic_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::gather_weights:
      return trace::TrafficClass::gather_weights;
    case CollectiveKind::tie_embeddings:
      return trace::TrafficClass::tie_embeddings;
    case CollectiveKind::reduce_gradients:
      break;
  }
  return trace::TrafficClass::reduce_gradients;
}

}  // namespace

template <class Wanted>
const CollectiveRow* CriticalWalk::collective_at(std::uint32_t device, const Wanted& wanted) const {
  const auto& rows = index_.collectives_on(device);
  auto at =
      std::lower_bound(rows.begin(), rows.end(), now_ - time_tolerance(now_),
                       [](const CollectiveRow* row, double limit) { return row->end < limit; });
  for (; at != rows.end() && is_now((*at)->end); ++at)
    if ((*at)->posted < now_ && wanted(**at)) return *at;
  return nullptr;
}

const CollectiveRow* CriticalWalk::weights_for(const Unit& unit) const {
  const trace::PassRow& first = trace_.passes[unit.first];
  const trace::PassRow& last = trace_.passes[unit.last];
  const auto wanted = [&](const CollectiveRow& row) {
    return row.kind == CollectiveKind::gather_weights &&
           (row.stage == first.stage || row.stage == last.stage);
  };
  if (const CollectiveRow* row = collective_at(first.device, wanted)) return row;
  // What it waited for parts of its weights on the way is put before its start: the part that came
  // then.
  const auto& rows = index_.collectives_on(first.device);
  for (auto at = std::ranges::lower_bound(rows, now_, {}, &CollectiveRow::end);
       at != rows.end() && (*at)->end <= last.end + time_tolerance(last.end); ++at)
    if (wanted(**at) && is_past(std::max((*at)->start, (*at)->posted))) return *at;
  return nullptr;
}

CriticalWalk::MeetingKey CriticalWalk::meeting_of(const CollectiveRow& row) {
  const bool tied = row.kind == CollectiveKind::tie_embeddings;  // two stages meet
  return {row.kind, tied ? 0 : row.stage, row.iteration};
}

CriticalWalk::At CriticalWalk::step_end(const StepRow& step) {
  if (!is_past(step.updated)) return step_updated(step);
  const CollectiveRow* weights = collective_at(step.device, [&](const CollectiveRow& row) {
    return row.kind == CollectiveKind::gather_weights;
  });
  if (weights != nullptr) return {.place = Place::collective, .collective = weights};
  add(step.updated, {.part = CriticalPart::weights, .device = step.device});
  return step_updated(step);
}

CriticalWalk::At CriticalWalk::step_updated(const StepRow& step) {
  add(step.synchronized, {.part = CriticalPart::optimizer, .device = step.device});
  return step_synchronized(step);
}

// The norm takes the gradients of all devices, so that the last one counts.
CriticalWalk::At CriticalWalk::step_synchronized(const StepRow& step) {
  if (!is_past(step.reduced)) return step_reduced(step);
  const StepRow* last = last_reduced_.at(step.iteration);
  if (last->reduced > now_ + time_tolerance(now_)) last = &step;
  add(last->reduced, {.part = CriticalPart::norm, .device = step.device});
  return step_reduced(*last);
}

CriticalWalk::At CriticalWalk::step_reduced(const StepRow& step) {
  if (is_past(step.start)) {
    const CollectiveRow* row = collective_at(step.device, [&](const CollectiveRow& one) {
      return one.kind != CollectiveKind::gather_weights && one.iteration == step.iteration;
    });
    if (row != nullptr) return {.place = Place::collective, .collective = row};
    add(step.start, {.part = CriticalPart::gradients, .device = step.device});
  }
  return {.place = Place::device, .device = step.device};
}

CriticalWalk::At CriticalWalk::through_collective(const CollectiveRow& row) {
  CriticalPiece piece{.part = part_of(row.kind), .device = row.device, .stage = row.stage};
  go_by(index_.path(traffic_of(row.kind), row.device, row.device, row.stage), piece);
  add(std::max(row.start, row.posted), piece);
  if (!is_past(row.posted)) return {.place = Place::device, .device = row.device};

  // It waited for another device that has a part in it, or for one before it in the same stream.
  const Meetings& meetings = meetings_.at(meeting_of(row));
  auto other = std::ranges::lower_bound(meetings.by_post, now_ - time_tolerance(now_), {},
                                        &CollectiveRow::posted);
  for (; other != meetings.by_post.end() && is_now((*other)->posted); ++other)
    if ((*other)->device != row.device) return {.place = Place::device, .device = (*other)->device};
  for (const std::uint32_t device : meetings.devices) {
    const CollectiveRow* before = collective_at(device, [this](const CollectiveRow& one) {
      return one.kind != CollectiveKind::tie_embeddings && is_past(one.start);
    });
    if (before != nullptr) return {.place = Place::collective, .collective = before};
  }
  piece.part = CriticalPart::other_replicas;
  add(row.posted, piece);
  return {.place = Place::device, .device = row.device};
}

CriticalWalk::At CriticalWalk::on_device(std::uint32_t device) {
  const auto& units = index_.units_on(device);
  const auto start_of = [&](std::uint32_t unit) {
    return trace_.passes[index_.units()[unit].first].start;
  };
  const auto after = std::partition_point(
      units.begin(), units.end(), [&](std::uint32_t unit) { return is_past(start_of(unit)); });
  const std::size_t before = after == units.begin() ? no_row : *(after - 1);
  const double end = before == no_row ? 0 : trace_.passes[index_.units()[before].last].end;
  if (before != no_row && !is_past(end)) return {.place = Place::unit, .row = before};
  if (after != units.end() && is_now(start_of(*after)))
    return {.place = Place::unit_start, .row = *after};

  const StepRow* step = index_.step_at(device, now_ - time_tolerance(now_));
  if (step != nullptr && is_past(step->start) &&
      (before == no_row || step->start >= end - time_tolerance(end)))
    return within_step(*step);
  if (before == no_row) return {};
  const std::size_t last = index_.units()[before].last;
  if (now_ <= trace_.passes[last].released + time_tolerance(now_))
    add_blocked(last, end);
  else
    add(end, {.device = device});
  return {.place = Place::unit, .row = before};
}

// At one of the times of a step, where another collective was posted.
CriticalWalk::At CriticalWalk::within_step(const StepRow& step) {
  if (is_past(step.updated)) return step_end(step);
  if (is_past(step.synchronized)) return step_updated(step);
  if (is_past(step.reduced)) return step_synchronized(step);
  return step_reduced(step);
}

}  // namespace pipewright::analysis
