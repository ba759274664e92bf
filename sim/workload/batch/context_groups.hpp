#pragma once

#include <cstdint>
#include <vector>

namespace pipewright::workload {

// Documents that ranks compute between two barriers: for each rank of dp x cp the numbers of its
// documents, in order. Several ranks that have the same document share it by context parallelism.
using ContextGroup = std::vector<std::vector<std::uint32_t>>;

// Number of ranks that share a document: the least power of two that leaves each at most
// `tokens_per_rank` tokens.
std::uint32_t ranks_of_document(std::uint32_t tokens, std::uint32_t tokens_per_rank);

// Distributes the documents of an iteration over the ranks of dp x cp as Megatron-LM does with
// --hybrid-context-parallel (BalancedCPScheduler in core/pipeline_parallel/hybrid_cp_schedule.py):
// the longest first, each to the group of ranks of its size with the least work, where work is
// tokens^2 / ranks. A group of documents ends when ranks differ by at most 5 %; then ranks without
// documents join those of the smallest groups. `tokens` has the tokens of each document.
//
// Throws config::Error for a document that needs more ranks than there are, and where Megatron-LM's
// rule fails: ranks remain without documents, too few to double a group.
std::vector<ContextGroup> context_groups(const std::vector<std::uint32_t>& tokens,
                                         std::uint32_t ranks, std::uint32_t tokens_per_rank);

}  // namespace pipewright::workload
