#include "analysis/report/first_screen.hpp"

#include <catch2/catch.hpp>

#include "tests/analysis/report/runs.hpp"

using namespace pipewright;
using analysis::first_screen;
using analysis::JobInfo;
using analysis::Summary;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;

namespace {

constexpr std::uint64_t gib = 1ULL << 30;

Summary two_devices() { return analysis::summarize(test::two_device_run()); }

JobInfo llama() {
  return {.model = "llama-3-70b",
          .gpu = "h100-sxm",
          .stack = "megatron-core",
          .tp = 8,
          .dp = 2,
          .pp = 4,
          .sequence_parallel = true,
          .zero = 1,
          .global_batch = 128,
          .microbatch_size = 1,
          .sequence = 8192,
          .precision = "bf16",
          .cuda_graphs = "none",
          .recompute = "none",
          .offload = "none",
          .partition = "even"};
}

Summary run_of(const JobInfo& job) {
  Summary run = two_devices();
  run.job = job;
  run.run.job = describe(job);
  run.run.gpus = 64;
  run.run.network = "dgx-h100-8";
  run.run.engine = "simgrid";
  run.mfu = run.mfu_precision = 0.4214;
  return run;
}

std::string screen_of(const Summary& run) { return first_screen({&run, 1}); }

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t times = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++times;
  return times;
}

}  // namespace

TEST_CASE("the first screen identifies the job and gives each schedule one row", "[report]") {
  std::vector<Summary> runs(2, run_of(llama()));
  runs[1].run.schedule = "interleaved-1f1b";
  runs[1].run.chunks = 5;
  runs[1].makespan_s = 9.5;
  CHECK(
      first_screen(runs) ==
      R"(Llama 3 70B on 64 H100 SXM (dgx-h100-8) with megatron-core: tp 8 + sp, pp 4, dp 2 + ZeRO-1, batch 128 x 8192, bf16

schedule              iteration   tokens/s      MFU   bubble   exposed comm        peak memory
1f1b                    10.00 s        600   42.1 %   40.0 %         10.0 %   7.00 of 8.00 GiB
interleaved-1f1b x5      9.50 s        600   42.1 %   40.0 %         10.5 %   7.00 of 8.00 GiB
)");
}

TEST_CASE("the first screen of given pass times has no model's figures", "[report]") {
  Summary run = two_devices();
  run.samples_per_s.reset();
  run.tokens_per_s.reset();
  for (analysis::DeviceSummary& device : run.devices) device.peak_memory_bytes = 0;
  CHECK(screen_of(run) ==
        "2 devices, 2 microbatches (ideal, 500 ms a hop), timing engine\n\n"
        "schedule   iteration   bubble   exposed comm\n"
        "1f1b         10.00 s   40.0 %         10.0 %\n");
}

TEST_CASE("the first screen shows samples where tokens are unknown", "[report]") {
  Summary run = two_devices();
  run.tokens_per_s.reset();
  CHECK_THAT(screen_of(run), Contains(" samples/s ") && !Contains("tokens/s"));
}

TEST_CASE("peak memory is shown alone if the capacity is unknown", "[report]") {
  Summary run = two_devices();
  run.devices[0].memory_capacity_bytes = 0;
  CHECK_THAT(screen_of(run), EndsWith(" 7.00 GiB\n"));
}

TEST_CASE("peak memory is that of the device closest to its capacity", "[report]") {
  Summary run = two_devices();
  run.devices[1].memory_capacity_bytes =
      2 * gib + gib / 10;  // 2.0 of 2.1 GiB is tighter than 7 of 8
  CHECK_THAT(screen_of(run), EndsWith(" 2.00 of 2.10 GiB\n"));
}

TEST_CASE("a run that does not fit says so in its row and in a note", "[report]") {
  std::vector<Summary> runs(3, two_devices());
  runs[1].run.schedule = "gpipe";
  runs[2].run.schedule = "zb-h1";
  for (const std::size_t run : {1U, 2U}) runs[run].devices[0].peak_memory_bytes = 9 * gib;
  const std::string text = first_screen(runs);
  CHECK_THAT(text, Contains(" 7.00 of 8.00 GiB\n"));
  CHECK(count(text, " 9.00 of 8.00 GiB   does not fit\n") == 2);
  CHECK_THAT(text,
             Contains("\n\nnote: gpipe does not fit: device 0 (left) peaks at 9.0 GiB at 1.00 "
                      "s, 1.0 GiB over its 8.0 GiB"));
  CHECK_THAT(text, EndsWith("; zb-h1 does not fit either\n"));
}

TEST_CASE("a column of several iterations is their mean", "[report]") {
  Summary run = two_devices();
  run.run.iterations = 4;
  CHECK_THAT(screen_of(run), Contains(", 4 iterations, ") && Contains("  iteration\n") &&
                                 Contains(" mean of 4 ") && Contains(" 2.500 s "));
}

TEST_CASE("several seeds give a median and a range", "[report]") {
  const Summary run = two_devices();
  const analysis::SeedSpread spread{.seeds = 20, .median_s = 10.1, .p05_s = 9.8, .p95_s = 10.4};
  const std::string text = first_screen({&run, 1}, {&spread, 1});
  CHECK_THAT(text, Contains("median of") && Contains("90 % of") && Contains("20 seeds") &&
                       Contains("  10.10 s  9.80 to 10.40 s  "));
}

TEST_CASE("the expected error stands between the table and the notes, once for equal runs",
          "[report]") {
  std::vector<Summary> runs(2, run_of(llama()));
  for (Summary& run : runs)
    run.run.evidence = {"h100-sxm",
                        {"memory_efficiency"},
                        {.low = -0.04,
                         .high = 0.09,
                         .nominal = 0.9,
                         .basis = "h100-sxm, bf16, dense, nemo-2",
                         .rows = 63}};
  const std::string text = first_screen(runs, {}, {"a note"});
  CHECK_THAT(text, EndsWith("\n\nexpected error -4 .. +9 % (90 % of 63 measured runs: h100-sxm, "
                            "bf16, dense, nemo-2)\n\nnote: a note\n"));
  CHECK_THAT(text, !Contains("~"));
}

TEST_CASE("the first screen has at most three notes, and counts the others", "[report]") {
  const Summary run = run_of(llama());
  const std::string three = first_screen({&run, 1}, {}, {"one", "two", "three"});
  CHECK_THAT(three, EndsWith("note: one\nnote: two\nnote: three\n"));
  const std::string five = first_screen({&run, 1}, {}, {"one", "two", "three", "four", "five"});
  CHECK_THAT(five, EndsWith("note: three\n(2 more notes with --details)\n"));
  CHECK(count(five, "note: ") == 3);
}

TEST_CASE("communication outside the cluster's record is a note", "[report]") {
  JobInfo job = llama();
  job.untried = "tp + dp";
  CHECK_THAT(screen_of(run_of(job)), Contains("\nnote: collectives of tp + dp are outside the "
                                              "cluster's record"));
}

TEST_CASE("the MFU of another precision names the peak that it refers to", "[report]") {
  Summary run = run_of(llama());
  run.mfu_precision = 0.21;
  CHECK_THAT(screen_of(run), Contains(" of bf16 peak "));
}

TEST_CASE("settings other than the defaults are on the identifying line", "[report]") {
  JobInfo job = llama();
  job.model = "gpt3-175b";
  job.gpu = "a100-80gb and h100-sxm";
  job.tp_by_device = "8/4";
  job.dp = 1;
  job.ep = 4;
  job.etp = 1;
  job.microbatch_size = 2;
  job.recompute = "full";
  Summary run = run_of(job);
  run.run.p2p = "blocking";
  CHECK_THAT(
      screen_of(run),
      StartsWith("GPT3 175B on 64 GPUs (a100-80gb and h100-sxm, dgx-h100-8) with megatron-core: "
                 "tp 8/4 + sp, ep 4, etp 1, pp 4, ZeRO-1, batch 128 x 8192, microbatch 2, bf16, "
                 "recompute full, blocking transfers\n"));
}

TEST_CASE("only names in the library's format become titles", "[report]") {
  JobInfo job = llama();
  job.model = "My_model\n";
  CHECK_THAT(screen_of(run_of(job)), StartsWith("My_model\\n on 64 H100 SXM (dgx-h100-8) with "));
  for (const auto& [name, title] :
       {std::pair{"mixtral-8x22b", "Mixtral 8x22B"},
        std::pair{"qwen3-235b-a22b", "Qwen3 235B A22B"}, std::pair{"deepseek-v3", "DeepSeek V3"},
        std::pair{"mamba-2-2.7b", "Mamba 2 2.7B"}}) {
    job.model = name;
    CHECK_THAT(screen_of(run_of(job)), StartsWith(std::string(title) + " on 64 H100 SXM "));
  }
}

TEST_CASE("no runs give no first screen", "[report]") { CHECK(first_screen({}).empty()); }
