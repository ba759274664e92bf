#include <cstdint>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "sim/config/text/yaml.hpp"
#include "sim/jobs/support.hpp"

// Tests settings of frameworks that say how weights, gradients and optimizer state are sharded.

using namespace pipewright;
using Catch::Contains;

namespace {

using Windows = std::vector<std::uint32_t>;

// A job of Megatron-LM on 32 GPUs.
config::Scenario megatron(const std::string& flags) {
  return tests::scenario_of(tests::import_text(
      "train.sh",
      "torchrun --nnodes 4 --nproc_per_node 8 pretrain_gpt.py --num-layers 4 --hidden-size 512 "
      "--num-attention-heads 8 --seq-length 512 --vocab-size 1000 --micro-batch-size 1 --bf16 "
      "--global-batch-size 64 --swiglu \\\n" +
          flags + "\n"));
}

// A job of torchtitan with three stages on each of four ranks.
config::Scenario titan(const std::string& lines) {
  return tests::scenario_of(tests::import_text(
      "job.toml",
      "[model]\nname = \"llama3\"\nflavor = \"8B\"\n"
      "[training]\nlocal_batch_size = 16\nseq_len = 8192\n"
      "[parallelism]\ndata_parallel_shard_degree = 2\npipeline_parallel_degree = 4\n"
      "pipeline_parallel_schedule = \"Interleaved1F1B\"\npipeline_parallel_layers_per_stage = 3\n" +
          lines));
}

// Returns the scenario that is read from its own launch.
config::Scenario launched(const config::Scenario& scenario, const std::string& framework,
                          const std::string& file) {
  const jobs::Launch launch = jobs::export_job(scenario, *jobs::find_framework(framework));
  CAPTURE(launch.text);
  return tests::scenario_of(tests::import_text(file, launch.text));
}

config::Scenario scenario_from(const std::string& keys) {
  return config::read_scenario(config::read_yaml_text(keys, "scenario.yaml"));
}

}  // namespace

TEST_CASE("torchtitan's unshard window is read with the defaults of its version",
          "[jobs][sharding]") {
  // A version without these settings has PyTorch's defaults.
  const config::Scenario older = titan("");
  CHECK(older.parallel.max_unsharded_stages == 3U);
  CHECK(older.parallel.unshard_lookahead->rule == config::UnshardRule::full);
  // A version with one of both settings gathers all stages of a rank, by rank.
  const config::Scenario full = titan("pp_num_unshard_lookahead_factor = \"full\"\n");
  CHECK(full.parallel.max_unsharded_stages == 3U);  // stages of a rank: 34 layers / 3 / 4 ranks
  CHECK(full.parallel.unshard_lookahead->rule == config::UnshardRule::full);
  const config::Scenario two = titan("pp_max_unsharded_active_stages = 2\n");
  CHECK(two.parallel.max_unsharded_stages == 2U);
  CHECK(two.parallel.unshard_lookahead->rule == config::UnshardRule::by_rank);
  const config::Scenario listed =
      titan("pp_max_unsharded_active_stages = 3\npp_num_unshard_lookahead_factor = [1, 2, 3, 3]\n");
  Windows windows;
  for (const auto& stages : listed.parallel.unshard_lookahead->by_device)
    windows.push_back(stages.value);
  CHECK(windows == Windows{1, 2, 3, 3});
  CHECK_THROWS_WITH(titan("pp_max_unsharded_active_stages = 2\n"
                          "pp_num_unshard_lookahead_factor = [1, 2, 3, 3]\n"),
                    Contains("parallel.unshard_lookahead has 3, and at most "
                             "parallel.max_unsharded_stages (2) stages are gathered"));
  CHECK_THROWS_WITH(titan("pp_num_unshard_lookahead_factor = [1, 2]\n"),
                    Contains("parallel.unshard_lookahead has 2 numbers, and the pipeline has 4 "
                             "devices"));
}

TEST_CASE("an unshard window is written for torchtitan", "[jobs][sharding]") {
  const std::string keys =
      "model: llama-3-8b\nstack: torchtitan\ndevices: 4\nmicrobatches: 16\n"
      "schedule: {name: interleaved-1f1b, chunks: 2}\n";
  for (const std::string window : {"max_unsharded_stages: 2", "unshard_lookahead: by_rank",
                                   "max_unsharded_stages: 2, unshard_lookahead: [1, 2, 2, 1]"}) {
    CAPTURE(window);
    const config::Scenario planned = scenario_from(keys + "parallel: {shard: 4, " + window + "}\n");
    const config::Scenario read = launched(planned, "torchtitan", "job.toml");
    CHECK(read.parallel.max_unsharded_stages == planned.parallel.max_unsharded_stages);
    CHECK(read.parallel.unshard_lookahead->rule == planned.parallel.unshard_lookahead->rule);
    REQUIRE(read.parallel.unshard_lookahead->by_device.size() ==
            planned.parallel.unshard_lookahead->by_device.size());
    for (std::size_t i = 0; i < read.parallel.unshard_lookahead->by_device.size(); ++i)
      CHECK(read.parallel.unshard_lookahead->by_device[i].value ==
            planned.parallel.unshard_lookahead->by_device[i].value);
  }
}

TEST_CASE("hybrid FSDP of Megatron-FSDP divides the optimizer state among outer ranks",
          "[jobs][sharding]") {
  const std::string fsdp = "--use-megatron-fsdp --num-distributed-optimizer-instances 4 ";
  const config::Scenario plain = megatron(fsdp);
  CHECK(plain.parallel.zero == 3);
  CHECK(plain.parallel.replicates() == 4);
  CHECK_FALSE(plain.parallel.shards_optimizer_over_copies());
  for (const std::string flag :
       {"--outer-dp-sharding-strategy optim", "--enable-full-sharding-in-hsdp"})
    CHECK(megatron(fsdp + flag).parallel.shards_optimizer_over_copies());
  CHECK_FALSE(megatron(fsdp + "--outer-dp-sharding-strategy no_shard")
                  .parallel.shards_optimizer_over_copies());
  CHECK_FALSE(megatron("--use-megatron-fsdp --outer-dp-sharding-strategy optim")
                  .parallel.shards_optimizer_over_copies());
  CHECK_THROWS_WITH(megatron(fsdp + "--outer-dp-sharding-strategy optim "
                                    "--data-parallel-sharding-strategy optim_grads"),
                    Contains("Optimizer fully-sharded HFSDP is only supported with "
                             "--data-parallel-sharding-strategy optim_grads_params"));
}

TEST_CASE("Megatron-FSDP gathers half of its communication unit ahead", "[jobs][sharding]") {
  const auto ahead = [](const std::string& flags) {
    return megatron("--use-megatron-fsdp " + flags).parallel.gather_ahead;
  };
  CHECK(ahead("") == 500'000'000U);
  CHECK(ahead("--suggested-communication-unit-size 300") == 150U);
  CHECK(ahead("--fsdp-double-buffer") == 1U);
  CHECK(ahead("--use-nccl-ub") == 1U);
  CHECK(ahead("--megatron-fsdp-version 1") == 500'000'000U);
  CHECK(ahead("--megatron-fsdp-version 2") == 1U);
  CHECK_THROWS_WITH(ahead("--megatron-fsdp-version 2 --use-distributed-optimizer"),
                    Contains("--megatron-fsdp-version 2 is not compatible with "
                             "--use-distributed-optimizer"));
}

TEST_CASE("weight shards beyond tensor parallelism are generalized tensor parallelism",
          "[jobs][sharding]") {
  const config::Scenario job = megatron(
      "--tensor-model-parallel-size 2 --tensor-parallel-num-weight-shards 8 "
      "--use-distributed-optimizer");
  CHECK(job.parallel.gtp->value == 4);
  CHECK(job.parallel.dp.value == 16);
  CHECK(job.parallel.shard->value == 4);
  CHECK(job.parallel.replicates() == 4);
  CHECK(job.parallel.zero == 3);
  CHECK(job.parallel.shards_optimizer_over_copies());
  CHECK_FALSE(
      megatron("--tensor-parallel-num-weight-shards 8").parallel.shards_optimizer_over_copies());
  CHECK_FALSE(megatron("--tensor-model-parallel-size 2 --tensor-parallel-num-weight-shards 2")
                  .parallel.gtp);
  CHECK_THROWS_WITH(
      megatron("--tensor-model-parallel-size 4 --tensor-parallel-num-weight-shards 6"),
      Contains("the number of weight shards (6) must be at least the tensor-parallel size (4) and "
               "divisible by it"));
  CHECK_THROWS_WITH(megatron("--tensor-parallel-num-weight-shards 3"),
                    Contains("not divisible by tensor x pipeline x context x GTP size"));

  const config::Scenario experts = megatron(
      "--num-experts 8 --moe-router-topk 2 --moe-ffn-hidden-size 512 "
      "--expert-model-parallel-size 4 --tensor-parallel-num-weight-shards 4 "
      "--expert-tensor-parallel-num-weight-shards 2");
  CHECK(experts.parallel.gtp->value == 4);
  CHECK(experts.parallel.expert_gtp->value == 2);
  // A dense model has no experts whose weights could be divided.
  CHECK_FALSE(megatron("--expert-tensor-parallel-num-weight-shards 2").parallel.gtp);
}

TEST_CASE("sharding is written for Megatron-LM", "[jobs][sharding]") {
  for (const std::string parallel :
       {"{tp: 2, dp: 16, gtp: 4, outer_sharding: optimizer}", "{dp: 8, gtp: 2}",
        "{shard: 8, replicate: 2, outer_sharding: optimizer}", "{dp: 8, zero: 3, gather_ahead: 1}",
        "{dp: 8, zero: 3, gather_ahead: 2000}"}) {
    CAPTURE(parallel);
    const config::Scenario planned =
        scenario_from("model: llama-3-8b\nglobal_batch: 64\nparallel: " + parallel + "\n");
    const config::Scenario read = launched(planned, "megatron", "train.sh");
    CHECK(read.parallel.zero == planned.parallel.zero);
    CHECK(read.parallel.dp.value == planned.parallel.dp.value);
    CHECK(read.parallel.replicates() == planned.parallel.replicates());
    CHECK(read.parallel.outer_sharding == planned.parallel.outer_sharding);
    CHECK(read.parallel.gtp.has_value() == planned.parallel.gtp.has_value());
    CHECK(read.parallel.gather_ahead == planned.parallel.gather_ahead);
  }
}
