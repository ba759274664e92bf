#include "sim/workload/ranks.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/workload/shape/layout_checks.hpp"

namespace pipewright::workload {
namespace {

using config::Axis;

constexpr std::uint32_t axis_bit(Axis axis) { return 1U << static_cast<std::uint32_t>(axis); }

// Returns whether a kind of group belongs to the experts' grid of ranks, whose axis `dp` is edp.
constexpr bool is_expert_group(Group kind) {
  return kind == Group::ep || kind == Group::etp || kind == Group::edp ||
         kind == Group::expert_shard || kind == Group::expert_replicate;
}

std::uint32_t count_ranks(const config::Parallel& parallel) {
  constexpr std::uint64_t max_ranks = 1U << 24U;
  std::uint64_t size = 1;
  for (const auto* factor : {&parallel.tp, &parallel.cp, &parallel.dp, &parallel.pp}) {
    size *= factor->value;
    if (size > max_ranks)
      throw config::Error(factor->origin, fmt::format("tp x cp x dp x pp is {} x {} x {} x {} GPUs",
                                                      parallel.tp.value, parallel.cp.value,
                                                      parallel.dp.value, parallel.pp.value))
          .allow(fmt::format("at most {}", max_ranks));
  }
  return static_cast<std::uint32_t>(parallel.gpus());
}

std::string nearest_divisors(std::uint64_t ranks, std::uint32_t size) {
  const auto divides = [&](std::uint32_t candidate) { return ranks % candidate == 0; };
  return fmt::format("{}", fmt::join(nearest(size, ranks, divides), " or "));
}

// Returns the number of replicas of each expert. The experts of a stage are spread over all of its
// ranks, in all replicas of the dense parameters.
std::uint32_t expert_replicas(const config::Parallel& parallel) {
  const std::uint64_t ranks = parallel.ranks_of_stage();
  const std::uint32_t etp = parallel.expert_tp();
  const std::string sizes = fmt::format("tp x cp x dp ({} x {} x {})", parallel.tp.value,
                                        parallel.cp.value, parallel.dp.value);
  if (ranks % etp != 0)
    throw config::Error(
        parallel.etp->origin,
        fmt::format("etp is {}, which does not divide the {} ranks of {}", etp, ranks, sizes))
        .allow(nearest_divisors(ranks, etp));
  const std::uint32_t ep = parallel.ep.value;
  if (ranks / etp % ep == 0) return static_cast<std::uint32_t>(parallel.expert_replicas());
  // The default of etp is tp, which may be the reason why ep does not fit; if so, etp 1 is
  // suggested.
  const bool suggests_etp = !parallel.etp && etp > 1 && ranks % ep == 0;
  throw config::Error(parallel.ep.origin,
                      fmt::format("ep is {}, which does not divide the {} ranks of {} / etp ({})",
                                  ep, ranks / etp, sizes, etp))
      .allow(fmt::format(
          "{}{}", nearest_divisors(ranks / etp, ep),
          suggests_etp ? ", or etp 1, which spreads experts over the ranks of tp too" : ""));
}

// Returns how many ranks of cp form a ring. They pass keys on to each other and have the same
// subset of the heads.
std::uint32_t ring_size(const config::Parallel& parallel) {
  const std::uint32_t cp = parallel.cp.value;
  if (parallel.cp_sizes.empty()) return cp / parallel.cp_a2a();
  const std::uint64_t product =
      std::uint64_t{parallel.cp_sizes[0].value} * parallel.cp_sizes[1].value;
  if (product == cp) return parallel.cp_sizes[1].value;
  throw config::Error(
      parallel.cp_sizes.front().origin,
      fmt::format("parallel.hierarchical_context_parallel_sizes are {} x {} = {}, but cp is {}",
                  parallel.cp_sizes[0].value, parallel.cp_sizes[1].value, product, cp))
      .allow("two sizes whose product is cp");
}

// Returns into how many shards `ranks` ranks with the same parameters divide them, if the
// configured number of copies of each shard is kept.
std::uint32_t shard_count(const config::Parallel& parallel, std::uint32_t ranks,
                          std::string_view name) {
  const std::uint32_t shard_copies = parallel.replicates();
  if (ranks % shard_copies == 0) return ranks / shard_copies;
  throw config::Error(parallel.replicate->origin,
                      fmt::format("parallel.replicate is {}, which does not divide {} ({})",
                                  shard_copies, name, ranks))
      .allow(nearest_divisors(ranks, shard_copies));
}

// Returns into how many shards the ranks with the same experts divide them.
std::uint32_t expert_shard_count(const config::Parallel& parallel) {
  constexpr std::string_view name = "tp x cp x dp / (etp x ep)";
  const std::uint32_t ranks = expert_replicas(parallel);
  if (!parallel.expert_gtp) return shard_count(parallel, ranks, name);
  const std::uint32_t shards = parallel.expert_gtp->value;
  if (ranks % shards == 0) return shards;
  throw config::Error(
      parallel.expert_gtp->origin,
      fmt::format("parallel.expert_gtp is {}, which does not divide {} ({})", shards, name, ranks))
      .allow(nearest_divisors(ranks, shards));
}

}  // namespace

// Returns a bit mask of those axes along which the ranks of a group of this kind differ.
std::uint32_t Ranks::axes_of(Group kind) {
  switch (kind) {
    case Group::tp:
    case Group::etp:
      return axis_bit(Axis::tp);
    case Group::cp:
      return axis_bit(Axis::cp) | axis_bit(ring);
    case Group::cp_a2a:
      return axis_bit(Axis::cp);
    case Group::cp_p2p:
      return axis_bit(ring);
    case Group::ep:
      return axis_bit(Axis::ep);
    case Group::dp:
      return axis_bit(Axis::dp) | axis_bit(copies) | axis_bit(Axis::cp) | axis_bit(ring);
    case Group::edp:
      return axis_bit(Axis::dp) | axis_bit(copies);
    case Group::shard:
      return axis_bit(Axis::dp) | axis_bit(Axis::cp) | axis_bit(ring);
    case Group::expert_shard:
      return axis_bit(Axis::dp);
    case Group::replicate:
    case Group::expert_replicate:
      return axis_bit(copies);
    case Group::pp:
    case Group::embedding:
      return axis_bit(Axis::pp);
    case Group::world:
      break;
  }
  return (1U << grid_axes) - 1;
}

Ranks::Grid::Grid(const std::array<Axis, config::axes>& order, const Sizes& sizes) : sizes_(sizes) {
  std::size_t position = 0;
  for (const Axis axis : order) {
    order_[position++] = axis;
    if (axis == Axis::dp) order_[position++] = copies;
    if (axis == Axis::cp) order_[position++] = ring;
  }
  std::uint32_t stride = 1;
  for (const Axis axis : order_) {
    strides_[index(axis)] = stride;
    stride *= size(axis);
  }
}

std::uint32_t Ranks::Grid::full_size(Axis axis) const {
  if (axis == Axis::dp) return size(axis) * size(copies);
  return size(axis) * (axis == Axis::cp ? size(ring) : 1);
}

std::vector<std::uint32_t> Ranks::Grid::offsets(std::uint32_t along, bool along_axes) const {
  std::vector<std::uint32_t> result{0};
  for (const Axis axis : order_) {
    if (((along & axis_bit(axis)) != 0) != along_axes) continue;
    const std::size_t faster = result.size();
    for (std::uint32_t i = 1; i < size(axis); ++i)
      for (std::size_t k = 0; k < faster; ++k) result.push_back(result[k] + i * stride(axis));
  }
  return result;
}

bool Ranks::spans_devices(Group kind) { return (axes_of(kind) & axis_bit(Axis::pp)) != 0; }

const Ranks::Grid& Ranks::DeviceRanks::grid(Group kind) const {
  return is_expert_group(kind) ? expert : dense;
}

Ranks::DeviceRanks Ranks::stage_of(const config::Parallel& parallel, std::uint32_t first) {
  const std::uint32_t experts = expert_shard_count(parallel);
  DeviceRanks stage{
      .first = first,
      .dense = {parallel.order,
                {parallel.tp.value, parallel.cp.value / ring_size(parallel), 1,
                 shard_count(parallel, parallel.dp.value, "parallel.dp"), parallel.pp.value,
                 parallel.replicates(), ring_size(parallel)}},
      .expert = {parallel.order,
                 {parallel.expert_tp(), 1, parallel.ep.value, experts, parallel.pp.value,
                  static_cast<std::uint32_t>(parallel.expert_replicates()), 1}}};
  if (parallel.pp.value > 1 && stage.dense.stride(Axis::pp) != stage.expert.stride(Axis::pp))
    throw config::Error(
        parallel.ep.origin,
        fmt::format("with etp x ep = {} x {} and tp x cp = {} x {}, this order of ranks puts "
                    "experts of a stage on ranks of another",
                    parallel.expert_tp(), parallel.ep.value, parallel.tp.value, parallel.cp.value))
        .allow("pp last in parallel.order");
  return stage;
}

Ranks::Ranks(const config::Parallel& parallel)
    : size_(count_ranks(parallel)), devices_(parallel.pp.value) {
  if (parallel.tp_by_device.empty()) {
    stages_.push_back(stage_of(parallel, 0));
    return;
  }
  std::uint32_t first = 0;
  for (std::uint32_t device = 0; device < devices_; ++device) {
    config::Parallel alone = parallel.on(device);
    alone.pp.value = 1;
    stages_.push_back(stage_of(alone, first));
    first += static_cast<std::uint32_t>(alone.ranks_of_stage());
    if (alone.tp.value > parallel.tp_of(largest_)) largest_ = device;
  }
}

std::uint32_t Ranks::ranks_per_stage() const { return ranks_per_stage(largest_); }

std::uint32_t Ranks::ranks_per_stage(std::uint32_t device) const {
  const Grid& dense = stage(device).dense;
  return dense.size(Axis::tp) * dense.full_size(Axis::cp);
}

std::uint32_t Ranks::device_of(std::uint32_t rank) const {
  const auto next = std::ranges::upper_bound(stages_, rank, {}, &DeviceRanks::first);
  return static_cast<std::uint32_t>(next - stages_.begin()) - 1;
}

Coordinates Ranks::of(std::uint32_t rank) const {
  const std::uint32_t index = are_uneven() ? device_of(rank) : 0;
  const auto& [first, dense, expert] = stages_[index];
  rank -= first;
  return {.tp = dense.coordinate(rank, Axis::tp),
          .cp = dense.coordinate(rank, Axis::cp),
          .dp = dense.coordinate(rank, Axis::dp),
          .pp = are_uneven() ? index : dense.coordinate(rank, Axis::pp),
          .ep = expert.coordinate(rank, Axis::ep),
          .etp = expert.coordinate(rank, Axis::tp),
          .edp = expert.coordinate(rank, Axis::dp)};
}

std::uint32_t Ranks::rank(const Coordinates& coordinates) const {
  const DeviceRanks& device = stage(coordinates.pp);
  return device.first + coordinates.tp * device.dense.stride(Axis::tp) +
         coordinates.cp * device.dense.stride(Axis::cp) +
         coordinates.dp * device.dense.stride(Axis::dp) +
         (are_uneven() ? 0 : coordinates.pp * device.dense.stride(Axis::pp));
}

std::uint32_t Ranks::rank_of(ReplicaDevice copy, std::uint32_t member) const {
  const std::uint32_t tp = stage(copy.device).dense.size(Axis::tp);
  return rank({.tp = member % tp, .cp = member / tp, .dp = copy.replica, .pp = copy.device});
}

// Divides the tensor into the fewest equal pieces so that each rank of both devices holds whole
// pieces.
std::vector<Ranks::Part> Ranks::hop(ReplicaDevice source, std::uint32_t destination,
                                    bool cut) const {
  const ReplicaDevice target{source.replica, destination};
  const std::uint32_t source_tp = stage(source.device).dense.size(Axis::tp);
  const std::uint32_t target_tp = stage(destination).dense.size(Axis::tp);
  const std::uint32_t pieces = cut ? std::lcm(source_tp, target_tp) : target_tp;
  const double piece = cut ? static_cast<double>(stage(largest_).dense.size(Axis::tp)) / pieces : 1;
  std::vector<Part> parts;
  for (std::uint32_t cp = 0; cp < stage(destination).dense.full_size(Axis::cp); ++cp)
    for (std::uint32_t i = 0; i < pieces; ++i) {
      const auto rank_with = [&](ReplicaDevice copy, std::uint32_t tp) {
        return rank_of(copy, cp * tp + static_cast<std::uint32_t>(std::uint64_t{i} * tp / pieces));
      };
      const Part part{rank_with(source, source_tp), rank_with(target, target_tp), piece};
      if (!parts.empty() && parts.back().source == part.source &&
          parts.back().destination == part.destination)
        parts.back().parts += piece;
      else
        parts.push_back(part);
    }
  return parts;
}

std::vector<std::vector<std::uint32_t>> Ranks::groups(Group kind) const {
  if (are_uneven() && spans_devices(kind)) return groups_across(kind);
  std::vector<std::vector<std::uint32_t>> groups;
  for (const DeviceRanks& device_ranks : stages_) {
    const Grid& grid = device_ranks.grid(kind);
    std::vector<std::uint32_t> members = grid.offsets(axes_of(kind), true);
    // The offsets along pp are the devices of a pipeline, and only the first and the last share the
    // embedding.
    if (kind == Group::embedding && members.size() > 2) members = {members.front(), members.back()};
    for (const std::uint32_t first : grid.offsets(axes_of(kind), false)) {
      groups.emplace_back(members);
      for (std::uint32_t& rank : groups.back()) rank += device_ranks.first + first;
    }
  }
  return groups;
}

// Returns groups that span devices of different sizes. There are as many as the largest device has
// ranks.
std::vector<std::vector<std::uint32_t>> Ranks::groups_across(Group kind) const {
  if (kind == Group::world) {
    std::vector<std::uint32_t> ranks(size_);
    std::iota(ranks.begin(), ranks.end(), 0U);
    return {ranks};
  }
  std::vector<std::uint32_t> devices(devices_);
  std::iota(devices.begin(), devices.end(), 0U);
  if (kind == Group::embedding) devices = {devices.front(), devices.back()};
  std::uint32_t largest = 0;
  for (const std::uint32_t device : devices) largest = std::max(largest, ranks_per_stage(device));
  std::vector<std::vector<std::uint32_t>> groups;
  for (std::uint32_t replica = 0; replica < replicas(); ++replica)
    for (std::uint32_t member = 0; member < largest; ++member) {
      std::vector<std::uint32_t>& group = groups.emplace_back();
      for (const std::uint32_t device : devices)
        group.push_back(rank_of(
            {replica, device},
            static_cast<std::uint32_t>(std::uint64_t{member} * ranks_per_stage(device) / largest)));
    }
  return groups;
}

std::uint32_t Ranks::group_size(Group kind) const { return group_size(kind, largest_); }

std::uint32_t Ranks::group_size(Group kind, std::uint32_t device) const {
  if (kind == Group::world) return size_;
  const Grid& grid = stage(device).grid(kind);
  std::uint32_t size = are_uneven() && spans_devices(kind) ? devices_ : 1;
  for (int i = 0; i < grid_axes; ++i)
    if (const auto axis = static_cast<Axis>(i); (axes_of(kind) & axis_bit(axis)) != 0)
      size *= grid.size(axis);
  return kind == Group::embedding ? std::min(size, 2U) : size;
}

std::uint32_t Ranks::run(Group kind) const { return run(kind, largest_); }

std::uint32_t Ranks::run(Group kind, std::uint32_t device) const {
  const Grid& grid = stage(device).grid(kind);
  std::uint32_t run = 1;
  for (int i = 0; i < grid_axes; ++i)
    if (const auto axis = static_cast<Axis>(i);
        (axes_of(kind) & axis_bit(axis)) != 0 && grid.size(axis) > 1)
      run = std::max(run, grid.stride(axis) * grid.size(axis));
  return run;
}

}  // namespace pipewright::workload
