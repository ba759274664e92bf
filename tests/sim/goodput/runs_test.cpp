#include "sim/goodput/runs.hpp"

#include <csignal>
#include <fstream>
#include <string>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <unistd.h>

using namespace pipewright;

namespace {

goodput::Variant variant(std::uint64_t seeds) {
  goodput::Setting setting{.nodes = 8,
                           .replicas = 2,
                           .target = 1e6,
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

// Kills the first `kills` children that it sees.
goodput::RunOptions killing(int kills) {
  return {.jobs = 2, .look = [kills](double) mutable {
            const pid_t victim = kills > 0 ? child() : 0;
            if (victim != 0 && ::kill(victim, SIGKILL) == 0) --kills;
          }};
}

std::string lines(const std::vector<std::vector<analysis::GoodputOutcome>>& outcomes) {
  return goodput::to_line({0, outcomes.front()});
}

}  // namespace

TEST_CASE("the seeds of a killed process are simulated again, with the same results", "[goodput]") {
  const std::vector<goodput::Variant> variants{variant(40)};
  const std::string undisturbed = lines(goodput::run(variants, {.jobs = 2}));
  CHECK(lines(goodput::run(variants, killing(1))) == undisturbed);
}

TEST_CASE("seeds whose process is killed each time are an error", "[goodput]") {
  const std::vector<goodput::Variant> variants{variant(20)};
  CHECK_THROWS_WITH(goodput::run(variants, killing(1000)), Catch::Contains("signal 9 (Killed)"));
}
