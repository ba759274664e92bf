#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

// What communication benchmarks measure, in the conventions of nccl-tests (doc/PERFORMANCE.md).
namespace pipewright::analysis {

// `bytes` of an operation are nccl-tests' column "size": of the buffer; of all ranks' parts
// together where ranks begin or end with parts of it (all_gather, reduce_scatter, gather, scatter);
// of all that one rank has (all_to_all).
enum class Operation : std::uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  broadcast,
  reduce,
  gather,
  scatter,
  send_recv,  // every rank sends to the next one, and the last to the first, all at once
  pairwise,   // rank i and rank i + n/2 send to each other, all pairs at once
};
inline constexpr int operations = 10;

struct OperationInfo {
  Operation operation;
  std::string_view name;       // "all-reduce"
  std::string_view nccl_test;  // "all_reduce_perf"; empty: it has none
  std::string_view help;       // one line
  bool in_parts = false;       // of a buffer, with which ranks begin or end
  bool reduces = false;
  bool rooted = false;
};
std::span<const OperationInfo> operation_list();
const OperationInfo& info_of(Operation operation);
std::string_view to_string(Operation operation);                  // "all-reduce"
std::optional<Operation> parse_operation(std::string_view name);  // "all-reduce" or "all_reduce"

// Bytes/s: `bytes` over the time, and what of it each rank's link has to carry, which does not
// depend on the number of ranks: times 2 (n-1)/n for all_reduce, (n-1)/n for those
// in parts, 1 for the others.
double algorithm_bandwidth(std::uint64_t bytes, double seconds);
double bus_factor(Operation operation, std::uint32_t ranks);

// nccl-tests' column "count": elements of the part with which a rank begins or ends.
std::uint64_t element_count(Operation operation, std::uint32_t ranks, std::uint64_t bytes,
                            std::uint32_t element_bytes);

}  // namespace pipewright::analysis
