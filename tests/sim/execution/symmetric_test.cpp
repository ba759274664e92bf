#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "support/program.hpp"

// Tests the option `symmetric`, which simulates one replica in place of all, against full runs on
// fabrics of `platform make`.

using namespace pipewright;

namespace {

struct Case {
  std::string nodes;   // options of platform make
  std::string layout;  // keys of the scenario
};

void make(const tests::CommandFolder& place, const std::string& nodes) {
  const tests::ProgramResult ran =
      place.run("platform make --node dgx-h100 --nodes " + nodes + " -o cluster.xml");
  INFO(ran.err);
  REQUIRE(ran.status == 0);
}

void write(const tests::CommandFolder& place, const std::string& layout,
           const std::string& schedule = "1f1b") {
  place.write("s.yaml", "model: llama-3-8b\ncluster: cluster.xml\nmicrobatches: 4\nschedule: " +
                            schedule + "\n" + layout);
}

double makespan(const tests::CommandFolder& place, bool symmetric) {
  const tests::ProgramResult ran =
      place.run(fmt::format("run s.yaml --set symmetric={} --json", symmetric ? "true" : "false"));
  INFO(ran.err);
  REQUIRE(ran.status == 0);
  return nlohmann::json::parse(ran.out)["makespan_s"];
}

std::string error(const tests::CommandFolder& place, const std::string& keys) {
  const tests::ProgramResult ran = place.run("run s.yaml --set symmetric=true " + keys);
  CHECK(ran.status == 2);
  return ran.err;
}

}  // namespace

TEST_CASE("a symmetric run takes as long as the full one", "[symmetric]") {
  const tests::CommandFolder place;
  for (const auto& [nodes, layout] :
       {Case{"2", "devices: 2\nparallel: {tp: 4, dp: 2}\n"},
        Case{"8 --fabric leaf-spine --leaf-nodes 2", "devices: 2\nparallel: {tp: 4, dp: 8}\n"},
        Case{"8 --fabric leaf-spine --leaf-nodes 2 --oversubscription 4",
             "devices: 2\nparallel: {tp: 8, dp: 4}\n"},
        Case{"8 --fabric leaf-spine --leaf-nodes 2 --oversubscription 4",
             "devices: 4\nparallel: {tp: 4, dp: 4, zero: 1}\n"},
        Case{"16 --fabric rail --leaf-nodes 4 --oversubscription 2",
             "devices: 4\nparallel: {tp: 8, dp: 4}\n"},
        Case{"16 --fabric rail --leaf-nodes 4 --oversubscription 2",
             "devices: 2\nparallel: {tp: 2, dp: 32, order: tp-pp-dp, zero: 1}\n"},
        Case{"32 --fabric fat-tree --leaf-nodes 4 --pod-leaves 2 --oversubscription 2 "
             "--core-oversubscription 2",
             "devices: 8\nparallel: {tp: 8, dp: 4}\n"},
        Case{"32 --fabric fat-tree --leaf-nodes 4 --pod-leaves 2",
             "devices: 4\nparallel: {tp: 4, dp: 16, zero: 3}\n"
             "communication: {overlap_slowdown: 1}\n"}}) {
    make(place, nodes);
    write(place, layout);
    const double full = makespan(place, false);
    const double single = makespan(place, true);
    CAPTURE(nodes, layout, full, single);
    CHECK(single == Approx(full).epsilon(1e-6));
  }
}

TEST_CASE("a symmetric run that gathers FSDP stages again takes nearly as long as the full one",
          "[symmetric]") {
  // In the full run, replicas share links and gather their stages at slightly different times.
  const tests::CommandFolder place;
  make(place, "8 --fabric leaf-spine --leaf-nodes 2 --oversubscription 4");
  write(place,
        "devices: 2\nparallel: {tp: 4, shard: 8, max_unsharded_stages: 2}\n"
        "communication: {overlap_slowdown: 1}\n",
        "{name: interleaved-1f1b, chunks: 4}");
  CHECK(makespan(place, true) == Approx(makespan(place, false)).epsilon(0.01));
}

TEST_CASE("collectives slow a symmetric run nearly as much as the full one", "[symmetric]") {
  // In the full run, replicas gather weights at slightly different times and are slowed down at
  // different times. The symmetric run has only one replica.
  const tests::CommandFolder place;
  make(place, "32 --fabric fat-tree --leaf-nodes 4 --pod-leaves 2");
  write(place, "devices: 4\nparallel: {tp: 4, dp: 16, zero: 3}\n");
  CHECK(makespan(place, true) == Approx(makespan(place, false)).epsilon(1e-3));
}

TEST_CASE("asymmetric runs are refused with the reason", "[symmetric]") {
  const tests::CommandFolder place;
  make(place, "4");
  write(place, "devices: 2\nparallel: {tp: 8, dp: 2}\n");
  for (const char* const variation :
       {"jitter=0.1", "'stragglers={device: 0, replica: 1, factor: 2}'",
        "'slow_links={link: node-1-nic-0, factor: 0.5}'"}) {
    CAPTURE(variation);
    CHECK(error(place, std::string("--set variation.") + variation) ==
          "pipewright: --set symmetric: symmetric lets one replica stand for all, but variation "
          "makes replicas differ; leave out one of them\n");
  }
  // Both devices of the first replica are on node 0, but those of the second are on nodes 1 and 2.
  std::string hosts;
  const auto add = [&](int node, int first) {
    for (int gpu = first; gpu < first + 4; ++gpu)
      hosts += fmt::format("{}node-{}-gpu-{}", hosts.empty() ? "" : ", ", node, gpu);
  };
  add(0, 0), add(1, 0), add(0, 4), add(2, 0);  // replicas of a device are adjacent
  write(place, "devices: 2\nparallel: {tp: 4, dp: 2}\nplacement: [" + hosts + "]\n");
  CHECK(error(place, "") ==
        "pipewright: symmetric: replica 1 uses links that replica 0 does not: 'node-1-gpu-0' -> "
        "'node-2-gpu-0' differs from 'node-0-gpu-0' -> 'node-0-gpu-4' of replica 0; leave out "
        "symmetric, or place all replicas symmetrically\n");
}
