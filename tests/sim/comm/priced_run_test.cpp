#include "sim/comm/priced_run.hpp"

#include <random>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "sim/comm/parameters.hpp"
#include "support/paths.hpp"

using namespace pipewright;
using analysis::Operation;
using cluster::Cluster;

namespace {

// Prices are those of a formula that is made anew with the same numbers.
void check_prices(const std::string& name, std::uint32_t ranks) {
  Cluster cluster = Cluster::load(PIPEWRIGHT_ROOT "/platforms/clusters/" + name + ".xml");
  std::mt19937 random(7);
  for (const bool keeps : {false, true}) {
    cluster.keep_expectations(keeps);
    for (const Operation operation :
         {Operation::all_reduce, Operation::all_gather, Operation::all_to_all, Operation::broadcast,
          Operation::send_recv}) {
      const comm::BenchmarkRun run = comm::one_group(cluster, operation, ranks);
      const comm::PricedRun priced(cluster, run);
      const std::vector<analysis::Measurement> rows{
          {.operation = operation, .ranks = ranks, .bytes = 8, .seconds = 1}};
      const std::vector<comm::Parameter> parameters = comm::candidates(cluster, rows);
      for (int draw = 0; draw < 4; ++draw) {
        for (const comm::Parameter& one : parameters) {
          const double factor =
              draw == 0 ? 1 : 0.7 + 0.3 * static_cast<double>(random() % 100) / 99;
          cluster.set_parameter(one.name, one.value * factor);
        }
        const comm::Formula formula(run);
        for (std::uint64_t bytes = 8; bytes <= 8ULL << 30U; bytes *= 8) {
          INFO(fmt::format("{} {} {} bytes, {}", name, to_string(operation), bytes, draw));
          CHECK(priced.seconds(bytes, cluster.model()) ==
                Approx(formula.seconds(bytes)).epsilon(1e-4));
        }
      }
      for (const comm::Parameter& one : parameters) cluster.set_parameter(one.name, one.value);
    }
  }
}

}  // namespace

TEST_CASE("prices of a plan are those of plans made anew, over two nodes of A100", "[fit]") {
  check_prices("dgx-a100", 16);
}
TEST_CASE("prices of a plan are those of plans made anew, with NVLS", "[fit]") {
  check_prices("dgx-h100", 16);
}
TEST_CASE("prices of a plan are those of plans made anew, in one node", "[fit]") {
  check_prices("dgx-h100", 8);
}
TEST_CASE("prices of a plan are those of plans made anew, between links from GPU to GPU", "[fit]") {
  check_prices("dgx-1-v100", 8);
}
