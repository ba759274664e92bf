#include "analysis/comm/operation.hpp"

#include <algorithm>
#include <array>

namespace pipewright::analysis {

std::span<const OperationInfo> operation_list() {
  static constexpr std::array<OperationInfo, operations> list{{
      {Operation::all_reduce, "all-reduce", "all_reduce_perf", "sums over all ranks, to all"},
      {Operation::all_gather, "all-gather", "all_gather_perf", "every rank's part, to all"},
      {Operation::reduce_scatter, "reduce-scatter", "reduce_scatter_perf",
       "sums over all ranks, a part to each"},
      {Operation::all_to_all, "all-to-all", "alltoall_perf", "a part from each rank to each"},
      {Operation::broadcast, "broadcast", "broadcast_perf", "what rank 0 has, to all"},
      {Operation::send_recv, "send-recv", "sendrecv_perf",
       "from each rank to the next, all at once"},
      {Operation::pairwise, "pairwise", "", "between ranks i and i + n/2, both ways, all at once"},
  }};
  return list;
}

std::string_view to_string(Operation operation) {
  return operation_list()[static_cast<std::size_t>(operation)].name;
}

std::optional<Operation> parse_operation(std::string_view name) {
  std::string dashed(name);
  std::ranges::replace(dashed, '_', '-');
  for (const OperationInfo& info : operation_list())
    if (info.name == dashed) return info.operation;
  return std::nullopt;
}

double algorithm_bandwidth(std::uint64_t bytes, double seconds) {
  return static_cast<double>(bytes) / seconds;
}

double bus_factor(Operation operation, std::uint32_t ranks) {
  const double n = ranks;
  switch (operation) {
    case Operation::all_reduce:
      return 2 * (n - 1) / n;
    case Operation::all_gather:
    case Operation::reduce_scatter:
    case Operation::all_to_all:
      return (n - 1) / n;
    case Operation::broadcast:
    case Operation::send_recv:
    case Operation::pairwise:
      break;
  }
  return 1;
}

std::uint64_t element_count(Operation operation, std::uint32_t ranks, std::uint64_t bytes,
                            std::uint32_t element_bytes) {
  const bool in_parts = operation == Operation::all_gather ||
                        operation == Operation::reduce_scatter ||
                        operation == Operation::all_to_all;
  return bytes / element_bytes / (in_parts ? ranks : 1);
}

}  // namespace pipewright::analysis
