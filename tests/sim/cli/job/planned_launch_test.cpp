#include "sim/cli/job/planned_launch.hpp"

#include <string>

#include <catch2/catch.hpp>

#include "sim/config/text/yaml.hpp"

using namespace pipewright;

namespace {

config::Scenario candidate(const std::string& cluster, const std::string& parallel) {
  return config::read_scenario(config::read_yaml_text(
      "model: llama-3-8b\nglobal_batch: 64\npartition: by_cost\nstack: megatron-core\ncluster: " +
          cluster + "\n" + parallel,
      "scenario.yaml"));
}

}  // namespace

TEST_CASE("launches of candidates on several clusters are planned as each by itself", "[launch]") {
  const cli::PlanLaunch plan_launch = cli::launch_planner();
  for (const std::string cluster : {"dgx-h100", "gb200-nvl72", "dgx-h100"})
    for (const std::string parallel : {"parallel: {pp: 4, dp: 4}\n", "parallel: {tp: 8, dp: 4}\n",
                                       "parallel: {pp: 2, dp: 8}\nplacement: {domain: 8}\n"}) {
      CAPTURE(cluster, parallel);
      const config::Scenario scenario = candidate(cluster, parallel);
      const auto shared = plan_launch(scenario);
      const auto alone = cli::planned_launch(scenario);
      CHECK(shared->layers == alone->layers);
      CHECK(shared->gpus_per_host == alone->gpus_per_host);
      CHECK(shared->gpus_per_host == (cluster == "dgx-h100" ? 8U : 4U));
      CHECK(shared->gpus_per_domain == alone->gpus_per_domain);
      CHECK(shared->ranks_per_domain == alone->ranks_per_domain);
      CHECK(shared->refusal("megatron-core") == alone->refusal("megatron-core"));
    }
}

TEST_CASE("a candidate whose cluster is too small has the plan of an unknown cluster", "[launch]") {
  const cli::PlanLaunch plan_launch = cli::launch_planner();
  CHECK(plan_launch(candidate("dgx-h100", "parallel: {tp: 8, dp: 4}\n"))->schedule != nullptr);
  CHECK(plan_launch(candidate("dgx-h100", "parallel: {tp: 8, dp: 64}\n"))->schedule == nullptr);
}
