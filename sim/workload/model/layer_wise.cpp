#include "sim/workload/model/layer_wise.hpp"

#include <algorithm>
#include <numeric>

namespace pipewright::workload {
namespace {

std::uint64_t round_up(std::uint64_t value, std::uint64_t divisor) {
  return (value + divisor - 1) / divisor * divisor;
}

constexpr std::uint64_t alignment = 64;  // elements

std::uint64_t elements_of(MatrixShape shape) { return shape.first * shape.second; }

double cost_of(MatrixShape shape) {
  const auto [small, large] = std::minmax(shape.first, shape.second);
  return static_cast<double>(large) * static_cast<double>(small) * static_cast<double>(small);
}

// Matrices that will form a bucket, with an estimate of its shards: matrices that go, in their
// order, to the emptiest shard.
class Chunk {
 public:
  Chunk(std::uint32_t ranks, std::uint64_t divisor) : shards_(ranks), divisor_(divisor) {}

  const std::vector<std::size_t>& matrices() const { return matrices_; }
  std::uint64_t elements() const { return elements_; }

  // True if the matrix fits into the padding of the emptiest shard.
  bool absorbs(std::uint64_t elements) const {
    const auto [emptiest, fullest] = std::ranges::minmax(shards_);
    return round_up(emptiest, alignment) + elements <= round_up(fullest, divisor_);
  }
  bool is_full(std::uint64_t bucket) const {
    constexpr double floor = 0.9;
    const double least =
        static_cast<double>(shards_.size()) * static_cast<double>(largest_) * floor;
    return elements_ >= std::max(bucket, static_cast<std::uint64_t>(least));
  }
  void add(std::size_t matrix, std::uint64_t elements) {
    std::uint64_t& shard = *std::ranges::min_element(shards_);
    shard = round_up(shard, alignment) + elements;
    matrices_.push_back(matrix);
    elements_ += elements;
    largest_ = std::max(largest_, elements);
  }

 private:
  std::vector<std::uint64_t> shards_;
  std::uint64_t divisor_;
  std::vector<std::size_t> matrices_;
  std::uint64_t elements_ = 0;
  std::uint64_t largest_ = 0;
};

// Assigns the matrices of a chunk to shards, adds their costs to those of the ranks, and returns
// the size of a shard without its final padding.
std::uint64_t pack(const Chunk& chunk, std::span<const MatrixShape> matrices,
                   std::vector<double>& costs, std::vector<std::uint32_t>& rank_of) {
  constexpr double slack = 1.3;
  const std::size_t ranks = costs.size();
  const double limit = static_cast<double>(chunk.elements()) / static_cast<double>(ranks) * slack;
  std::vector<std::size_t> order = chunk.matrices();
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [&](std::size_t matrix) { return cost_of(matrices[matrix]); });
  std::vector<std::uint64_t> shards(ranks);
  for (const std::size_t matrix : order) {
    const std::uint64_t elements = elements_of(matrices[matrix]);
    std::size_t chosen = ranks;
    for (std::size_t rank = 0; rank < ranks; ++rank)
      if (static_cast<double>(round_up(shards[rank], alignment) + elements) <= limit &&
          (chosen == ranks || costs[rank] < costs[chosen]))
        chosen = rank;
    if (chosen == ranks)
      chosen = static_cast<std::size_t>(std::ranges::min_element(shards) - shards.begin());
    shards[chosen] = round_up(shards[chosen], alignment) + elements;
    costs[chosen] += cost_of(matrices[matrix]);
    rank_of[matrix] = static_cast<std::uint32_t>(chosen);
  }
  return std::ranges::max(shards);
}

}  // namespace

LayerWiseLayout layer_wise_layout(std::span<const MatrixShape> matrices, std::uint32_t ranks,
                                  std::uint64_t bucket) {
  LayerWiseLayout layout;
  layout.rank_of.resize(matrices.size());
  constexpr std::uint64_t bucket_alignment = 128;
  const std::uint64_t divisor =
      std::lcm(alignment, std::lcm(std::uint64_t{ranks}, bucket_alignment) / ranks);
  std::vector<double> costs(ranks);
  Chunk chunk(ranks, divisor);
  const auto close = [&] {
    if (chunk.matrices().empty()) return;
    layout.elements += ranks * round_up(pack(chunk, matrices, costs, layout.rank_of), divisor);
    ++layout.buckets;
    chunk = Chunk(ranks, divisor);
  };
  for (std::size_t matrix = matrices.size(); matrix-- > 0;) {
    const std::uint64_t elements = elements_of(matrices[matrix]);
    if (bucket > 0 && !chunk.matrices().empty() && chunk.is_full(bucket) &&
        !chunk.absorbs(elements))
      close();
    chunk.add(matrix, elements);
  }
  close();
  return layout;
}

std::vector<std::uint32_t> ping_pong(std::span<const std::uint64_t> elements, std::uint32_t ranks) {
  std::vector<std::size_t> order(elements.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t tensor) { return elements[tensor]; });
  std::vector<std::uint32_t> rank_of(elements.size());
  for (std::size_t turn = 0; turn < order.size(); ++turn) {
    const auto step = static_cast<std::uint32_t>(turn % (2ULL * ranks));
    rank_of[order[turn]] = step < ranks ? step : 2 * ranks - 1 - step;
  }
  return rank_of;
}

}  // namespace pipewright::workload
