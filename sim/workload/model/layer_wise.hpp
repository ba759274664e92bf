#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

// Distribution of whole matrices over ranks, as in Megatron-LM's layer-wise distributed optimizer
// (LayerWiseDistributedOptimizer of megatron/core/optimizer/layer_wise_optimizer.py).
namespace pipewright::workload {

// Rows and columns of a matrix on one GPU.
using MatrixShape = std::pair<std::uint64_t, std::uint64_t>;

struct LayerWiseLayout {
  std::uint64_t elements = 0;  // elements of the buffer, with padding
  std::uint32_t buckets = 0;
  std::vector<std::uint32_t> rank_of;  // by matrix
};

// Lays out matrices, given in the order of the forward pass, in buckets of about `bucket` elements
// (0: one bucket). Each bucket has a shard of equal size for each rank, and no matrix crosses
// shards.
//
// Matrices enter buckets in the order of the backward pass. A bucket is closed once it has
// max(bucket, 0.9 x ranks x its largest matrix) elements and the next matrix does not fit into the
// padding of its shards. In a bucket, matrices go by falling cost of a Newton-Schulz iteration,
// max(m, n) min(m, n)^2, to the rank with the least cost in all buckets so far among those below
// 1.3 times the mean size of a shard, or, without such a rank, to the emptiest shard. Starts of
// matrices are multiples of 64 elements, and all shards have the size of the fullest
// (_compute_per_buffer_param_layout).
LayerWiseLayout layer_wise_layout(std::span<const MatrixShape> matrices, std::uint32_t ranks,
                                  std::uint64_t bucket);

// Deals tensors to ranks by rising number of elements, from the first rank to the last and back,
// and returns the rank of each tensor (_shard_params_ping_pong, which
// --no-use-layer-wise-param-layout selects).
std::vector<std::uint32_t> ping_pong(std::span<const std::uint64_t> elements, std::uint32_t ranks);

}  // namespace pipewright::workload
