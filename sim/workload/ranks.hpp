#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <vector>

#include "sim/config/parallel.hpp"
#include "sim/workload/traffic.hpp"

namespace pipewright::workload {

// One copy of a pipeline device: the GPUs of a replica that run its passes in lockstep.
struct ReplicaDevice {
  std::uint32_t replica = 0;
  std::uint32_t device = 0;

  auto operator<=>(const ReplicaDevice&) const = default;
};

// Where a rank stands in the dense model's layout; `ep`, `etp` and `edp`: in the experts'.
struct Coordinates {
  std::uint32_t tp = 0;
  std::uint32_t cp = 0;
  std::uint32_t dp = 0;
  std::uint32_t pp = 0;
  std::uint32_t ep = 0;
  std::uint32_t etp = 0;
  std::uint32_t edp = 0;
};

// The ranks of a job and their groups, in the order of Megatron-core (parallel_state.py,
// RankGenerator): two grids over the same ranks, one of tp, cp, dp and pp, and one for experts,
// where etp, ep and what is left of tp * cp * dp take the places of tp, cp and dp.
class Ranks {
 public:
  // Throws config::Error if etp * ep does not divide tp * cp * dp, if copies of shards do not
  // divide dp and the replicas of experts, or if the two grids disagree on which device of the
  // pipeline a rank belongs to.
  explicit Ranks(const config::Parallel& parallel);

  std::uint32_t size() const { return size_; }
  std::uint32_t replicas() const { return stages_.front().dense.all_of(config::Axis::dp); }
  std::uint32_t devices() const { return devices_; }
  std::uint32_t ranks_per_stage() const;                      // GPUs of one device of one replica
  std::uint32_t ranks_per_stage(std::uint32_t device) const;  // where those of devices differ
  bool are_uneven() const { return stages_.size() > 1; }

  Coordinates of(std::uint32_t rank) const;
  std::uint32_t rank(const Coordinates& place) const;  // by tp, cp, dp and pp
  // Of the GPUs of a device's copy: they count along tp first, then along cp.
  std::uint32_t rank_of(ReplicaDevice copy, std::uint32_t member) const;

  // What the ranks of a device send those of another in the same replica, in parts of what a rank
  // of the largest device sends.
  struct Part {
    std::uint32_t source = 0;
    std::uint32_t destination = 0;
    double parts = 1;
  };
  // A tensor that is `cut` lies in equal parts on the ranks of tp, else each has the whole.
  std::vector<Part> hop(ReplicaDevice source, std::uint32_t destination, bool cut) const;

  // Together they hold every rank once; those of `embedding` hold the first and the last device's
  // ranks only. A group's ranks ascend along the order of the axes. Where devices have other
  // numbers of ranks, a rank of a small one is in the groups of several of a large one.
  std::vector<std::vector<std::uint32_t>> groups(Group kind) const;
  std::uint32_t group_size(Group kind) const;  // of the largest device
  std::uint32_t group_size(Group kind, std::uint32_t device) const;
  // Of how many ranks, counted from rank 0, or from a device's first, each run holds whole groups
  // of a kind.
  std::uint32_t run(Group kind) const;
  std::uint32_t run(Group kind, std::uint32_t device) const;

 private:
  // Right after dp, whose index is that of both: copies of what dp's ranks hold in shards.
  static constexpr auto copies = static_cast<config::Axis>(config::axes);
  // Right after cp, likewise: ranks that pass keys on, where those of cp deal out heads.
  static constexpr auto ring = static_cast<config::Axis>(config::axes + 1);
  static constexpr int grid_axes = config::axes + 2;
  static std::uint32_t axes_of(Group kind);
  static bool lies_across(Group kind);  // devices of the pipeline
  using Sizes = std::array<std::uint32_t, grid_axes>;
  // rank = sum over the axes of stride * index; strides grow along the order of the axes.
  class Grid {
   public:
    Grid(const std::array<config::Axis, config::axes>& order, const Sizes& sizes);
    std::uint32_t size(config::Axis axis) const { return sizes_[index(axis)]; }
    std::uint32_t stride(config::Axis axis) const { return strides_[index(axis)]; }
    // Of an axis and what goes right after it.
    std::uint32_t all_of(config::Axis axis) const;
    std::uint32_t at(std::uint32_t rank, config::Axis axis) const {
      return rank / stride(axis) % all_of(axis);
    }
    // What rank 0 plus each of these makes: the offsets of all ranks that differ along the axes
    // that are `along`, or not.
    std::vector<std::uint32_t> offsets(std::uint32_t along, bool inside) const;

   private:
    static std::size_t index(config::Axis axis) { return static_cast<std::size_t>(axis); }
    std::array<config::Axis, grid_axes> order_;
    Sizes sizes_;
    Sizes strides_{};
  };

  // The ranks of some devices, all of them or, where devices differ, of one.
  struct Stage {
    std::uint32_t first = 0;  // rank
    Grid dense;
    Grid expert;

    const Grid& grid(Group kind) const;
  };
  static Stage stage_of(const config::Parallel& parallel, std::uint32_t first);
  const Stage& stage(std::uint32_t device) const { return stages_[are_uneven() ? device : 0]; }
  std::uint32_t device_of(std::uint32_t rank) const;
  std::vector<std::vector<std::uint32_t>> groups_across(Group kind) const;

  std::uint32_t size_;
  std::uint32_t devices_;
  std::vector<Stage> stages_;
  std::uint32_t largest_ = 0;  // of the stages
};

}  // namespace pipewright::workload
