#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "sim/execution/collectives/nccl.hpp"
#include "sim/execution/collectives/picks.hpp"
#include "sim/execution/collectives/plan.hpp"

namespace pipewright::execution {

// Lower bound on the time of a collective whose groups all start at once, as a function of its
// bytes: planned once, evaluated often. No group is faster than its uncontended_seconds(), and no
// link carries the flows of all groups faster than its bandwidth.
class LeastTime {
 public:
  using Groups = std::vector<std::vector<std::uint32_t>>;  // ranks, by group

  // `together`: seconds() includes that flows are rounded to whole bytes and share links with flows
  // of other groups. If it is false, seconds() leaves out both, as uncontended_seconds() does.
  LeastTime(const workload::Operation& kind, const Groups& groups, Algorithm algorithm,
            const RankPlacement& placement, bool together = true);

  double seconds(std::uint64_t bytes) const;

 private:
  // Flows on a link: for each fraction of the collective's bytes, the number of flows that carry
  // it.
  struct Load {
    std::vector<std::pair<double, std::uint32_t>> flows;  // fraction and number of flows; ascending
    double bandwidth = 0;                                 // bytes/s

    auto operator<=>(const Load&) const = default;
    double seconds(double bytes, bool rounds_bytes) const;
  };
  class Counting;
  struct Step {  // one phase
    std::vector<Load> loads;
    PhaseCost cost;       // without flows
    ByProtocol transfer;  // see overhead()

    bool operator==(const Step& rhs) const;
    double seconds(Protocol protocol, double bytes, bool rounds_bytes) const;
  };
  // Costs of one combination of algorithm and protocol: for each distinct group alone (no step if
  // the group cannot run it), and for all groups together.
  struct Variant {
    Algorithm algorithm = Algorithm::ring;
    Protocol protocol = Protocol::simple;
    std::vector<std::vector<Step>> groups;
    std::vector<Load> together;
    // True if flows are rounded to whole bytes.
    bool rounds_bytes = true;
    // Smallest latency of a phase of any group, in seconds. seconds() adds it to the time in which
    // links carry the flows of all groups (`together`).
    double latency = 0;

    double group_seconds(std::size_t group, double bytes) const;
    double seconds(double bytes) const;
  };
  using Choices = std::vector<std::vector<AlgorithmChoice>>;  // by group
  static Step step_of(const PhaseCost& cost, Protocol protocol, std::vector<Load> loads);
  static std::vector<AlgorithmProtocol> methods_of(const Choices& choices_by_group);
  void add_variants(const std::vector<AlgorithmProtocol>& methods, const Choices& choices_by_group,
                    const RankPlacement& placement, bool together);
  void merge_equal();
  void add_picks();
  Picks::Set picks(std::size_t group, double bytes) const;
  void add_nccl_views(const Groups& groups, const Choices& choices, const RankPlacement& placement);
  // Seconds by which NCCL ranks this variant when it chooses one.
  double selection_seconds(std::size_t variant, std::size_t group, double bytes) const;

  // Variants among which NCCL chooses. If it bases the choice on other link parameters than the
  // actual ones, or on the network without its faults, the same variants with those parameters
  // follow.
  std::vector<Variant> variants_;
  std::size_t count_ = 0;  // number of variants to choose from
  // The fastest of NCCL's picks is that of the network without its faults.
  bool chooses_as_built_ = false;
  // Properties of each group that NCCL's own model uses, where that model chooses for the group.
  std::vector<std::optional<NcclView>> views_;
  std::vector<Picks> picks_;  // by group
  // False if plan() chooses by numbers that are not kept here. Then the fastest of NCCL's picks
  // stands for its choice.
  bool is_choice_known_ = true;
  workload::Collective kind_ = workload::Collective::all_reduce;
};

}  // namespace pipewright::execution
