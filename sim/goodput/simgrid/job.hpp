#pragma once

#include <cstdint>
#include <optional>
#include <queue>
#include <vector>

#include "analysis/report/goodput/outcome.hpp"
#include "sim/goodput/incidents.hpp"
#include "sim/goodput/simgrid/job_network.hpp"

namespace pipewright::goodput {

// Simulates a job under one seed, as an actor that trains, writes checkpoints, fails and recovers.
// If training shares a network with its checkpoints, it is a flow of the bytes that it sends, and
// its rate is the speed of training; single iterations are not simulated. The flows share
// bandwidth, so training that gets less of the network is slower in proportion. Without a shared
// network, all durations are known in advance.
class Job {
 public:
  Job(const Setting& setting, std::uint64_t seed, JobNetwork lines, bool keep_spans);

  void run();  // Body of the actor.
  const analysis::GoodputOutcome& outcome() const { return outcome_; }
  const std::vector<analysis::GoodputSpan>& spans() const { return spans_; }

 private:
  using Part = analysis::GoodputPart;
  // A state of training to which the job can go back.
  struct Saved {
    double at = 0;       // Time at which it was saved.
    double trained = 0;  // Seconds of training that it contains.
  };
  struct Upcoming {
    enum class Type : std::uint8_t { straggler_goes, straggler_found, corruption_found, node_back };
    double at = 0;
    Type type = Type::node_back;
    Saved since;  // For a corruption, the state when it occurred.
    bool operator<(const Upcoming& rhs) const { return at > rhs.at; }
  };
  struct TimeIsUp {};  // Thrown when the duration of the run ends.
  enum class WaitEnd : std::uint8_t { time, training, flow, stopped };

  WaitEnd wait(Part part, double until);
  void account(Part part, double from);
  void trained_for(double done, double seconds);
  void keep_span(analysis::GoodputSpan span);
  void begin_flow(sg4::Host* from, sg4::Host* to, double rate);
  void end_flow();
  bool handle_next_event();
  bool handle(const Upcoming& event);
  bool handle(const Incident& incident);

  bool train(double until);
  bool checkpoint();
  bool finish_flow(Part part);
  void start_write();
  void recover();
  bool try_recovery();
  bool load();
  void fail(const FailureKind& kind);
  void stop_as_planned();
  void go_back(const Saved& to);
  void go_back_to_last();
  void forget_corruptions(double since);
  void lose_flows();
  void update_speed();
  std::uint32_t dropped(std::uint32_t nodes) const;
  bool wait_for(Part part, double seconds);
  void skip_steps();
  void receive_copy();

  const Setting& setting_;
  JobNetwork network_;
  bool keep_spans_;
  Incidents incidents_;
  std::priority_queue<Upcoming> upcoming_;
  analysis::GoodputOutcome outcome_;
  std::vector<analysis::GoodputSpan> spans_;

  double trained_ = 0;             // Seconds of training since the start, minus lost training.
  std::vector<Saved> stored_{{}};  // States in the storage; the first is the start.
  std::optional<Saved> at_peers_;
  std::optional<Saved> copied_;  // The newest copy, which may still be on its way to a peer.
  std::optional<Saved> being_written_;
  double next_write_ = 0;  // Seconds of training at the next write to the storage.
  double next_copy_ = 0;   // Seconds of training at the next copy to peers.
  sg4::CommPtr training_;
  sg4::CommPtr flow_;         // To or from the storage.
  double flow_ends_ = never;  // End of the flow, if known in advance.
  double segment_ = 0;        // Seconds of training until the next checkpoint.
  double speed_ = 1;
  std::uint32_t slow_nodes_ = 0;
  std::uint32_t missing_nodes_ = 0;
  std::uint32_t spares_ = 0;
  std::uint32_t dropped_ = 0;     // Replicas that do not train.
  std::uint32_t failed_now_ = 0;  // Nodes that failed in the current stop.
  double detection_ = 0;          // Detection time of the current failure.
  std::optional<double>
      planned_;  // Duration of a planned stop that begins once the state is stored.
  double planned_until_ = 0;
  double incidents_seen_ = 0;
  bool is_up_ = true;
};

}  // namespace pipewright::goodput
