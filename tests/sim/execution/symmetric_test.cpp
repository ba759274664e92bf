#include <algorithm>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "support/program.hpp"
#include "support/random.hpp"

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

TEST_CASE("a symmetric run of replicas that are not placed alike takes as long as the full one",
          "[symmetric]") {
  const tests::CommandFolder place;
  const std::string leaves = "8 --fabric leaf-spine --leaf-nodes 2";
  const std::string thin_leaves = leaves + " --oversubscription 4";
  for (const auto& [nodes, layout] :
       {// Device 1 begins at node 3, the second node of a leaf.
        Case{leaves, "devices: 2\nparallel: {tp: 8, dp: 3}\n"},
        Case{thin_leaves, "devices: 2\nparallel: {tp: 8, dp: 3}\n"},
        Case{thin_leaves, "devices: 2\nparallel: {tp: 8, dp: 3, zero: 1}\n"},
        // Device 1 begins in the middle of node 1.
        Case{thin_leaves, "devices: 4\nparallel: {tp: 4, dp: 3}\n"},
        Case{"16 --fabric rail --leaf-nodes 4 --oversubscription 2",
             "devices: 2\nparallel: {tp: 8, dp: 6}\n"}}) {
    make(place, nodes);
    write(place, layout);
    const double full = makespan(place, false);
    const double single = makespan(place, true);
    CAPTURE(nodes, layout, full, single);
    CHECK(single == Approx(full).epsilon(1e-6));
  }
}

TEST_CASE("collectives that some replicas of a kind meet change a symmetric run little",
          "[symmetric]") {
  // Replica 1 takes nodes 2 and 3, on both sides of a leaf's end. Replicas 0, 2 and 3 are of one
  // kind, but the rings of gradients share links with the messages of replica 1 alone.
  const tests::CommandFolder place;
  make(place, "9 --fabric leaf-spine --leaf-nodes 3 --oversubscription 4");
  write(place, "devices: 2\nparallel: {tp: 8, dp: 4, order: tp-pp-dp}\n");
  CHECK(makespan(place, true) == Approx(makespan(place, false)).epsilon(1e-3));
}

TEST_CASE("random symmetric runs take as long as the full ones where they say that they are exact",
          "[symmetric]") {
  const tests::CommandFolder place;
  tests::Random random(21);
  const std::vector<std::string> fabrics{
      "", " --fabric leaf-spine --leaf-nodes 2 --oversubscription 2",
      " --fabric rail --leaf-nodes 4 --oversubscription 2",
      " --fabric fat-tree --leaf-nodes 2 --pod-leaves 2 --core-oversubscription 2"};
  const std::vector<std::string> schedules{"1f1b", "gpipe", "zb-h1",
                                           "{name: interleaved-1f1b, chunks: 2}"};
  int alike = 0;
  for (int round = 0; round < 24; ++round) {
    make(place, "8" + fabrics[random.whole(0, 3)]);
    const std::uint32_t devices = 1U << random.whole(0, 2);
    const std::uint32_t tp = 1U << random.whole(0, 3);
    const std::uint32_t most = 64 / devices / tp;
    const std::uint32_t dp = random.whole(2, std::min(12U, most));
    const std::string layout = fmt::format(
        "devices: {}\nparallel: {{tp: {}, dp: {}, zero: {}}}\ntraining: {{recompute: "
        "full}}\n",
        devices, tp, dp, random.whole(0, 3));
    write(place, layout, schedules[random.whole(0, 3)]);
    const tests::ProgramResult ran = place.run("run s.yaml --set symmetric=true --json");
    if (ran.status != 0) continue;  // such a model, or so many GPUs, are impossible
    const bool is_alike = ran.err.find("not exact") == std::string::npos;
    const double full = makespan(place, false);
    const double single = nlohmann::json::parse(ran.out)["makespan_s"];
    CAPTURE(layout, full, single);
    CHECK(single == Approx(full).epsilon(is_alike ? 1e-6 : 0.02));
    alike += is_alike ? 1 : 0;
  }
  CHECK(alike > 8);
}

TEST_CASE("a symmetric run says why replicas are of several kinds", "[symmetric]") {
  const tests::CommandFolder place;
  const auto note = [&](const std::string& keys) {
    const tests::ProgramResult ran = place.run("run s.yaml --set symmetric=true " + keys);
    REQUIRE(ran.status == 0);
    const std::size_t start = ran.out.find("replicas: ");
    return start == std::string::npos ? ""
                                      : ran.out.substr(start, ran.out.find('\n', start) - start);
  };
  make(place, "8 --fabric leaf-spine --leaf-nodes 2 --oversubscription 2");
  // Devices 0 and 1 take 3 nodes each, and a leaf has 2: device 1 begins at node 3 and ends at 5.
  write(place, "devices: 2\nparallel: {tp: 8, dp: 3}\n");
  CHECK(note("") ==
        "replicas: all 3 were simulated, since each is of a kind of its own; device 1 begins in "
        "the middle of a leaf (at node-3-gpu-0, node 2 of 2) and ends in another one; with "
        "parallel.dp=2 (32 GPUs) all replicas are alike");
  CHECK(note("parallel.dp=2") ==
        "replicas: one was simulated for all 2; exact, since messages and collectives of a kind "
        "cross equivalent links at the same times");
  CHECK(note("engine=timing") == "");  // has no contention, so that all replicas are alike
  // A device takes 3 x 4 GPUs, and a node has 8: device 1 begins at the fifth GPU of node 1.
  write(place, "devices: 2\nparallel: {tp: 4, dp: 3}\n");
  CHECK(note("").find("device 1 begins in the middle of a node (at node-1-gpu-4, GPU 5 of 8)") !=
        std::string::npos);
  // Two replicas do not divide a global batch of 15 samples.
  place.write("s.yaml",
              "model: llama-3-8b\ncluster: cluster.xml\nglobal_batch: 15\nschedule: 1f1b\n"
              "devices: 2\nparallel: {tp: 8, dp: 3}\n");
  CHECK(note("").find("with parallel.dp=2 (32 GPUs, global_batch a multiple of 2) all replicas") !=
        std::string::npos);
}

TEST_CASE("leaves without oversubscription make no difference between replicas", "[symmetric]") {
  const tests::CommandFolder place;
  make(place, "8 --fabric leaf-spine --leaf-nodes 2");
  write(place, "devices: 2\nparallel: {tp: 8, dp: 3}\n");
  const tests::ProgramResult ran = place.run("run s.yaml --set symmetric=true --json");
  REQUIRE(ran.status == 0);
  const auto run = nlohmann::json::parse(ran.out);
  CHECK(run["simulated_replicas"] < 3);
  CHECK(run["reduction_is_exact"] == true);
  CHECK(run["makespan_s"] == Approx(makespan(place, false)).epsilon(1e-9));
}

TEST_CASE("a symmetric run names the GPUs per rack with which replicas are alike", "[symmetric]") {
  const tests::CommandFolder place;
  REQUIRE(place.run("platform make --node gb200-nvl72 --nodes 4 -o cluster.xml").status == 0);
  // A device takes 2 x 8 of the 72 GPUs of a rack. Device 4 begins at GPU 65, so that its first
  // copy is in the first rack and its second copy in the second one. Of 64 GPUs each, racks take
  // four whole devices.
  write(place, "devices: 8\nparallel: {tp: 8, dp: 2}\nsymmetric: true\n");
  const tests::ProgramResult ran = place.run("run s.yaml");
  REQUIRE(ran.status == 0);
  CHECK(ran.out.find("replicas: all 2 were simulated, since each is of a kind of its own; device 4 "
                     "begins in the middle of a node (at node-0-gpu-64, GPU 65 of 72) and ends in "
                     "another one; with placement.domain=64 all replicas are alike") !=
        std::string::npos);
  const tests::ProgramResult alike = place.run("run s.yaml --set placement.domain=64");
  REQUIRE(alike.status == 0);
  CHECK(alike.out.find("replicas: one was simulated for all 2") != std::string::npos);
}

TEST_CASE("symmetric runs whose replicas vary are refused with the reason", "[symmetric]") {
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
}

TEST_CASE("a symmetric run of named hosts simulates both kinds of replicas", "[symmetric]") {
  const tests::CommandFolder place;
  make(place, "4");
  // Both devices of the first replica are on node 0, but those of the second are on nodes 1 and 2.
  std::string hosts;
  const auto add = [&](int node, int first) {
    for (int gpu = first; gpu < first + 4; ++gpu)
      hosts += fmt::format("{}node-{}-gpu-{}", hosts.empty() ? "" : ", ", node, gpu);
  };
  add(0, 0), add(1, 0), add(0, 4), add(2, 0);  // replicas of a device are adjacent
  write(place, "devices: 2\nparallel: {tp: 4, dp: 2}\nplacement: [" + hosts + "]\n");
  CHECK(makespan(place, true) == Approx(makespan(place, false)).epsilon(1e-6));
}
