#include <string>

#include <catch2/catch.hpp>

#include "sim/jobs/support.hpp"

using namespace pipewright;
using config::Fusable;
using tests::has_note;
using tests::scenario_of;

namespace {

const std::string dense =
    "torchrun --nproc_per_node=8 pretrain_gpt.py --num-layers 4 --hidden-size 512 "
    "--num-attention-heads 8 --seq-length 512 --max-position-embeddings 512 --vocab-size 1000 "
    "--micro-batch-size 1 --global-batch-size 16 --bf16 --swiglu ";
const std::string experts = dense +
                            "--num-experts 16 --moe-ffn-hidden-size 256 "
                            "--expert-model-parallel-size 4 ";

jobs::Job script(const std::string& text) { return tests::import_text("train.sh", text); }

config::Stack stack_of(const jobs::Job& job) { return scenario_of(job).training.stack; }

// A recipe of a model, with settings of its section `model`.
jobs::Job recipe(const std::string& settings) {
  return tests::import_text("overrides.txt",
                            "torchrun --nnodes 1 --nproc_per_node 8 run_recipe.py "
                            "--recipe qwen3_30b_a3b_pretrain_config "
                            "model.tensor_model_parallel_size=1 "
                            "model.pipeline_model_parallel_size=1 model.context_parallel_size=1 "
                            "model.virtual_pipeline_model_parallel_size=null "
                            "model.expert_model_parallel_size=8 train.micro_batch_size=1 "
                            "train.global_batch_size=64 " +
                                settings + "\n");
}

}  // namespace

TEST_CASE("flags of Megatron-LM turn the fusion of kernels off", "[jobs]") {
  const config::Stack whole = stack_of(script(dense));
  for (const auto& [flag, group] : {std::pair{"--no-rope-fusion", Fusable::rope},
                                    {"--no-bias-swiglu-fusion", Fusable::activation},
                                    {"--no-bias-dropout-fusion", Fusable::residual},
                                    {"--no-masked-softmax-fusion", Fusable::softmax}}) {
    CAPTURE(flag);
    const jobs::Job job = script(dense + "--attention-backend unfused " + flag);
    auto expected = whole.fused;
    expected.reset(static_cast<std::size_t>(group));
    CHECK(stack_of(job).fused == expected);
    CHECK(job.comments.at("stack.fused") == std::string(flag) + " (line 1)");
    CHECK(job.not_modelled.empty());
  }
  // A job that fuses what its stack fuses keeps the name of the stack.
  CHECK(config::find(script(dense).tree, "stack")->text == "megatron-core");
}

TEST_CASE("a flag of kernels that the model does not have is without effect", "[jobs]") {
  const jobs::Job job =
      script(dense + "--no-bias-gelu-fusion --moe-router-fusion --no-masked-softmax-fusion");
  CHECK(has_note(job.without_effect, "--no-masked-softmax-fusion: fused attention has"));
  CHECK(has_note(job.without_effect, "--no-bias-gelu-fusion: the MLPs have a gate"));
  CHECK(has_note(job.without_effect, "--moe-router-fusion: without --num-experts"));
  CHECK(config::find(job.tree, "stack")->kind == config::Value::Kind::text);
}

TEST_CASE("kernels of experts are fused only if Megatron-LM's flags ask for it", "[jobs]") {
  const jobs::Job plain = script(experts);
  CHECK_FALSE(stack_of(plain).fuses(Fusable::permutation));
  CHECK_FALSE(stack_of(plain).fuses(Fusable::router));
  CHECK(has_note(plain.not_modelled, "--moe-grouped-gemm is absent: experts one after the other"));
  const jobs::Job fused =
      script(experts + "--moe-permute-fusion --moe-router-fusion --moe-grouped-gemm");
  CHECK(stack_of(fused).fuses(Fusable::permutation));
  CHECK(stack_of(fused).fuses(Fusable::router));
  CHECK(fused.not_modelled.empty());
  // A rank with one expert multiplies no group of matrices.
  CHECK(script(dense + "--num-experts 8 --expert-model-parallel-size 8").not_modelled.empty());
}

TEST_CASE("a recipe fuses what its stack fuses, unless it says otherwise", "[jobs]") {
  CHECK(stack_of(recipe("")).fuses(Fusable::permutation));
  CHECK(stack_of(recipe("")).fuses(Fusable::router));
  CHECK_FALSE(stack_of(recipe("model.moe_router_fusion=false")).fuses(Fusable::router));
  CHECK_FALSE(stack_of(recipe("model.apply_rope_fusion=False")).fuses(Fusable::rope));
  CHECK_FALSE(stack_of(recipe("model.bias_activation_fusion=false")).fuses(Fusable::activation));
  CHECK(config::find(recipe("model.moe_permute_fusion=true").tree, "stack")->text ==
        "megatron-bridge");
}

TEST_CASE("a launch has the flags of the kernels that its scenario fuses", "[jobs][launch]") {
  const tests::CommandFolder place;
  const std::string model = " --model mixtral-8x7b --ep 8 --dp 8 --global-batch 64 ";
  for (const std::string stack : {"megatron-core", "megatron-bridge",
                                  "'stack={like: megatron-core, fused: [norm, residual, softmax, "
                                  "cross_entropy, optimizer]}'"}) {
    CAPTURE(stack);
    const std::string option = stack.front() == '\'' ? "--set " + stack : "--stack " + stack;
    const tests::ProgramResult launch = place.run(
        "run --cluster dgx-h100 -s 1 --engine timing --quiet --launch megatron:launch.sh" + model +
        option);
    CAPTURE(launch.err);
    REQUIRE(launch.status == 0);
    const std::string text = place.read("launch.sh");
    CHECK_THAT(text, !Catch::Contains("stack.fused"));
    const std::vector<std::string> files{(place.folder() / "launch.sh").string()};
    const config::Stack again = stack_of(jobs::import_job(files, {}));
    CHECK(again.fuses(Fusable::rope) == (stack.front() != '\''));
    CHECK(again.fuses(Fusable::permutation) == (stack.front() != '\''));
    CHECK(again.fuses(Fusable::router) == (stack == "megatron-bridge"));
  }
}
