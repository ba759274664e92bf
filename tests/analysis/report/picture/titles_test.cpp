#include "analysis/report/picture/titles.hpp"

#include <catch2/catch.hpp>

#include "tests/analysis/report/picture/one_f_one_b_trace.hpp"

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

TEST_CASE("a title has size, makespan and bubble of the run") {
  // Without transfer times, 4 devices and 8 microbatches take (8 + 3) x 3 ms, of which each device
  // idles for 9 ms.
  const Summary run = summarize(test::one_f_one_b_trace({.hop_s = 0}));
  const std::vector<RunTitle> titles = run_titles({&run, 1});
  REQUIRE(titles.size() == 1);
  CHECK(titles[0].name == "1f1b");
  CHECK(titles[0].details == "4 devices \u00d7 8 microbatches, 33.00 ms, bubble 27.3 %");
}

TEST_CASE("the subject of runs is their common model, GPUs and job") {
  std::vector<Summary> runs{run("1f1b", 1, 8), run("zb-v", 2, 8)};
  for (Summary& summary : runs) {
    summary.run.devices = 4;
    summary.run.ranks_per_stage = 2;
    summary.run.network = "dgx-h100";
    summary.run.job = "llama-3-8b on h100-sxm, tp 2, pp 4, bf16";
  }
  CHECK(common_subject(runs).name == "llama-3-8b on 8 h100-sxm");
  CHECK(common_subject(runs).details == "dgx-h100, tp 2, pp 4, bf16");
  runs[1].run.job = "llama-3-8b on h100-sxm, tp 2, pp 4, fp8";
  CHECK(common_subject(runs).details == "dgx-h100, tp 2, pp 4");
  for (Summary& summary : runs) summary.run.network = "platforms/mine.xml";
  CHECK(common_subject(runs).details == "mine, tp 2, pp 4");
  runs[1].run.job = "llama-3-70b on h100-sxm, tp 2, pp 4, fp8";
  CHECK(common_subject(runs).name.empty());
  runs[1].run.network = "dgx-a100";
  CHECK(common_subject(runs).details == "tp 2, pp 4");
}

TEST_CASE("titles name the properties that differ between runs") {
  const std::vector<Summary> runs{summarize(test::one_f_one_b_trace({.hop_s = 0})),
                                  summarize(test::one_f_one_b_trace({.blocked_s = 1e-3}))};
  const std::vector<RunTitle> titles = run_titles(runs);
  CHECK_THAT(titles[0].details, Catch::EndsWith(", eager"));
  CHECK_THAT(titles[1].details, Catch::EndsWith(", blocking"));
}

TEST_CASE("titles and names include the distinct parts of jobs") {
  std::vector<Summary> runs{run("1f1b", 1, 8), run("1f1b", 1, 8)};
  runs[0].run.job = "llama-3-8b on h100-sxm, tp 2, bf16";
  runs[1].run.job = "llama-3-8b on h100-sxm, tp 2, fp8, cuda graphs layer";
  CHECK(run_names(runs) == Names{"1f1b, bf16", "1f1b, fp8, cuda graphs layer"});
  CHECK_THAT(run_titles(runs).at(1).details, Catch::EndsWith(", fp8, cuda graphs layer"));
}

TEST_CASE("run names have the shortest distinguishing description", "[picture]") {
  CHECK(run_names(std::vector{run("1f1b", 1, 8), run("interleaved-1f1b", 2, 8)}) ==
        Names{"1f1b", "interleaved-1f1b x2"});
  CHECK(run_names(std::vector{run("1f1b", 1, 8), run("1f1b", 1, 16)}) ==
        Names{"1f1b, 8 microbatches", "1f1b, 16 microbatches"});
  CHECK(run_names(std::vector{run("1f1b", 1, 8), run("gpipe", 1, 8), run("1f1b", 1, 8)}) ==
        Names{"1f1b (1)", "gpipe", "1f1b (2)"});
  // Only runs with the same schedule name are told apart by their microbatches.
  CHECK(run_names(std::vector{run("1f1b", 1, 8), run("1f1b", 1, 1), run("gpipe", 1, 8)}) ==
        Names{"1f1b, 8 microbatches", "1f1b, 1 microbatch", "gpipe"});
  CHECK(run_names({}).empty());
}

}  // namespace pipewright::analysis
