#include "sim/evaluation/sharing/place_jobs.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "sim/cluster/make/make_platform.hpp"
#include "sim/config/text/yaml.hpp"
#include "tests/sim/config/support.hpp"

using namespace pipewright;
using Catch::Matchers::Contains;
using config::test::error_of;
using evaluation::Placing;

namespace {

// A cluster whose nodes have eight GPUs.
struct Nodes {
  config::test::Folder folder;
  cluster::Cluster cluster;

  explicit Nodes(std::uint32_t count)
      : cluster(cluster::Cluster::load(folder.write(
            "nodes.xml",
            cluster::make_platform({.nodes = {{&cluster::find_node_kind("dgx-h100"), count}}})))) {}
};

config::Scenario scenario(const std::string& parallel, const std::string& more = "") {
  return config::read_scenario(config::read_yaml_text(
      fmt::format("{{cluster: dgx-h100, model: llama-3-8b, microbatches: 8, parallel: {{{}}}{}}}",
                  parallel, more),
      "t.yaml"));
}

// Node numbers of each job's GPUs, in the order of ranks.
using JobNodes = std::vector<std::vector<std::uint32_t>>;
JobNodes nodes_of(const std::vector<config::Scenario>& scenarios, const cluster::Cluster& cluster,
                  Placing placing) {
  std::vector<evaluation::NamedScenario> named;
  for (std::size_t i = 0; i < scenarios.size(); ++i)
    named.push_back({fmt::format("job-{}", i), scenarios[i]});
  JobNodes job_nodes;
  for (const auto& hosts : evaluation::place_jobs(named, cluster, placing)) {
    std::vector<std::uint32_t>& nodes = job_nodes.emplace_back();
    for (const cluster::Host* host : hosts)
      if (nodes.empty() || nodes.back() != cluster.node_of(host))
        nodes.push_back(cluster.node_of(host));
  }
  return job_nodes;
}

}  // namespace

TEST_CASE("jobs side by side take nodes one after the other", "[together]") {
  const Nodes nodes(6);
  CHECK(nodes_of({scenario("tp: 8, dp: 2"), scenario("tp: 4"), scenario("tp: 8, dp: 3")},
                 nodes.cluster, Placing::side_by_side) == JobNodes{{0, 1}, {2}, {3, 4, 5}});
}

TEST_CASE("interleaved jobs take a node in turn until each has its own", "[together]") {
  const Nodes nodes(6);
  CHECK(nodes_of({scenario("tp: 8, dp: 2"), scenario("tp: 8"), scenario("tp: 8, dp: 3")},
                 nodes.cluster, Placing::interleaved) == JobNodes{{0, 3}, {1}, {2, 4, 5}});
}

TEST_CASE("jobs side by side share a node if no other nodes are left", "[together]") {
  const Nodes nodes(1);
  CHECK(nodes_of({scenario("tp: 4"), scenario("tp: 4")}, nodes.cluster, Placing::side_by_side) ==
        JobNodes{{0}, {0}});
  CHECK_THAT(
      error_of([&] {
        nodes_of({scenario("tp: 4"), scenario("tp: 4")}, nodes.cluster, Placing::interleaved);
      }),
      Contains("job-1 takes 4 GPUs") && Contains("--placing side-by-side"));
}

TEST_CASE("hosts that a job names are not assigned to other jobs", "[together]") {
  const Nodes nodes(3);
  const std::string named = ", placement: [node-0-gpu-0, node-0-gpu-1]";
  CHECK(nodes_of({scenario("tp: 8, dp: 2"), scenario("tp: 2", named)}, nodes.cluster,
                 Placing::side_by_side) == JobNodes{{1, 2}, {0}});
  CHECK_THAT(error_of([&] {
               nodes_of({scenario("tp: 2", named), scenario("tp: 2", named)}, nodes.cluster,
                        Placing::side_by_side);
             }),
             Contains("job-0 and job-1 are both placed on host 'node-0-gpu-0'"));
}

TEST_CASE("jobs that exceed the cluster are an error", "[together]") {
  const Nodes nodes(2);
  CHECK_THAT(error_of([&] {
               nodes_of({scenario("tp: 8"), scenario("tp: 8, dp: 2")}, nodes.cluster,
                        Placing::side_by_side);
             }),
             Contains("job-1 takes 16 GPUs, but 8 of the 16 GPUs of") &&
                 Contains("are left (job-0 has 8); allowed: smaller jobs"));
}
