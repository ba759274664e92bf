#include "sim/evaluation/what_if.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "sim/config/text/yaml.hpp"

using namespace pipewright;

namespace {

// Settings of the changes that are tried for a scenario of Llama 3 8B, as "KEY=VALUE ..", by the
// words of the change. Devices have `chunks` stages.
std::map<std::string, std::string> tried(const std::string& more, std::uint32_t chunks = 1) {
  const config::Scenario scenario = config::read_scenario(config::read_yaml_text(
      "{model: llama-3-8b, gpu: h100-sxm, microbatches: 8" + more + "}", "t.yaml"));
  analysis::WhyReport report;
  report.chunks = chunks;
  std::vector<std::string> notes;
  std::map<std::string, std::string> settings;
  for (const evaluation::Change& change :
       evaluation::what_if_changes(scenario, report, {}, notes)) {
    std::string& text = settings[change.words];
    for (const auto& [key, value] : change.settings)
      text += (text.empty() ? "" : " ") + key + "=" + value;
  }
  return settings;
}

}  // namespace

TEST_CASE("what-ifs try an overlap only if it has an effect", "[what_if]") {
  const auto tries = [](const std::string& overlap, const std::string& parallel,
                        const std::string& stack, std::uint32_t chunks) {
    return tried(", parallel: {" + parallel + "}, stack: " + stack, chunks).contains(overlap);
  };
  const std::string gather = "overlap_param_gather off";
  CHECK(tries(gather, "dp: 4, zero: 1, pp: 2", "megatron-core", 1));
  CHECK_FALSE(tries(gather, "dp: 4, zero: 0, pp: 2", "megatron-core", 1));
  CHECK_FALSE(tries(gather, "shard: 4", "torchtitan", 1));
  // In a pipeline, torchtitan holds the weights of three stages of a device at a time.
  CHECK(tries(gather, "shard: 4, pp: 2", "torchtitan", 3));
  CHECK_FALSE(tries(gather, "shard: 4, pp: 2", "torchtitan", 4));
  CHECK(tries(gather, "shard: 4, pp: 2, max_unsharded_stages: 4", "torchtitan", 4));
  CHECK(tries(gather, "shard: 4, pp: 2", "pytorch-fsdp", 4));
  // Such a pipeline reduces gradients at its end in any case.
  const std::string reduce = "overlap_grad_reduce off";
  CHECK(tries(reduce, "dp: 4, zero: 1, pp: 2", "megatron-core", 1));
  CHECK(tries(reduce, "shard: 4", "torchtitan", 1));
  CHECK_FALSE(tries(reduce, "shard: 4, pp: 2", "torchtitan", 1));
}

TEST_CASE("what-ifs of software set keys of the stack, or the scenario's own", "[what_if]") {
  const std::string full = ", training: {recompute: full}";
  const auto eager = tried(", stack: torchtitan-eager" + full);
  CHECK(eager.at("recompute.early_stop on") == "stack.recompute.early_stop=true");
  CHECK(eager.at("small kernels fused, as by torch.compile") ==
        "stack.fused=[optimizer, norm, activation, rope, residual, cross_entropy]");
  CHECK(eager.at("cuda_graphs layer") == "training.cuda_graphs=layer");
  CHECK(tried(", stack: pytorch-fsdp" + full).at("recompute.early_stop off") ==
        "stack.recompute.early_stop=false");
  CHECK(tried(", training: {recompute: {granularity: full, early_stop: true}}")
            .at("recompute.early_stop off") == "training.recompute.early_stop=false");
  CHECK_FALSE(tried("").contains("recompute.early_stop on"));
}

TEST_CASE("what-ifs try equally fast replicas only where replicas differ", "[what_if]") {
  const std::string words = "all replicas equally fast";
  CHECK(tried(", parallel: {dp: 16}").at(words) == "stack.replica_spread=0");
  CHECK_FALSE(tried(", parallel: {dp: 8}").contains(words));
  CHECK_FALSE(tried(", parallel: {dp: 16}, stack: {like: megatron-core, replica_spread: 0}")
                  .contains(words));
  CHECK_FALSE(tried(", parallel: {dp: 16}, variation: {jitter: 1 %}").contains(words));
}

TEST_CASE("a change is refused only if the stack accepts the unchanged job", "[what_if]") {
  const auto rows_of = [](const std::string& schedule) {
    trace::Trace trace;
    trace.run.scenario =
        "{model: llama-3-8b, gpu: h100-sxm, devices: 2, microbatches: 8, engine: timing, stack: "
        "deepspeed, schedule: " +
        schedule + "}";
    analysis::WhyReport report;
    report.makespan_s = 1;
    std::vector<analysis::WhatIfRow> rows;
    evaluation::WhatIfOptions options{.file = "a.h5", .jobs = 4};
    options.on_row = [&](const analysis::WhatIfRow& row, double rerun_s) {
      CHECK(rerun_s > 0);
      rows.push_back(row);
    };
    const auto what_if = evaluation::what_if(trace, report, options);
    CHECK(what_if.rows.size() == rows.size());
    return rows;
  };
  const auto is_refused = [](const analysis::WhatIfRow& row) {
    return row.why_not.find("deepspeed refuses this job") != std::string::npos;
  };
  // DeepSpeed has no interleaved stages.
  const auto accepted = rows_of("1f1b");
  CHECK(std::ranges::count_if(accepted, is_refused) == 1);
  for (const analysis::WhatIfRow& row : accepted)
    CHECK(is_refused(row) == (row.change == "one more chunk: interleaved-1f1b x2"));
  const auto refused = rows_of("{name: interleaved-1f1b, chunks: 2}");
  CHECK(!refused.empty());
  CHECK(std::ranges::none_of(refused, is_refused));
}
