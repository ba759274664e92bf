#include <algorithm>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "sim/config/text/yaml.hpp"
#include "sim/jobs/support.hpp"

using namespace pipewright;
using Catch::Contains;

namespace {

// A job of Megatron-LM on 32 GPUs with more flags.
jobs::Job megatron(const std::string& flags, const std::string& layers = "48") {
  return tests::import_text(
      "train.sh", "torchrun --nnodes 4 --nproc_per_node 8 pretrain_gpt.py --num-layers " + layers +
                      " --hidden-size 512 --num-attention-heads 8 --seq-length 512 "
                      "--vocab-size 1000 --micro-batch-size 1 --bf16 --swiglu \\\n" +
                      flags + "\n");
}

// Sizes of a layout without pp, so that the recipe need not be read.
const std::string other_sizes =
    " model.tensor_model_parallel_size=1 model.context_parallel_size=1 "
    "model.virtual_pipeline_model_parallel_size=null ";

// Overrides of a recipe on 64 GPUs.
jobs::Job recipe(const std::string& name, const std::string& overrides) {
  return tests::import_text(
      "overrides.txt", "torchrun --nnodes 8 --nproc_per_node 8 run_recipe.py --recipe " + name +
                           " train.global_batch_size=128 train.micro_batch_size=1" + other_sizes +
                           overrides + "\n");
}

}  // namespace

TEST_CASE("layers of a rank that chunks do not divide are refused", "[jobs][layout]") {
  // 48 / 8 = 6 layers a rank.
  CHECK_THROWS_WITH(megatron("--pipeline-model-parallel-size 8 "
                             "--num-virtual-stages-per-pipeline-rank 4 --global-batch-size 128"),
                    Contains("num_layers_per_pipeline_rank 6 should be divisible by vp_size 4 (48 "
                             "layers on 8 devices)"));
  CHECK_NOTHROW(
      megatron("--pipeline-model-parallel-size 8 "
               "--num-virtual-stages-per-pipeline-rank 3 --global-batch-size 128"));
  // 64 / 4 = 16 layers a rank.
  CHECK_THROWS_WITH(
      tests::import_text(
          "job.yaml",
          "trainer:\n  devices: 8\n  num_nodes: 2\nmodel:\n  num_layers: 64\n  hidden_size: 512\n"
          "  num_attention_heads: 8\n  encoder_seq_length: 512\n  micro_batch_size: 1\n"
          "  global_batch_size: 64\n  pipeline_model_parallel_size: 4\n"
          "  virtual_pipeline_model_parallel_size: 5\n"),
      Contains("num_layers_per_pipeline_rank 16 should be divisible by vp_size 5"));
}

TEST_CASE("layers that devices do not divide are refused", "[jobs][layout]") {
  CHECK_THROWS_WITH(megatron("--pipeline-model-parallel-size 4 --global-batch-size 128", "46"),
                    Contains("Number of layers should be divisible by the pipeline-model-parallel "
                             "size (46 layers, pp 4)"));
  // 46 layers and the loss
  CHECK_THROWS_WITH(megatron("--pipeline-model-parallel-size 4 --global-batch-size 128 "
                             "--account-for-loss-in-pipeline-split",
                             "46"),
                    Contains("(47 layers with embedding and loss"));
  CHECK_NOTHROW(
      megatron("--pipeline-model-parallel-size 4 --global-batch-size 128 "
               "--account-for-loss-in-pipeline-split "
               "--account-for-embedding-in-pipeline-split",
               "46"));
  // More devices than layers leave stages empty.
  CHECK_THROWS_WITH(megatron("--pipeline-model-parallel-size 8 --global-batch-size 128", "4"),
                    Contains("(4 layers, pp 8)"));
}

TEST_CASE("a recipe that is known by name may have a layout of its own", "[jobs][layout]") {
  // 32 layers on 8 devices, and on 5 devices.
  const std::string sizes =
      "model.tensor_model_parallel_size=1 model.context_parallel_size=1 "
      "model.virtual_pipeline_model_parallel_size=null model.sequence_parallel=false "
      "model.pipeline_model_parallel_size=";
  const auto says_even = [](const jobs::Job& job) {
    return std::ranges::any_of(job.assumed, [](const std::string& sentence) {
      return sentence.find("as evenly as possible") != std::string::npos;
    });
  };
  CHECK_FALSE(says_even(recipe("llama3_8b_pretrain_config", sizes + "8")));
  const jobs::Job job = tests::import_text(
      "overrides.txt",
      "torchrun --nnodes 5 --nproc_per_node 8 run_recipe.py --recipe llama3_8b_pretrain_config "
      "train.global_batch_size=128 train.micro_batch_size=1 " +
          sizes + "5\n");
  CHECK(says_even(job));
}

TEST_CASE("a model of the command line is held against the layout of the job", "[jobs][layout]") {
  jobs::Job job =
      tests::import_text("job.yaml",
                         "trainer:\n  devices: 8\n  num_nodes: 4\nmodel:\n  micro_batch_size: 1\n"
                         "  global_batch_size: 128\n  pipeline_model_parallel_size: 4\n");
  CHECK(job.missing == std::vector<std::string>{"model"});
  const auto with = [&](const std::string& model) {
    config::Value tree = job.tree;
    config::set_key(tree, "model", config::make_text(model, {.source = "--model"}));
    jobs::check_layout(job, tree);
  };
  CHECK_NOTHROW(with("llama-3-8b"));
  CHECK_THROWS_WITH(with("glm-4.5-air"), Contains("(46 layers, pp 4)"));
  // A partition in the scenario says how many layers the stages have.
  config::Value tree = job.tree;
  config::set_key(tree, "model", config::make_text("glm-4.5-air", {.source = "--model"}));
  config::set_key(tree, "partition", config::make_text("by_cost", {}));
  CHECK_NOTHROW(jobs::check_layout(job, tree));
}

TEST_CASE("Megatron-LM's other rules on layouts are errors in its words", "[jobs][layout]") {
  const std::string batch = " --global-batch-size 128";
  CHECK_THROWS_WITH(megatron("--pipeline-model-parallel-size 4 --pipeline-model-parallel-layout "
                             "'Et*12|t*12|t*12|t*12L' --decoder-first-pipeline-num-layers 12" +
                             batch),
                    Contains("cannot be set with other pipeline layout arguments") &&
                        Contains("--decoder-first-pipeline-num-layers 12"));
  CHECK_THROWS_WITH(megatron("--pipeline-model-parallel-size 4 --pipeline-model-parallel-layout "
                             "'Et*12|t*12|t*12|t*12L' --account-for-loss-in-pipeline-split" +
                             batch),
                    Contains("--account-for-loss-in-pipeline-split"));
  CHECK_THROWS_WITH(
      megatron("--hybrid-layer-pattern 'M-|M*|M-' --pipeline-model-parallel-size 2" + batch),
      Contains("must be evenly divisible by --pipeline-model-parallel-size. Got 3 segments and 2"));
  CHECK_THROWS_WITH(
      megatron("--max-position-embeddings 256" + batch),
      Contains("max_position_embeddings must be greater than or equal to seq_length"));
  CHECK_THROWS_WITH(megatron("--fp16" + batch), Contains("Only one of fp16 and bf16"));
  CHECK_THROWS_WITH(megatron("--recompute-granularity selective --recompute-num-layers 2" + batch),
                    Contains("recompute_num_layers must be None"));
  // 32 / 8 = 4 replicas: 40 / 4 = 10 microbatches, of which 2 remain after groups of 8.
  CHECK_THROWS_WITH(megatron("--pipeline-model-parallel-size 8 --global-batch-size 40 "
                             "--num-virtual-stages-per-pipeline-rank 2"),
                    Contains("the remainder of 10 microbatches divided by the group of 8") &&
                        Contains("but it is 2"));
  CHECK_NOTHROW(
      megatron("--pipeline-model-parallel-size 8 --global-batch-size 40 "
               "--num-virtual-stages-per-pipeline-rank 2 "
               "--microbatch-group-size-per-virtual-pipeline-stage 10"));
}

TEST_CASE("torchtitan's rules on stages are errors in its words", "[jobs][layout]") {
  // Llama 3 8B has 32 layers, and embedding and loss count as two more.
  const auto titan = [](const std::string& lines) {
    return tests::import_text("job.toml",
                              "[model]\nname = \"llama3\"\nflavor = \"8B\"\n"
                              "[training]\nlocal_batch_size = 8\nseq_len = 8192\n"
                              "[parallelism]\ndata_parallel_shard_degree = 2\n"
                              "pipeline_parallel_degree = 4\n" +
                                  lines);
  };
  CHECK_THROWS_WITH(titan("pipeline_parallel_schedule = \"Interleaved1F1B\"\n"
                          "pipeline_parallel_layers_per_stage = 5\n"),
                    Contains("Number of virtual stages (7) must be divisible by pipeline parallel "
                             "size (4): 34 layers, with embedding and output, / 5 are 7 stages; "
                             "allowed: 3"));
  CHECK_THROWS_WITH(titan("pipeline_parallel_schedule = \"1F1B\"\n"
                          "pipeline_parallel_layers_per_stage = 3\n"),
                    Contains("requires exactly 1 stage per rank, but got 3 stages per rank"));
  CHECK_THROWS_WITH(titan("pipeline_parallel_schedule = \"Interleaved1F1B\"\n"
                          "pipeline_parallel_layers_per_stage = 9\n"),
                    Contains("requires at least 2 stages per rank, but got 1"));
  CHECK_THROWS_WITH(titan("pipeline_parallel_schedule = \"ZBVZeroBubble\"\n"
                          "pipeline_parallel_layers_per_stage = 3\n"),
                    Contains("v schedules assume 2 stages per rank, got 3"));
  CHECK_THROWS_WITH(titan("pipeline_parallel_microbatch_size = 3\n"),
                    Contains("Batch size 8 must be divisible by microbatch size 3"));
  CHECK_THROWS_WITH(titan("[training.x]\n[debug]\n[activation_checkpoint]\nmode = \"none\"\n"
                          "[training]\n"),
                    Contains("TOML syntax"));
  CHECK_NOTHROW(
      titan("pipeline_parallel_schedule = \"Interleaved1F1B\"\n"
            "pipeline_parallel_layers_per_stage = 3\n"));
}

TEST_CASE("ranks that groups of experts do not divide are refused", "[jobs][layout]") {
  const std::string experts = "--num-experts 64 --moe-router-topk 2 --moe-ffn-hidden-size 512 ";
  // 32 GPUs in stages of 8.
  CHECK_THROWS_WITH(megatron(experts + "--expert-model-parallel-size 16 "
                                       "--pipeline-model-parallel-size 4 --global-batch-size 128"),
                    Contains("world size (32, by ") &&
                        Contains("is not divisible by expert_tensor_model_pipeline_parallel size "
                                 "(64, expert 16 x expert tensor 1 x pipeline 4)"));
  CHECK_NOTHROW(megatron(experts + "--expert-model-parallel-size 8 "
                                   "--pipeline-model-parallel-size 4 --global-batch-size 128"));
}

TEST_CASE("a single stage has all layers, whatever else counts as a layer", "[jobs][layout]") {
  const std::string both =
      "--account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split "
      "--global-batch-size 128";
  const jobs::Job job = megatron(both, "47");
  CHECK(config::find(job.tree, "partition") == nullptr);
  CHECK(tests::has_note(job.without_effect, "one stage has all layers"));
  CHECK_NOTHROW(tests::scenario_of(job));
  const jobs::Job divided = megatron(both + " --pipeline-model-parallel-size 2", "46");
  CHECK(config::find(divided.tree, "partition") != nullptr);
}
