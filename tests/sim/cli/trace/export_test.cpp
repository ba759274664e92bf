#include <filesystem>
#include <sstream>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "support/paths.hpp"
#include "support/program.hpp"
#include "tests/analysis/report/export/chrome_rules.hpp"

using namespace pipewright;

namespace {

const std::string quick =
    "run -s 4 -b 8 -f 1 --backward-times 2 --p2p-time 0.1 "
    "--set activation.per_microbatch='2 GiB' --schedule 1f1b --trace t.h5";
const std::string cluster =
    "run -s 2 --global-batch 16 --model megatron-3.6b --cluster dgx-a100 --tp 2 --dp 2 --zero 1 "
    "--schedule 1f1b --trace t.h5";

}  // namespace

TEST_CASE("export writes valid Chrome traces of runs", "[cli]") {
  const tests::CommandFolder place;
  REQUIRE(place.run(quick).status == 0);
  const tests::ProgramResult ran = place.run("export t.h5 -o t.json");
  CHECK(ran.out == "wrote   t.json\n");
  CHECK(test::broken_rules(place.read("t.json")) == std::vector<std::string>{});
  // Each arrow is a transfer: 8 microbatches cross 3 stage boundaries forward and backward.
  const auto file = nlohmann::json::parse(place.read("t.json"));
  int arrows = 0;
  for (const auto& event : file["traceEvents"]) arrows += event["ph"] == "s" ? 1 : 0;
  CHECK(arrows == 48);
  CHECK(place.run("export t.h5 -o - --as chrome").out == place.read("t.json"));
  CHECK(place.run("export t.h5 -o again.json --as chrome").status == 0);
  CHECK(place.read("again.json") == place.read("t.json"));
}

TEST_CASE("export writes valid Chrome traces of runs on a cluster", "[cli]") {
  const tests::CommandFolder place;
  const tests::ProgramResult made = place.run(cluster);
  CAPTURE(made.err);
  REQUIRE(made.status == 0);
  REQUIRE(place.run("export t.h5 -o t.json").status == 0);
  CHECK(test::broken_rules(place.read("t.json")) == std::vector<std::string>{});
}

TEST_CASE("export writes one table or all tables as CSV", "[cli]") {
  const tests::CommandFolder place;
  REQUIRE(place.run(quick).status == 0);
  CHECK(place.run("export t.h5 -o tables/").status == 0);
  CHECK(place.run("export t.h5 -o 'x-{table}.csv'").status == 0);
  CHECK(place.run("export t.h5 -o passes.csv --table passes").status == 0);
  CHECK(place.files() ==
        "passes.csv t.h5 tables x-collectives.csv x-devices.csv x-link_use.csv x-links.csv "
        "x-memory.csv x-pass_collectives.csv x-passes.csv x-paths.csv x-run.csv x-stages.csv "
        "x-steps.csv x-transfers.csv x-waits.csv");
  CHECK(place.read("tables/passes.csv") == place.read("passes.csv"));
  const tests::ProgramResult refused = place.run("export t.h5 -o nowhere/tables/");
  CHECK(refused.status == 2);
  CHECK(refused.err.find("nowhere/tables/: cannot create the folder: No such file or directory") !=
        std::string::npos);
  CHECK(place.read("x-passes.csv") == place.read("passes.csv"));
  CHECK(place.run("export t.h5 -o - --table passes").out == place.read("passes.csv"));
  const std::string text = place.read("passes.csv");
  CHECK(std::count(text.begin(), text.end(), '\n') == 1 + 4 * 8 * 2);
}

TEST_CASE("export writes Paje, and the summary that show writes", "[cli]") {
  const tests::CommandFolder place;
  REQUIRE(place.run(quick).status == 0);
  const std::string summary = place.run("export t.h5 -o - --as json").out;
  CHECK(summary == place.run("show t.h5 --json").out);
  CHECK(nlohmann::json::parse(summary)["definitions"] == "analysis/metrics.md");
  CHECK(place.run("export t.h5 -o t.paje").status == 0);
  CHECK_THAT(place.read("t.paje"), Catch::StartsWith("%EventDef PajeDefineContainerType 0\n"));
}

TEST_CASE("export errors leave no files", "[cli]") {
  const tests::CommandFolder place;
  REQUIRE(place.run(quick).status == 0);
  const std::string whole = place.read("t.h5");
  place.write("half.h5", whole.substr(0, whole.size() / 2));
  const auto refused = [&](const std::string& words, const std::string& why) {
    const tests::ProgramResult ran = place.run("export " + words);
    CAPTURE(words, ran.err);
    CHECK(ran.status == 2);
    CHECK(ran.out.empty());
    CHECK_THAT(ran.err, Catch::Contains(why));
    CHECK(place.files() == "half.h5 t.h5");
  };
  refused("", "export needs a trace");
  refused("t.h5 t.h5 -o a.json", "one trace at a time");
  refused("t.h5", "export needs an output file");
  refused("t.h5 -o a.xlsx", "--as chrome, csv, json or paje");
  refused("t.h5 -o a --as perfetto", "--as is 'perfetto'; allowed: ");
  refused("t.h5 -o a.csv", "csv has one table");
  refused("t.h5 -o a.csv --table pass", "--table is 'pass'; allowed: ");
  refused("t.h5 -o a.json --table passes", "--table needs the format csv");
  refused("t.h5 -o t.h5 --as chrome", "is an input of this command");
  refused("t.h5 -o none/a.json", "does not exist");
  refused("half.h5 -o a.json", "half.h5: cut short or damaged");
  refused("half.h5 -o tables/", "half.h5: cut short or damaged");
  refused("none.h5 -o a.json", "no such file");
}

TEST_CASE("show draws each kind of picture", "[cli]") {
  const tests::CommandFolder place;
  REQUIRE(place.run(quick).status == 0);
  for (const std::string picture : {"timeline", "memory", "tradeoff", "bubbles"}) {
    CAPTURE(picture);
    CHECK(place.run("show t.h5 t.h5 -o a.svg b.svg --picture " + picture).status == 0);
    CHECK(place.read("a.svg").size() > 2000);
    CHECK(place.read("a.svg") == place.read("b.svg"));
  }
  CHECK_THAT(place.run("show t.h5 -o a.svg --picture pie").err,
             Catch::Contains("--picture is 'pie'; allowed: "));
  CHECK_THAT(place.run("show t.h5 --picture memory").err, Catch::Contains("-o FILE.svg"));
  CHECK_THAT(place.run("show t.h5 -o t.h5").err, Catch::Contains("t.h5"));
}

TEST_CASE("the Python example computes the figures of the summary", "[cli]") {
  const tests::CommandFolder place;
  if (place.shell("/usr/bin/python3 -c 'import h5py, pandas'").status != 0) {
    WARN("skipped: h5py or pandas is not installed");
    return;
  }
  const tests::ProgramResult made = place.run(cluster);
  REQUIRE(made.status == 0);
  const auto summary = nlohmann::json::parse(place.run("show t.h5 --json").out);
  const tests::ProgramResult ran =
      place.shell("/usr/bin/python3 '" PIPEWRIGHT_ROOT "/examples/read_trace.py' t.h5");
  CAPTURE(ran.out, ran.err);
  REQUIRE(ran.status == 0);
  std::istringstream words(ran.out);
  std::string word;
  const auto number_after = [&](const std::string& mark) {
    while (words >> word && word != mark) {
    }
    double value = -1;
    words >> value;
    return value;
  };
  CHECK(number_after("time") == Approx(summary["makespan_s"].get<double>()).epsilon(1e-5));
  CHECK(number_after("ratio") == Approx(summary["bubble_ratio"].get<double>()).margin(1e-4));
  double most = 0;
  for (const auto& device : summary["devices"])
    most = std::max(most, device["peak_memory_bytes"].get<double>());
  number_after("at");
  CHECK(number_after("s:") == Approx(most / (1 << 30)).margin(0.006));
}
