#pragma once

#include <compare>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/execution/collectives/nccl.hpp"
#include "sim/execution/collectives/plan.hpp"

namespace pipewright::execution {

// How long a collective takes at least, if all its groups start at once, as a function of its
// bytes: planned once, priced often. Each group takes what alone() says; and on no link do the
// groups together move faster than it can.
class LeastTime {
 public:
  using Groups = std::vector<std::vector<std::uint32_t>>;  // of ranks

  // Flows are of whole bytes, and share links with those of other groups; without `together`,
  // neither counts, as in alone().
  LeastTime(const workload::Operation& kind, const Groups& groups, Algorithm algorithm,
            const RankPlacement& placement, bool together = true);

  double seconds(std::uint64_t bytes) const;

 private:
  // Flows that share a link: how many carry which part of the bytes.
  struct Load {
    std::vector<std::pair<double, std::uint32_t>> flows;  // part, and how many; ascending
    double bandwidth = 0;                                 // bytes/s

    auto operator<=>(const Load&) const = default;
    void add(double part, bool shared);
    double seconds(double bytes, bool whole) const;
  };
  enum class Links : std::uint8_t { all, shared };
  class Ways;
  struct Loads {
    std::unordered_map<const cluster::Link*, Load> by_link;

    void add(const PhaseCost& cost, Protocol protocol, Ways& ways, Links which);
    std::vector<Load> unlike() &&;  // one of those that are alike
  };
  struct Step {  // a phase
    std::vector<Load> loads;
    PhaseCost cost;       // without flows
    ByProtocol transfer;  // see overhead()

    bool operator==(const Step& other) const;
    double seconds(Protocol protocol, double bytes, bool whole) const;
  };
  // By one algorithm and protocol: of each group that differs from others, and all together.
  struct Variant {
    Algorithm algorithm = Algorithm::ring;
    Protocol protocol = Protocol::simple;
    std::vector<std::vector<Step>> groups;
    std::vector<Load> together;
    bool whole = true;   // bytes
    double latency = 0;  // the least of a step, for what goes together

    double alone(std::size_t group, double bytes) const;
    double all(double bytes) const;
  };
  using Choices = std::vector<std::vector<AlgorithmChoice>>;  // of each group
  static Step step_of(const PhaseCost& cost, Protocol protocol, Ways& ways);
  static void add_together(Variant& variant, const std::vector<const AlgorithmChoice*>& choices,
                           Ways& ways);
  void add_variants(const Choices& choices_of, const RankPlacement& placement, bool together);
  void merge_equal();
  void look_as_nccl(const Groups& groups, const Choices& choices_of,
                    const RankPlacement& placement);
  double to_choose_by(std::size_t variant, std::size_t group, double bytes) const {
    if (!views_.empty())
      return nccl_seconds(kind_, {variants_[variant].algorithm, variants_[variant].protocol}, bytes,
                          views_[group]);
    return variants_[variant + variants_.size() - count_].alone(group, bytes);
  }

  std::vector<Variant> variants_;  // and then, if they are others, as NCCL expects them to be
  std::size_t count_ = 0;          // of what there is to choose from
  std::vector<NcclView> views_;    // of the groups, where NCCL's own model chooses
  workload::Collective kind_ = workload::Collective::all_reduce;
};

}  // namespace pipewright::execution
