#pragma once

#include <cstdint>
#include <optional>
#include <queue>
#include <vector>

#include "analysis/report/goodput/outcome.hpp"
#include "sim/goodput/incidents.hpp"
#include "sim/goodput/simgrid/lines.hpp"

namespace pipewright::goodput {

// A job under one seed: an actor that trains, writes checkpoints, fails and recovers. Where
// training shares a network with its checkpoints it is a flow of as many bytes as it sends, whose
// rate is its speed; iterations within it are not told apart. The two share as flows do, and
// training that gets less of the network is as much slower. What shares nothing takes a time that
// is known.
class Job {
 public:
  Job(const Setting& setting, std::uint64_t seed, Lines lines, bool keep_spans);

  void run();  // the actor's body
  const analysis::GoodputOutcome& outcome() const { return outcome_; }
  const std::vector<analysis::GoodputSpan>& spans() const { return spans_; }

 private:
  using Part = analysis::GoodputPart;
  // A state of training that can be gone back to.
  struct Saved {
    double at = 0;       // when it was taken
    double trained = 0;  // seconds of training in it
  };
  struct Coming {
    enum class What : std::uint8_t { straggler_goes, straggler_found, corruption_found, node_back };
    double at = 0;
    What what = What::node_back;
    Saved since;  // of a corruption when it was
    bool operator<(const Coming& other) const { return at > other.at; }
  };
  struct Over {};  // thrown at the end of the time
  enum class Ended : std::uint8_t { time, training, flow, stopped };

  Ended wait(Part part, double until);
  void account(Part part, double from);
  void trained_for(double done, double seconds);
  void keep_span(Part part, double from, double to);
  void begin_flow(sg4::Host* from, sg4::Host* to, double rate);
  void end_flow();
  bool happen();
  bool happen(const Coming& event);
  bool happen(const Incident& incident);

  bool train(double until);
  bool checkpoint();
  bool finish_flow(Part part);
  void start_write();
  void recover();
  bool get_going();
  bool load();
  void fail(std::uint32_t nodes, double repair, double detection);
  void stop_as_planned();
  void go_back(const Saved& to);
  void go_back_to_last();
  void forget_corruptions(double since);
  void lose_flows();
  void settle_speed();
  std::uint32_t dropped(std::uint32_t nodes) const;
  bool spend(Part part, double seconds);
  void leap();
  void receive_copy();

  const Setting& setting_;
  Lines lines_;
  bool keep_spans_;
  Incidents incidents_;
  std::priority_queue<Coming> coming_;
  analysis::GoodputOutcome outcome_;
  std::vector<analysis::GoodputSpan> spans_;

  double trained_ = 0;             // seconds, that last unless it goes back
  std::vector<Saved> stored_{{}};  // the start is one
  std::optional<Saved> at_peers_;
  std::optional<Saved> copied_;  // on its way there, or there
  std::optional<Saved> being_written_;
  double next_write_ = 0;  // of training
  double next_copy_ = 0;   // to peers, likewise
  sg4::CommPtr training_;
  sg4::CommPtr flow_;         // to the storage, or from it
  double flow_ends_ = never;  // where that is known
  double segment_ = 0;        // seconds of training until the next checkpoint
  double speed_ = 1;
  std::uint32_t slow_nodes_ = 0;
  std::uint32_t short_of_ = 0;  // nodes
  std::uint32_t spares_ = 0;
  std::uint32_t dropped_ = 0;      // replicas that do not train
  std::uint32_t failed_now_ = 0;   // nodes, in this stop
  double detection_ = 0;           // of what stopped it
  std::optional<double> planned_;  // it is to be stopped for so long, once all is stored
  double planned_until_ = 0;
  double incidents_seen_ = 0;
  bool is_up_ = true;
};

}  // namespace pipewright::goodput
