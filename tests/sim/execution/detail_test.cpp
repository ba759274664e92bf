#include <cmath>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "support/program.hpp"

// Tests that adding the precomputed times of collectives inside passes gives the same as simulating
// them in full, if nothing else uses their links.

using namespace pipewright;

namespace {

double makespan(const tests::CommandFolder& place, const std::string& detail) {
  const tests::ProgramResult ran = place.run("run s.yaml --json --detail " + detail);
  INFO(ran.err);
  REQUIRE(ran.status == 0);
  return nlohmann::json::parse(ran.out)["makespan_s"];
}

}  // namespace

TEST_CASE("fast and full detail agree within 2 %", "[detail]") {
  const tests::CommandFolder place;
  REQUIRE(place.run("platform make --node dgx-h100 --nodes 8 -o cluster.xml").status == 0);
  for (const std::string scenario :
       {"model: llama-3-8b\ndevices: 2\nparallel: {tp: 8, dp: 4}\nschedule: 1f1b\n",
        "model: llama-3-70b\ndevices: 8\nparallel: {tp: 8, sp: true}\nschedule: zb-h1\n",
        "model: llama-3-8b\ndevices: 4\nparallel: {tp: 2, cp: 4, sp: true}\n"
        "schedule: {name: interleaved-1f1b, chunks: 2}\n",
        "model: gpt3-175b\ndevices: 8\nparallel: {tp: 8, sp: true}\n"
        "communication: {tp_comm_overlap: true}\nschedule: 1f1b\n",
        "model: gpt3-175b\ndevices: 4\nparallel: {tp: 16, sp: true}\n"
        "communication: {all_reduce: hierarchical}\nschedule: 1f1b\n",
        "model: mixtral-8x7b\ndevices: 4\nparallel: {tp: 2, sp: true, dp: 8, ep: 8}\nschedule: "
        "1f1b\n",
        "model: mixtral-8x7b\ndevices: 8\nparallel: {dp: 8, ep: 8}\nschedule: 1f1b\n"}) {
    place.write("s.yaml", "cluster: cluster.xml\nmicrobatches: 8\n" + scenario);
    const double fast = makespan(place, "fast");
    const double full = makespan(place, "full");
    CAPTURE(scenario, fast, full);
    CHECK(std::abs(full / fast - 1) < 0.02);
  }
}

TEST_CASE("memory falls with each level of ZeRO", "[detail]") {
  const tests::CommandFolder place;
  REQUIRE(place.run("platform make --node dgx-h100 --nodes 8 -o cluster.xml").status == 0);
  place.write("s.yaml",
              "model: llama-3-8b\ncluster: cluster.xml\ndevices: 4\nmicrobatches: 8\n"
              "schedule: 1f1b\nparallel: {tp: 2, dp: 8}\n");
  std::vector<std::vector<std::uint64_t>> peaks;
  for (const std::string zero : {"0", "1", "2", "3"}) {
    const tests::ProgramResult ran = place.run("run s.yaml --json --set parallel.zero=" + zero);
    INFO(ran.err);
    REQUIRE(ran.status == 0);
    auto& device_peaks = peaks.emplace_back();
    const auto summary = nlohmann::json::parse(ran.out);
    for (const auto& device : summary["devices"])
      device_peaks.push_back(device["peak_memory_bytes"]);
  }
  for (std::size_t zero = 1; zero < 4; ++zero)
    for (std::size_t device = 0; device < 4; ++device) {
      CAPTURE(zero, device);
      CHECK(peaks[zero][device] < peaks[zero - 1][device]);
    }
}
