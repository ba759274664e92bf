#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "sim/config/text/yaml.hpp"
#include "sim/jobs/job.hpp"
#include "support/program.hpp"
#include "tests/sim/jobs/support.hpp"

using namespace pipewright;

namespace {

config::Scenario scenario_from(const std::string& keys) {
  return config::read_scenario(config::read_yaml_text(keys, "scenario.yaml"));
}

jobs::Launch launch_for(const std::string& framework, const std::string& keys,
                        const config::LaunchPlan& plan) {
  return jobs::export_job(scenario_from(keys), *jobs::find_framework(framework), plan);
}

// Trays of a GB200 NVL72: a domain of 72 GPUs has 18 hosts with 4 GPUs each.
config::LaunchPlan trays(std::uint64_t ranks_per_domain) {
  return {.gpus_per_host = 4, .gpus_per_domain = 72, .ranks_per_domain = ranks_per_domain};
}

const std::string gpus_72 = "model: llama-3-8b\nparallel: {tp: 8, dp: 9}\nglobal_batch: 9\n";
const std::string experts =
    "model: {layers: 4, hidden: 512, heads: 8, sequence: 512, vocabulary: 1000, experts: {count: "
    "64, top_k: 2, ffn: 512}}\nglobal_batch: 128\ncluster: gb200-nvl72\n";

}  // namespace

TEST_CASE("a launch starts as many processes on a host as the host has GPUs", "[jobs][launch]") {
  struct Case {
    std::string framework, racks, servers;
  };
  // 72 GPUs are 18 trays of 4, or 9 servers of 8.
  for (const auto& [framework, racks, servers] :
       {Case{"megatron", "--nnodes 18 --nproc_per_node 4", "--nnodes 9 --nproc_per_node 8"},
        Case{"bridge", "--nnodes 18 --nproc_per_node 4", "--nnodes 9 --nproc_per_node 8"},
        Case{"nemo", "trainer.num_nodes=18 trainer.devices=4",
             "trainer.num_nodes=9 trainer.devices=8"},
        Case{"deepspeed", "--num_nodes 18 --num_gpus 4", "--num_nodes 9 --num_gpus 8"}}) {
    CAPTURE(framework);
    CHECK_THAT(launch_for(framework, gpus_72, trays(72)).text, Catch::Contains(racks));
    CHECK_THAT(launch_for(framework, gpus_72, {}).text, Catch::Contains(servers));
  }
  // 6 GPUs do not fill hosts of 4: two hosts start 3 processes each.
  CHECK_THAT(launch_for("megatron", "model: llama-3-8b\nparallel: {dp: 6}\nglobal_batch: 6\n",
                        {.gpus_per_host = 4})
                 .text,
             Catch::Contains("--nnodes 2 --nproc_per_node 3"));
}

TEST_CASE("a run knows the GPUs of the hosts of its cluster", "[jobs][launch]") {
  struct Case {
    std::string cluster, processes;
  };
  for (const auto& [cluster, processes] : {Case{"gb200-rack", "--nnodes 8 --nproc_per_node 4"},
                                           Case{"vr200-nvl144", "--nnodes 8 --nproc_per_node 4"},
                                           Case{"gh200-ndr", "--nnodes 8 --nproc_per_node 4"},
                                           Case{"dgx-h100", "--nnodes 4 --nproc_per_node 8"}}) {
    CAPTURE(cluster);
    const tests::CommandFolder place;
    const tests::ProgramResult ran = place.run(
        "run --model llama-3-8b --dp 32 --zero 1 --global-batch 32 --engine timing "
        "--quiet --launch megatron --cluster " +
        cluster);
    CAPTURE(ran.err);
    CHECK_THAT(ran.out, Catch::Contains(processes));
  }
}

TEST_CASE("a launch keeps the placement in NVLink domains", "[jobs][launch]") {
  const std::string keys = experts + "parallel: {dp: 128, ep: 64, zero: 1}\n";
  for (const std::string framework : {"megatron", "bridge", "nemo"}) {
    CAPTURE(framework);
    const jobs::Launch launch =
        launch_for(framework, keys + "placement: {domain: 64}\n", trays(64));
    // 64 GPUs of each rack are 16 trays of 4.
    CHECK_THAT(launch.text, Catch::Contains("#SBATCH --segment=16\n") &&
                                Catch::Contains("--segment=16") &&
                                !Catch::Contains("not expressed: placement"));
    const jobs::Job job = tests::import_text("job.sh", launch.text);
    REQUIRE(config::value_at(job.tree, "placement.domain") != nullptr);
    CHECK(config::value_at(job.tree, "placement.domain")->text == "64");
  }
  // 6 GPUs of a domain are no whole trays, and 128 / 6 is no whole number of domains.
  CHECK_THAT(launch_for("megatron", keys + "placement: {domain: 6}\n", trays(0)).text,
             Catch::Contains("# not expressed: placement.domain is 6: the launcher has to give the "
                             "job as many GPUs of each NVLink domain\n"));
  CHECK_THAT(launch_for("megatron", keys + "placement: {gpu_types: [gb200]}\n", trays(64)).text,
             Catch::Contains("# not expressed: the launcher chooses the hosts"));
  CHECK_THAT(launch_for("megatron", keys, trays(128)).text, !Catch::Contains("#SBATCH"));
  // Slurm refuses 32 hosts in segments of 18.
  CHECK_THAT(
      launch_for("megatron", keys, trays(72)).text,
      !Catch::Contains("#SBATCH") &&
          Catch::Contains("# not expressed: the prediction fills NVLink domains with 72 GPUs "
                          "each, and the launcher may allocate other hosts\n"));
}

TEST_CASE("a launch tells HybridEP's kernels the NVLink domain", "[jobs][launch]") {
  const auto text = [](const std::string& dispatcher, std::uint32_t ep,
                       const config::LaunchPlan& plan) {
    return launch_for("megatron",
                      experts + "parallel: {dp: 128, zero: 1, ep: " + std::to_string(ep) +
                          "}\ntraining: {experts: {dispatcher: " + dispatcher + "}}\n",
                      plan)
        .text;
  };
  CHECK_THAT(text("hybridep", 64, trays(64)),
             Catch::Contains("export NUM_OF_HYBRID_EP_RANKS_PER_NVLINK_DOMAIN=64\n"
                             "export NVLINK_DOMAIN_SIZE=72\n"
                             "export USE_MNNVL=1\n"));
  // Servers of 8 GPUs: 8 of the 32 ranks share an NVLink domain, which is one host.
  CHECK_THAT(text("hybridep", 32, {.gpus_per_host = 8, .gpus_per_domain = 8}),
             Catch::Contains("export NUM_OF_HYBRID_EP_RANKS_PER_NVLINK_DOMAIN=8\n"
                             "export NVLINK_DOMAIN_SIZE=8\n"
                             "export USE_MNNVL=0\n"));
  CHECK_THAT(text("deepep", 64, trays(64)), !Catch::Contains("NVLINK_DOMAIN"));
  CHECK_THAT(text("hybridep", 64, {}), !Catch::Contains("NVLINK_DOMAIN"));
}

TEST_CASE("planned layers of stages reach the launch", "[jobs][launch]") {
  const std::string keys =
      "model: llama-3-8b\nparallel: {pp: 4, shard: 2}\nglobal_batch: 16\npartition: by_cost\n";
  // by_cost of a 32-layer model whose last stage has the head.
  const config::LaunchPlan plan{.layers = {9, 8, 8, 7}};
  const std::vector<std::uint32_t> planned{9, 8, 8, 7};
  CHECK_THAT(launch_for("megatron", keys, plan).text,
             Catch::Contains("--pipeline-model-parallel-layout 'Et*9|t*8|t*8|t*7L'") &&
                 !Catch::Contains("not expressed: partition"));
  CHECK_THAT(launch_for("bridge", keys, plan).text,
             Catch::Contains("'model.pipeline_model_parallel_layout=Et*9|t*8|t*8|t*7L'"));
  const jobs::Launch torchtitan = launch_for("torchtitan", keys + "stack: torchtitan\n", plan);
  CHECK_THAT(
      torchtitan.text,
      Catch::Contains("module_fqns_per_model_part = [\n  [\"tok_embeddings\", \"layers.0\", ") &&
          Catch::Contains("\"layers.31\", \"norm\", \"lm_head\"]\n]") &&
          !Catch::Contains("not expressed: partition"));
  const jobs::Job read = tests::import_text("job.toml", torchtitan.text);
  CHECK(tests::scenario_of(read).partition.layers == planned);
  // Equal stages need no list.
  CHECK_THAT(launch_for("megatron", keys, {.layers = {8, 8, 8, 8}}).text,
             !Catch::Contains("layout") && !Catch::Contains("not expressed: partition"));
  // Without a plan, the layers are unknown.
  for (const std::string framework : {"megatron", "torchtitan"})
    CHECK_THAT(launch_for(framework, keys, {}).text,
               Catch::Contains("has no rule like partition by_cost") &&
                   !Catch::Contains("parallel-layout") && !Catch::Contains("module_fqns"));
}

TEST_CASE("planned layers of a hybrid are marked in its pattern", "[jobs][launch]") {
  const std::string text =
      launch_for("megatron",
                 "model: {pattern: M-M*M-, hidden: 512, heads: 8, sequence: 512, vocabulary: 1000, "
                 "ffn: 1024, mamba: {heads: 16}}\nparallel: {pp: 2}\nglobal_batch: 4\n"
                 "partition: [2, 4]\n",
                 {})
          .text;
  CHECK_THAT(text, Catch::Contains("--hybrid-layer-pattern 'M-|M*M-'"));
}

TEST_CASE("a launch states the stack of its prediction", "[jobs][launch]") {
  const std::string keys = "model: llama-3-8b\nparallel: {dp: 8}\nglobal_batch: 8\n";
  for (const std::string stack : {"primus", "nemo-2", "megatron-local", "megatron-lm-2022"}) {
    const jobs::Launch launch = launch_for("megatron", keys + "stack: " + stack + "\n", {});
    CAPTURE(launch.text);
    CHECK_THAT(launch.text, Catch::Contains("# Stack of the prediction: " + stack + "\n"));
    CHECK(tests::scenario_of(tests::import_text("job.sh", launch.text)).training.stack.name ==
          stack);
  }
  CHECK_THAT(launch_for("megatron", keys + "stack: megatron-core\n", {}).text,
             !Catch::Contains("Stack of the prediction"));
  // A stack of other software is named, and not read back.
  const jobs::Launch foreign = launch_for("megatron", keys + "stack: torchtitan\n", {});
  CHECK(tests::scenario_of(tests::import_text("job.sh", foreign.text)).training.stack.name ==
        "megatron-core");
  CHECK_THAT(
      launch_for("megatron", keys + "stack: {like: megatron-core, host: {kernel: 1 us}}\n", {})
          .text,
      Catch::Contains("# Its file has other values than the prediction: host\n"));
}

TEST_CASE("a launch that its framework refuses says so in the script and on the terminal",
          "[jobs][launch]") {
  const tests::CommandFolder place;
  // Gathering weights beside forward passes needs gradients that are reduced beside backward
  // passes.
  const std::string words =
      "run --model llama-3-8b --cluster dgx-h100 --dp 8 --zero 1 --global-batch 8 --engine timing "
      "--quiet --launch megatron:job.sh --set communication.overlap_grad_reduce=";
  const std::string refusal =
      "megatron-core refuses this job: communication.overlap_param_gather needs "
      "communication.overlap_grad_reduce, and communication.overlap_grad_reduce is false; set both "
      "to the same value";
  const tests::ProgramResult refused = place.run(words + "false");
  CHECK(refused.status == 0);
  CHECK_THAT(refused.err, Catch::Contains(refusal));
  CHECK_THAT(place.read("job.sh"), Catch::Contains("# " + refusal + "\n"));
  CHECK(place.run(words + "true").err.find("refuses") == std::string::npos);
  CHECK_THAT(place.read("job.sh"), !Catch::Contains("refuses"));
}
