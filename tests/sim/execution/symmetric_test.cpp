#include <algorithm>
#include <cmath>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "support/program.hpp"

// One replica in place of all: against the full run on fabrics that `platform make` writes.

using namespace pipewright;

namespace {

struct Case {
  std::string nodes;   // options of platform make
  std::string layout;  // keys of the scenario
};

void make(const tests::Workplace& place, const std::string& nodes) {
  const tests::Ran ran =
      place.run("platform make --node dgx-h100 --nodes " + nodes + " -o cluster.xml");
  INFO(ran.err);
  REQUIRE(ran.status == 0);
}

void write(const tests::Workplace& place, const std::string& layout) {
  place.write(
      "s.yaml",
      "model: llama-3-8b\ncluster: cluster.xml\nmicrobatches: 4\nschedule: 1f1b\n" + layout);
}

double makespan(const tests::Workplace& place, bool symmetric) {
  const tests::Ran ran =
      place.run(fmt::format("run s.yaml --set symmetric={} --json", symmetric ? "true" : "false"));
  INFO(ran.err);
  REQUIRE(ran.status == 0);
  return nlohmann::json::parse(ran.out)["makespan_s"];
}

std::string error(const tests::Workplace& place, const std::string& keys) {
  const tests::Ran ran = place.run("run s.yaml --set symmetric=true " + keys);
  CHECK(ran.status == 2);
  return ran.err;
}

}  // namespace

TEST_CASE("a symmetric run is within 1 % of the full one", "[symmetric]") {
  const tests::Workplace place;
  double worst = 0;
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
             "devices: 4\nparallel: {tp: 4, dp: 16, zero: 3}\n"}}) {
    make(place, nodes);
    write(place, layout);
    const double full = makespan(place, false);
    const double one = makespan(place, true);
    CAPTURE(nodes, layout, full, one);
    CHECK(std::abs(one / full - 1) < 0.01);
    worst = std::max(worst, std::abs(one / full - 1));
  }
  WARN("worst: " << worst);
}

TEST_CASE("what is not symmetric is refused, and it is said why", "[symmetric]") {
  const tests::Workplace place;
  make(place, "4");
  write(place, "devices: 2\nparallel: {tp: 8, dp: 2}\n");
  WARN(error(place, "--set variation.jitter=0.1"));
  WARN(error(place, "--set 'variation.stragglers={device: 0, replica: 1, factor: 2}'"));
  WARN(error(place, "--set 'variation.slow_links={link: node-1-nic-0, factor: 0.5}'"));
  // Two devices of the first replica share a node, those of the second do not.
  make(place, "3");
  write(
      place, "devices: 2\nparallel: {tp: 4, dp: 2}\nplacement: [" + [] {
        std::string hosts;
        for (int i = 0; i < 16; ++i)
          hosts += fmt::format("{}node-{}-gpu-{}", i == 0 ? "" : ", ",
                               i < 4 || (i >= 8 && i < 12) ? 0 : (i < 8 ? 1 : 2),
                               i < 4 ? i : (i < 8 || i >= 12 ? i % 4 : i - 4));
        return hosts;
      }() + "]\n");
  WARN(error(place, ""));
}
