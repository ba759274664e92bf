#include "sim/cluster/torus.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "sim/execution/collectives/algorithms.hpp"

namespace pipewright::execution {
namespace {

using Dimensions = std::vector<TorusRanks::Dimension>;

// Cables by which a corner at some positions of a ring reaches its neighbours. Where the largest
// gap between neighbours is more than half of the ring, the shorter way across the gap leads back
// along the line. Two neighbours of a ring of two have a single cable.
double cables_between(const std::set<std::uint32_t>& positions, std::uint32_t side) {
  std::uint32_t largest_gap = *positions.begin() + side - *positions.rbegin();
  for (auto it = positions.begin(); std::next(it) != positions.end(); ++it)
    largest_gap = std::max(largest_gap, *std::next(it) - *it);
  return side > 2 && 2 * largest_gap <= side ? 2 : 1;
}

// Index of the neighbour of a corner in a dimension, with `stride` corners from one position to the
// next.
std::size_t neighbour(std::size_t corner, std::size_t stride, std::size_t size, bool up) {
  const std::size_t position = corner / stride % size;
  const std::size_t next = (position + (up ? 1 : size - 1)) % size;
  return corner - position * stride + next * stride;
}

// Bytes that a corner passes on in each dimension, per byte of a part that begins with the first
// one and takes the dimensions in turn: a dimension of n positions passes on (n - 1) / n of what
// the previous ones left.
std::vector<double> bytes_by_dimension(const Dimensions& dimensions, std::size_t first) {
  std::vector<double> bytes(dimensions.size());
  double left = 1;
  for (std::size_t i = 0; i < dimensions.size(); ++i) {
    const std::size_t dimension = (first + i) % dimensions.size();
    const auto size = static_cast<double>(dimensions[dimension].size);
    bytes[dimension] = left * (size - 1) / size;
    left /= size;
  }
  return bytes;
}

// Solves a system of linear equations, whose rows end with the right-hand side, by Gaussian
// elimination.
std::vector<double> solve(std::vector<std::vector<double>> rows) {
  const std::size_t n = rows.size();
  for (std::size_t column = 0; column < n; ++column) {
    const auto pivot = std::ranges::max_element(
        rows.begin() + static_cast<std::ptrdiff_t>(column), rows.end(), {},
        [&](const std::vector<double>& row) { return std::abs(row[column]); });
    std::swap(rows[column], *pivot);
    for (std::size_t row = 0; row < n; ++row) {
      if (row == column) continue;
      const double factor = rows[row][column] / rows[column][column];
      for (std::size_t i = column; i <= n; ++i) rows[row][i] -= factor * rows[column][i];
    }
  }
  std::vector<double> solution(n);
  for (std::size_t i = 0; i < n; ++i) solution[i] = rows[i][n] / rows[i][i];
  return solution;
}

// Bytes that a corner passes on in each dimension, per byte of a reduce_scatter. A part of the
// bytes begins with each dimension. The parts are chosen so that the cables of all dimensions carry
// the same: then no other choice is faster, because the sum over dimensions is the same for all.
std::vector<double> balanced_bytes(const Dimensions& dimensions) {
  const std::size_t n = dimensions.size();
  std::vector<std::vector<double>> by_first;
  for (std::size_t first = 0; first < n; ++first)
    by_first.push_back(bytes_by_dimension(dimensions, first));
  // Unknowns: the parts. Each dimension but the first has the load of the first; the sum is 1.
  std::vector<std::vector<double>> rows;
  const auto load = [&](std::size_t first, std::size_t dimension) {
    return by_first[first][dimension] / dimensions[dimension].cables;
  };
  for (std::size_t dimension = 1; dimension < n; ++dimension) {
    std::vector<double>& row = rows.emplace_back();
    for (std::size_t first = 0; first < n; ++first)
      row.push_back(load(first, dimension) - load(first, 0));
    row.push_back(0);
  }
  rows.emplace_back(n + 1, 1);
  std::vector<double> parts = solve(std::move(rows));
  for (double& part : parts) part = std::max(part, 0.0);
  const double sum = std::reduce(parts.begin(), parts.end());
  std::vector<double> bytes(n);
  for (std::size_t first = 0; first < n; ++first)
    for (std::size_t dimension = 0; dimension < n; ++dimension)
      bytes[dimension] += parts[first] / sum * by_first[first][dimension];
  return bytes;
}

// Flows around all rings of a dimension, in both directions, and the latency of all steps.
void add_rings(const TorusRanks& torus, std::size_t dimension, double bytes, double steps,
               const RankPlacement& placement, PhaseCost& cost) {
  std::size_t stride = 1;
  for (std::size_t i = 0; i < dimension; ++i) stride *= torus.dimensions[i].size;
  const std::size_t size = torus.dimensions[dimension].size;
  ByProtocol latency{};
  std::size_t hops = 0;
  const auto add = [&](std::size_t from, std::size_t to, double flow_bytes) {
    for (std::size_t i = 0; i < torus.corners[from].size(); ++i) {
      const Flow flow{torus.corners[from][i], torus.corners[to][i], flow_bytes};
      const cluster::Route route = placement.route(flow.source, flow.destination);
      for (std::size_t p = 0; p < latency.size(); ++p) latency[p] += route.per_protocol[p].latency;
      ++hops;
      cost.flows.push_back(flow);
    }
  };
  for (std::size_t corner = 0; corner < torus.corners.size(); ++corner) {
    const std::size_t above = neighbour(corner, stride, size, true);
    if (size == 2) {
      add(corner, above, bytes);
      continue;
    }
    add(corner, above, bytes / 2);
    add(corner, neighbour(corner, stride, size, false), bytes / 2);
  }
  for (std::size_t p = 0; p < latency.size(); ++p)
    cost.latency[p] += steps * (latency[p] / static_cast<double>(hops) + placement.model().step);
}

}  // namespace

std::optional<TorusRanks> find_torus(std::span<const std::uint32_t> members,
                                     const RankPlacement& placement) {
  const cluster::Cluster& cluster = placement.cluster();
  const auto position_of = [&](std::uint32_t rank) {
    return cluster::torus_position(cluster, placement.host(rank));
  };
  const std::optional<cluster::TorusPosition> first = position_of(members.front());
  if (!first) return std::nullopt;
  std::map<std::uint32_t, std::vector<std::uint32_t>> ranks_at;  // by corner, in ascending order
  for (const std::uint32_t rank : members) {
    const std::optional<cluster::TorusPosition> position = position_of(rank);
    if (!position || position->torus != first->torus) return std::nullopt;
    ranks_at[position->corner].push_back(rank);
  }
  const cluster::TorusGrid grid = cluster::torus(cluster, first->torus);
  TorusRanks torus;
  std::size_t corners = 1;
  for (std::size_t dimension = 0; dimension < grid.sides.size(); ++dimension) {
    std::set<std::uint32_t> positions;
    for (const auto& [corner, ranks] : ranks_at) positions.insert(grid.position(corner, dimension));
    corners *= positions.size();
    if (positions.size() > 1)
      torus.dimensions.push_back(
          {positions.size(), cables_between(positions, grid.sides[dimension])});
  }
  // The corners fill the product of their positions if there are as many of them.
  if (corners < 2 || corners != ranks_at.size()) return std::nullopt;
  const std::size_t ranks_per_corner = ranks_at.begin()->second.size();
  for (auto& [corner, ranks] : ranks_at) {
    if (ranks.size() != ranks_per_corner) return std::nullopt;
    std::ranges::stable_sort(ranks, {},
                             [&](std::uint32_t rank) { return placement.gpu_index(rank); });
    torus.corners.push_back(std::move(ranks));
  }
  return torus;
}

std::vector<PhaseCost> torus_phases(const TorusRanks& torus, workload::Collective kind,
                                    const RankPlacement& placement) {
  using workload::Collective;
  const double times = kind == Collective::all_reduce ? 2 : 1;
  const auto ranks = static_cast<double>(torus.corners.front().size());
  const std::vector<double> bytes = balanced_bytes(torus.dimensions);
  PhaseCost across;
  double all_steps = 0;
  for (std::size_t dimension = 0; dimension < bytes.size(); ++dimension) {
    const double steps = times * static_cast<double>(torus.dimensions[dimension].size - 1);
    add_rings(torus, dimension, times * bytes[dimension] / ranks, steps, placement, across);
    all_steps += steps;
  }
  std::vector<std::uint32_t> first_ranks;
  for (const std::vector<std::uint32_t>& corner : torus.corners)
    first_ranks.push_back(corner.front());
  if (!are_on_several_nodes(first_ranks, placement))
    across.ends = placement.model().ring_ends / all_steps;
  if (ranks < 2) return {across};
  const PhaseCost inside = rings_inside(torus.corners, (ranks - 1) / ranks, ranks - 1, placement);
  if (kind == Collective::reduce_scatter) return {inside, across};
  if (kind == Collective::all_gather) return {across, inside};
  return {inside, across, inside};
}

}  // namespace pipewright::execution
