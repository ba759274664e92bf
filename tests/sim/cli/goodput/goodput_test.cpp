#include <algorithm>
#include <string>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "support/paths.hpp"
#include "support/program.hpp"

using nlohmann::json;
using pipewright::tests::CommandFolder;
using pipewright::tests::ProgramResult;

namespace {

// A scenario whose 64 GPUs fail often, so that short runs have failures.
const std::string scenario =
    "model: llama-3-8b\ngpu: h100-sxm\nparallel: {tp: 2, pp: 4, dp: 8}\nmicrobatches: 16\n"
    "engine: timing\n"
    "goodput:\n  duration: 10 d\n  failures: {kind: node, rate: 500, shape: 0.8}\n"
    "  checkpoint: {storage: 2 GB/s}\n  spares: 1\n  repair: 12 h\n";

bool contains(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("goodput reports the effective training time of a run") {
  const CommandFolder place;
  place.write("job.yaml", scenario);
  const ProgramResult ran = place.run("goodput job.yaml --seeds 20 --json");
  CHECK(ran.err.empty());
  REQUIRE(ran.status == 0);
  const json report = json::parse(ran.out);
  CHECK(report["gpus"] == 64);
  CHECK(report["nodes"] == 8);
  const json& ratio = report["effective_training_time_ratio"];
  CHECK(ratio["p05"] < ratio["mean"]);
  CHECK(ratio["mean"] < ratio["p95"]);
  double seconds = 0;
  for (const json& part : report["seconds"]) seconds += part.get<double>();
  CHECK(seconds == Approx(10 * 86400));
  CHECK(report["seconds"]["training"].get<double>() / seconds ==
        Approx(ratio["mean"].get<double>()));
  CHECK(report["intervals"].size() >= 5);
  CHECK(report["worth"].size() >= 5);
}

TEST_CASE("results do not depend on the number of processes") {
  const CommandFolder place;
  place.write("job.yaml", scenario);
  const ProgramResult serial =
      place.run("goodput job.yaml --seeds 25 --jobs 1 -o one.csv one.html one.svg");
  const ProgramResult parallel =
      place.run("goodput job.yaml --seeds 25 --jobs 3 -o two.csv two.html two.svg");
  REQUIRE(serial.status == 0);
  CHECK(place.read("one.csv") == place.read("two.csv"));
  CHECK(place.read("one.html") == place.read("two.html"));
  CHECK(place.read("one.svg") == place.read("two.svg"));
  CHECK(contains(place.read("one.svg"), "<svg"));
}

TEST_CASE("a killed run resumes and gives the same bytes") {
  const CommandFolder place;
  place.write("job.yaml", scenario);
  const std::string command = "goodput job.yaml --seeds 400 --only --quiet ";
  REQUIRE(place.run(command + "-o whole.csv").status == 0);
  // The run is killed once the file has results of at least four seeds.
  place.shell("'" PIPEWRIGHT_PROGRAM "' " + command +
              "--results r.jsonl -j 1 & child=$!; for i in $(seq 600); do "
              "[ $(wc -l < r.jsonl 2> /dev/null || echo 0) -ge 4 ] && break; sleep 0.01; done; "
              "kill -9 $child; wait $child");
  REQUIRE(contains(place.files(), "r.jsonl"));
  const std::string stored = place.read("r.jsonl");
  CHECK(std::count(stored.begin(), stored.end(), '\n') >= 4);
  CHECK(std::count(stored.begin(), stored.end(), '\n') < 41);
  CHECK(contains(place.run(command + "--results r.jsonl").err, "--resume"));
  const ProgramResult resumed = place.run(command + "--results r.jsonl --resume -o resumed.csv");
  CHECK(resumed.err.empty());
  REQUIRE(resumed.status == 0);
  CHECK(place.read("whole.csv") == place.read("resumed.csv"));
  CHECK(place.read("r.jsonl").starts_with(stored.substr(0, stored.rfind('\n') + 1)));
}

TEST_CASE("results of another question are rejected") {
  const CommandFolder place;
  place.write("job.yaml", scenario);
  REQUIRE(place.run("goodput job.yaml --seeds 10 --only --results r.jsonl").status == 0);
  const ProgramResult resumed =
      place.run("goodput job.yaml --seeds 10 --only --spares 2 --results r.jsonl --resume");
  CHECK(resumed.status == 2);
  CHECK(contains(resumed.err, "r.jsonl: these results belong to another scenario"));
  CHECK(contains(resumed.err, "'spares: 1' in the file, 'spares: 2' in this run"));
}

TEST_CASE("results are reused for more and for fewer seeds and give the same bytes", "[goodput]") {
  const CommandFolder place;
  place.write("job.yaml", scenario);
  const auto run = [&](const std::string& words) {
    const ProgramResult ran = place.run("goodput job.yaml --quiet " + words);
    CHECK(ran.err.empty());
    REQUIRE(ran.status == 0);
    return ran.out;
  };
  run("--seeds 15 --only --results r.jsonl");
  const std::string stored = place.read("r.jsonl");
  CHECK(run("--seeds 23 --results r.jsonl --resume") == run("--seeds 23"));
  CHECK(place.read("r.jsonl").starts_with(stored));
  CHECK(run("--seeds 12 --only --results r.jsonl --resume") == run("--seeds 12 --only"));
}

TEST_CASE("only a given interval is marked as requested", "[goodput]") {
  const CommandFolder place;
  place.write("job.yaml", scenario);
  const std::string chosen = place.run("goodput job.yaml --seeds 5 --quiet").out;
  CHECK_FALSE(contains(chosen, "requested"));
  CHECK(contains(chosen, "best"));
  CHECK(contains(place.run("goodput job.yaml --seeds 5 --quiet --checkpoint-interval 2h").out,
                 "requested"));
}

TEST_CASE("copies to peers and checkpoints to the storage have separate intervals", "[goodput]") {
  const CommandFolder place;
  place.write("job.yaml", scenario);
  const ProgramResult ran =
      place.run("goodput job.yaml --seeds 5 --quiet --set goodput.checkpoint.mode=peer");
  CHECK(contains(ran.out, "(peer): to peers every 60.00 s, to the storage every "));
  CHECK(contains(ran.out, "How often to checkpoint to the storage, 5 seeds"));
  CHECK(contains(ran.out, "as if training waited for each write."));
  CHECK(contains(ran.out, "With copies to peers every 60.00 s, Daly's model predicts "));
}

TEST_CASE("the page describes the model, the hardware and the checkpoints in a line each",
          "[goodput]") {
  const CommandFolder place;
  place.write("job.yaml", scenario);
  REQUIRE(place.run("goodput job.yaml --seeds 5 --quiet --only -o days.html").status == 0);
  const std::string page = place.read("days.html");
  CHECK(contains(page, "<br>\n64 GPUs on 8 nodes"));
  CHECK(contains(page, "<br>\ncheckpoints of "));
}

TEST_CASE("a note names spares that the cluster does not have", "[goodput]") {
  const CommandFolder place;
  place.write("job.yaml", "cluster: dgx-h100-8\n" + scenario.substr(0, scenario.find("gpu:")) +
                              scenario.substr(scenario.find("parallel:")));
  CHECK(contains(place.run("goodput job.yaml --seeds 1 --only --spares 5").err,
                 "goodput.spares is 5, but the cluster has 8 nodes and the job uses 8"));
}

TEST_CASE("a number of tokens gives days and a price") {
  const CommandFolder place;
  place.write("job.yaml", scenario);
  const ProgramResult ran =
      place.run("goodput job.yaml --tokens 100B --price 2 --seeds 1 --only --json");
  REQUIRE(ran.status == 0);
  const json report = json::parse(ran.out);
  const double days = report["days"]["mean"];
  CHECK(report["tokens_per_day"]["mean"].get<double>() * days == Approx(100e9));
  CHECK(report["price"]["mean"].get<double>() ==
        Approx(days * 24 * 72 * 2));  // Includes the spare node.
}

TEST_CASE("goodput rejects options that contradict each other") {
  const CommandFolder place;
  place.write("job.yaml", scenario);
  const ProgramResult resume = place.run("goodput job.yaml --resume");
  CHECK(resume.status == 2);
  CHECK(contains(resume.err, "--resume needs --results FILE.jsonl"));
  const ProgramResult size = place.run("goodput -s 2 -b 4 -f 1 --backward-times 2");
  CHECK(size.status == 2);
  CHECK(contains(size.err, "the size of a checkpoint is unknown"));
  CHECK(place.run("goodput --help").out.starts_with("usage: pipewright goodput SCENARIO"));
}

TEST_CASE("a job that never trains its tokens ends with an error", "[goodput]") {
  const CommandFolder place;
  place.write("job.yaml", scenario);
  // Failures are so frequent that 96 nodes would be in repair on average, but the job has only
  // eight.
  const ProgramResult ran = place.run(
      "goodput job.yaml --seeds 1 --only --tokens 1T --spares 0 --set goodput.failures.rate=12000 "
      "goodput.failures.shape=1 goodput.repair='24 h'");
  CHECK(ran.status == 2);
  CHECK(contains(ran.err, "of the tokens (--tokens) are trained; lower the rates"));
}

TEST_CASE("goodput has the expected error of an iteration beside the range of seeds") {
  const CommandFolder place;
  place.write("job.yaml", scenario);
  const ProgramResult ran = place.run("goodput job.yaml --seeds 5 --only --tokens 100B --json");
  REQUIRE(ran.status == 0);
  const json report = json::parse(ran.out);
  const json& days = report["days"];
  const json& error = report["expected_error"];
  REQUIRE(error["rows"].get<int>() > 0);
  const double mean = days["mean"];
  CHECK(days["with_error_low"].get<double>() == Approx(mean * (1 + error["low"].get<double>())));
  CHECK(days["with_error_high"].get<double>() == Approx(mean * (1 + error["high"].get<double>())));
  // The error is that of the time of an iteration, and a rate falls as it rises.
  CHECK(report["tokens_per_day"]["with_error_high"].get<double>() ==
        Approx(report["tokens_per_day"]["mean"].get<double>() / (1 + error["low"].get<double>())));
  CHECK_FALSE(report["interruptions"].contains("with_error_low"));
  const ProgramResult text = place.run("goodput job.yaml --seeds 5 --only");
  CHECK(contains(text.out, "expected error"));
  CHECK(contains(text.out, "of an iteration, at the same effective training time"));
}

TEST_CASE("idle racks are noted as racks, and spares are not idle") {
  const CommandFolder place;
  REQUIRE(place.run("platform make --node gb300-nvl72 --nodes 3 -o racks.xml").status == 0);
  const std::string job =
      "cluster: racks.xml\nmodel: llama-3-8b\nparallel: {tp: 8, dp: 8}\n"
      "placement: {domain: 64}\nglobal_batch: 64\nengine: timing\nsymmetric: true\n"
      "goodput: {duration: 2 d, replaces: rack, ";
  const auto notes = [&](const std::string& spares) {
    place.write("job.yaml", job + spares + "}\n");
    const ProgramResult ran = place.run("goodput job.yaml --seeds 2 --only --json");
    REQUIRE(ran.status == 0);
    return json::parse(ran.out)["notes"].dump();
  };
  CHECK(contains(notes("elastic: false"), "2 of 3 racks are idle"));
  CHECK(contains(notes("spares: 16"), "1 of 3 racks are idle"));
  CHECK_FALSE(contains(notes("spares: rest"), "idle"));
}
