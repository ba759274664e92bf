#include <algorithm>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "support/program.hpp"

using namespace pipewright;

TEST_CASE("comm matrix reports pairs, the bisection and the worst permutation", "[cli][comm]") {
  const tests::CommandFolder place;
  const tests::ProgramResult ran = place.run(
      "comm matrix --cluster a100-4nic -o pairs.svg pairs.png pairs.pdf pairs.csv pairs.json");
  CHECK(ran.err.empty());
  CHECK(ran.status == 0);
  CHECK_THAT(ran.out, Catch::StartsWith("a100-4nic: 32 GPUs on 4 nodes\n") &&
                          Catch::Contains("in a node        224  nvlink") &&
                          Catch::Contains("wrote   pairs.json\n"));
  CHECK(place.files() == "pairs.csv pairs.json pairs.pdf pairs.png pairs.svg");
  const auto json = nlohmann::json::parse(place.read("pairs.json"));
  // Each NIC of 24 GB/s serves two GPUs. `platform show` prints the same bisection bandwidth.
  CHECK(json["bisection_bytes_per_s"] == Approx(192e9));
  CHECK_THAT(place.run("platform show a100-4nic").out, Catch::Contains("bisection 192 GB/s"));
  CHECK(json["worst_found"]["slowest_bytes_per_s"] == Approx(12e9));
  CHECK(json["slowest_bound_bytes_per_s"] == Approx(12e9));
  const std::string csv = place.read("pairs.csv");
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 1 + 32 * 31);
  const std::string first_picture = place.read("pairs.svg");
  place.run("comm matrix --cluster a100-4nic -o pairs.svg");
  CHECK(place.read("pairs.svg") == first_picture);
}

TEST_CASE("comm matrix accepts a selection of GPUs, nodes as rows, and a message size",
          "[cli][comm]") {
  const tests::CommandFolder place;
  const std::string first = place.run("comm matrix --cluster dgx-a100 --gpus 2").out;
  CHECK_THAT(first, Catch::StartsWith("dgx-a100: 2 GPUs on 1 node\n"));
  const std::string selected =
      place.run("comm matrix --cluster dgx-a100 --hosts node-3-gpu-1 node-0-gpu-0").out;
  CHECK_THAT(selected, Catch::Contains("node-3-gpu-1 to node-0-gpu-0"));
  const std::string nodes = place.run("comm matrix --cluster dgx-a100 --by node --size 1M").out;
  CHECK_THAT(nodes, Catch::Contains("messages of 1 MiB") && Catch::Contains("node 3"));
}

TEST_CASE(
    "comm matrix has examples in its help, and rejects invalid options with the allowed values",
    "[cli][comm]") {
  const tests::CommandFolder place;
  CHECK_THAT(place.run("comm matrix --help").out, Catch::Contains("-o pairs.svg"));
  const auto complaint = [&](const std::string& words) {
    const tests::ProgramResult ran = place.run("comm matrix " + words);
    CHECK(ran.status == 2);
    CHECK(ran.out.empty());
    return ran.err;
  };
  CHECK_THAT(complaint(""), Catch::Contains("comm matrix needs --cluster"));
  CHECK_THAT(complaint("--cluster dgx-a100 --gpus 33"),
             Catch::Contains("has 32 GPUs, but the job needs 33"));
  CHECK_THAT(complaint("--cluster dgx-a100 --gpus 1"),
             Catch::Contains("must be a whole number >= 2"));
  CHECK_THAT(complaint("--cluster dgx-a100 --hosts node-0-gpu-0"),
             Catch::Contains("needs at least 2 GPUs"));
  CHECK_THAT(complaint("--cluster dgx-a100 --hosts node-0-gpu-0 gpu-7"),
             Catch::Contains("has no GPU 'gpu-7'"));
  CHECK_THAT(complaint("--cluster dgx-a100 --gpus 4 --hosts a b"),
             Catch::Contains("cannot be combined"));
  CHECK_THAT(complaint("--cluster dgx-a100 --by rack"), Catch::Contains("must be gpu or node"));
  CHECK_THAT(complaint("--cluster dgx-a100 --size 1:8"), Catch::Contains("one size"));
  CHECK_THAT(complaint("--cluster dgx-a100 -o a.html"), Catch::Contains(".svg, .png"));
  CHECK_THAT(complaint("stray --cluster dgx-a100"),
             Catch::Contains("takes options alone, not 'stray'"));
  CHECK(place.files().empty());
  place.run("platform make --node dgx-h100 --nodes 300 -o large.xml");
  CHECK_THAT(complaint("--cluster large.xml -o large.csv"),
             Catch::Contains("2400 GPUs have 5757600 pairs"));
}
