#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "analysis/report/summary.hpp"
#include "analysis/report/summary_report.hpp"
#include "tests/analysis/report/runs.hpp"

using namespace pipewright;
using analysis::JobInfo;
using Json = nlohmann::json;

namespace {

JobInfo plain() {
  return {.model = "llama-3-8b",
          .gpu = "h100-sxm",
          .stack = "torchtitan",
          .tp = 2,
          .pp = 4,
          .global_batch = 64,
          .microbatch_size = 1,
          .sequence = 8192,
          .precision = "bf16",
          .cuda_graphs = "none",
          .recompute = "none",
          .offload = "none",
          .partition = "even"};
}

analysis::Summary run_of(const JobInfo& job) {
  analysis::Summary summary = analysis::summarize(test::two_device_run());
  summary.job = job;
  summary.run.job = describe(job);
  return summary;
}

std::string table_of(const analysis::Summary& summary) {
  return analysis::console_table({&summary, 1});
}

}  // namespace

TEST_CASE("generalized tensor parallelism has its own name among the sizes of a job", "[report]") {
  JobInfo job = plain();
  job.dp = 8;
  job.replicate = 2;
  job.zero = 3;
  CHECK_THAT(job_title(job, 64, "x"), Catch::Contains("dp 8 + ZeRO-3, replicate 2, batch"));
  job.gtp = 4;
  CHECK_THAT(job_title(job, 64, "x"), Catch::Contains("pp 4, dp 8, gtp 4, batch"));
  CHECK_THAT(describe(job), Catch::Contains("pp 4, dp 8, gtp 4, batch"));
  job.expert_gtp = 2;
  CHECK_THAT(describe(job), Catch::Contains("dp 8, gtp 4, expert gtp 2, batch"));
}

TEST_CASE("the description of a job omits default settings", "[report]") {
  JobInfo job = plain();
  CHECK(describe(job) ==
        "llama-3-8b on h100-sxm, stack torchtitan, tp 2, pp 4, batch 64 of 8192 tokens, bf16");
  job.is_changed_stack = true;
  CHECK_THAT(describe(job), Catch::Contains("on h100-sxm, stack torchtitan (changed), tp 2"));
  CHECK_THAT(job_title(job, 8, "dgx-h100-8"),
             Catch::Contains("(dgx-h100-8) with torchtitan (changed): tp 2"));
  job.is_changed_stack = false;
  job.sequence_parallel = true;
  job.zero = 3;
  job.microbatch_size = 2;
  job.recompute = "full";
  job.partition = "ends_less";
  job.precision = "fp8";
  job.cuda_graphs = "layer";
  job.flash_attention = false;
  job.offload = "4 layers a stage";
  job.dispatch = "alltoall";
  CHECK(describe(job) ==
        "llama-3-8b on h100-sxm, stack torchtitan, tp 2, sp, pp 4, zero 3, batch 64 of 8192 "
        "tokens, microbatch 2, "
        "partition ends_less, fp8, cuda graphs layer, scores kept, recompute full, offload 4 "
        "layers a stage");
  job.dispatch = "deepep fp8 overlapped";
  CHECK_THAT(describe(job), Catch::Contains("microbatch 2, dispatch deepep fp8 overlapped, part"));
  job.tp = 1;  // then no sequence is cut
  CHECK(describe(job).find(", sp") == std::string::npos);
  CHECK(describe(JobInfo{.gpu = "h100-sxm"}).empty());
}

TEST_CASE("a table describes the job below the run", "[report]") {
  CHECK_THAT(
      table_of(run_of(plain())),
      Catch::Contains(
          "p2p eager\nllama-3-8b on h100-sxm, stack torchtitan, tp 2, pp 4, batch 64 of 8192 "
          "tokens, bf16\n\n"));
  CHECK_THAT(table_of(run_of({})), Catch::Contains("p2p eager\n\n"));
  analysis::Summary copies = run_of({.symmetric = true});
  copies.run.replicas = 8;
  CHECK_THAT(table_of(copies),
             Catch::Contains("\nreplica 0 of 8 is shown; one replica of each kind "
                             "was simulated\n\n"));
}

TEST_CASE("a table reports the gain of even microbatches", "[report]") {
  JobInfo job = plain();
  job.lengths = "uniform from 1 to 512";
  job.uneven = 0.123;
  CHECK_THAT(
      table_of(run_of(job)),
      Catch::Contains("% of the computed tokens are padding; the same work would take 12.3 % less "
                      "time if it were spread evenly over microbatches and ranks\n"));
  job.uneven = -0.002;  // shorter documents are less efficient
  CHECK_THAT(table_of(run_of(job)),
             Catch::Contains("spreading the work evenly over microbatches and ranks would save no "
                             "time\n"));
}

TEST_CASE("differences between jobs go into the names of runs", "[report]") {
  JobInfo fp8_job = plain();
  fp8_job.precision = "fp8";
  fp8_job.cuda_graphs = "layer";
  const std::vector<analysis::Summary> runs{run_of(plain()), run_of(fp8_job)};
  const std::string text = analysis::console_table(runs);
  CHECK_THAT(
      text,
      Catch::Contains(
          "\nllama-3-8b on h100-sxm, stack torchtitan, tp 2, pp 4, batch 64 of 8192 tokens\n"));
  CHECK_THAT(text, Catch::Contains("\n1f1b, bf16  "));
  CHECK_THAT(text, Catch::Contains("\n1f1b, fp8, cuda graphs layer "));
}

TEST_CASE("jobs are split into common and own parts", "[report]") {
  const analysis::JobParts split = analysis::split_jobs({"a on b, tp 2, bf16", "a on b, tp 2", ""});
  CHECK(split.common.empty());
  CHECK(split.own == std::vector<std::string>{"a on b, tp 2, bf16", "a on b, tp 2", ""});
  const analysis::JobParts two =
      analysis::split_jobs({"a on b, bf16, dp 2", "a on b, dp 2, \x1b[2J"});
  CHECK(two.common == "a on b, dp 2");
  CHECK(two.own.at(0) == "bf16");
  CHECK(two.own.at(1).find('\x1b') == std::string::npos);
  CHECK(analysis::split_jobs({}).own.empty());
}

TEST_CASE("names of models and GPUs are printable", "[report]") {
  JobInfo job = plain();
  job.model = "a\x1b[2J";
  job.gpu = "b\nc";
  const std::string text = describe(job);
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find('\n') == std::string::npos);
}

TEST_CASE("JSON and CSV have the job if there is one", "[report]") {
  const analysis::Summary known = run_of(plain());
  const Json json = Json::parse(analysis::json_summary({&known, 1}));
  CHECK(json["job"]["model"] == "llama-3-8b");
  CHECK(json["job"]["tp"] == 2);
  CHECK(json["job"]["global_batch_samples"] == 64);
  CHECK(json["job"]["precision"] == "bf16");
  CHECK(json["job"]["cuda_graphs"] == "none");
  CHECK(json["job"]["flash_attention"] == true);
  CHECK(json["job"]["offload"] == "none");
  CHECK_THAT(
      analysis::csv_summary({&known, 1}),
      Catch::EndsWith(
          ",10,llama-3-8b,h100-sxm,torchtitan,2,1,1,1,4,0,64,1,8192,none,bf16,none,none,true,\n"));
  const analysis::Summary timed = run_of({.pp = 4});
  CHECK_THAT(analysis::csv_summary({&timed, 1}), Catch::EndsWith(",10,,,,1,1,1,1,4,0,,,,,,,,,\n"));
  const analysis::Summary unknown = analysis::summarize(test::two_device_run());
  CHECK(Json::parse(analysis::json_summary({&unknown, 1})).at("job").is_null());
  CHECK_THAT(analysis::csv_summary({&unknown, 1}), Catch::EndsWith(",10,,,,,,,,,,,,,,,,,,\n"));
}
