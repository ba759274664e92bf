#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/why/slack.hpp"

namespace pipewright::analysis {

// Makes the graph of a trace: a node for each pass, each transfer, and two for each step.
class Retiming::Builder {
 public:
  Builder(const trace::Trace& trace, const TraceIndex& index, Retiming& into);
  void build();

 private:
  using Number = std::uint32_t;
  static constexpr Number no_node = 0xffffffff;
  struct Planned {
    Class kind = no_class;
    bool ends_run = false;
    double start = 0;  // in the trace
    double end = 0;
    double waits = 0;  // of a pass for collectives within it, which keep their time
    double stretched() const { return end - start - waits; }
  };
  struct Edge {
    Number from = 0;
    Number to = 0;
  };

  Number add_node(const Planned& node);
  // Only if the trace bears it out.
  void add_edge(Number from, Number to);
  void add_units();
  void add_transfers();
  void add_steps();
  void connect_unit(std::size_t number);
  void connect_transfer(std::size_t pass, Number node);
  // What has to be over on the device before it goes on to a unit, or after one.
  void wait_before(std::size_t unit, Number node);
  void wait_after(std::size_t unit, Number node);
  Class link_class_of(const trace::PathRow* path);
  // In which all come after what they wait for.
  std::vector<Number> order() const;
  void write(const std::vector<Number>& order);

  const trace::Trace& trace_;
  const TraceIndex& index_;
  Retiming& into_;
  bool rendezvous_;
  std::vector<Planned> nodes_;
  std::vector<Edge> edges_;
  std::vector<Number> transfer_into_;  // node of the transfer into each pass
  std::vector<Number> transfer_from_;  // and from each
  std::unordered_map<const trace::StepRow*, Number> step_ends_;
  std::map<std::string, Class> link_numbers_;
};

}  // namespace pipewright::analysis
