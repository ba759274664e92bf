#pragma once

#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "analysis/why/critical_path.hpp"
#include "analysis/why/trace_index.hpp"

namespace pipewright::analysis {

// Goes back in time from the event that ends a trace: at each place it asks which event made this
// one happen when it did, adds the time between them as a piece, and goes on from there.
class CriticalWalk {
 public:
  CriticalWalk(const trace::Trace& trace, const TraceIndex& index);
  std::vector<CriticalPiece> walk();

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

  At last_event();
  At go_back(const At& at);
  At through_unit(std::size_t unit);
  At before_unit(std::size_t unit);
  At before_on_device(std::size_t unit);
  At input_of(std::size_t pass);
  At end_of(std::size_t pass);
  At on_device(std::uint32_t device);
  At within_step(const trace::StepRow& step);
  At step_updated(const trace::StepRow& step);
  At step_end(const trace::StepRow& step);
  At step_synchronized(const trace::StepRow& step);
  At step_reduced(const trace::StepRow& step);
  At through_collective(const trace::CollectiveRow& row);

  // When the device could have started the unit, its input aside.
  double device_ready(std::size_t unit) const;
  const trace::CollectiveRow* weights_for(const PassUnit& unit) const;
  // One that ends now on a device and is wanted, or null.
  template <class Wanted>
  const trace::CollectiveRow* collective_at(std::uint32_t device, const Wanted& wanted) const;
  bool is_now(double time) const { return std::abs(time - now_) <= time_tolerance(now_); }
  bool is_past(double time) const { return time < now_ - time_tolerance(now_); }
  // What goes from `start` to now.
  void add(double start, CriticalPiece piece);
  static void go_by(const trace::PathRow* path, CriticalPiece& piece);
  void add_pass(std::size_t pass, double start);
  void add_blocked(std::size_t pass, double start);

  const trace::Trace& trace_;
  const TraceIndex& index_;
  using InstanceKey = std::tuple<trace::CollectiveKind, std::uint32_t, std::uint32_t>;
  static InstanceKey instance_of(const trace::CollectiveRow& row);
  std::map<std::uint32_t, const trace::StepRow*> last_reduced_;  // by iteration
  // Collectives of one kind, stage and iteration.
  struct Instances {
    std::vector<const trace::CollectiveRow*> by_post;  // in order of `posted`
    std::set<std::uint32_t> devices;
  };
  std::map<InstanceKey, Instances> collectives_;
  double now_ = 0;
  std::vector<CriticalPiece> pieces_;  // the last first
};

}  // namespace pipewright::analysis
