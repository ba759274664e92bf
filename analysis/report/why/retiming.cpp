#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/report/why/slack.hpp"

namespace pipewright::analysis {

using trace::PassRow;
using trace::StepRow;

// Builds the graph of a trace: a node for each pass and each transfer, and two for each step.
class Retiming::Builder {
 public:
  Builder(const TraceIndex& index, Retiming& into);
  void build();

 private:
  using Number = std::uint32_t;
  static constexpr Number no_node = 0xffffffff;
  struct Planned {
    Class kind = no_class;
    bool ends_run = false;
    double start = 0;  // in the trace
    double end = 0;
    double waits = 0;  // seconds of collectives inside a pass, which keep their length
    double scalable() const { return end - start - waits; }
  };
  struct Edge {
    Number from = 0;
    Number to = 0;
  };

  Number add_node(const Planned& node);
  // Adds the dependency of node `to` on the end of node `from`, unless the trace contradicts it.
  void add_edge(Number from, Number to);
  void add_units();
  void add_transfers();
  void add_steps();
  double reduction_wait(const trace::StepRow& step) const;
  void connect_unit(std::size_t number);
  void connect_transfer(std::size_t pass, Number node);
  // Make a node wait until the device can start a unit (a pass or a fused pair), or until a unit
  // ends.
  void wait_before(std::size_t unit, Number node);
  void wait_after(std::size_t unit, Number node);
  Class link_class_of(const trace::PathRow* path);
  // Returns all nodes in an order in which each follows the nodes that it depends on.
  std::vector<Number> order() const;
  void write(const std::vector<Number>& order);

  const trace::Trace& trace_;
  const TraceIndex& index_;
  Retiming& into_;
  bool rendezvous_;
  std::vector<Planned> nodes_;
  std::vector<Edge> edges_;
  std::vector<Number> transfer_into_;  // node of the transfer into each pass
  std::vector<Number> transfer_from_;  // node of the transfer of each pass's output
  std::unordered_map<const trace::StepRow*, Number> step_ends_;
  std::map<std::string, Class> link_numbers_;
};

// Nodes of passes have the numbers of their rows. The second pass of a fused pair follows the
// first; each takes half of the time of the pair.
Retiming::Builder::Builder(const TraceIndex& index, Retiming& into)
    : trace_(index.trace()),
      index_(index),
      into_(into),
      rendezvous_(trace_.run.p2p == "rendezvous"),
      transfer_into_(trace_.passes.size(), no_node),
      transfer_from_(trace_.passes.size(), no_node) {}

void Retiming::Builder::build() {
  nodes_.reserve(trace_.passes.size() + trace_.transfers.size() + 3 * trace_.steps.size());
  edges_.reserve(2 * nodes_.capacity());
  add_units();
  add_transfers();
  add_steps();
  for (std::size_t unit = 0; unit < index_.units().size(); ++unit) connect_unit(unit);
  for (std::size_t pass = 0; pass < trace_.passes.size(); ++pass)
    if (transfer_into_[pass] != no_node) connect_transfer(pass, transfer_into_[pass]);
  write(order());
}

Retiming::Builder::Number Retiming::Builder::add_node(const Planned& node) {
  if (node.kind != no_class) {
    const bool is_stage = node.kind < into_.stages_.size();
    Members& members =
        is_stage ? into_.stages_[node.kind] : into_.links_[node.kind - into_.stages_.size()];
    ++members.count;
    members.seconds += node.scalable();
    members.longest = std::max(members.longest, node.scalable());
  }
  nodes_.push_back(node);
  return static_cast<Number>(nodes_.size() - 1);
}

void Retiming::Builder::add_edge(Number from, Number to) {
  if (from == no_node) return;
  const double start = nodes_[to].start;
  if (nodes_[from].end <= start + 2 * time_tolerance(start)) edges_.push_back({from, to});
}

void Retiming::Builder::add_units() {
  std::uint32_t stages = 0;
  for (const PassRow& row : trace_.passes) stages = std::max(stages, row.stage + 1);
  into_.stages_.resize(stages);
  for (std::size_t pass = 0; pass < trace_.passes.size(); ++pass) {
    const PassRow& row = trace_.passes[pass];
    const PassUnit& unit = index_.units()[index_.unit_of(pass)];
    Planned node{.kind = row.stage, .ends_run = true, .start = row.start, .end = row.end};
    if (unit.is_fused())
      (pass == unit.first ? node.end : node.start) = row.start + (row.end - row.start) / 2;
    node.waits = std::min(index_.exposed_within(pass), node.end - node.start);
    add_node(node);
  }
}

Retiming::Class Retiming::Builder::link_class_of(const trace::PathRow* path) {
  const bool is_known = path != nullptr && path->link < trace_.links.size();
  const std::string name = is_known ? trace_.links[path->link].link_class : "";
  const auto [it, is_new] =
      link_numbers_.try_emplace(name, static_cast<Class>(link_numbers_.size()));
  if (is_new) {
    into_.links_.emplace_back();
    into_.link_classes_.push_back(name);
  }
  return into_.link(it->second);
}

void Retiming::Builder::add_transfers() {
  for (std::size_t pass = 0; pass < trace_.passes.size(); ++pass) {
    const PassRow& row = trace_.passes[pass];
    const std::size_t producer = index_.producer(row);
    if (producer == no_row || trace_.passes[producer].device == row.device) continue;
    const std::size_t transfer = index_.transfer_to(row);
    const double start = transfer == no_row ? row.sent : trace_.transfers[transfer].start;
    transfer_into_[pass] = transfer_from_[producer] =
        add_node({.kind = link_class_of(index_.path_of_output(producer)),
                  .start = std::min(start, row.ready),
                  .end = row.ready});
  }
}

void Retiming::Builder::wait_after(std::size_t number, Number node) {
  const PassUnit& unit = index_.units()[number];
  const PassRow& last = trace_.passes[unit.last];
  add_edge(static_cast<Number>(unit.last), node);
  if (last.released <= last.end + time_tolerance(last.end)) return;
  // A send blocks its device. If the trace does not list the transfer, the send blocks the device
  // for as long as in the trace.
  if (transfer_from_[unit.first] == no_node && transfer_from_[unit.last] == no_node) {
    const Number send = add_node({.start = last.end, .end = last.released});
    add_edge(static_cast<Number>(unit.last), send);
    return add_edge(send, node);
  }
  for (const std::size_t pass : {unit.first, unit.last}) add_edge(transfer_from_[pass], node);
}

void Retiming::Builder::wait_before(std::size_t number, Number node) {
  if (const StepRow* step = index_.step_before_unit(number))
    add_edge(step_ends_.at(step), node);
  else if (index_.units()[number].previous != no_row)
    wait_after(index_.units()[number].previous, node);
}

void Retiming::Builder::connect_unit(std::size_t number) {
  const PassUnit& unit = index_.units()[number];
  const auto first = static_cast<Number>(unit.first);
  wait_before(number, first);
  add_edge(transfer_into_[unit.first], first);
  if (!unit.is_fused()) return;
  add_edge(transfer_into_[unit.last], first);
  add_edge(first, static_cast<Number>(unit.last));
}

void Retiming::Builder::connect_transfer(std::size_t pass, Number node) {
  const std::size_t producer = index_.producer(trace_.passes[pass]);
  const PassUnit& from = index_.units()[index_.unit_of(producer)];
  add_edge(static_cast<Number>(from.last), node);
  const double sent = trace_.passes[pass].sent;
  // The second output of a fused pair is sent after the first.
  if (producer != from.first && sent > trace_.passes[producer].end + time_tolerance(sent))
    add_edge(transfer_from_[from.first], node);
  if (!rendezvous_) return;
  const std::size_t number = index_.unit_of(pass);
  const PassUnit& unit = index_.units()[number];
  wait_before(number, node);
  if (pass != unit.first) add_edge(transfer_into_[unit.first], node);
}

// Returns the last time at which another replica lets a reduction of the step begin; 0: none.
double Retiming::Builder::reduction_wait(const StepRow& step) const {
  double last = 0;
  for (const trace::WaitRow& wait : trace_.waits)
    if (wait.event == trace::WaitEvent::reduce_gradients && wait.iteration == step.iteration)
      for (const trace::CollectiveRow* row : index_.collectives_on(step.device))
        if (row->stage == wait.stage && row->kind == trace::CollectiveKind::reduce_gradients &&
            row->iteration == wait.iteration)
          last = std::max(last, wait.time);
  return last;
}

// A step has two nodes: one until its gradients are reduced, one for the rest. If steps wait for
// the norm, a barrier between the two lets them continue when the last device has its gradients.
void Retiming::Builder::add_steps() {
  struct Norm {
    double start = 0;
    bool waits = false;
    std::vector<Number> reduced;
  };
  std::map<std::uint32_t, Norm> norms;  // by iteration
  std::vector<Number> reduced;
  for (const StepRow& step : trace_.steps) {
    // The moment at which the last of the other replicas is ready for a reduction stays as it is.
    const double waited_until = std::clamp(reduction_wait(step), step.start, step.reduced);
    const Number node = add_node({.start = waited_until, .end = step.reduced});
    if (waited_until > step.start)
      add_edge(add_node({.start = waited_until, .end = waited_until}), node);
    const auto& units = index_.units_on(step.device);
    const auto after = std::ranges::partition_point(units, [&](std::uint32_t unit) {
      return trace_.passes[index_.units()[unit].first].start < step.start;
    });
    if (after != units.begin()) wait_after(*(after - 1), node);
    reduced.push_back(node);
    Norm& norm = norms[step.iteration];
    norm.start = std::max(norm.start, step.reduced);
    norm.waits = norm.waits || step.synchronized > step.reduced + time_tolerance(step.reduced);
    norm.reduced.push_back(node);
  }
  for (const trace::WaitRow& wait : trace_.waits) {
    const bool is_end = wait.event == trace::WaitEvent::end;
    if (!is_end && wait.event != trace::WaitEvent::norm) continue;
    const Number node = add_node({.ends_run = is_end, .start = wait.time, .end = wait.time});
    if (is_end) continue;
    Norm& norm = norms[wait.iteration];
    norm.start = std::max(norm.start, wait.time);
    norm.reduced.push_back(node);
  }
  std::map<std::uint32_t, Number> barriers;
  for (const auto& [iteration, norm] : norms) {
    if (!norm.waits) continue;
    const Number node = barriers[iteration] = add_node({.start = norm.start, .end = norm.start});
    for (const Number reduction : norm.reduced) add_edge(reduction, node);
  }
  for (std::size_t i = 0; i < trace_.steps.size(); ++i) {
    const StepRow& step = trace_.steps[i];
    const Number node = add_node({.ends_run = true, .start = step.synchronized, .end = step.end});
    add_edge(reduced[i], node);
    const auto barrier = barriers.find(step.iteration);
    if (barrier != barriers.end()) add_edge(barrier->second, node);
    step_ends_[&step] = node;
  }
}

std::vector<Retiming::Builder::Number> Retiming::Builder::order() const {
  std::vector<Number> waits(nodes_.size());
  std::vector<Number> first(nodes_.size() + 1);
  for (const Edge& edge : edges_) {
    ++waits[edge.to];
    ++first[edge.from + 1];
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i) first[i + 1] += first[i];
  std::vector<Number> targets(edges_.size());
  std::vector<Number> next = first;
  for (const Edge& edge : edges_) targets[next[edge.from]++] = edge.to;

  std::vector<Number> order;
  order.reserve(nodes_.size());
  for (Number node = 0; node < nodes_.size(); ++node)
    if (waits[node] == 0) order.push_back(node);
  for (std::size_t i = 0; i < order.size(); ++i)
    for (Number at = first[order[i]]; at < first[order[i] + 1]; ++at)
      if (--waits[targets[at]] == 0) order.push_back(targets[at]);
  return order;  // without nodes in cycles, which take no time
}

void Retiming::Builder::write(const std::vector<Number>& order) {
  std::vector<Number> position(nodes_.size(), no_node);
  for (std::size_t i = 0; i < order.size(); ++i) position[order[i]] = static_cast<Number>(i);
  std::vector<Number> count(order.size() + 1);
  for (const Edge& edge : edges_)
    if (position[edge.to] != no_node) ++count[position[edge.to] + 1];
  for (std::size_t i = 0; i < order.size(); ++i) count[i + 1] += count[i];
  into_.edges_.resize(count.back());
  into_.nodes_.resize(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Planned& planned = nodes_[order[i]];
    into_.nodes_[i] = {.delay = planned.start,
                       .duration = planned.scalable(),
                       .kind = planned.kind,
                       .first_edge = count[i],
                       .ends_run = planned.ends_run};
  }
  std::vector<double> due(order.size(), 0);  // latest end of the predecessors
  for (const Edge& edge : edges_) {
    const Number to = position[edge.to];
    if (to == no_node) continue;
    into_.edges_[count[to]++] = position[edge.from];
    due[to] = std::max(due[to], nodes_[edge.from].end);
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    double& delay = into_.nodes_[i].delay;
    delay = delay - due[i] > 2 * time_tolerance(delay) ? delay - due[i] : 0;
    delay += nodes_[order[i]].waits;
  }
}

Retiming::Retiming(const TraceIndex& index) {
  Builder(index, *this).build();
  find_critical();
}

}  // namespace pipewright::analysis
