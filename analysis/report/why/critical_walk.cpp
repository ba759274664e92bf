#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
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

// Goes back in time from the event that ends a trace: at each place it asks which event made this
// one happen when it did, adds the time between them as a piece, and goes on from there.
class CriticalWalk {
 public:
  explicit CriticalWalk(const TraceIndex& index) : trace_(index.trace()), index_(index) {
    for (const StepRow& row : trace_.steps) {
      const StepRow*& last = last_reduced_[row.iteration];
      if (last == nullptr || row.reduced > last->reduced) last = &row;
    }
    for (const trace::CollectiveRow& row : trace_.collectives) {
      Instances& instances = collectives_[instance_of(row)];
      instances.by_post.push_back(&row);
      instances.devices.insert(row.device);
    }
    for (auto& [key, instances] : collectives_)
      std::ranges::stable_sort(instances.by_post, {}, &trace::CollectiveRow::posted);
  }

  std::vector<CriticalPiece> walk() {
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

 private:
  // Where the walk stands; the time is `now_`.
  enum class Place : std::uint8_t {
    start,       // of the run
    unit,        // the device computes unit `row`
    unit_start,  // unit `row` starts
    step_end,    // the step `step` ends
    collective,  // `collective` ends
    device,      // whatever `device` does
  };
  struct At {
    Place place = Place::start;
    std::size_t row = no_row;
    const trace::StepRow* step = nullptr;
    const trace::CollectiveRow* collective = nullptr;
    std::uint32_t device = 0;
  };

  using InstanceKey = std::tuple<trace::CollectiveKind, std::uint32_t, std::uint32_t>;
  // Collectives of one kind, stage and iteration.
  struct Instances {
    std::vector<const trace::CollectiveRow*> by_post;  // in order of `posted`
    std::set<std::uint32_t> devices;
  };

  bool is_now(double time) const { return std::abs(time - now_) <= time_tolerance(now_); }
  bool is_past(double time) const { return time < now_ - time_tolerance(now_); }

  At last_event() {
    for (const StepRow& row : trace_.steps)
      if (row.end == now_) return {.place = Place::step_end, .step = &row};
    for (std::size_t i = 0; i < trace_.passes.size(); ++i)
      if (trace_.passes[i].end == now_) return end_of(i);
    return {};
  }

  At go_back(const At& at) {
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

  // What goes from `start` to now.
  void add(double start, CriticalPiece piece) {
    start = std::max(start, 0.0);
    if (start >= now_) return;
    piece.start = start;
    piece.end = now_;
    pieces_.push_back(piece);
    now_ = start;
  }

  At end_of(std::size_t pass) { return {.place = Place::unit, .row = index_.unit_of(pass)}; }

  // The waits within a pass may be anywhere in it; they are put at its end.
  void add_pass(std::size_t pass, double start) {
    const PassRow& row = trace_.passes[pass];
    const double whole = index_.own_seconds(pass);
    const double share = whole > 0 ? std::min(1.0, (now_ - start) / whole) : 0;
    CriticalPiece piece{
        .device = row.device, .pass = pass, .stage = row.stage, .microbatch = row.microbatch};
    piece.part = CriticalPart::in_passes;
    const double waits = index_.exposed_within(pass) * share;
    if (waits > 0) add(std::max(start, now_ - waits), piece);
    piece.part = CriticalPart::compute;
    add(start, piece);
  }

  At through_unit(std::size_t number) {
    const PassUnit& unit = index_.units()[number];
    const double start = trace_.passes[unit.first].start;
    // How the two of a fused pair share its time, the trace does not say.
    if (unit.is_fused() && start < now_) add_pass(unit.last, start + (now_ - start) / 2);
    add_pass(unit.first, start);
    return {.place = Place::unit_start, .row = number};
  }

  // When the device could have started the unit, its input aside.
  double device_ready(std::size_t number) const {
    const std::size_t previous = index_.units()[number].previous;
    const StepRow* step = index_.step_before_unit(number);
    const double released =
        previous == no_row ? 0 : trace_.passes[index_.units()[previous].last].released;
    return step == nullptr ? released : std::max(step->end, released);
  }

  At before_unit(std::size_t number) {
    const PassUnit& unit = index_.units()[number];
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

  At before_on_device(std::size_t number) {
    if (const StepRow* step = index_.step_before_unit(number))
      return {.place = Place::step_end, .step = step};
    const std::size_t previous = index_.units()[number].previous;
    if (previous == no_row) return {};
    const std::size_t last = index_.units()[previous].last;
    if (is_past(trace_.passes[last].end)) add_blocked(last, trace_.passes[last].end);
    return {.place = Place::unit, .row = previous};
  }

  static void go_by(const trace::PathRow* path, CriticalPiece& piece) {
    if (path == nullptr) return;
    piece.link = path->link;
    piece.alone = path->alone;
  }

  void add_blocked(std::size_t pass, double start) {
    const PassRow& row = trace_.passes[pass];
    CriticalPiece piece{.part = CriticalPart::blocked_send,
                        .device = row.device,
                        .stage = row.stage,
                        .microbatch = row.microbatch};
    go_by(index_.path_of_output(pass), piece);
    add(start, piece);
  }

  At input_of(std::size_t pass) {
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
        const PassUnit& unit = index_.units()[number];
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

  // One that ends now on a device and is wanted, or null.
  template <class Wanted>
  const CollectiveRow* collective_at(std::uint32_t device, const Wanted& wanted) const {
    const auto& rows = index_.collectives_on(device);
    auto at =
        std::lower_bound(rows.begin(), rows.end(), now_ - time_tolerance(now_),
                         [](const CollectiveRow* row, double limit) { return row->end < limit; });
    for (; at != rows.end() && is_now((*at)->end); ++at)
      if ((*at)->posted < now_ && wanted(**at)) return *at;
    return nullptr;
  }

  const CollectiveRow* weights_for(const PassUnit& unit) const {
    const trace::PassRow& first = trace_.passes[unit.first];
    const trace::PassRow& last = trace_.passes[unit.last];
    const auto wanted = [&](const CollectiveRow& row) {
      return row.kind == CollectiveKind::gather_weights &&
             (row.stage == first.stage || row.stage == last.stage);
    };
    if (const CollectiveRow* row = collective_at(first.device, wanted)) return row;
    // What it waited for parts of its weights on the way is put before its start: the part that
    // came then.
    const auto& rows = index_.collectives_on(first.device);
    for (auto at = std::ranges::lower_bound(rows, now_, {}, &CollectiveRow::end);
         at != rows.end() && (*at)->end <= last.end + time_tolerance(last.end); ++at)
      if (wanted(**at) && is_past(std::max((*at)->start, (*at)->posted))) return *at;
    return nullptr;
  }

  static InstanceKey instance_of(const CollectiveRow& row) {
    const bool tied = row.kind == CollectiveKind::tie_embeddings;  // two stages meet
    return {row.kind, tied ? 0 : row.stage, row.iteration};
  }

  At step_end(const StepRow& step) {
    if (!is_past(step.updated)) return step_updated(step);
    const CollectiveRow* weights = collective_at(step.device, [&](const CollectiveRow& row) {
      return row.kind == CollectiveKind::gather_weights;
    });
    if (weights != nullptr) return {.place = Place::collective, .collective = weights};
    add(step.updated, {.part = CriticalPart::weights, .device = step.device});
    return step_updated(step);
  }

  At step_updated(const StepRow& step) {
    add(step.synchronized, {.part = CriticalPart::optimizer, .device = step.device});
    return step_synchronized(step);
  }

  // The norm takes the gradients of all devices, so that the last one counts.
  At step_synchronized(const StepRow& step) {
    if (!is_past(step.reduced)) return step_reduced(step);
    const StepRow* last = last_reduced_.at(step.iteration);
    if (last->reduced > now_ + time_tolerance(now_)) last = &step;
    add(last->reduced, {.part = CriticalPart::norm, .device = step.device});
    return step_reduced(*last);
  }

  At step_reduced(const StepRow& step) {
    if (is_past(step.start)) {
      const CollectiveRow* row = collective_at(step.device, [&](const CollectiveRow& one) {
        return one.kind != CollectiveKind::gather_weights && one.iteration == step.iteration;
      });
      if (row != nullptr) return {.place = Place::collective, .collective = row};
      add(step.start, {.part = CriticalPart::gradients, .device = step.device});
    }
    return {.place = Place::device, .device = step.device};
  }

  At through_collective(const CollectiveRow& row) {
    CriticalPiece piece{.part = part_of(row.kind), .device = row.device, .stage = row.stage};
    go_by(index_.path(traffic_of(row.kind), row.device, row.device, row.stage), piece);
    add(std::max(row.start, row.posted), piece);
    if (!is_past(row.posted)) return {.place = Place::device, .device = row.device};

    // It waited for another device that has a part in it, or for one before it in the same stream.
    const Instances& instances = collectives_.at(instance_of(row));
    auto other = std::ranges::lower_bound(instances.by_post, now_ - time_tolerance(now_), {},
                                          &CollectiveRow::posted);
    for (; other != instances.by_post.end() && is_now((*other)->posted); ++other)
      if ((*other)->device != row.device)
        return {.place = Place::device, .device = (*other)->device};
    for (const std::uint32_t device : instances.devices) {
      const CollectiveRow* before = collective_at(device, [this](const CollectiveRow& one) {
        return one.kind != CollectiveKind::tie_embeddings && is_past(one.start);
      });
      if (before != nullptr) return {.place = Place::collective, .collective = before};
    }
    piece.part = CriticalPart::other_replicas;
    add(row.posted, piece);
    return {.place = Place::device, .device = row.device};
  }

  At on_device(std::uint32_t device) {
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
  At within_step(const StepRow& step) {
    if (is_past(step.updated)) return step_end(step);
    if (is_past(step.synchronized)) return step_updated(step);
    if (is_past(step.reduced)) return step_synchronized(step);
    return step_reduced(step);
  }

  const trace::Trace& trace_;
  const TraceIndex& index_;
  std::map<std::uint32_t, const trace::StepRow*> last_reduced_;  // by iteration
  std::map<InstanceKey, Instances> collectives_;
  double now_ = 0;
  std::vector<CriticalPiece> pieces_;  // the last first
};

}  // namespace

std::vector<CriticalPiece> critical_path(const TraceIndex& index) {
  return CriticalWalk(index).walk();
}

}  // namespace pipewright::analysis
