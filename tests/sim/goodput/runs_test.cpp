#include "sim/goodput/runs.hpp"

#include <csignal>
#include <fstream>
#include <string>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <unistd.h>

using namespace pipewright;

namespace {

// A job that trains for `target` seconds; 1e7 s of ten seeds take about 0.2 s.
goodput::Variant variant(std::uint64_t seeds, double target) {
  goodput::Setting setting{.nodes = 8,
                           .replicas = 2,
                           .target = target,
                           .interval = 100,
                           .bytes = 1e9,
                           .storage = 1e8,
                           .read = 2e8,
                           .restart = 30,
                           .repair = 1000};
  setting.failures.push_back(
      {.name = "node", .rate = 1e-5, .nodes = 1, .detection = 20, .repair = 1000});
  return {"requested", setting, seeds};
}

// Returns a child of this process, or 0 if it has none at the moment.
pid_t child() {
  std::ifstream children(fmt::format("/proc/self/task/{}/children", ::getpid()));
  pid_t id = 0;
  return children >> id ? id : 0;
}

// Kills a child at each look until no kills are left.
goodput::RunOptions killing(int& kills) {
  return {.jobs = 2, .look = [&kills](double) {
            const pid_t victim = kills > 0 ? child() : 0;
            if (victim != 0 && ::kill(victim, SIGKILL) == 0) --kills;
          }};
}

std::string lines(const std::vector<std::vector<analysis::GoodputOutcome>>& outcomes) {
  return goodput::to_line({0, outcomes.front()});
}

}  // namespace

TEST_CASE("the seeds of a killed process are simulated again, with the same results", "[goodput]") {
  const std::vector<goodput::Variant> variants{variant(40, 1e7)};
  const std::string undisturbed = lines(goodput::run(variants, {.jobs = 2}));
  int kills = 1;
  CHECK(lines(goodput::run(variants, killing(kills))) == undisturbed);
  CHECK(kills == 0);
}

TEST_CASE("seeds whose process is killed each time are an error", "[goodput]") {
  const std::vector<goodput::Variant> variants{variant(20, 1e9)};  // does not end before a look
  int kills = 1000;
  CHECK_THROWS_WITH(goodput::run(variants, killing(kills)), Catch::Contains("signal 9 (Killed)"));
}

TEST_CASE("a variant that hardly trains between its failures does not end the other variants",
          "[goodput]") {
  std::vector<goodput::Variant> variants{variant(1, 1e6), variant(1, 1e6)};
  variants[1].setting.interval = 1e7;  // thousands of mean times between failures
  variants[1].setting.failures.front().rate = 1e-3;
  CHECK_THROWS_AS(goodput::run(variants, {}), std::runtime_error);
  std::vector<std::size_t> failed;
  const auto outcomes =
      goodput::run(variants, {.on_failed = [&](std::size_t number) { failed.push_back(number); }});
  CHECK(failed == std::vector<std::size_t>{1});
  CHECK(outcomes.front().front().ratio() > 0.9);
}
