#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/comm/prediction.hpp"
#include "sim/execution/collectives/nccl.hpp"

namespace pipewright::comm {

// What Formula says of a benchmark's first group, for changing numbers of the network model:
// planned once, priced often. What links carry does not depend on those numbers but for switches
// that add up, and latencies are sums of them: how many of each was found by looking how the plan
// changes with each. Exact as long as the plan's ways stay what they are: the longest of several, a
// ring's order, whether peers carry for each other.
class PricedRun {
 public:
  // Leaves the cluster with the numbers that it has.
  PricedRun(cluster::Cluster& cluster, const BenchmarkRun& run);

  // With numbers of their own, for any size.
  class Prices {
   public:
    double seconds(std::uint64_t bytes) const;
    cluster::Protocol protocol(std::uint64_t bytes) const;  // by which NCCL goes

   private:
    friend class PricedRun;
    struct Step {           // a phase
      double transfer = 0;  // seconds for each byte
      double latency = 0;
      double ends = 0;
      bool is_tree = false;
    };
    struct Variant {  // by an algorithm and a protocol
      execution::AlgorithmProtocol by;
      std::vector<Step> steps;

      double seconds(double bytes) const;
    };
    std::size_t choice(double bytes) const;

    std::vector<Variant> actual_;
    std::vector<Variant> expected_;            // by which NCCL chooses; none: by what is actual
    std::optional<execution::NcclView> view_;  // or by its own model
    workload::Collective kind_ = workload::Collective::all_reduce;
  };
  Prices prices(const cluster::MessageModel& model) const;
  double seconds(std::uint64_t bytes, const cluster::MessageModel& model) const {
    return prices(model).seconds(bytes);
  }
  // NCCL goes on to choose by these numbers, unless the file says by which it does; none: by those
  // that are true.
  void expect(const cluster::MessageModel* model);

 private:
  using ByProtocol = execution::ByProtocol;

  struct Class {  // of links
    std::string name;
    double latency = 0;        // of each link, where all say the same
    bool has_latency = false;  // all do
    double sharp_efficiency = 1;
  };
  // A part of a latency: so much for each second, or part, of what it is of.
  enum class Of : std::uint8_t { step, message, class_message, hop, protocol, in_switch };
  struct Term {
    Of of;
    std::size_t link_class = 0;
    ByProtocol times{};
  };
  struct Flow {
    std::size_t way = 0;  // the classes of the links that it goes over
    double bytes = 0;     // of payload, all flows of this way over the link together
    bool in_switch = false;

    auto operator<=>(const Flow&) const = default;
  };
  struct Load {
    std::size_t link_class = 0;
    double bandwidth = 0;  // at an efficiency of 1
    bool shared = true;
    std::vector<Flow> flows;

    auto operator<=>(const Load&) const = default;
  };
  struct Phase {
    std::vector<Load> loads;    // those that differ
    execution::PhaseCost cost;  // without flows; its latency is what no term is of
    std::vector<Term> terms;
    double ends_of_ring = 0;       // times the model's ring-ends, and
    double ends_of_direct = 0;     // times its direct-ends, are the cost's ends
    std::size_t switch_class = 0;  // whose switches its flows in_switch go through
  };
  struct Variant {
    execution::AlgorithmProtocol by;
    std::size_t choice = 0;
  };
  // What NCCL's own model sees of links, and what that is for other numbers of theirs.
  struct View {
    struct Hop {
      std::size_t link_class = 0;
      double own = 0;  // bytes/s at an efficiency of 1, or seconds
    };
    execution::NcclView view;
    double ring_bytes = 0;     // bus bandwidth times the seconds of a byte
    std::vector<Hop> inside;   // bandwidths of a way in a node
    std::vector<Hop> between;  // latencies of a way between nodes
    double beside = 0;         // seconds of that beside links
  };
  struct Plan {
    std::vector<std::vector<Phase>> choices;
    std::vector<Variant> variants;
  };

  class Maker;
  std::vector<Prices::Variant> prices(const Plan& plan, const cluster::MessageModel& model,
                                      bool is_actual) const;
  execution::NcclView view_for(const cluster::MessageModel& model) const;
  Prices::Step price(const Phase& phase, cluster::Protocol protocol,
                     const std::vector<const cluster::ClassModel*>& classes,
                     const cluster::MessageModel& model) const;
  double seconds(const Term& term, std::size_t protocol,
                 const std::vector<const cluster::ClassModel*>& classes,
                 const cluster::MessageModel& model) const;
  std::vector<const cluster::ClassModel*> classes_of(const cluster::MessageModel& model) const;

  std::vector<Class> classes_;
  std::vector<std::vector<std::size_t>> ways_;
  Plan actual_;
  std::vector<Prices::Variant> expected_;
  std::optional<View> view_;
  workload::Collective kind_ = workload::Collective::all_reduce;
  bool says_expected_ = false;
};

}  // namespace pipewright::comm
