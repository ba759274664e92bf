#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/comm/prediction.hpp"
#include "sim/execution/collectives/nccl.hpp"
#include "sim/execution/collectives/picks.hpp"

namespace pipewright::comm {

// Computes the time of a benchmark's first group, as Formula does (prediction.hpp), for changing
// numbers of the network model: planned once, evaluated often. Bytes on links do not depend on
// these numbers except for reducing switches, and latencies are linear in them; the coefficients
// are found by changing each number and planning again. Exact as long as decisions of the plan stay
// the same: the longest of several routes, the busiest link of a level, whether a hop is shorter
// than its post, the order of a ring, and whether peers relay for each other.
class PricedRun {
 public:
  // Plans the run. Changes the cluster's numbers temporarily and restores them.
  PricedRun(cluster::Cluster& cluster, const BenchmarkRun& run);

  // Evaluates the run's time at any size, for one set of numbers of the network model.
  class Prices {
   public:
    double seconds(std::uint64_t bytes) const;
    cluster::Protocol protocol(std::uint64_t bytes) const;  // protocol that NCCL chooses

   private:
    friend class PricedRun;
    struct Step {           // prices of one phase
      double transfer = 0;  // seconds per byte
      double latency = 0;
      double ends = 0;
      double level_seconds = 0;  // seconds per byte; see execution::PhaseCost
      double round_latency = 0;
      execution::Chunking chunking;
    };
    struct Variant {  // prices by one algorithm and protocol
      execution::AlgorithmProtocol method;
      std::vector<Step> steps;

      double seconds(double bytes) const;
    };
    double estimate(std::size_t variant, double bytes) const;
    std::size_t choice(double bytes) const;

    std::vector<Variant> actual_;
    // costs by which NCCL chooses; empty if it chooses by `actual_`
    std::vector<Variant> expected_;
    std::optional<execution::NcclView> view_;  // NCCL's own model, if it chooses by that
    execution::Picks picks_;
    workload::Collective kind_ = workload::Collective::all_reduce;
  };
  Prices prices(const cluster::MessageModel& model) const;
  double seconds(std::uint64_t bytes, const cluster::MessageModel& model) const {
    return prices(model).seconds(bytes);
  }
  // Makes NCCL choose algorithms by `model`, unless the platform file has `expected.` properties;
  // null makes it choose by the actual numbers.
  void assume(const cluster::MessageModel* model);

 private:
  using ByProtocol = execution::ByProtocol;

  struct Class {  // class of links
    std::string name;
    double latency = 0;        // latency of every link, if all links agree
    bool has_latency = false;  // all links agree
    double sharp_efficiency = 1;
    ByProtocol protocol_efficiency{1, 1, 1};
  };
  // Number of the network model to which a term is proportional.
  enum class TermKind : std::uint8_t {
    step,
    post,
    message,
    class_message,
    hop,
    protocol,
    in_switch,
    gpu_in_switch
  };
  // Part of a phase's latency, and of the latency of a ring's further round, that is proportional
  // to one number of the network model.
  struct Term {
    TermKind kind;
    std::size_t link_class = 0;
    ByProtocol times{};
    ByProtocol round_times{};
  };
  struct Flow {
    std::size_t path = 0;  // index of the list of link classes that the flow crosses
    double bytes = 0;      // payload of all flows of this path over the link
    bool in_switch = false;

    auto operator<=>(const Flow&) const = default;
  };
  struct Load {
    std::size_t link_class = 0;
    double bandwidth = 0;  // bytes/s at an efficiency of 1
    bool is_shared = true;
    std::vector<Flow> flows;

    auto operator<=>(const Load&) const = default;
  };
  struct Phase {
    std::vector<Load> loads;    // distinct loads
    execution::PhaseCost cost;  // cost without flows and without the latency that terms cover
    std::vector<Term> terms;
    double ends_of_ring = 0;       // coefficient of the model's ring-ends
    double ends_of_direct = 0;     // coefficient of the model's direct-ends
    std::size_t switch_class = 0;  // class of the switches that flows with in_switch cross
    // Seconds per byte of the levels that cross each class of links, at an efficiency of 1.
    std::vector<ByProtocol> levels;
  };
  struct Variant {
    execution::AlgorithmProtocol method;
    std::size_t choice = 0;
  };
  // Bandwidths and latencies that NCCL's own tuning model sees, and how they depend on the numbers
  // of the network model.
  struct View {
    struct Hop {
      std::size_t link_class = 0;
      double value = 0;  // bytes/s at an efficiency of 1, or seconds
    };
    execution::NcclView view;
    double ring_bytes = 0;        // bus bandwidth times the seconds per byte
    std::vector<Hop> inside;      // bandwidths along a path inside a node
    std::vector<Hop> between;     // latencies along a path between nodes
    std::vector<Hop> rates;       // bandwidths along that path
    double non_link_latency = 0;  // seconds of that path in addition to its links
  };
  struct Plan {
    std::vector<std::vector<Phase>> choices;
    std::vector<Variant> variants;
  };

  class Planner;
  static double protocol_latency(const cluster::ClassModel& class_model, std::size_t protocol);
  // Launch latency of an operation with a protocol, in seconds; it is part of the first phase.
  static double launch(const execution::PhaseCost& first, cluster::Protocol protocol,
                       const cluster::MessageModel& model);
  std::vector<Prices::Variant> prices(const Plan& plan, const cluster::MessageModel& model,
                                      bool is_actual) const;
  execution::Picks picks_of(const Prices& prices) const;
  execution::NcclView view_for(const cluster::MessageModel& model) const;
  Prices::Step price(const Phase& phase, cluster::Protocol protocol,
                     const std::vector<const cluster::ClassModel*>& classes,
                     const cluster::MessageModel& model) const;
  double switch_factor_of(std::size_t link_class,
                          const std::vector<const cluster::ClassModel*>& classes) const;
  double protocol_factor(std::size_t link_class, std::size_t protocol,
                         const std::vector<const cluster::ClassModel*>& classes) const;
  // Value of the number that a term is proportional to.
  double number(const Term& term, std::size_t protocol,
                const std::vector<const cluster::ClassModel*>& classes,
                const cluster::MessageModel& model) const;
  std::vector<const cluster::ClassModel*> classes_of(const cluster::MessageModel& model) const;

  std::vector<Class> classes_;
  std::vector<std::vector<std::size_t>> paths_;
  Plan actual_;
  std::vector<Prices::Variant> expected_;
  std::optional<View> view_;
  workload::Collective kind_ = workload::Collective::all_reduce;
  bool file_has_expected_ = false;
  // The last picks of prices(), and the view by which NCCL made them.
  mutable execution::Picks last_picks_;
  mutable std::optional<execution::NcclView> picks_view_;
  mutable bool has_picks_ = false;
};

}  // namespace pipewright::comm
