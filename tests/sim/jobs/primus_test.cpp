#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "sim/jobs/support.hpp"

using namespace pipewright;
using tests::scenario_of;

namespace {

std::string experiment(const std::string& framework, const std::string& model,
                       const std::string& overrides) {
  return "work_group: ${PRIMUS_TEAM:amd}\nmodules:\n  pre_trainer:\n    framework: " + framework +
         "\n    config: pre_trainer.yaml\n    model: " + model + "\n    overrides:\n" + overrides;
}

jobs::Job import_words(const std::string& text, jobs::JobWords words) {
  const tests::CommandFolder place;
  place.write("job.yaml", text);
  const std::vector<std::string> files{(place.folder() / "job.yaml").string()};
  return jobs::import_job(files, words);
}

}  // namespace

TEST_CASE("variables of Primus have their defaults, or the values of the command line", "[jobs]") {
  const std::string text = experiment("megatron", "${PRIMUS_MODEL:llama3.1_8B}.yaml",
                                      "      micro_batch_size: ${MBS:2}\n"
                                      "      global_batch_size: ${GBS:-128}\n"
                                      "      tensor_model_parallel_size: ${PRIMUS_TP:2}\n"
                                      "      seq_length: ${PRIMUS_SEQ_LENGTH:8192}\n");
  const config::Scenario by_default =
      scenario_of(import_words(text, {.variables = {}, .gpus = 16}));
  CHECK(by_default.model->value.name == "llama-3-8b");
  CHECK(by_default.parallel.tp.value == 2);
  CHECK(by_default.parallel.dp.value == 8);                   // 16 / 2
  CHECK(by_default.microbatches.value == 8);                  // 128 / (2 x 8)
  CHECK(by_default.parallel.sequence);                        // of Primus's language_model.yaml
  CHECK_FALSE(by_default.communication.overlap_grad_reduce);  // of its trainer_base.yaml
  const config::Scenario by_words = scenario_of(import_words(
      text, {.variables = {{"PRIMUS_TP", "1"}, {"GBS", "64"}, {"PRIMUS_SEQ_LENGTH", "4096"}},
             .gpus = 16}));
  CHECK(by_words.parallel.dp.value == 16);
  CHECK(by_words.microbatches.value == 2);  // 64 / (2 x 16)
  CHECK(by_words.training.sequence == 4096U);
}

TEST_CASE("a variable without value is asked for by name and line", "[jobs]") {
  const tests::CommandFolder place;
  place.write("job.yaml",
              "MODEL_ARGS:\n  --num-layers: 4\n  --hidden-size: 512\n  --num-attention-heads: 8\n"
              "  --vocab-size: 1000\n  --bf16: true\n  --moe-grouped-gemm: ${GROUPED}\n"
              "  --micro-batch-size: 1\n  --global-batch-size: ${GBS}\n  --seq-length: ${SEQ}\n"
              "  --data-path: ${DATA}\n");
  const tests::ProgramResult asks = place.run("import job.yaml --gpus 8 GBS=16");
  CHECK(asks.status == 2);
  CHECK_THAT(asks.err, Catch::Contains("job.yaml:10:") && Catch::Contains("--seq-length $SEQ") &&
                           Catch::Contains("SEQ=8"));
  CHECK(place.run("import job.yaml --gpus 8 GBS=16 SEQ=512").status == 0);
}

TEST_CASE("files of the package of Primus give the model and the settings", "[jobs]") {
  const tests::CommandFolder place;
  std::filesystem::create_directories(place.folder() / "primus/configs/models/megatron");
  std::filesystem::create_directories(place.folder() / "primus/configs/modules/megatron");
  std::filesystem::create_directories(place.folder() / "examples");
  place.write("primus/configs/models/megatron/base.yaml",
              "num_layers: 4\nhidden_size: 512\nnum_attention_heads: 8\nswiglu: true\n"
              "vocab_size: 1000\nmax_position_embeddings: 2048\n");
  place.write("primus/configs/models/megatron/ours.yaml",
              "extends:\n  - base.yaml\nnum_layers: 6\nffn_hidden_size: 2048\n");
  place.write("primus/configs/modules/megatron/pre_trainer.yaml",
              "seq_length: 1024\nuse_distributed_optimizer: true\noverlap_grad_reduce: true\n"
              "patch_zero_bubble: false\nenable_zero_bubble: true\nimg_h: 224\n");
  place.write("examples/job.yaml",
              experiment("megatron", "ours.yaml",
                         "      micro_batch_size: 1\n      global_batch_size: 32\n"
                         "      pipeline_model_parallel_size: 2\n      num_layers: 8\n"));
  const std::vector<std::string> files{(place.folder() / "examples/job.yaml").string()};
  const jobs::Job job = jobs::import_job(files, {.variables = {}, .gpus = 8});
  const config::Scenario scenario = scenario_of(job);
  CHECK(scenario.model->value.layers == 8);
  CHECK(scenario.model->value.ffn == 2048);
  CHECK(scenario.model->value.hidden == 512);
  CHECK(scenario.model->value.sequence == 1024);
  CHECK(scenario.communication.overlap_grad_reduce);
  // The patch that replaces the schedule is off.
  CHECK(scenario.schedules.front().name == "1f1b");
  CHECK(job.not_modelled.empty());
  place.write("examples/job.yaml", experiment("megatron", "ours.yaml",
                                              "      micro_batch_size: 1\n"
                                              "      global_batch_size: 32\n"
                                              "      pipeline_model_parallel_size: 2\n"
                                              "      patch_zero_bubble: true\n"));
  CHECK(scenario_of(jobs::import_job(files, {.variables = {}, .gpus = 8})).schedules.front().name ==
        "zb-2p");
}

TEST_CASE("jobs of Primus may run torchtitan, and other frameworks are named", "[jobs]") {
  const jobs::Job job = import_words(
      experiment("torchtitan", "llama3.1_8B.yaml",
                 "      training:\n        local_batch_size: 2\n        seq_len: 8192\n"
                 "      parallelism:\n        tensor_parallel_degree: 2\n"),
      {.variables = {}, .gpus = 8});
  const config::Scenario scenario = scenario_of(job);
  CHECK(scenario.model->value.name == "llama-3-8b");
  CHECK(scenario.parallel.tp.value == 2);
  CHECK(scenario.parallel.shard->value == 4);
  CHECK(scenario.training.microbatch_size == 2);
  CHECK_THROWS_WITH(import_words(experiment("maxtext", "llama2_7B.yaml", "      steps: 10\n"), {}),
                    Catch::Contains("jobs of Primus with the framework maxtext are not read"));
  CHECK_THROWS_WITH(import_words("extends: none.yaml\n" + experiment("megatron", "x.yaml", ""), {}),
                    Catch::Contains("names the file none.yaml, which is not beside"));
}
