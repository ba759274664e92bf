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

// Checks that changing the parameters of a run gives the same times as a new formula with these
// parameters.
void check_prices(const std::string& name, std::uint32_t ranks) {
  Cluster cluster = Cluster::load(PIPEWRIGHT_ROOT "/platforms/clusters/" + name + ".xml");
  // With posts, a hop may become shorter than its post, which a plan does not follow.
  cluster.set_parameter("collective.post", 0);
  std::mt19937 random(7);
  for (const bool is_frozen : {false, true}) {
    cluster.freeze_expectations(is_frozen);
    for (const Operation operation :
         {Operation::all_reduce, Operation::all_gather, Operation::all_to_all, Operation::broadcast,
          Operation::send_recv}) {
      const comm::BenchmarkRun run = comm::make_single_group(cluster, operation, ranks);
      const comm::PricedRun priced(cluster, run);
      const std::vector<analysis::Measurement> rows{
          {.operation = operation, .ranks = ranks, .bytes = 8, .seconds = 1}};
      const std::vector<comm::Parameter> parameters = comm::candidate_parameters(cluster, rows);
      for (int draw = 0; draw < 4; ++draw) {
        for (const comm::Parameter& parameter : parameters) {
          const double factor =
              draw == 0 ? 1 : 0.7 + 0.3 * static_cast<double>(random() % 100) / 99;
          cluster.set_parameter(parameter.name, parameter.value * factor);
        }
        const comm::Formula formula(run);
        for (std::uint64_t bytes = 8; bytes <= 8ULL << 30U; bytes *= 8) {
          INFO(fmt::format("{} {} {} bytes, {}", name, to_string(operation), bytes, draw));
          CHECK(priced.seconds(bytes, cluster.model()) ==
                Approx(formula.seconds(bytes)).epsilon(1e-4));
        }
      }
      for (const comm::Parameter& parameter : parameters)
        cluster.set_parameter(parameter.name, parameter.value);
    }
  }
}

}  // namespace

TEST_CASE("prices of a plan equal those of new plans, over two nodes of A100", "[fit]") {
  check_prices("dgx-a100", 16);
}
TEST_CASE("prices of a plan equal those of new plans, with NVLS", "[fit]") {
  check_prices("dgx-h100", 16);
}
TEST_CASE("prices of a plan equal those of new plans, in one node", "[fit]") {
  check_prices("dgx-h100", 8);
}
TEST_CASE("prices of a plan equal those of new plans, over direct links between GPUs", "[fit]") {
  check_prices("dgx-1-v100", 8);
}
