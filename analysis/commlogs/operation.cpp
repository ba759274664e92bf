#include "analysis/commlogs/operation.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace pipewright::analysis {
namespace {

// Lowercase letters and digits of a name, so that "All-Reduce" and "all_reduce" are the same.
std::string letters_of(std::string_view name) {
  std::string letters;
  for (const unsigned char c : name)
    if (std::isalnum(c) != 0) letters += static_cast<char>(std::tolower(c));
  return letters;
}

}  // namespace

std::span<const OperationInfo> operation_list() {
  static constexpr std::array<OperationInfo, operations> list{{
      {.operation = Operation::all_reduce,
       .name = "all-reduce",
       .nccl_test = "all_reduce_perf",
       .help = "sum over all ranks, result on all ranks",
       .reduces = true},
      {.operation = Operation::all_gather,
       .name = "all-gather",
       .nccl_test = "all_gather_perf",
       .help = "every rank's part, gathered on all ranks",
       .in_parts = true},
      {.operation = Operation::reduce_scatter,
       .name = "reduce-scatter",
       .nccl_test = "reduce_scatter_perf",
       .help = "sum over all ranks, one part on each rank",
       .in_parts = true,
       .reduces = true},
      {.operation = Operation::all_to_all,
       .name = "all-to-all",
       .nccl_test = "alltoall_perf",
       .help = "each rank sends a part of its data to each rank",
       .in_parts = true},
      {.operation = Operation::broadcast,
       .name = "broadcast",
       .nccl_test = "broadcast_perf",
       .help = "data of rank 0, copied to all ranks",
       .rooted = true},
      {.operation = Operation::reduce,
       .name = "reduce",
       .nccl_test = "reduce_perf",
       .help = "sum over all ranks, result on rank 0",
       .reduces = true,
       .rooted = true},
      {.operation = Operation::gather,
       .name = "gather",
       .nccl_test = "gather_perf",
       .help = "every rank's part, gathered on rank 0",
       .in_parts = true,
       .rooted = true},
      {.operation = Operation::scatter,
       .name = "scatter",
       .nccl_test = "scatter_perf",
       .help = "one part of the data of rank 0 to each rank",
       .in_parts = true,
       .rooted = true},
      {.operation = Operation::send_recv,
       .name = "send-recv",
       .nccl_test = "sendrecv_perf",
       .help = "each rank sends to the next one, all at once"},
      {.operation = Operation::pairwise,
       .name = "pairwise",
       .nccl_test = "",
       .help = "ranks i and i + n/2 send to each other, all pairs at once"},
  }};
  return list;
}

const OperationInfo& info_of(Operation operation) {
  return operation_list()[static_cast<std::size_t>(operation)];
}

std::string_view to_string(Operation operation) { return info_of(operation).name; }

std::optional<Operation> parse_operation(std::string_view name) {
  std::string dashed(name);
  std::ranges::replace(dashed, '_', '-');
  for (const OperationInfo& info : operation_list())
    if (info.name == dashed) return info.operation;
  return std::nullopt;
}

std::string_view similar_operation(std::string_view text) {
  std::string letters = letters_of(text);
  for (const std::string_view beginning : {"nccl", "mpi"})
    if (letters.starts_with(beginning)) letters.erase(0, beginning.size());
  for (const std::string_view ending : {"", "perf", "intotensor", "tensor", "v"}) {
    if (!letters.ends_with(ending)) continue;
    letters.resize(letters.size() - ending.size());
    for (const OperationInfo& info : operation_list())
      if (letters_of(info.name) == letters) return info.name;
    if (letters == "bcast") return to_string(Operation::broadcast);
    if (letters == "all2all") return to_string(Operation::all_to_all);
  }
  return {};
}

double algorithm_bandwidth(std::uint64_t bytes, double seconds) {
  return static_cast<double>(bytes) / seconds;
}

double bus_factor(Operation operation, std::uint32_t ranks) {
  const double n = ranks;
  if (operation == Operation::all_reduce) return 2 * (n - 1) / n;
  return info_of(operation).in_parts ? (n - 1) / n : 1;
}

std::uint64_t element_count(Operation operation, std::uint32_t ranks, std::uint64_t bytes,
                            std::uint32_t element_bytes) {
  return bytes / element_bytes / (info_of(operation).in_parts ? ranks : 1);
}

}  // namespace pipewright::analysis
