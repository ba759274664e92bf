#include "analysis/why/critical_walk.hpp"

#include <algorithm>

namespace pipewright::analysis {

using trace::PassRow;
using trace::StepRow;

CriticalWalk::CriticalWalk(const trace::Trace& trace, const TraceIndex& index)
    : trace_(trace), index_(index) {
  for (const StepRow& row : trace.steps) {
    const StepRow*& last = last_reduced_[row.iteration];
    if (last == nullptr || row.reduced > last->reduced) last = &row;
  }
  for (const trace::CollectiveRow& row : trace.collectives) {
    Meetings& meetings = meetings_[meeting_of(row)];
    meetings.by_post.push_back(&row);
    meetings.devices.insert(row.device);
  }
  for (auto& [key, meetings] : meetings_)
    std::ranges::stable_sort(meetings.by_post, {}, &trace::CollectiveRow::posted);
}

std::vector<CriticalPiece> CriticalWalk::walk() {
  now_ = index_.makespan();
  if (!index_.knows_inputs()) {
    add(0, {.part = CriticalPart::other});
    return std::move(pieces_);
  }
  At at = last_event();
  // Each place is left once or so for each event; more is going round in circles, which rows that
  // contradict each other may bring about.
  const std::size_t events =
      trace_.passes.size() + 4 * trace_.steps.size() + trace_.collectives.size();
  std::size_t steps_left = 4 * events + 16;
  while (at.place != Place::start && now_ > 0 && steps_left-- > 0) at = go_back(at);
  if (now_ > time_tolerance(now_))
    add(0, {.part = CriticalPart::other});
  else if (!pieces_.empty())
    pieces_.back().start = 0;
  std::ranges::reverse(pieces_);
  return std::move(pieces_);
}

CriticalWalk::At CriticalWalk::last_event() {
  for (const StepRow& row : trace_.steps)
    if (row.end == now_) return {.place = Place::step_end, .step = &row};
  for (std::size_t i = 0; i < trace_.passes.size(); ++i)
    if (trace_.passes[i].end == now_) return end_of(i);
  return {};
}

CriticalWalk::At CriticalWalk::go_back(const At& at) {
  switch (at.place) {
    case Place::start:
      break;
    case Place::unit:
      return through_unit(at.row);
    case Place::unit_start:
      return before_unit(at.row);
    case Place::step_end:
      return step_end(*at.step);
    case Place::collective:
      return through_collective(*at.collective);
    case Place::device:
      return on_device(at.device);
  }
  return {};
}

void CriticalWalk::add(double start, CriticalPiece piece) {
  start = std::max(start, 0.0);
  if (start >= now_) return;
  piece.start = start;
  piece.end = now_;
  pieces_.push_back(piece);
  now_ = start;
}

CriticalWalk::At CriticalWalk::end_of(std::size_t pass) {
  return {.place = Place::unit, .row = index_.unit_of(pass)};
}

// The waits within a pass may be anywhere in it; they are put at its end.
void CriticalWalk::add_pass(std::size_t pass, double start) {
  const PassRow& row = trace_.passes[pass];
  const double whole = row.end - row.start;
  const double share = whole > 0 ? std::min(1.0, (now_ - start) / whole) : 0;
  CriticalPiece piece{
      .device = row.device, .pass = pass, .stage = row.stage, .microbatch = row.microbatch};
  piece.part = CriticalPart::in_passes;
  const double waits = index_.waits_within(row) * share;
  if (waits > 0) add(std::max(start, now_ - waits), piece);
  piece.part = CriticalPart::compute;
  add(start, piece);
}

CriticalWalk::At CriticalWalk::through_unit(std::size_t number) {
  const Unit& unit = index_.units()[number];
  const double start = trace_.passes[unit.first].start;
  // How the two of a fused pair share its time, the trace does not say.
  if (unit.is_fused() && start < now_) add_pass(unit.last, start + (now_ - start) / 2);
  add_pass(unit.first, start);
  return {.place = Place::unit_start, .row = number};
}

double CriticalWalk::device_ready(std::size_t number) const {
  const std::size_t previous = index_.units()[number].previous;
  const StepRow* step = index_.step_before_unit(number);
  const double released =
      previous == no_row ? 0 : trace_.passes[index_.units()[previous].last].released;
  return step == nullptr ? released : std::max(step->end, released);
}

CriticalWalk::At CriticalWalk::before_unit(std::size_t number) {
  const Unit& unit = index_.units()[number];
  const double free = device_ready(number);
  if (!is_past(free)) return before_on_device(number);

  const PassRow* late = &trace_.passes[unit.first];
  if (trace_.passes[unit.last].ready > late->ready) late = &trace_.passes[unit.last];
  const auto input = static_cast<std::size_t>(late - trace_.passes.data());
  if (!is_past(late->ready)) return input_of(input);

  const trace::CollectiveRow* weights = weights_for(unit);
  if (weights != nullptr) return {.place = Place::collective, .collective = weights};

  add(std::max(free, late->ready),
      {.device = late->device, .stage = late->stage, .microbatch = late->microbatch});
  return late->ready > free ? input_of(input) : before_on_device(number);
}

CriticalWalk::At CriticalWalk::before_on_device(std::size_t number) {
  if (const StepRow* step = index_.step_before_unit(number))
    return {.place = Place::step_end, .step = step};
  const std::size_t previous = index_.units()[number].previous;
  if (previous == no_row) return {};
  const std::size_t last = index_.units()[previous].last;
  if (is_past(trace_.passes[last].end)) add_blocked(last, trace_.passes[last].end);
  return {.place = Place::unit, .row = previous};
}

void CriticalWalk::go_by(const trace::PathRow* path, CriticalPiece& piece) {
  if (path == nullptr) return;
  piece.link = path->link;
  piece.alone = path->alone;
}

void CriticalWalk::add_blocked(std::size_t pass, double start) {
  const PassRow& row = trace_.passes[pass];
  CriticalPiece piece{.part = CriticalPart::blocked_send,
                      .device = row.device,
                      .stage = row.stage,
                      .microbatch = row.microbatch};
  go_by(index_.path_of_output(pass), piece);
  add(start, piece);
}

CriticalWalk::At CriticalWalk::input_of(std::size_t pass) {
  const PassRow& row = trace_.passes[pass];
  const std::size_t producer = index_.producer(row);
  if (producer == no_row) {
    add(row.sent, {.device = row.device, .stage = row.stage, .microbatch = row.microbatch});
    return {};
  }
  const PassRow& from = trace_.passes[producer];
  CriticalPiece piece{.part = CriticalPart::transfer,
                      .device = row.device,
                      .stage = from.stage,
                      .microbatch = row.microbatch};
  if (from.device != row.device) go_by(index_.path_of_output(producer), piece);
  const std::size_t transfer = index_.transfer_to(row);
  if (transfer != no_row && trace_.transfers[transfer].start > row.sent) {
    add(std::min(now_, trace_.transfers[transfer].start), piece);
    if (is_past(row.sent)) {
      // A rendezvous began when the receiver came to it.
      const std::size_t number = index_.unit_of(pass);
      const Unit& unit = index_.units()[number];
      if (is_now(device_ready(number))) return before_on_device(number);
      if (pass == unit.last && unit.is_fused() && is_now(trace_.passes[unit.first].ready))
        return input_of(unit.first);
      piece.part = CriticalPart::rendezvous;
    }
  }
  add(row.sent, piece);
  // The second of a fused pair is sent after the first, which blocks.
  if (is_past(from.end)) add_blocked(producer, from.end);
  return end_of(producer);
}

}  // namespace pipewright::analysis
