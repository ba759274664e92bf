#include <map>
#include <string>
#include <utility>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "support/paths.hpp"
#include "support/program.hpp"

using namespace pipewright;

namespace {

const std::string quick = "run -s 4 -b 8 -f 1 --backward-times 2 --engine timing ";
const std::string samples = "'" PIPEWRIGHT_TEST_DATA "/measured/";

// F = 1 ms, B = 2 ms, 0.1 ms per hop, as in the sample of two ranks.
const std::string predicted =
    "run -s 2 -b 2 -f '1 ms' --backward-times '2 ms' --p2p-time '0.1 ms' --schedule 1f1b --trace "
    "p.h5";

}  // namespace

TEST_CASE("compare reports differences, and sets its exit status", "[cli]") {
  const tests::CommandFolder place;
  REQUIRE(place.run(quick + "--schedule 1f1b gpipe --trace t.h5").status == 0);
  REQUIRE(place.run(quick + "--schedule 1f1b --p2p-time 0.5 --trace slow.h5").status == 0);

  const tests::ProgramResult unchanged =
      place.run("compare t-1f1b.h5 t-1f1b.h5 --fail-if 'makespan>+0%'");
  CAPTURE(unchanged.out, unchanged.err);
  CHECK(unchanged.status == 0);
  CHECK_THAT(unchanged.out, Catch::Contains("64 in both; no pass moved"));
  CHECK_THAT(unchanged.out, Catch::Contains("makespan>+0% does not hold"));

  // 1F1B and GPipe take (8 + 3) x 3 s for 8 microbatches on 4 devices. The six hops of the first
  // and the last microbatch add half a second each, or more if a device waits for them.
  const tests::ProgramResult slow =
      place.run("compare t-1f1b.h5 slow.h5 t-gpipe.h5 --fail-if 'makespan>+5%' 'makespan>1000s'");
  CAPTURE(slow.out);
  CHECK(slow.status == 1);
  CHECK_THAT(slow.out, Catch::Contains("makespan>+5% holds: slow.h5 has ") &&
                           Catch::Contains("makespan>+5% does not hold: t-gpipe.h5 has 33.00 s") &&
                           Catch::Contains("makespan>1000s does not hold: slow.h5"));
  CHECK(place.run("compare slow.h5 t-1f1b.h5 --fail-if 'makespan>+5%'").status == 0);

  const auto json = nlohmann::json::parse(place.run("compare t-1f1b.h5 slow.h5 --json").out);
  const auto run =
      nlohmann::json::parse(place.run(quick + "--schedule 1f1b --p2p-time 0.5 --json").out);
  for (const char* const key : {"makespan_s", "bubble_ratio", "span_bubble_s"})
    CHECK(json["others"][0]["metrics"][key] == run[key]);
  CHECK(json["others"][0]["passes"]["later"].get<int>() +
            json["others"][0]["passes"]["unmoved"].get<int>() ==
        64);
}

TEST_CASE("compare lists the settings in which the runs differ", "[cli]") {
  const tests::CommandFolder place;
  const std::string run =
      "run --model llama-3-8b --gpu h100-sxm --pp 2 -b 4 --engine timing --quiet --trace ";
  REQUIRE(place.run(run + "a.h5").status == 0);
  REQUIRE(place.run(run + "b.h5 --set stack.host.kernel='50 us'").status == 0);
  REQUIRE(place.run(run + "c.h5 --stack pytorch-fsdp").status == 0);
  const auto changes = [&](const std::string& files) {
    const tests::ProgramResult ran = place.run("compare " + files + " --json");
    CAPTURE(ran.err);
    REQUIRE(ran.status == 0);
    std::map<std::string, std::pair<std::string, std::string>> by_key;
    const auto report = nlohmann::json::parse(ran.out);
    for (const auto& change : report["others"][0]["settings"]) {
      const auto text = [&](const char* key) {
        return change[key].is_null() ? "none" : change[key].get<std::string>();
      };
      by_key[change["key"]] = {text("baseline"), text("value")};
    }
    return by_key;
  };
  using Values = std::pair<std::string, std::string>;
  CHECK(changes("a.h5 a.h5").empty());
  CHECK(changes("a.h5 b.h5") ==
        std::map<std::string, Values>{{"stack.host.kernel", {"125 us", "50 us"}}});
  const auto others = changes("a.h5 c.h5");
  CHECK(others.at("stack.name") == Values{"megatron-core", "pytorch-fsdp"});
  CHECK(others.at("stack.host.kernel") == Values{"125 us", "12 us"});
  CHECK(others.at("stack.recompute.early_stop") == Values{"false", "true"});
  CHECK(others.at("training.bytes.weights") == Values{"none", "4"});
  CHECK(others.count("stack.help") == 0);
  CHECK_THAT(
      place.run("compare a.h5 b.h5").out,
      Catch::Contains("\nsetting ") && Catch::Contains("\nstack.host.kernel  125 us  50 us\n"));
  // Runs of given pass times have no stack.
  REQUIRE(place.run(quick + "--trace times.h5").status == 0);
  const auto times = changes("a.h5 times.h5");
  CHECK(times.at("stack.name") == Values{"megatron-core", "none"});
  CHECK(times.at("forward_times") == Values{"none", "1"});
  CHECK(times.count("stack.host.kernel") == 0);
  REQUIRE(
      place.run(run + "d.h5 --set training.loss_chunks=4 --recompute-activations full").status ==
      0);
  CHECK(changes("a.h5 d.h5") ==
        std::map<std::string, Values>{{"training.loss_chunks", {"1", "4"}},
                                      {"training.recompute", {"none", "full"}}});
  CHECK_THAT(place.run("compare a.h5 d.h5").out, !Catch::Contains("the jobs differ"));
}

TEST_CASE("runs of several schedules differ in their schedules alone", "[cli]") {
  const tests::CommandFolder place;
  REQUIRE(place.run(quick + "--schedule 1f1b gpipe --trace t.h5").status == 0);
  const auto json = nlohmann::json::parse(place.run("compare t-1f1b.h5 t-gpipe.h5 --json").out);
  const auto settings = json["others"][0]["settings"];
  REQUIRE(settings.size() == 1);
  CHECK(settings[0]["key"] == "schedule.name");
  CHECK(settings[0]["baseline"] == "1f1b");
  CHECK(settings[0]["value"] == "gpipe");
}

TEST_CASE("compare refuses inputs that it cannot compare", "[cli]") {
  const tests::CommandFolder place;
  REQUIRE(place.run(quick + "--trace t.h5").status == 0);
  const std::string whole = place.read("t.h5");
  place.write("half.h5", whole.substr(0, whole.size() / 2));
  place.write("text.h5", "this is no trace");
  const auto fails = [&](const std::string& words, const std::string& with) {
    const tests::ProgramResult ran = place.run("compare " + words);
    CAPTURE(words, ran.err, ran.out);
    CHECK(ran.status == 2);
    CHECK(ran.out.empty());
    CHECK_THAT(ran.err, Catch::Contains(with));
  };
  fails("", "needs two or more files");
  fails("t.h5", "needs two or more files");
  fails("t.h5 half.h5", "half.h5");
  fails("t.h5 text.h5", "text.h5: unknown format; these formats can be read:");
  fails("t.h5 none.h5", "none.h5");
  fails("t.h5 .", "is a folder");
  fails("t.h5 t.h5 --fail-if 'makespam>1'", "unknown metric 'makespam'");
  fails("t.h5 " + samples + "kineto-rank0.json' --fail-if 'time>+1%'",
        "did you mean 'iteration_s'?");
  fails("t.h5 t.h5 --fail-if 'makespan>+1x'", "'x' is no unit");
  fails("t.h5 t.h5 --fail-if 'mfu<40%'", "mfu is unknown for");
  fails("t.h5 " + samples + "kineto-rank0.json' t.h5", "different kinds");
  fails(samples + "kineto-rank0.json' t.h5", "'pipewright run --trace predicted.h5' writes");
  fails("t.h5 " + samples + "kineto-rank0.json' --skip x", "--skip is 'x'");
  fails("t.h5 " + samples + "kineto-rank0.json' --pattern '('", "no group called kind");
  fails("t.h5 " + samples + "kineto-rank{rank}.json' --category nvtx", "marks a pass");
}

TEST_CASE("a prediction is compared with a run measured by PyTorch's profiler", "[cli]") {
  const tests::CommandFolder place;
  REQUIRE(place.run(predicted).status == 0);
  const std::string measured = samples + "kineto-rank{rank}.json'";
  const tests::ProgramResult ran =
      place.run("compare p.h5 " + measured + " --fail-if 'pass_span>+1%' 'pass_span<-1%'");
  CAPTURE(ran.out, ran.err);
  CHECK(ran.status == 0);
  CHECK_THAT(ran.out, Catch::Contains("2 iterations") && Catch::Contains("9.200 ms"));
  const auto json = nlohmann::json::parse(place.run("compare p.h5 " + measured + " --json").out);
  CHECK(json["errors"]["pass_span_s"]["change"].get<double>() == Approx(0).margin(1e-6));
  CHECK(json["errors"]["bubble_ratio"]["difference"].get<double>() == Approx(0).margin(1e-6));
  REQUIRE(json["passes"].size() == 4);
  for (const auto& pass : json["passes"])
    CHECK(pass["error"].get<double>() == Approx(0).margin(1e-6));
  CHECK(place.run("compare p.h5 " + measured + " --fail-if 'bubble_ratio>10%'").status == 1);

  // --fail-if compares its limit with the signed error that the table shows.
  std::string shorter = predicted;
  const std::string hop = "--p2p-time '0.1 ms' ";
  shorter.erase(shorter.find(hop), hop.size());
  REQUIRE(place.run(shorter).status == 0);
  const tests::ProgramResult low =
      place.run("compare p.h5 " + measured + " --fail-if 'pass_span<-2%'");
  CHECK(low.status == 1);
  CHECK_THAT(low.out, Catch::Contains("-2.2 %\n") &&
                          Catch::Contains("predicted 9.000 ms is 2.2 % below measured 9.200 ms"));
  CHECK(place.run("compare p.h5 " + measured + " --fail-if 'pass_span>+2%'").status == 0);
  CHECK(place.run("compare p.h5 " + measured + " --skip 1").status == 0);
  CHECK(place.run("compare p.h5 " + measured + " --skip 2").status == 2);
}

TEST_CASE("predicted memory is compared with snapshots of PyTorch's allocator", "[cli]") {
  const tests::CommandFolder place;
  REQUIRE(place
              .run("run -s 2 -b 2 -f '1 ms' --backward-times '2 ms' --trace p.h5 "
                   "--set activation.per_microbatch='3 MiB' --set state.weights='12 MiB'")
              .status == 0);
  const std::string snapshots = samples + "snapshot-rank{rank}.pickle'";
  const tests::ProgramResult ran =
      place.run("compare p.h5 " + snapshots + " --fail-if 'peak_memory>+50%'");
  CAPTURE(ran.out, ran.err);
  CHECK(ran.status == 0);
  // Device 0 holds two microbatches: 12 + 6 MiB, compared with 19 MiB in the snapshot.
  CHECK_THAT(ran.out, Catch::Contains("18.0 MiB") && Catch::Contains("19.0 MiB") &&
                          Catch::Contains("-5.3 %"));
}

TEST_CASE("a prediction is compared with a log of Megatron and a schedule of PyTorch", "[cli]") {
  const tests::CommandFolder place;
  REQUIRE(place.run(predicted).status == 0);
  const tests::ProgramResult log = place.run("compare p.h5 " + samples + "megatron.log' --skip 1");
  CAPTURE(log.out, log.err);
  CHECK(log.status == 0);
  CHECK_THAT(log.out, Catch::Contains("forward-compute") && Catch::Contains("38.00 ms"));

  const auto line = [](int number, const char* ms) {
    return " iteration " + std::to_string(number) + "/ 9 | elapsed time per iteration (ms): " + ms +
           " |\n";
  };
  place.write("twice.log", line(1, "90.0") + line(2, "80.0") + line(1, "40.0"));
  const tests::ProgramResult last = place.run("compare p.h5 twice.log");
  CAPTURE(last.out, last.err);
  CHECK_THAT(last.out, Catch::Contains("the log has 2 runs") && Catch::Contains("from line 3,") &&
                           Catch::Contains("twice.log, 1 iteration,") &&
                           Catch::Contains("no timers of forward and backward passes") &&
                           Catch::Contains("40.00 ms"));
  const tests::ProgramResult first = place.run("compare p.h5 twice.log --run 1 --skip 0");
  CHECK_THAT(first.out, Catch::Contains("2 iterations") && Catch::Contains("85.00 ms"));
  const tests::ProgramResult steady = place.run("compare p.h5 twice.log --run 1");
  CHECK_THAT(steady.out,
             Catch::Contains("1 iteration (1 left out)") && Catch::Contains("80.00 ms"));
  CHECK(place.run("compare p.h5 twice.log --run 3").status == 2);

  REQUIRE(
      place.shell("'" PIPEWRIGHT_PROGRAM "' schedule show 1f1b -s 2 -b 2 --format csv > same.csv")
          .status == 0);
  const tests::ProgramResult unchanged = place.run("compare p.h5 same.csv --fail-if 'displaced>0'");
  CAPTURE(unchanged.out, unchanged.err);
  CHECK(unchanged.status == 0);
  CHECK_THAT(unchanged.out, Catch::Contains("the same 8 passes in the same order"));
  place.write("other.csv", "0F0,0F1,,,0B0,,0B1\r\n,1F0,1F1,1B0,1B1\r\n");
  const tests::ProgramResult swapped = place.run("compare p.h5 other.csv --fail-if 'displaced>0'");
  CAPTURE(swapped.out, swapped.err);
  CHECK(swapped.status == 1);
  CHECK_THAT(swapped.out, Catch::Contains("device 1: first difference at pass 2"));
}
