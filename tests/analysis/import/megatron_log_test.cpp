#include "analysis/import/megatron_log.hpp"

#include <catch2/catch.hpp>

#include "analysis/trace/error.hpp"
#include "tests/analysis/import/chrome_samples.hpp"
#include "tests/analysis/trace/samples.hpp"

using namespace pipewright;
using analysis::MegatronLog;
using analysis::read_megatron_log;

namespace {

MegatronLog read(const std::string& text) {
  const test::ScratchFolder folder;
  test::write_bytes(folder / "t.log", text);
  return read_megatron_log(folder / "t.log");
}

}  // namespace

TEST_CASE("iterations and their timers over ranks", "[import]") {
  const MegatronLog log = read_megatron_log(test::measured_sample("megatron.log"));
  REQUIRE(log.iterations.size() == 3);
  CHECK(log.iterations[0].number == 1);
  CHECK(log.iterations[0].elapsed_s == Approx(0.090));
  REQUIRE(log.iterations[2].timers.size() == 4);
  CHECK(log.iterations[2].timers.at("forward-backward").least_s == Approx(0.033));
  CHECK(log.iterations[2].timers.at("forward-backward").most_s == Approx(0.037));
  CHECK(log.iterations[2].timers.at("optimizer").of_rank.empty());
}

TEST_CASE("timers of each rank, behind a launcher's prefix", "[import]") {
  const MegatronLog log = read_megatron_log(test::measured_sample("megatron-all.log"));
  REQUIRE(log.iterations.size() == 2);
  const auto& timer = log.iterations[1].timers.at("forward-compute");
  REQUIRE(timer.of_rank.size() == 8);
  CHECK(timer.of_rank.at(7) == Approx(9.6e-3));
  CHECK(timer.least_s == Approx(8e-3));
  CHECK(timer.most_s == Approx(9.6e-3));
}

TEST_CASE("the words of Megatron-DeepSpeed, and the greatest time alone", "[import]") {
  const MegatronLog log = read(
      "[INFO] -  iteration=      12/  635782 | consumed_samples= 768 | "
      "elapsed_time_per_iteration_ms=29570.0 | lm loss=11.1 |\n"
      "max time across ranks (ms):\n    optimizer ......: 3.50\nsomething else: 4\n");
  REQUIRE(log.iterations.size() == 1);
  CHECK(log.iterations[0].number == 12);
  CHECK(log.iterations[0].elapsed_s == Approx(29.57));
  CHECK(log.iterations[0].timers.at("optimizer").most_s == Approx(3.5e-3));
}

TEST_CASE("a log without iterations, or with broken times, is refused", "[import]") {
  CHECK_THROWS_WITH(read("hello\n"), Catch::Contains("elapsed time per iteration"));
  CHECK_THROWS_WITH(read(" iteration 1/ 2 | elapsed time per iteration (ms): nan |\n"),
                    Catch::Contains("line 2") && Catch::Contains("no number of milliseconds"));
  CHECK_THROWS_WITH(read("iteration x | elapsed time per iteration (ms): 1 |\n"),
                    Catch::Contains("no number"));
}
