#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "analysis/trace/reader.hpp"
#include "support/paths.hpp"
#include "support/program.hpp"
#include "tests/analysis/measured/chrome_samples.hpp"
#include "tests/analysis/trace/samples.hpp"

using namespace pipewright;

namespace {

const std::string samples = "'" PIPEWRIGHT_TEST_DATA "/measured/";

double makespan(const tests::CommandFolder& place, const std::string& words) {
  const tests::ProgramResult ran = place.run(words + " --json");
  CAPTURE(words, ran.err);
  REQUIRE(ran.status == 0);
  return nlohmann::json::parse(ran.out)["makespan_s"].get<double>();
}

// Runs a job, exports its trace in the format of PyTorch's profiler, derives a scenario from that
// profile, and checks that running the scenario gives the same times.
void check_round_trip(const std::string& words) {
  const tests::CommandFolder place;
  CAPTURE(words);
  REQUIRE(place.run("run " + words + " --engine timing --trace t.h5").status == 0);
  const trace::Trace original = trace::read_trace(place.folder() / "t.h5");
  test::write_chrome(original, place.folder());
  const tests::ProgramResult ran =
      place.shell("'" PIPEWRIGHT_PROGRAM "' profile 'rank{rank}.json' > m.yaml");
  CAPTURE(ran.err, place.read("m.yaml"));
  REQUIRE(ran.status == 0);
  CHECK(makespan(place, "run m.yaml --engine timing") ==
        Approx(makespan(place, "run " + words + " --engine timing")).epsilon(1e-6));
}

}  // namespace

TEST_CASE("the profile of a run gives a scenario of the same duration", "[cli]") {
  check_round_trip("-s 4 -b 8 -f '1 ms' --backward-times '2 ms' --schedule 1f1b");
  check_round_trip(
      "-s 3 -b 5 -f '1 ms' '1.5 ms' '1.25 ms' --backward-times '2 ms' '3 ms' '1 ms' "
      "--schedule gpipe");
}

TEST_CASE("profiles with several stages per device or split backwards give the same duration",
          "[cli]") {
  check_round_trip(
      "-s 2 -b 4 -f '2 ms' --backward-times '4 ms' --schedule interleaved-1f1b "
      "--chunks 3");
  check_round_trip(
      "-s 4 -b 8 -f '1 ms' --input-grad-times '1.1 ms' --weight-grad-times '0.7 ms' "
      "--schedule zb-h1");
  check_round_trip(
      "-s 3 -b 6 -f '2 ms' --input-grad-times '2 ms' --weight-grad-times '2 ms' "
      "--schedule zb-v");
}

TEST_CASE("full backwards are timed apart from halves if a run has both", "[cli]") {
  // Microbatch 1 has an undivided backward pass, which is shorter than I and W of microbatch 0.
  const tests::CommandFolder place;
  test::ChromeText text;
  text.add("PP:0F0", 0, 1000).add("PP:0F1", 1000, 1000);
  text.add("PP:0I0", 2000, 1500).add("PP:0W0", 3500, 1000).add("PP:0B1", 4500, 2200);
  test::write_bytes(place.folder() / "t.json", text.text(0));
  const tests::ProgramResult ran =
      place.shell("'" PIPEWRIGHT_PROGRAM "' profile t.json --order order.csv > m.yaml");
  CAPTURE(ran.err, place.read("m.yaml"));
  REQUIRE(ran.status == 0);
  CHECK_THAT(place.read("m.yaml"), Catch::Contains("backward_times:\n  - 2.2 ms") &&
                                       Catch::Contains("input_grad_times:\n  - 1.5 ms") &&
                                       Catch::Contains("weight_grad_times:\n  - 1 ms"));
  CHECK(makespan(place, "run m.yaml --engine timing") == Approx(6.7e-3));
}

TEST_CASE("fused passes are not counted as single passes", "[cli]") {
  check_round_trip(
      "-s 4 -b 10 -f '2 ms' --input-grad-times '2 ms' --weight-grad-times '1 ms' "
      "--schedule dualpipe");
}

TEST_CASE("the scenario of a profile has units and the spread of times", "[cli]") {
  const tests::CommandFolder place;
  const tests::ProgramResult ran = place.run("profile " + samples + "kineto-rank{rank}.json'");
  CAPTURE(ran.err);
  REQUIRE(ran.status == 0);
  CHECK_THAT(ran.out, Catch::Contains("devices: 2\nmicrobatches: 2\n") &&
                          Catch::Contains("schedule: 1f1b  # the measured order") &&
                          Catch::Contains("forward_times:\n  - 1 ms  # stage 0: 4 passes") &&
                          Catch::Contains("backward_times:\n  - 2 ms") &&
                          Catch::Contains("# p2p_time: 0.1 ms"));
  // Running the command twice prints the same text.
  CHECK(place.run("profile " + samples + "kineto-rank{rank}.json'").out == ran.out);
}

TEST_CASE("a measured order can be written as a schedule file", "[cli]") {
  const tests::CommandFolder place;
  test::ChromeText text;
  text.add("PP:0F0", 0, 10).add("PP:0F1", 10, 10).add("PP:0F2", 20, 10);
  text.add("PP:0B0", 30, 20).add("PP:0B1", 50, 20).add("PP:0B2", 70, 20);
  text.add("PP:1F0", 10, 10, "gpu_user_annotation", 1)
      .add("PP:1F1", 20, 10, "gpu_user_annotation", 1);
  text.add("PP:1B1", 30, 20, "gpu_user_annotation", 1)
      .add("PP:1B0", 50, 20, "gpu_user_annotation", 1);
  text.add("PP:1F2", 70, 10, "gpu_user_annotation", 1)
      .add("PP:1B2", 80, 20, "gpu_user_annotation", 1);
  place.write("m.json", text.text());
  CHECK_THAT(place.run("profile m.json").out,
             Catch::Contains("schedule: 1f1b  # the measured order is not in the catalogue"));
  const tests::ProgramResult ran = place.run("profile m.json --order order.csv --trace m.h5");
  CAPTURE(ran.err);
  REQUIRE(ran.status == 0);
  CHECK(place.read("order.csv") == "0F0,0F1,0F2,0B0,0B1,0B2\r\n1F0,1F1,1B1,1B0,1F2,1B2\r\n");
  place.write("m.yaml", ran.out);
  CHECK(makespan(place, "run m.yaml --engine timing") == Approx(130e-6));
  CHECK(place.run("show m.h5").status == 0);
  CHECK(place.run("compare m.h5 order.csv --fail-if 'displaced>0'").status == 0);
}

TEST_CASE("an exported trace can be read as a measured run by a pattern", "[cli]") {
  const tests::CommandFolder place;
  REQUIRE(place.run("run -s 3 -b 6 -f '1 ms' --backward-times '2 ms' --schedule 1f1b --trace t.h5")
              .status == 0);
  REQUIRE(place.run("export t.h5 -o t.json").status == 0);
  const std::string names = " --pattern '(?<kind>[FB]) (?<microbatch>\\d+)'";
  const tests::ProgramResult ran = place.run("profile t.json" + names);
  CAPTURE(ran.out, ran.err);
  CHECK_THAT(ran.out, Catch::Contains("schedule: 1f1b  # the measured order"));
  const tests::ProgramResult compared =
      place.run("compare t.h5 t.json --fail-if 'pass_span>+0.01%' 'pass_span<-0.01%'" + names);
  CAPTURE(compared.out, compared.err);
  CHECK(compared.status == 0);
}

TEST_CASE("an exported trace keeps stages and iterations as a measured run", "[cli]") {
  const tests::CommandFolder place;
  REQUIRE(place
              .run("run -s 3 -b 6 -f '1 ms' --backward-times '2 ms' --schedule interleaved-1f1b "
                   "--chunks 2 --iterations 2 --trace t.h5")
              .status == 0);
  REQUIRE(place.run("export t.h5 -o t.json").status == 0);
  const tests::ProgramResult ran = place.run("profile t.json");
  CAPTURE(ran.out, ran.err);
  CHECK_THAT(ran.out, Catch::Contains("over 2 iterations of 6 microbatches") &&
                          Catch::Contains("name: interleaved-1f1b, chunks: 2"));
}

TEST_CASE("measured times can be put into an existing scenario", "[cli]") {
  const tests::CommandFolder place;
  place.write("base.yaml",
              "devices: 2\nmicrobatches: 16\nforward_times: 7 s\ninput_grad_times: 3 s\n"
              "weight_grad_times: 4 s\np2p_time: 1 ms\n");
  const tests::ProgramResult ran =
      place.run("profile " + samples + "kineto-rank{rank}.json' --into base.yaml");
  CAPTURE(ran.err, ran.out);
  REQUIRE(ran.status == 0);
  CHECK_THAT(ran.out, Catch::Contains("microbatches: 16") && Catch::Contains("p2p_time: 1 ms") &&
                          Catch::Contains("forward_times: [1 ms, 1 ms]\n") &&
                          Catch::Contains("backward_times:"));
  CHECK(ran.out.find("weight_grad_times") == std::string::npos);
  place.write("base.yaml", "devices: 3\nmicrobatches: 16\nforward_times: 1\nbackward_times: 2\n");
  CHECK(place.run("profile " + samples + "kineto-rank{rank}.json' --into base.yaml").status == 2);
}

TEST_CASE("measured times in the scenario of a model reproduce its duration", "[cli]") {
  const tests::CommandFolder place;
  const std::string alone = "gpu: a100-80gb\np2p_time: 1 ms\n";
  const std::string cluster = "cluster: dgx-h100\nparallel: {tp: 2}\n";
  const auto [schedule, where] = GENERATE_COPY(table<std::string, std::string>(
      {{"{name: interleaved-1f1b, chunks: 2}", alone}, {"zb-v", alone}, {"zb-1p", cluster}}));
  CAPTURE(schedule, where);
  place.write("base.yaml",
              "model: llama-3-8b\ndevices: 4\nmicrobatches: 8\nengine: timing\n"
              "training: {recompute: full}\nlayer_times: {forward: 9 ms}\n" +
                  where + "schedule: " + schedule + "\n");
  REQUIRE(place.run("run base.yaml --trace t.h5").status == 0);
  test::write_chrome(trace::read_trace(place.folder() / "t.h5"), place.folder());
  const tests::ProgramResult ran =
      place.shell("'" PIPEWRIGHT_PROGRAM "' profile 'rank{rank}.json' --into base.yaml > m.yaml");
  CAPTURE(ran.err, place.read("m.yaml"));
  REQUIRE(ran.status == 0);
  CHECK_THAT(place.read("m.yaml"), Catch::Contains("model:") && Catch::Contains("forward_times:"));
  CHECK(place.read("m.yaml").find("layer_times") == std::string::npos);
  CHECK(makespan(place, "run m.yaml") == Approx(makespan(place, "run base.yaml")).epsilon(1e-5));
}

TEST_CASE("profile refuses files without passes", "[cli]") {
  const tests::CommandFolder place;
  const auto fails = [&](const std::string& words, const std::string& with) {
    const tests::ProgramResult ran = place.run("profile " + words);
    CAPTURE(words, ran.err, ran.out);
    CHECK(ran.status == 2);
    CHECK(ran.out.empty());
    CHECK_THAT(ran.err, Catch::Contains(with));
  };
  fails("", "profile needs a measured run");
  fails(samples + "megatron.log'",
        "has no passes that profile can read; allowed: JSON of a profiler");
  fails("none.json", "none.json");
  fails("'r{rank}.json'", "no file has this name");
  place.write("a.json", "{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"PP:0F0\"");
  fails("a.json", "a.json: line 1");
  place.write("b.json", "{\"traceEvents\":[]}");
  fails("b.json", "marks a pass");
}
