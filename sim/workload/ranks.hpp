#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <vector>

#include "sim/config/parallel.hpp"
#include "sim/workload/traffic.hpp"

namespace pipewright::workload {

// One copy of a pipeline device: those GPUs of a replica that run the device's passes in lockstep.
struct ReplicaDevice {
  std::uint32_t replica = 0;
  std::uint32_t device = 0;

  auto operator<=>(const ReplicaDevice&) const = default;
};

// Position of a rank: `tp`, `cp`, `dp` and `pp` in the dense model's grid, `ep`, `etp` and `edp` in
// the experts' grid.
struct Coordinates {
  std::uint32_t tp = 0;
  std::uint32_t cp = 0;
  std::uint32_t dp = 0;
  std::uint32_t pp = 0;
  std::uint32_t ep = 0;
  std::uint32_t etp = 0;
  std::uint32_t edp = 0;
};

// Assigns ranks to process groups in the order of Megatron-Core (parallel_state.py, RankGenerator).
// Two grids cover the same ranks: one with the axes tp, cp, dp and pp, and one for experts with
// etp, ep and edp in place of tp, cp and dp.
class Ranks {
 public:
  // Throws config::Error if etp * ep does not divide tp * cp * dp, if the copies of shards do not
  // divide dp and the replicas of experts, or if the two grids put a rank on different devices of
  // the pipeline.
  explicit Ranks(const config::Parallel& parallel);

  std::uint32_t size() const { return size_; }
  std::uint32_t replicas() const { return stages_.front().dense.full_size(config::Axis::dp); }
  std::uint32_t devices() const { return devices_; }
  // Returns the number of GPUs of one device in one replica; that of the largest device, if devices
  // differ.
  std::uint32_t ranks_per_stage() const;
  // Returns the number of GPUs of this device in one replica.
  std::uint32_t ranks_per_stage(std::uint32_t device) const;
  bool are_uneven() const { return stages_.size() > 1; }

  Coordinates of(std::uint32_t rank) const;
  // Returns the rank at these coordinates; only tp, cp, dp and pp are used.
  std::uint32_t rank(const Coordinates& place) const;
  // Returns the rank of GPU `member` in a copy of a device. GPUs are numbered along tp first, then
  // along cp.
  std::uint32_t rank_of(ReplicaDevice copy, std::uint32_t member) const;

  // One message of the transfer of a boundary tensor, between ranks of two devices in one replica.
  // `parts` is its size relative to what a rank of the largest device sends.
  struct Part {
    std::uint32_t source = 0;
    std::uint32_t destination = 0;
    double parts = 1;
  };
  // Returns the messages by which a boundary tensor gets from one device to another. If it is
  // `cut`, each tp rank holds an equal part of it; otherwise every rank holds all of it.
  std::vector<Part> hop(ReplicaDevice source, std::uint32_t destination, bool cut) const;

  // Returns all groups of a kind, each as a list of ranks. Together they contain every rank once,
  // except that `embedding` groups contain ranks of the first and the last device only. The ranks
  // of a group ascend along the order of the axes. If devices differ in size, a rank of a small
  // device belongs to the groups of several ranks of a large one.
  std::vector<std::vector<std::uint32_t>> groups(Group kind) const;
  // Returns the number of ranks in a group of this kind, on the largest device or on a given one.
  std::uint32_t group_size(Group kind) const;
  std::uint32_t group_size(Group kind, std::uint32_t device) const;
  // Returns the least number of consecutive ranks, counted from rank 0 or from a device's first
  // rank, that contain only whole groups of a kind.
  std::uint32_t run(Group kind) const;
  std::uint32_t run(Group kind, std::uint32_t device) const;

 private:
  // Additional axis of a grid: the copies of the shards into which the ranks of dp divide their
  // parameters. It follows dp directly, and both share one coordinate.
  static constexpr auto copies = static_cast<config::Axis>(config::axes);
  // Additional axis of a grid: the ranks that pass keys on in a ring, where cp then only has those
  // that exchange heads. It follows cp directly, and both share one coordinate.
  static constexpr auto ring = static_cast<config::Axis>(config::axes + 1);
  static constexpr int grid_axes = config::axes + 2;
  static std::uint32_t axes_of(Group kind);
  // Returns whether the ranks of a group of this kind are on several devices of the pipeline.
  static bool spans_devices(Group kind);
  using Sizes = std::array<std::uint32_t, grid_axes>;
  // A numbering of ranks by coordinates: rank = sum over the axes of stride * coordinate. Strides
  // grow along the order of the axes.
  class Grid {
   public:
    Grid(const std::array<config::Axis, config::axes>& order, const Sizes& sizes);
    std::uint32_t size(config::Axis axis) const { return sizes_[index(axis)]; }
    std::uint32_t stride(config::Axis axis) const { return strides_[index(axis)]; }
    // Returns the size of an axis times that of the additional axis that follows it, if any.
    std::uint32_t full_size(config::Axis axis) const;
    std::uint32_t coordinate(std::uint32_t rank, config::Axis axis) const {
      return rank / stride(axis) % full_size(axis);
    }
    // Returns the offsets, from rank 0, of all ranks that differ from it only along the axes in the
    // bit mask `along` or, if along_axes is false, only along the other axes.
    std::vector<std::uint32_t> offsets(std::uint32_t along, bool along_axes) const;

   private:
    static std::size_t index(config::Axis axis) { return static_cast<std::size_t>(axis); }
    std::array<config::Axis, grid_axes> order_;
    Sizes sizes_;
    Sizes strides_{};
  };

  // The ranks of all devices, with the two grids that number them; if devices differ in size, those
  // of one device.
  struct DeviceRanks {
    std::uint32_t first = 0;  // first rank
    Grid dense;
    Grid expert;

    const Grid& grid(Group kind) const;
  };
  static DeviceRanks stage_of(const config::Parallel& parallel, std::uint32_t first);
  const DeviceRanks& stage(std::uint32_t device) const {
    return stages_[are_uneven() ? device : 0];
  }
  std::uint32_t device_of(std::uint32_t rank) const;
  std::vector<std::vector<std::uint32_t>> groups_across(Group kind) const;

  std::uint32_t size_;
  std::uint32_t devices_;
  std::vector<DeviceRanks> stages_;
  std::uint32_t largest_ = 0;  // device with the most ranks
};

}  // namespace pipewright::workload
