#include "analysis/commlogs/operation.hpp"

#include <catch2/catch.hpp>

namespace pipewright::analysis {

TEST_CASE("operations are listed in the order of their values and parsed by name") {
  REQUIRE(operation_list().size() == operations);
  for (std::size_t i = 0; i < operation_list().size(); ++i) {
    const OperationInfo& info = operation_list()[i];
    CHECK(static_cast<std::size_t>(info.operation) == i);
    CHECK(to_string(info.operation) == info.name);
    CHECK(parse_operation(info.name) == info.operation);
  }
  CHECK(parse_operation("reduce_scatter") == Operation::reduce_scatter);
  CHECK(parse_operation("reduce") == Operation::reduce);
  CHECK_FALSE(parse_operation("hypercube"));
  CHECK_FALSE(parse_operation(""));
}

TEST_CASE("the bus factor is the share of the size that a rank has to send") {
  CHECK(bus_factor(Operation::all_reduce, 2) == 1);
  CHECK(bus_factor(Operation::all_reduce, 8) == Approx(1.75));
  CHECK(bus_factor(Operation::all_gather, 8) == Approx(0.875));
  CHECK(bus_factor(Operation::reduce_scatter, 4) == Approx(0.75));
  CHECK(bus_factor(Operation::all_to_all, 16) == Approx(0.9375));
  CHECK(bus_factor(Operation::gather, 8) == Approx(0.875));
  CHECK(bus_factor(Operation::scatter, 4) == Approx(0.75));
  for (const Operation operation :
       {Operation::broadcast, Operation::reduce, Operation::send_recv, Operation::pairwise})
    CHECK(bus_factor(operation, 16) == 1);
  // An all-reduce is a reduce-scatter followed by an all-gather.
  for (const std::uint32_t ranks : {2U, 3U, 64U})
    CHECK(bus_factor(Operation::all_reduce, ranks) ==
          Approx(bus_factor(Operation::reduce_scatter, ranks) +
                 bus_factor(Operation::all_gather, ranks)));
}

TEST_CASE("the algorithm bandwidth is bytes over seconds") {
  CHECK(algorithm_bandwidth(1 << 30, 0.01) == Approx(107.3741824e9));
}

TEST_CASE("counts are those of the buffer or of one rank's part") {
  constexpr std::uint64_t bytes = 1 << 20;
  for (const Operation operation : {Operation::all_reduce, Operation::broadcast, Operation::reduce,
                                    Operation::send_recv, Operation::pairwise})
    CHECK(element_count(operation, 8, bytes, 4) == bytes / 4);
  for (const Operation operation : {Operation::all_gather, Operation::reduce_scatter,
                                    Operation::all_to_all, Operation::gather, Operation::scatter})
    CHECK(element_count(operation, 8, bytes, 4) == bytes / 32);
  CHECK(element_count(Operation::all_reduce, 8, 3, 4) == 0);
}

TEST_CASE("names of other programs suggest the operation that they stand for") {
  const std::vector<std::pair<const char*, const char*>> names{
      {"allreduce", "all-reduce"},         {"AllReduce", "all-reduce"},
      {"ncclAllReduce", "all-reduce"},     {"all_reduce_perf", "all-reduce"},
      {"allgather", "all-gather"},         {"all_gather_into_tensor", "all-gather"},
      {"reducescatter", "reduce-scatter"}, {"reduce_scatter_tensor", "reduce-scatter"},
      {"alltoall", "all-to-all"},          {"all2all", "all-to-all"},
      {"alltoallv", "all-to-all"},         {"bcast", "broadcast"},
      {"sendrecv", "send-recv"},           {"MPI_Reduce", "reduce"}};
  for (const auto& [text, name] : names) {
    CAPTURE(text);
    CHECK(similar_operation(text) == name);
  }
  for (const char* const text : {"", "scan", "barrier", "all", "perf", "reduceall"})
    CHECK(similar_operation(text).empty());
}

}  // namespace pipewright::analysis
