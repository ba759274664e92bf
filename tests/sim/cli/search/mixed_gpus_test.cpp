#include <algorithm>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "support/program.hpp"

using namespace pipewright;
using Catch::Matchers::Contains;
using nlohmann::json;

namespace {

// Returns a scenario of two stages with two replicas on two A100 nodes and two H100 nodes. By
// default the first stage runs on the A100s.
std::string scenario(const std::string& more) {
  return "cluster: a100-h100-mixed\n"
         "model: {layers: 8, hidden: 4096, heads: 32, vocabulary: 32000, sequence: 2048}\n"
         "parallel: {tp: 8, sp: true, pp: 2, dp: 2}\nschedule: 1f1b\nmicrobatches: 8\n" +
         more;
}

const std::string a100_first = "placement: {gpu_types: [a100-80gb, h100-sxm]}\n";
const std::string h100_first = "placement: {gpu_types: [h100-sxm, a100-80gb]}\n";

json run(const tests::CommandFolder& place, const std::string& text,
         const std::string& words = "") {
  place.write("one.yaml", text);
  const tests::ProgramResult ran = place.run("run one.yaml --json --quiet " + words);
  CAPTURE(text, ran.err);
  REQUIRE(ran.status == 0);
  return json::parse(ran.out);
}

double seconds(const tests::CommandFolder& place, const std::string& text,
               const std::string& words = "") {
  return run(place, text, words).at("makespan_s");
}

std::string error_of(const tests::CommandFolder& place, const std::string& text) {
  place.write("one.yaml", text);
  const tests::ProgramResult ran = place.run("run one.yaml");
  CHECK(ran.status == 2);
  return ran.err;
}

std::string split(int first) { return fmt::format("partition: [{}, {}]\n", first, 8 - first); }

}  // namespace

TEST_CASE("stages are on the types of GPU that are named, in their order", "[mixed]") {
  const tests::CommandFolder place;
  // The platform file lists A100 nodes first, so this order is the default.
  CHECK(seconds(place, scenario(a100_first)) == seconds(place, scenario("")));
  // Naming the types of GPU has the same effect as naming all hosts in this order.
  std::vector<std::string> hosts;
  for (const int node : {2, 3, 0, 1})
    for (int gpu = 0; gpu < 8; ++gpu) hosts.push_back(fmt::format("node-{}-gpu-{}", node, gpu));
  const std::string named = fmt::format("placement: [{}]\n", fmt::join(hosts, ", "));
  CHECK(seconds(place, scenario(h100_first + split(5))) ==
        seconds(place, scenario(named + split(5))));
  CHECK(seconds(place, scenario(h100_first + split(5))) <
        seconds(place, scenario(a100_first + split(5))));
}

TEST_CASE("only types that are named are used, and those have to be there and be enough",
          "[mixed]") {
  const tests::CommandFolder place;
  // The two types of GPU have peaks of 312 and 989 TFLOP/s.
  const std::string half =
      "cluster: a100-h100-mixed\nmodel: llama-3-8b\nschedule: 1f1b\nmicrobatches: 4\n"
      "parallel: {tp: 8, sp: true, pp: 2}\n";
  const double h100 = seconds(place, half + "placement: {gpu_types: [h100-sxm]}\n");
  CHECK(h100 < 0.6 * seconds(place, half + "placement: {gpu_types: [a100-80gb]}\n"));
  CHECK_THAT(error_of(place, scenario("placement: {gpu_types: [h100-sxm]}\n")),
             Contains("one.yaml:6:25: placement.gpu_types leaves 16 GPUs of a100-h100-mixed, but "
                      "the job takes 32; allowed: more types, or fewer GPUs"));
  CHECK_THAT(error_of(place, scenario("placement: {gpu_types: [b200]}\n")),
             Contains("placement.gpu_types names b200, but a100-h100-mixed has none; allowed: "
                      "a100-80gb, h100-sxm"));
  CHECK_THAT(error_of(place, scenario("placement: {gpu_types: [h100-sxm, h100-sxm]}\n")),
             Contains("placement.gpu_types names h100-sxm twice"));
}

// by_cost minimizes the time of the slowest stage, which determines the pace of a full pipeline.
// The makespan follows it only with many microbatches.
TEST_CASE("by_cost gives the faster type more layers, whichever stage it is", "[mixed]") {
  const tests::CommandFolder place;
  const std::string many = "--set microbatches=64";
  for (const std::string& order : {a100_first, h100_first}) {
    double least = std::numeric_limits<double>::infinity();
    int best = 0;
    for (int first = 1; first < 8; ++first)
      if (const double now = seconds(place, scenario(order + split(first)), many); now < least) {
        least = now;
        best = first;
      }
    CAPTURE(order, best);
    CHECK((order == h100_first ? best > 4 : best < 4));
    CHECK(seconds(place, scenario(order + "partition: by_cost\n"), many) == Approx(least));
  }
}

TEST_CASE("a search over splits and the order of types finds what trying all finds", "[mixed]") {
  const tests::CommandFolder place;
  double least = std::numeric_limits<double>::infinity();
  std::vector<std::string> splits;
  for (int first = 1; first < 8; ++first) {
    splits.push_back(fmt::format("[{}, {}]", first, 8 - first));
    for (const std::string& order : {a100_first, h100_first})
      least = std::min(least, seconds(place, scenario(order + split(first))));
  }
  place.write("sweep.yaml",
              scenario(fmt::format("partition: {{any_of: [{}]}}\nplacement: {{gpu_types: {{any_of: "
                                   "[[a100-80gb, h100-sxm], [h100-sxm, a100-80gb]]}}}}\n",
                                   fmt::join(splits, ", "))));
  const tests::ProgramResult ran = place.run("search sweep.yaml --json --quiet");
  CAPTURE(ran.err);
  REQUIRE(ran.status == 0);
  double found = std::numeric_limits<double>::infinity();
  const json result = json::parse(ran.out);
  CHECK(result["candidates"].size() == 14);
  for (const json& row : result["candidates"])
    if (row["outcome"] == "simulated") found = std::min(found, row["time_s"].get<double>());
  CHECK(found == Approx(least));
}

namespace {

std::string by_device(const std::string& tp, const std::string& more = "") {
  return "cluster: a100-h100-mixed\n"
         "model: {layers: 8, hidden: 4096, heads: 32, vocabulary: 32000, sequence: 2048}\n"
         "parallel: {tp_by_device: " +
         tp + ", sp: true, dp: 2}\nschedule: 1f1b\nmicrobatches: 8\n" + more;
}

}  // namespace

TEST_CASE("a tp by device that is the same for all is that tp", "[mixed]") {
  const tests::CommandFolder place;
  CHECK(run(place, by_device("[8, 8]")) == run(place, scenario("")));
}

// The A100 stage has two nodes for two replicas, which use four or all eight GPUs of their node.
TEST_CASE("a stage on more GPUs is faster, on fewer it holds more", "[mixed]") {
  const tests::CommandFolder place;
  const json fewer = run(place, by_device("[4, 8]", a100_first));
  const json more = run(place, by_device("[8, 8]", a100_first));
  CHECK(fewer["makespan_s"] > more["makespan_s"]);
  CHECK(fewer["devices"][0]["peak_memory_bytes"] > more["devices"][0]["peak_memory_bytes"]);
  // Buffers include the workspaces of products, whose size depends on the type of the GPU.
  const auto without_buffers = [](const json& device) {
    return device["peak_memory_bytes"].get<std::uint64_t>() -
           device["at_peak_bytes"]["buffers"].get<std::uint64_t>();
  };
  CHECK(without_buffers(fewer["devices"][1]) == without_buffers(more["devices"][1]));
  // The timing engine supports tp per device as well. It is at most as slow as SimGrid, as it has
  // no contention.
  CHECK(seconds(place, by_device("[4, 8]", a100_first), "--engine timing") <=
        Approx(fewer["makespan_s"].get<double>()));
}

TEST_CASE("a search over tp by device finds what trying all finds", "[mixed]") {
  const tests::CommandFolder place;
  const std::vector<std::string> all{"[8, 8]", "[4, 8]", "[8, 4]", "[4, 4]", "[2, 4, 8]", "[8]"};
  double least = std::numeric_limits<double>::infinity();
  std::string best;
  for (const std::string& tp : all)
    if (const double now = seconds(place, by_device(tp, h100_first)); now < least) {
      least = now;
      best = tp;
    }
  place.write("sweep.yaml", by_device(fmt::format("{{any_of: [{}]}}", fmt::join(all, ", ")),
                                      h100_first + "search: {gpus: [16, 24, 28, 32]}\n"));
  const tests::ProgramResult ran = place.run("search sweep.yaml --json --quiet");
  CAPTURE(ran.err);
  REQUIRE(ran.status == 0);
  const json result = json::parse(ran.out);
  CHECK(result["candidates"].size() == all.size());
  for (const json& row : result["candidates"]) {
    if (row["candidate"] != result["best"]) continue;
    CHECK(row["time_s"].get<double>() == Approx(least));
    CHECK(row["values"]["parallel.tp_by_device"] == best);
  }
  // The page shows no torchrun command, which would start a job without tp per device.
  const tests::ProgramResult paged = place.run("search sweep.yaml --quiet -o page.html");
  CHECK(paged.status == 0);
  CHECK_THAT(place.read("page.html"), !Contains("torchrun --nnodes"));
  // In constraints, the name tp stands for the mean of the devices' tp, and pp for the number of
  // devices.
  const tests::ProgramResult some =
      place.run("search sweep.yaml --quiet --set \"search.constraints=['tp == 6 and pp == 2']\"");
  CAPTURE(some.out, some.err);
  CHECK_THAT(some.out, Contains("2 candidates") || Contains("tp_by_device [4, 8]") ||
                           Contains("tp_by_device [8, 4]"));
  CHECK_THAT(place.run("search sweep.yaml --quiet --set parallel.pp=2").err,
             Contains("leave out pp"));
}

TEST_CASE("what is written of devices with a tp of their own tells it", "[mixed]") {
  const tests::CommandFolder place;
  const json result = run(place, by_device("[4, 8]", a100_first), "-o rows.csv --trace run.h5");
  CHECK(result["job"]["tp_by_device"] == "4/8");
  // With tp 4 and 8, a device has up to 8 GPUs in each of two replicas, which the trace stores.
  CHECK_THAT(place.run("show run.h5").out,
             Contains("2 devices of up to 8 GPUs") && Contains("tp 4/8"));
  std::vector<std::string> tp;
  std::istringstream lines(place.read("rows.csv"));
  std::size_t column = 0;
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> cells;
    std::istringstream row(line);
    for (std::string cell; std::getline(row, cell, ',');) cells.push_back(cell);
    if (tp.empty()) column = std::size_t(std::ranges::find(cells, "tp") - cells.begin());
    tp.push_back(cells.at(column));
  }
  CHECK(tp == std::vector<std::string>{"tp", "4", "8"});
  const tests::ProgramResult launch = place.run("run one.yaml --launch megatron");
  CHECK(launch.status == 2);
  CHECK_THAT(launch.err,
             Contains("parallel.tp_by_device is 4/8, but a job of Megatron-LM has one tp for all "
                      "devices"));
}
