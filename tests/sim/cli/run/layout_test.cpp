#include <catch2/catch.hpp>

#include "sim/cli/run/layout_view.hpp"
#include "support/program.hpp"
#include "tests/sim/execution/collectives/support.hpp"

using namespace pipewright;
using tests::Members;

namespace {

const std::string quick = "layout c.yaml ";

// Writes a cluster file c.xml and a scenario c.yaml with this parallelism on it.
void prepare(const tests::CommandFolder& place, const tests::Shape& shape,
             const std::string& parallel) {
  place.write("c.xml", tests::platform_text(shape));
  place.write("c.yaml",
              "cluster: c.xml\nmicrobatches: 4\nforward_times: 1 ms\nbackward_times: 2 ms\n"
              "parallel: " +
                  parallel + "\n");
}

}  // namespace

TEST_CASE("sequences are described by their repetitions", "[layout]") {
  const auto [values, text] = GENERATE(table<Members, std::string>({
      {Members{}, ""},
      {{5}, "5"},
      {{5, 5, 5}, "5"},
      {{0, 1, 2, 3}, "0-3"},
      {{4, 6, 8}, "4-8 by 2"},
      {{0, 0, 1, 1}, "0-1 (2 each)"},
      {{0, 1, 0, 1, 0, 1}, "0-1 x3"},
      {{2, 2, 3, 3, 2, 2, 3, 3}, "2-3 (2 each) x2"},
      {{0, 1, 0}, "0-1, 0"},
      {{3, 2, 1}, "3, 2, 1"},
      {{0, 0, 1}, "0, 0-1"},
      {{9, 0, 5, 1, 7, 3, 2, 8}, "9, 0, 5, 1, 7, 3, ..."},
  }));
  CHECK(cli::describe_sequence(values) == text);
}

TEST_CASE("an all-reduce of ZeRO-1 is over all replicas, also if shards have copies", "[layout]") {
  const tests::CommandFolder place;
  prepare(place, {{4, 4}}, "{pp: 1, tp: 1, dp: 8, zero: 1, replicate: 2}");
  CHECK_THAT(place.run(quick).out,
             Catch::Contains("reduce-scatter of") && Catch::Contains("replicate"));
  const std::string out = place.run(quick + "--set communication.zero_gradients=all_reduce").out;
  CHECK_THAT(out, !Catch::Contains("reduce-scatter") && !Catch::Contains("replicate") &&
                      Catch::Contains("all-reduce of"));
}

TEST_CASE("the layout shows the placement of ranks and their communication", "[layout]") {
  const tests::CommandFolder place;
  prepare(place, {{4, 4}}, "{pp: 2, tp: 2, dp: 2}");
  const tests::ProgramResult ran = place.run(quick);
  CHECK(ran.err == "");
  CHECK(ran.status == 0);
  CHECK(ran.out ==
        "8 ranks on c.xml: tp 2 x dp 2 x pp 2\n"
        "\n"
        "nodes  GPUs per node  ranks  tp      dp            pp\n"
        "0      0-3            0-3    0-1 x2  0-1 (2 each)  0\n"
        "1      0-3            4-7    0-1 x2  0-1 (2 each)  1\n"
        "\n"
        "group                groups ranks collective              algorithm     time flows\n"
        "tp                        4     2 all-reduce of 64.0 MiB  ring        675 us 8 over "
        "nvlink\n"
        "dp                        4     2 all-reduce of 152.6 MiB ring      1.604 ms 8 over "
        "nvlink\n"
        "first and last stage      4     2 all-reduce of 64.0 MiB  ring      6.721 ms 8 over "
        "nic + fabric\n"
        "pp                        4     2 point to point                             4 over "
        "nic + fabric\n");
}

TEST_CASE("the layout includes expert and context parallelism", "[layout]") {
  const tests::CommandFolder place;
  prepare(place, {{4, 4}}, "{pp: 1, cp: 2, ep: 4, dp: 4, zero: 1, order: tp-cp-ep-dp-pp}");
  const std::string out = place.run(quick).out;
  CHECK_THAT(out,
             Catch::StartsWith("8 ranks on c.xml: cp 2 x dp 4, experts etp 1 x ep 4 x edp 2\n"));
  CHECK_THAT(out, Catch::Contains("ring exchange of 64.0 MiB"));
  CHECK_THAT(out,
             Catch::Contains(
                 "dp x cp           1      8  reduce-scatter of 152.6 MiB  ring       3.519 ms"));
  CHECK_THAT(out, Catch::Contains("ep                2      4  all-to-all of 64.0 MiB       direct "
                                  "      505 us  24 over nvlink\n"));
  CHECK_THAT(out, Catch::Contains("experts' dp       4      2  reduce-scatter of 152.6 MiB"));
  CHECK_THAT(out, Catch::Contains("\n0      2-3            2-3    0-1  2-3  1\n"));
}

TEST_CASE("the layout's dispatch collective follows the dispatcher", "[layout]") {
  const tests::CommandFolder place;
  place.write("c.xml", tests::platform_text({{4, 4}}));
  place.write("c.yaml",
              "cluster: c.xml\nmicrobatches: 4\nmodel: mixtral-8x7b\ngpu: h100-sxm\n"
              "parallel: {pp: 1, ep: 4, dp: 8, zero: 1}\n");
  const auto by = [&](const std::string& dispatcher) {
    return place.run(quick + "--set training.experts.dispatcher=" + dispatcher).out;
  };
  CHECK_THAT(by("alltoall"), Catch::Contains("  4  all-to-all of 64.0 MiB"));
  CHECK_THAT(by("allgather"), Catch::Contains("  4  all-gather of 64.0 MiB"));
  CHECK_THAT(by("deepep"), Catch::Contains("  4  dispatch of 64.0 MiB"));
}

TEST_CASE("a hierarchical exchange has two kinds of groups", "[layout]") {
  const tests::CommandFolder place;
  prepare(place, {{4, 4}},
          "{pp: 1, cp: 8, cp_comm_type: a2a+p2p, hierarchical_context_parallel_sizes: [4, 2]}");
  const std::string out = place.run(quick).out;
  CHECK_THAT(out, Catch::Contains("cp, heads       2      4  all-to-all of 64.0 MiB"));
  CHECK_THAT(out, Catch::Contains("cp, keys        4      2  ring exchange of 64.0 MiB"));
}

TEST_CASE("groups across NVLink domains that could hold them are noted", "[layout]") {
  const tests::CommandFolder place;
  prepare(place, {{3, 3, 3}}, "{pp: 1, tp: 2, dp: 3}");
  CHECK(place.run(quick).err.empty());
  CHECK(place.run(quick + " --set placement.domain=3").err ==
        "pipewright: groups of tp (2 ranks) straddle NVLink domains; placement.domain=2 (GPUs "
        "used per domain) keeps them whole\n");
}

TEST_CASE("experts folded over tp ranks have their own layout", "[layout]") {
  const tests::CommandFolder place;
  prepare(place, {{4, 4}}, "{pp: 1, tp: 4, etp: 2, ep: 2, dp: 2, zero: 1}");
  const std::string out = place.run(quick).out;
  CHECK_THAT(out,
             Catch::StartsWith("8 ranks on c.xml: tp 4 x dp 2, experts etp 2 x ep 2 x edp 2\n"));
  CHECK_THAT(out, Catch::Contains("ranks  tp   etp     ep"));
  CHECK_THAT(out, Catch::Contains("ep                4      2  all-to-all of 64.0 MiB"));
  CHECK_THAT(out, Catch::Contains("etp               4      2  all-gather of 64.0 MiB"));
}

TEST_CASE("a layout of many stages shows the first and the last", "[layout]") {
  const tests::CommandFolder place;
  prepare(place, {std::vector<int>(10, 4)}, "{pp: 40}");
  const std::string out = place.run(quick).out;
  CHECK_THAT(out, Catch::Contains("\n... 16 more"));
  CHECK_THAT(out, Catch::Contains("39     39\n"));
  CHECK(std::count(out.begin(), out.end(), '\n') == 2 + 1 + 25 + 1 + 4);
}

TEST_CASE("without a cluster the layout has no nodes", "[layout]") {
  const tests::CommandFolder place;
  const tests::ProgramResult ran =
      place.run("layout -s 2 -b 4 -f 1 --backward-times 2 --p2p-time '1 ms' --set parallel.dp=2");
  CHECK(ran.status == 0);
  CHECK_THAT(ran.out, Catch::StartsWith("4 ranks on ideal network, 1 ms a hop: dp 2 x pp 2\n\n"
                                        "ranks  dp   pp\n0-1    0-1  0\n2-3    0-1  1\n"));
  CHECK_THAT(ran.out, Catch::Contains("2.000 ms  4 over no link\n"));
}

TEST_CASE("a layout that the cluster cannot hold is refused", "[layout]") {
  const tests::CommandFolder place;
  prepare(place, {{4, 4}}, "{pp: 2, tp: 8}");
  const tests::ProgramResult ran = place.run(quick);
  CHECK(ran.status == 2);
  CHECK_THAT(ran.err, Catch::Contains("tp 8 x cp 1 x pp 2 x dp 1 = 16 GPUs, but "));
  CHECK(place.run("layout --help").status == 0);
}
