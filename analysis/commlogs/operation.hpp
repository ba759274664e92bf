#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

// Operations of communication benchmarks, with the conventions of nccl-tests (doc/PERFORMANCE.md).
namespace pipewright::analysis {

// A communication operation. Its bytes are the column "size" of nccl-tests: the bytes of the
// buffer; or of all ranks' parts together if ranks begin or end with parts of it (all_gather,
// reduce_scatter, gather, scatter); or all that one rank sends (all_to_all).
enum class Operation : std::uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  broadcast,
  reduce,
  gather,
  scatter,
  send_recv,  // Every rank sends to the next one, and the last to the first, all at once.
  pairwise,   // Rank i and rank i + n/2 send to each other, all pairs at once.
};
inline constexpr int operations = 10;

struct OperationInfo {
  Operation operation;
  std::string_view name;       // "all-reduce"
  std::string_view nccl_test;  // "all_reduce_perf"; empty if there is none.
  std::string_view help;       // One line.
  bool in_parts = false;       // Ranks begin or end with parts of the buffer.
  bool reduces = false;
  bool rooted = false;
};
std::span<const OperationInfo> operation_list();
const OperationInfo& info_of(Operation operation);
std::string_view to_string(Operation operation);                  // "all-reduce"
std::optional<Operation> parse_operation(std::string_view name);  // "all-reduce" or "all_reduce"
// Returns the name that a text without its hyphens, such as "allreduce", or the program of
// nccl-tests, such as "alltoall_perf", stands for; empty if there is none.
std::string_view similar_operation(std::string_view text);

// Bandwidth in bytes/s. The algorithm bandwidth is bytes over time. The bus bandwidth is the load
// of each rank's link, which does not depend on the number of ranks: the algorithm bandwidth times
// bus_factor(), that is 2 (n-1)/n for all_reduce, (n-1)/n for operations in parts and 1 for all
// others.
double algorithm_bandwidth(std::uint64_t bytes, double seconds);
double bus_factor(Operation operation, std::uint32_t ranks);

// Returns the column "count" of nccl-tests: elements of the part with which a rank begins or ends.
std::uint64_t element_count(Operation operation, std::uint32_t ranks, std::uint64_t bytes,
                            std::uint32_t element_bytes);

}  // namespace pipewright::analysis
