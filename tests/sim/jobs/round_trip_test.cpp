#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "sim/config/text/yaml.hpp"
#include "sim/jobs/job.hpp"
#include "support/paths.hpp"
#include "support/program.hpp"
#include "tests/sim/config/support.hpp"

using namespace pipewright;

namespace {

struct Trip {
  double predicted = 0;
  double read_again = 0;
  std::string text;
};

// Predicts the time of a job twice: as described by the options, and as imported from the launch
// script that was written for a framework. A launch script does not name a cluster.
Trip trip(const std::string& words, const std::string& cluster, const std::string& framework,
          const std::string& file) {
  const tests::CommandFolder place;
  const std::string quick = " --engine timing --json --quiet";
  const tests::ProgramResult first = place.run("run " + words + quick);
  const tests::ProgramResult written =
      place.run("run " + words + " --engine timing --quiet --launch " + framework + ":" + file);
  CAPTURE(first.err, written.err);
  REQUIRE(written.status == 0);
  const tests::ProgramResult again = place.run("run " + file + " --cluster " + cluster + quick);
  CAPTURE(again.err, place.read(file));
  REQUIRE(again.status == 0);
  const auto time_of = [](const std::string& json) {
    const nlohmann::json document = nlohmann::json::parse(json);
    return (document.is_array() ? document.at(0) : document).at("makespan_s").get<double>();
  };
  return {time_of(first.out), time_of(again.out), place.read(file)};
}

const std::string scenarios = PIPEWRIGHT_ROOT "/platforms/scenarios/";

std::string launch_of(const std::string& stack, const std::string& framework) {
  const config::Value tree =
      config::read_yaml_text(std::string("model: llama-3-8b\nparallel: ") +
                                 (framework == "torchtitan" ? "{shard: 8}" : "{dp: 8, zero: 3}") +
                                 "\nglobal_batch: 8\nstack: " + stack + "\n",
                             "scenario.yaml");
  return jobs::export_job(config::read_scenario(tree), *jobs::find_framework(framework)).text;
}

}  // namespace

TEST_CASE("a launch is predicted like its scenario when it is read again", "[jobs][launch]") {
  struct Case {
    std::string words, cluster;
  };
  const auto job = GENERATE(
      Case{scenarios + "llama-3-70b-h100.yaml --schedule interleaved-1f1b --chunks 5",
           "dgx-h100-8"},
      Case{scenarios + "mixtral-8x7b-h100.yaml --p2p blocking", "dgx-h100"},
      Case{scenarios + "llama-3-70b-h100.yaml --schedule interleaved-1f1b --chunks 5 --p2p steady",
           "dgx-h100-8"},
      Case{scenarios + "gpt3-175b-a100.yaml --schedule interleaved-1f1b --chunks 2 --set "
                       "communication.overlap_p2p=false",
           "dgx-a100-96"},
      Case{"--model moonlight-16b --cluster dgx-h100 --dp 32 --ep 8 --zero 1 --global-batch 256 "
           "--dispatcher deepep --precision fp8 --recompute-activations full",
           "dgx-h100"},
      Case{"--model qwen3-30b-a3b --cluster dgx-h100 -s 4 --dp 8 --ep 8 --zero 1 --p2p blocking "
           "--global-batch 64 --recompute-activations selective",
           "dgx-h100"},
      Case{"--model gpt-oss-120b --cluster dgx-h100 --tp 4 --sp --dp 8 --ep 8 --zero 1 "
           "--global-batch 64 --set training.optimizer='{exp_avg: bf16, exp_avg_sq: bf16, "
           "main_params: remainders}'",
           "dgx-h100"},
      Case{"--model nemotron-3-nano-30b-a3b --cluster dgx-h100 --dp 32 --ep 8 --zero 1 "
           "--global-batch 64 --set training.cuda_graphs='[moe_preprocess, mamba, moe_router]'",
           "dgx-h100"});
  struct Target {
    std::string framework, file, stack;
  };
  for (const auto& [framework, file, stack] :
       {Target{"megatron", "run.sh", "megatron-core"},
        Target{"bridge", "bridge.sh", "megatron-bridge"}, Target{"nemo", "nemo.sh", "nemo-2"}}) {
    CAPTURE(job.words, framework);
    const Trip result = trip(job.words + " --stack " + stack, job.cluster, framework, file);
    CAPTURE(result.text);
    CHECK(result.predicted == result.read_again);
    CHECK_THAT(result.text, !Catch::Contains("not expressed"));
  }
}

TEST_CASE("torchtitan's defaults survive export and import", "[jobs][launch]") {
  for (const std::string& words :
       {std::string("--model llama-3-8b --cluster dgx-h100 --shard 32 --global-batch 64 --stack "
                    "torchtitan"),
        std::string("--model llama-3-8b --cluster dgx-h100 --shard 32 --global-batch 64 --stack "
                    "torchtitan-eager --set training.recompute='{every: 2, early_stop: true}'"),
        std::string("--model llama-3-8b --cluster dgx-h100 --shard 32 --global-batch 64 --set "
                    "stack='{like: torchtitan-eager, fused: []}' training.bytes='{weights: 2, "
                    "gradients: 2, optimizer: 4}'"),
        std::string("--model llama-3-70b --cluster dgx-h100 --tp 8 --sp --shard 4 --global-batch "
                    "8 --precision fp8 --stack torchtitan --set "
                    "communication.tp_comm_overlap=true training.recompute='{granularity: op}'"),
        std::string("--model llama-3-8b --cluster dgx-h100 --shard 32 --global-batch 64 --stack "
                    "torchtitan --set training.loss_chunks=8")}) {
    const Trip result = trip(words, "dgx-h100", "torchtitan", "run.toml");
    CAPTURE(words, result.text);
    CHECK(result.predicted == result.read_again);
    CHECK_THAT(result.text, !Catch::Contains("not expressed"));
  }
}

TEST_CASE("a schedule without a name in torchtitan is written as PyTorch's CSV", "[jobs][launch]") {
  const Trip result = trip(
      "--model llama-3-8b --cluster dgx-h100 -s 4 --shard 8 --global-batch 64 --schedule zb-h1 "
      "--stack torchtitan",
      "dgx-h100", "torchtitan", "run.toml");
  CHECK_THAT(result.text, Catch::Contains("pipeline_parallel_schedule_csv = \"schedule.csv\""));
  CHECK(result.predicted == result.read_again);
}

TEST_CASE("DeepSpeed's script and JSON are predicted like their scenario when they are read again",
          "[jobs][launch]") {
  const std::string words =
      "--model llama-3-8b --cluster dgx-h100 --tp 2 --sp --dp 16 --zero 2 --global-batch 64 "
      "--stack megatron-lm-2022 --set communication.overlap_param_gather=false "
      "training.flash_attention=true";
  const tests::CommandFolder place;
  const std::string quick = " --engine timing --json --quiet";
  const tests::ProgramResult first = place.run("run " + words + quick);
  REQUIRE(place.run("run " + words + " --engine timing --quiet --launch deepspeed:ds.sh").status ==
          0);
  const tests::ProgramResult again =
      place.run("run ds.sh ds_config.json --cluster dgx-h100" + quick);
  CAPTURE(first.err, again.err, place.read("ds.sh"));
  REQUIRE(again.status == 0);
  const auto time_of = [](const std::string& json) {
    const nlohmann::json document = nlohmann::json::parse(json);
    return (document.is_array() ? document.at(0) : document).at("makespan_s").get<double>();
  };
  CHECK(time_of(first.out) == time_of(again.out));
}

TEST_CASE("a launch has the chunks of the loss and the gradient buckets of its scenario",
          "[jobs][launch]") {
  struct Case {
    std::string keys, framework, file, words;
  };
  const std::string fsdp = "stack: torchtitan\nparallel: {shard: 8}\n";
  const std::string half = "stack: megatron-core\nparallel: {dp: 8}\n";
  const std::string zero = "stack: megatron-lm-2022\nparallel: {dp: 8, zero: 2}\n";
  for (const auto& [keys, framework, file, words] :
       {Case{fsdp + "training: {loss_chunks: 16}", "torchtitan", "job.toml",
             "[loss]\nnum_chunks = 16\n"},
        Case{half + "communication: {bucket: 20 MB}", "megatron", "job.sh",
             "--ddp-bucket-size 5000000 "},
        Case{half + "communication: {bucket: 20 MB, gradient_bytes: 2}", "megatron", "job.sh",
             "--ddp-bucket-size 10000000 "},
        Case{zero + "communication: {bucket: 20 MB, gradient_bytes: 4}", "deepspeed", "job.sh",
             "\"reduce_bucket_size\": 5000000"}}) {
    CAPTURE(keys, framework);
    const config::Scenario scenario = config::read_scenario(config::read_yaml_text(
        "model: llama-3-8b\nglobal_batch: 8\n" + keys + "\n", "scenario.yaml"));
    const jobs::Launch launch = jobs::export_job(scenario, *jobs::find_framework(framework));
    CHECK_THAT(launch.text + launch.beside,
               Catch::Contains(words) && !Catch::Contains("expressed: communication.bucket") &&
                   !Catch::Contains("expressed: training.loss_chunks"));
    const tests::CommandFolder place;
    std::vector<std::string> files;
    const auto write = [&](const std::string& name, const std::string& text) {
      if (text.empty()) return;
      place.write(name, text);
      files.push_back((place.folder() / name).string());
    };
    write(file, launch.text);
    write(launch.beside_name, launch.beside);
    const config::Scenario again = config::read_scenario(jobs::import_job(files).tree);
    CHECK(again.training.loss_chunks == scenario.training.loss_chunks);
    CHECK(again.communication.bucket == scenario.communication.bucket);
  }
}

TEST_CASE("a launch states a bucket that is no whole number of gradients", "[jobs][launch]") {
  CHECK_THAT(launch_of("megatron-core\ncommunication: {bucket: 4000002}", "megatron"),
             Catch::Contains("# not expressed: communication.bucket is 4000002 bytes, and would be "
                             "40 M parameters") &&
                 !Catch::Contains("--ddp-bucket-size"));
}

TEST_CASE("a launch without a file is alone on standard output", "[jobs][launch]") {
  const tests::CommandFolder place;
  const tests::ProgramResult ran = place.run(
      "run --model llama-3-70b --cluster dgx-h100 --dp 8 --global-batch 64 --engine timing "
      "--launch megatron");
  CHECK_THAT(ran.out, Catch::StartsWith("#!/bin/bash\n") && !Catch::Contains("tokens/s"));
  CHECK_THAT(ran.err, Catch::Contains("tokens/s"));
  // 70 B parameters, their gradients and optimizer state are far more than 80 GiB.
  CHECK_THAT(ran.out, Catch::Contains("\n# the job does not fit: device 0 ("));
}

TEST_CASE("a launch for Megatron-Bridge changes what its recipes and set-up would decide",
          "[jobs][launch]") {
  const std::string text =
      jobs::export_job(config::read_scenario(config::read_yaml_text(
                           "model: deepseek-v3\nstack: megatron-bridge\nparallel: {tp: 1, pp: 4, "
                           "dp: 64, ep: 64, "
                           "zero: 1}\nglobal_batch: 512\npartition: [15, 16, 16, 14]\n",
                           "scenario.yaml")),
                       *jobs::find_framework("bridge"))
          .text;
  CHECK_THAT(text, Catch::Contains("'model.pipeline_model_parallel_layout=Et*15|"));
  CHECK_THAT(text, Catch::Contains(" model.account_for_embedding_in_pipeline_split=false "));
  CHECK_THAT(text, Catch::Contains(" model.account_for_loss_in_pipeline_split=false "));
  CHECK_THAT(text, Catch::Contains(" dataset.seq_length=4096 "));
  CHECK_THAT(text, Catch::Contains(" tokenizer.use_tokenizer_vocab_size=false "));
  CHECK_THAT(text, Catch::Contains("'model.moe_layer_freq=[0,0,0,1,1,"));
  CHECK_THAT(text, !Catch::Contains("grad_reduce_in_fp32"));
}

TEST_CASE("a launch for DeepSpeed has flags of Megatron-DeepSpeed alone", "[jobs][launch]") {
  const auto launch = [](const std::string& model) {
    return jobs::export_job(
        config::read_scenario(config::read_yaml_text(
            "model: " + model +
                "\nparallel: {tp: 2, sp: true, dp: 8, zero: 1}\nglobal_batch: 16\n"
                "training: {optimizer: {exp_avg: bf16}}\n"
                "communication: {tp_comm_overlap: true}\n",
            "scenario.yaml")),
        *jobs::find_framework("deepspeed"));
  };
  const jobs::Launch llama = launch("llama-3-8b");
  for (const char* const flag :
       {"--tp-comm-overlap", "--exp-avg-dtype", "--fp8-format", "--position-embedding-type"})
    CHECK_THAT(llama.text, !Catch::Contains(flag));
  CHECK_THAT(llama.text,
             Catch::Contains(" --use-rotary-position-embeddings ") &&
                 Catch::Contains("# not expressed: training.optimizer.exp_avg is bf16"));
  CHECK_THROWS_WITH(launch("deepseek-v3"),
                    Catch::Contains("latent attention, which Megatron-DeepSpeed does not have"));
}

TEST_CASE("a launch says what numbers of bytes count", "[jobs][launch]") {
  CHECK_THAT(
      launch_of("megatron-core\ntraining: {bytes: {optimizer: 7}}", "megatron"),
      Catch::Contains("# not expressed: training.bytes.optimizer is 7 bytes, and would be ") &&
          Catch::Contains("main weights and moments of a weight"));
  CHECK_THAT(launch_of("megatron-core\ntraining: {bytes: {weights: 3}}", "megatron"),
             Catch::Contains("# not expressed: training.bytes.weights is 3 bytes, and would be 2"));
}

TEST_CASE("Megatron-Bridge's launch trains the adapters of its scenario", "[jobs][launch]") {
  const auto launch_for = [](const std::string& lora, const std::string& framework) {
    const config::Value tree = config::read_yaml_text(
        "model: llama-3-8b\nparallel: {dp: 8}\nglobal_batch: 8\nstack: megatron-bridge\n"
        "training: {lora: " +
            lora + "}\n",
        "scenario.yaml");
    return jobs::export_job(config::read_scenario(tree), *jobs::find_framework(framework)).text;
  };
  const std::string bridge = launch_for("{rank: 16, modules: [linear_qkv, linear_fc2]}", "bridge");
  CHECK_THAT(bridge, Catch::Contains("llama3_8b_peft_config") && Catch::Contains("peft.dim=16") &&
                         Catch::Contains("peft.target_modules=[linear_qkv,linear_fc2]") &&
                         !Catch::Contains("training.lora"));
  // What a framework cannot express is named.
  CHECK_THAT(launch_for("{rank: 16, base: nf4}", "bridge"), Catch::Contains("training.lora"));
}

TEST_CASE("launches of frameworks that would train all weights instead of adapters are refused",
          "[jobs][launch]") {
  const config::Scenario scenario = config::read_scenario(config::read_yaml_text(
      "model: llama-3-8b\nparallel: {dp: 8}\nglobal_batch: 8\ntraining: {lora: {rank: 16}}\n",
      "scenario.yaml"));
  for (const jobs::Framework& framework : jobs::frameworks())
    if (framework.write != nullptr && framework.name != "bridge") {
      INFO(framework.name);
      CHECK_THAT(
          config::test::error_of([&] { jobs::export_job(scenario, framework); }),
          Catch::Contains("the scenario trains adapters (training.lora), which no launch of " +
                          std::string(framework.title) + " has") &&
              Catch::Contains("write the launch for bridge"));
    }
}

TEST_CASE("a launch states what its framework cannot express", "[jobs][launch]") {
  const tests::CommandFolder place;
  const tests::ProgramResult ran = place.run(
      "run --model llama-3-8b --cluster dgx-h100 -s 4 --dp 8 --global-batch 64 --schedule zb-h1 "
      "--set training.reserved='3 GiB' --engine timing --quiet --launch megatron");
  CHECK(ran.status == 0);
  CHECK_THAT(ran.out,
             Catch::Contains("# not expressed: Megatron-LM has no schedule zb-h1") &&
                 !Catch::Contains("schedule.name") &&
                 Catch::Contains("# not expressed: training.reserved is 3 GiB, and would be"));
  CHECK_THAT(place.run("run -s 4 -b 8 -f 1 --backward-times 2 --launch megatron").err,
             Catch::Contains(
                 "Megatron-LM needs a model, and the scenario has pass times alone; give --model"));
  CHECK_THAT(place.run("run -s 4 -b 8 -f 1 --backward-times 2 --launch jax").err,
             Catch::Contains("of " + jobs::writable_frameworks() + ", not 'jax'") &&
                 Catch::Contains("of megatron, "));
}

TEST_CASE("a launch states which parts of a model its framework lacks", "[jobs][launch]") {
  const auto launch = [](const std::string& model) {
    const config::Value tree = config::read_yaml_text(
        "global_batch: 8\nmodel: {hidden: 64, heads: 8, vocabulary: 1000, sequence: 256, " + model +
            "}\n",
        "scenario.yaml");
    return jobs::export_job(config::read_scenario(tree), *jobs::find_framework("megatron")).text;
  };
  CHECK_THAT(launch("pattern: GGGG, linear_attention: {key_heads: 8, value_heads: 8, "
                    "decay_rank: 8, gate_rank: 8}"),
             Catch::Contains("# not expressed: Megatron-LM's decays are those of a head") &&
                 Catch::Contains("# not expressed: Megatron-LM's gates have one full matrix"));
  CHECK_THAT(launch("layers: 4, latent: {query_rank: 8, kv_rank: 8, nope_head_dim: 8, "
                    "rope_head_dim: 4, value_head_dim: 8}, indexer: {heads: 2}"),
             Catch::Contains("# not expressed: the arguments of sparse attention"));
  for (const auto& [model, missing] : {std::pair{"pattern: CCCC, short_convolution: {}",
                                                 "no short convolutions (layers of type C"},
                                       std::pair{"pattern: PPPP, mamba: {heads: 8}",
                                                 "attention beside Mamba (layers of type P"}}) {
    std::string error;
    try {
      launch(model);
    } catch (const config::Error& fault) {
      error = fault.what();
    }
    CHECK_THAT(error, Catch::Contains(missing));
  }
}

TEST_CASE("a launch names the stack of the prediction if it is of other software",
          "[jobs][launch]") {
  CHECK_THAT(launch_of("torchtitan-eager", "megatron"),
             Catch::Contains("# The prediction is for the stack torchtitan-eager."));
  CHECK_THAT(launch_of("megatron-core", "torchtitan"),
             Catch::Contains("# The prediction is for the stack megatron-core.") &&
                 Catch::Contains("# not expressed: training.tensor_format is sbhd, and would be "
                                 "bshd"));
  for (const std::string framework : {"megatron", "bridge", "nemo"})
    CHECK_THAT(launch_of("primus", framework), !Catch::Contains("The prediction is for"));
  // The script for DeepSpeed has Megatron-LM's flags, so Megatron-DeepSpeed reads it.
  CHECK_THAT(launch_of("deepspeed", "deepspeed"),
             Catch::Contains("# The prediction is for the stack deepspeed."));
  CHECK_THAT(launch_of("megatron-lm-2022", "deepspeed"), !Catch::Contains("The prediction is for"));
}

TEST_CASE("a launch states memory that it cannot set, beside that of the stack", "[jobs][launch]") {
  // megatron-core.yaml: 512 MiB + 1536 MiB are reserved.
  CHECK_THAT(
      launch_of("megatron-core\ntraining: {reserved: 4GiB, fragmentation: 0.2}", "megatron"),
      Catch::Contains("# not expressed: training.reserved is 4 GiB, and would be 2 GiB\n") &&
          Catch::Contains("# not expressed: training.fragmentation is 0.2, and would be 0.1\n"));
  for (const std::string stack :
       {"megatron-core\ntraining: {reserved: 2048 MiB, fragmentation: 10 %}", "megatron-core",
        "torchtitan", "primus"}) {
    CAPTURE(stack);
    CHECK_THAT(launch_of(stack, "megatron"),
               !Catch::Contains("training.reserved") && !Catch::Contains("training.fragmentation"));
  }
}

TEST_CASE("a launch has the capacity of experts, with which their graphs are allowed",
          "[jobs][launch]") {
  const auto launch = [](const std::string& capacity, const std::string& framework) {
    const config::Value tree = config::read_yaml_text(
        "model: {layers: 4, hidden: 512, heads: 8, sequence: 512, vocabulary: 1000, experts: "
        "{count: 8, top_k: 2, ffn: 512" +
            capacity +
            "}}\nparallel: {dp: 8, ep: 8, zero: 1}\nglobal_batch: 8\nstack: megatron-core\n"
            "training: {cuda_graphs: [moe]}\n",
        "scenario.yaml");
    return jobs::export_job(config::read_scenario(tree), *jobs::find_framework(framework)).text;
  };
  const std::string capacity = ", capacity_factor: 1.25";
  CHECK_THAT(launch(capacity, "megatron"),
             Catch::Contains("--moe-expert-capacity-factor 1.25 \\\n") &&
                 Catch::Contains("--moe-pad-expert-input-to-capacity \\\n") &&
                 !Catch::Contains("refuses this job") && !Catch::Contains("capacity_factor is"));
  // A factor of 1 pads too.
  CHECK_THAT(
      launch(", capacity_factor: 1", "megatron"),
      Catch::Contains("--moe-expert-capacity-factor 1 ") && !Catch::Contains("refuses this job"));
  CHECK_THAT(launch("", "megatron"), Catch::Contains("# Megatron-LM refuses this job: ") &&
                                         !Catch::Contains("--moe-expert-capacity-factor"));
  CHECK_THAT(launch(capacity, "bridge"),
             Catch::Contains("model.moe_expert_capacity_factor=1.25") &&
                 Catch::Contains("model.moe_pad_expert_input_to_capacity=true"));
}

TEST_CASE("a launch forces the balance of experts if the scenario does", "[jobs][launch]") {
  const auto launch = [](const std::string& experts, const std::string& framework) {
    const config::Value tree = config::read_yaml_text(
        "model: {layers: 4, hidden: 512, heads: 8, sequence: 512, vocabulary: 1000, experts: "
        "{count: 8, top_k: 2, ffn: 512}}\nparallel: {dp: 8, ep: 8, zero: 1}\nglobal_batch: 8\n"
        "stack: megatron-core\ntraining: {experts: {" +
            experts + "}}\n",
        "scenario.yaml");
    return jobs::export_job(config::read_scenario(tree), *jobs::find_framework(framework)).text;
  };
  CHECK_THAT(launch("routing: forced", "megatron"),
             Catch::Contains("--moe-router-force-load-balancing"));
  CHECK_THAT(launch("routing: forced", "bridge"),
             Catch::Contains("model.moe_router_force_load_balancing=true"));
  CHECK_THAT(launch("routing: forced", "torchtitan"),
             Catch::Contains("moe_force_load_balance = true"));
  for (const char* const framework : {"megatron", "bridge", "torchtitan"})
    CHECK_THAT(launch("routing: natural", framework), !Catch::Contains("force"));
  CHECK_THAT(launch("drop_above: 1.25", "megatron"),
             Catch::Contains("--moe-expert-capacity-factor 1.25 ") &&
                 !Catch::Contains("--moe-pad-expert-input-to-capacity"));
}

TEST_CASE("torchtitan compiles what the stack fuses", "[jobs][launch]") {
  CHECK_THAT(
      launch_of("torchtitan", "torchtitan"),
      Catch::Contains("components = [\"model\", \"loss\"]") && !Catch::Contains("not expressed"));
  CHECK_THAT(launch_of("torchtitan-eager", "torchtitan"),
             Catch::Contains("[compile]\nenable = false\n") && !Catch::Contains("components") &&
                 !Catch::Contains("not expressed"));
  CHECK_THAT(launch_of("{like: pytorch-fsdp, fused: [cross_entropy]}", "torchtitan"),
             Catch::Contains("components = [\"loss\"]"));
  CHECK_THAT(launch_of("pytorch-fsdp", "torchtitan"), Catch::Contains("enable = false"));
}

TEST_CASE("a script of Megatron-LM has the implementation of the stack's layers",
          "[jobs][launch]") {
  CHECK_THAT(launch_of("megatron-core", "megatron"),
             Catch::Contains("--transformer-impl transformer_engine"));
  const std::string local = launch_of("megatron-local", "megatron");
  CHECK_THAT(local, Catch::Contains("--transformer-impl local") &&
                        !Catch::Contains("transformer_engine") &&
                        !Catch::Contains("not expressed: training.flash_attention"));
  CHECK_THAT(launch_of("megatron-local\ntraining: {flash_attention: true}", "megatron"),
             Catch::Contains("--use-flash-attn") &&
                 !Catch::Contains("not expressed: training.flash_attention"));
}

TEST_CASE("a script of Megatron-LM has the backend of the stack's attention kernels",
          "[jobs][launch]") {
  CHECK_THAT(launch_of("megatron-core", "megatron"), !Catch::Contains("--attention-backend"));
  CHECK_THAT(launch_of("{like: megatron-core, attention: fa2}", "megatron"),
             Catch::Contains("--attention-backend flash"));
  CHECK_THAT(launch_of("{like: megatron-core, attention: cudnn}", "megatron"),
             Catch::Contains("--attention-backend fused"));
}

TEST_CASE("a launch states which settings of its stack it cannot express", "[jobs][launch]") {
  const auto states = [](const std::string& key) {
    return Catch::Contains("# not expressed: " + key);
  };
  struct Target {
    std::string framework, stack, groups;
  };
  const std::string of_megatron =
      "norm, activation, rope, softmax, residual, cross_entropy, permutation";
  for (const auto& [framework, stack, groups] :
       {Target{"megatron", "megatron-core", of_megatron + ", optimizer"},
        Target{"bridge", "megatron-bridge", of_megatron + ", router, optimizer"},
        Target{"nemo", "nemo-2", of_megatron + ", optimizer"},
        Target{"torchtitan", "torchtitan",
               "norm, activation, rope, residual, cross_entropy, optimizer"},
        Target{"deepspeed", "megatron-lm-2022",
               "norm, activation, rope, softmax, residual, permutation, optimizer"}}) {
    CAPTURE(framework);
    const auto changed = [&](const std::string& keys) {
      return launch_of("{like: " + stack + ", " + keys + "}", framework);
    };
    CHECK_THAT(launch_of(stack, framework), !Catch::Contains(" stack."));
    CHECK_THAT(changed("host: {kernel: 1 us, pass: 1 us}"), !Catch::Contains(" stack."));
    CHECK_THAT(changed("attention: [aiter]"), states("stack.attention is aiter, and would be "));
    CHECK_THAT(changed("fused: [rope]"), states("stack.fused is rope, and would be "));
    CHECK_THAT(changed("fused: [router, rope, norm]"),
               states("stack.fused is norm, rope, router, and would be "));
    CHECK_THAT(changed("rules: [no_tp]"), states("stack.rules is no_tp, and would be "));
    CHECK_THAT(changed("rules: []"), states("stack.rules is none, and would be "));
    CHECK_THAT(
        changed("max_unsharded_stages: 2"),
        states("stack.max_unsharded_stages is 2, and would be ") &&
            Catch::Contains(framework == "torchtitan" ? "would be 3\n" : "would be all stages\n"));
    CHECK_THAT(changed("fused: [" + groups + "]"), !Catch::Contains(" stack."));
  }
}

TEST_CASE("a launch does not repeat settings of the stack that it expresses", "[jobs][launch]") {
  const auto states_stack = [](const std::string& stack, const std::string& framework) {
    return launch_of(stack, framework).find("not expressed: stack.") != std::string::npos;
  };
  CHECK_FALSE(states_stack("{like: megatron-core, attention: fa2}", "megatron"));
  CHECK_FALSE(states_stack("{like: nemo-2, attention: cudnn}", "nemo"));
  CHECK(states_stack("{like: megatron-core, attention: cudnn-9-2}", "megatron"));
  CHECK_FALSE(states_stack("megatron-local\ntraining: {flash_attention: true}", "megatron"));
  CHECK_FALSE(
      states_stack("{like: torchtitan-eager, fused: [optimizer, cross_entropy]}", "torchtitan"));
  // A stored score needs no fused kernel.
  CHECK_FALSE(states_stack(
      "{like: megatron-core, attention: [aiter]}\ntraining: {flash_attention: false}", "megatron"));
  // Another software is named as a whole.
  CHECK_FALSE(states_stack("{like: pytorch-fsdp, fused: [rope]}", "torchtitan"));
  for (const std::string stack : {"primus", "megatron-bridge", "megatron-lm-2022"})
    CHECK_FALSE(states_stack(stack, "megatron"));
}

TEST_CASE("a launch states each difference once", "[jobs][launch]") {
  const tests::CommandFolder place;
  for (const std::string framework : {"megatron", "bridge", "nemo"}) {
    const std::string text =
        place
            .run(
                "run --model llama-3-8b --cluster dgx-h100 -s 4 --dp 8 --global-batch 64 "
                "--schedule 1f1b --engine timing --quiet --launch " +
                framework)
            .out;
    CAPTURE(text);
    const std::string reason = "# not expressed: Megatron-LM's 1f1b does not compute during";
    CHECK_THAT(text, Catch::Contains(reason) && !Catch::Contains("p2p is eager"));
  }
}
