#include <string>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "support/program.hpp"

using nlohmann::json;
using pipewright::tests::CommandFolder;
using pipewright::tests::ProgramResult;

namespace {

const std::string scenario =
    "cluster: dgx-h100-8\nmodel: llama-3-8b\nparallel: {tp: 4, dp: 4}\nglobal_batch: 64\n"
    "sites: {count: 4, bandwidth: 10 Gbit/s, every: 50}\n";

}  // namespace

TEST_CASE("a round of sites takes its iterations and the exchange of all weights", "[sites]") {
  const CommandFolder place;
  place.write("job.yaml", scenario);
  const ProgramResult ran = place.run("sites job.yaml --json");
  REQUIRE(ran.status == 0);
  const json report = json::parse(ran.out);
  const ProgramResult run = place.run("run job.yaml --json");
  REQUIRE(run.status == 0);
  const json one_site = json::parse(run.out);
  CHECK(report["iteration_s"] == one_site["makespan_s"]);
  // 8.03 B parameters of 2 bytes, 1.25 GB/s.
  const double exchange = 2 * 8.030261248e9 * 2 / 1.25e9 * 3 / 4;
  CHECK(report["exchange_s"].get<double>() == Approx(exchange));
  const double training = 50 * one_site["makespan_s"].get<double>();
  CHECK(report["utilisation"].get<double>() == Approx(training / (training + exchange)));
  CHECK(report["tokens_per_s"].get<double>() ==
        Approx(4 * one_site["tokens_per_s"].get<double>() * training / (training + exchange)));
}

TEST_CASE("sites names what is wrong with an outer loop", "[sites]") {
  const CommandFolder place;
  place.write("job.yaml", scenario);
  const auto [words, expected] = GENERATE(table<std::string, std::string>({
      {"sites.count=1", "sites.count is 1; allowed: 2 sites or more"},
      {"sites.fragments=60", "sites.fragments is 60, with an exchange every 50 iterations"},
      {"sites.overlap=50", "sites.overlap is 50, with an exchange every 50 iterations"},
      {"sites.precision=int4", "one of fp32, bf16, fp8, fp4"},
      {"sites.bandwidth=ten", "sites.bandwidth"},
  }));
  const ProgramResult ran = place.run("sites job.yaml --set " + words);
  CAPTURE(words);
  CHECK(ran.status == 2);
  CHECK_THAT(ran.err, Catch::Contains(expected));
}

TEST_CASE("sites without fragments have one column for their way of training", "[sites]") {
  const CommandFolder place;
  place.write("job.yaml", scenario);
  const auto columns = [&](const std::string& words) {
    const std::string text = place.run("sites job.yaml " + words).out;
    std::size_t count = 0;
    for (std::size_t at = text.find("every 50  "); at != std::string::npos;
         at = text.find("every 50", at + 1))
      ++count;
    return count;
  };
  // Two tables: a second column in each of them.
  CHECK(columns("--set sites.fragments=5") > columns(""));
}
