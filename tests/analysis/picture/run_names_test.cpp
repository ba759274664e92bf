#include <catch2/catch.hpp>

#include "analysis/timeline/titles.hpp"

namespace pipewright::analysis {
namespace {

Summary run(const std::string& schedule, std::uint32_t chunks, std::uint32_t microbatches) {
  Summary summary;
  summary.run.schedule = schedule;
  summary.run.chunks = chunks;
  summary.run.microbatches = microbatches;
  return summary;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("runs are named by what tells them apart", "[picture]") {
  CHECK(run_names(std::vector{run("1f1b", 1, 8), run("interleaved-1f1b", 2, 8)}) ==
        Names{"1f1b", "interleaved-1f1b x2"});
  CHECK(run_names(std::vector{run("1f1b", 1, 8), run("1f1b", 1, 16)}) ==
        Names{"1f1b, 8 microbatches", "1f1b, 16 microbatches"});
  CHECK(run_names(std::vector{run("1f1b", 1, 8), run("gpipe", 1, 8), run("1f1b", 1, 8)}) ==
        Names{"1f1b (1)", "gpipe", "1f1b (2)"});
  // A run that has a name of its own keeps it short.
  CHECK(run_names(std::vector{run("1f1b", 1, 8), run("1f1b", 1, 1), run("gpipe", 1, 8)}) ==
        Names{"1f1b, 8 microbatches", "1f1b, 1 microbatch", "gpipe"});
  CHECK(run_names({}).empty());
}

}  // namespace pipewright::analysis
