#include <string>

#include <catch2/catch.hpp>

#include "sim/config/text/yaml.hpp"
#include "sim/jobs/job.hpp"
#include "sim/jobs/support.hpp"

using namespace pipewright;
using Catch::Contains;
using tests::scenario_of;

namespace {

std::string precision_of(const jobs::Job& job) {
  return to_string(config::precision_of(scenario_of(job).training));
}

jobs::Job megatron(const std::string& flags, const std::string& variables = "") {
  return tests::import_text("train.sh", variables +
                                            "torchrun --nproc_per_node 8 pretrain_gpt.py "
                                            "--num-layers 4 --hidden-size 512 "
                                            "--num-attention-heads 8 --seq-length 512 "
                                            "--vocab-size 1000 --micro-batch-size 1 --bf16 " +
                                            flags + "\n");
}

jobs::Job titan(const std::string& model, const std::string& quantization) {
  return tests::import_text(
      "job.toml", "[model]\n" + model + "[training]\nlocal_batch_size = 1\nseq_len = 4096\n" +
                      "[parallelism]\ndata_parallel_shard_degree = 8\n[compile]\nenable = true\n" +
                      quantization);
}

const std::string dense = "name = \"llama3\"\nflavor = \"8B\"\n";
const std::string experts = "name = \"deepseek_v3\"\nflavor = \"671B\"\n";

jobs::Job automodel(const std::string& more) {
  return tests::import_text(
      "job.yaml",
      "recipe: TrainFinetuneRecipeForNextTokenPrediction\n"
      "step_scheduler:\n  global_batch_size: 64\n  local_batch_size: 4\n"
      "distributed:\n  strategy: fsdp2\n  dp_size: 8\n"
      "packed_sequence:\n  packed_sequence_size: 4096\n"
      "model:\n  _target_: nemo_automodel.NeMoAutoModelForCausalLM.from_config\n"
      "  pretrained_model_name_or_path: Qwen/Qwen3-30B-A3B\n" +
          more);
}

}  // namespace

TEST_CASE("Megatron-LM's flags give types of attention, of the head and of the first layers",
          "[jobs][precision]") {
  const std::string mx = "--fp8-format e4m3 --fp8-recipe mxfp8 ";
  const std::string tensor = "--fp8-format hybrid --fp8-recipe tensorwise ";
  const auto read = [](const std::string& flags, const std::string& variables = "") {
    return precision_of(megatron(flags, variables));
  };
  CHECK(read(mx + "--fp8-dot-product-attention") == "mxfp8, attention mxfp8");
  CHECK(read(tensor + "--fp8-dot-product-attention") == "fp8, attention fp8");
  CHECK(read(mx + "--fp8-output-proj") == "mxfp8, head mxfp8");
  CHECK(read(tensor + "--first-last-layers-bf16") == "fp8, first layer bf16, last layer bf16");
  CHECK(read(mx + "--first-last-layers-bf16 --num-layers-at-start-in-bf16 0 "
                  "--num-layers-at-end-in-bf16 2") == "mxfp8, last 2 layers bf16");
  // A variable chooses another recipe for attention.
  const std::string attention = "--fp8-dot-product-attention";
  CHECK(read(mx + attention, "export NVTE_DPA_FP8_RECIPE=Float8CurrentScaling\n") ==
        "mxfp8, attention fp8");
  CHECK(read(mx + attention, "export NVTE_DPA_FP8_RECIPE=F16\n") == "mxfp8");
  CHECK(read("--fp4-format e2m1 " + attention) == "nvfp4");
  CHECK(read("--fp4-format e2m1 " + attention, "export NVTE_DPA_FP8_RECIPE=MXFP8BlockScaling\n") ==
        "nvfp4, attention mxfp8");
}

TEST_CASE(
    "types of modules without FP8 have no effect, and those that Megatron-LM refuses are "
    "refused",
    "[jobs][precision]") {
  const jobs::Job job = megatron("--fp8-dot-product-attention --first-last-layers-bf16");
  CHECK(precision_of(job) == "bf16");
  CHECK(job.not_modelled.empty());
  CHECK_THROWS_WITH(megatron("--fp8-format hybrid --first-last-layers-bf16"),
                    Contains("Delayed scaling does not support first / last layer in BF16"));
  CHECK_THROWS_WITH(megatron("--fp8-format hybrid --fp8-output-proj"),
                    Contains("fp8_output_proj requires fp8_recipe='mxfp8', got 'delayed'"));
}

TEST_CASE("Megatron-Bridge's recipes keep layers in bf16", "[jobs][precision]") {
  const auto read = [](const std::string& recipe, const std::string& more = "") {
    return precision_of(tests::import_text(
        "overrides.txt",
        "torchrun --nproc_per_node 8 run_recipe.py --recipe llama3_8b_pretrain_config "
        "model.tensor_model_parallel_size=1 model.pipeline_model_parallel_size=1 "
        "model.context_parallel_size=1 train.global_batch_size=64 train.micro_batch_size=2 "
        "mixed_precision=" +
            recipe + " " + more + "\n"));
  };
  CHECK(read("bf16_with_fp8_current_scaling_mixed") == "fp8, first layer bf16, last layer bf16");
  CHECK(read("nanov2_bf16_with_fp8_current_scaling_mixed") ==
        "fp8, first 2 layers bf16, last 2 layers bf16");
  CHECK(read("nemotron_3_super_bf16_with_nvfp4_mixed") == "nvfp4, last 14 layers bf16");
  CHECK(read("bf16_with_mxfp8_mixed") == "mxfp8");
  CHECK(read("bf16_with_fp8_current_scaling_mixed",
             "mixed_precision.first_last_layers_bf16=false") == "fp8");
}

TEST_CASE("torchtitan's converters give types of linear modules and of experts",
          "[jobs][precision]") {
  const auto read = [](const std::string& model, const std::string& more) {
    return precision_of(titan(model, more));
  };
  const std::string linear = "converters = [\"quantize.linear.float8\"]\n";
  const auto float8 = [](const std::string& keys) { return "[quantize.linear.float8]\n" + keys; };
  CHECK(read(dense + linear, "") == "fp8");
  CHECK(read(dense + linear, float8("recipe_name = \"rowwise\"\n")) == "fp8-row");
  CHECK(read(dense + linear, float8("filter_fqns = [\"output\"]\n")) == "fp8");
  CHECK(read(dense + linear, float8("filter_fqns = [\"attention.wk\", \"attention.wq\", "
                                    "\"attention.wv\", \"output\"]\n")) == "fp8, qkv bf16");
  CHECK(read(dense + linear, float8("filter_fqns = [\"attention\"]\n")) ==
        "fp8, qkv bf16, proj bf16, head fp8");
  CHECK(read(experts + linear, "") == "fp8, experts bf16");
  CHECK(read(experts + "converters = [\"quantize.grouped_mm.mx\"]\n", "") == "bf16, experts mxfp8");
  CHECK(read(experts + "converters = [\"quantize.linear.mx\", \"quantize.grouped_mm.mx\"]\n", "") ==
        "mxfp8");
  const jobs::Job part =
      titan(dense + linear, float8("filter_fqns = [\"attention.wk\", \"output\"]\n"));
  CHECK(precision_of(part) == "fp8");
  REQUIRE(part.not_modelled.size() == 1);
  CHECK_THAT(part.not_modelled.front().why, Contains("a part of the products qkv"));
}

TEST_CASE("Automodel's fp8 and backends give types of modules", "[jobs][precision]") {
  const auto read = [](const std::string& more) { return precision_of(automodel(more)); };
  CHECK(read("  backend:\n    linear: te\n    experts: te\n    te_fp8: {recipe: mxfp8}\n") ==
        "mxfp8");
  CHECK(read("  backend:\n    linear: torch\n    experts: te\n    te_fp8: {recipe: mxfp8}\n") ==
        "bf16, experts mxfp8");
  CHECK(read("  backend:\n    linear: te\n    experts: torch_mm_mxfp8\n") == "bf16, experts mxfp8");
  CHECK(read("fp8:\n  enabled: true\n  recipe_name: rowwise\n  filter_fqns: [lm_head]\n") ==
        "fp8-row, experts bf16");
  CHECK(read("fp8:\n  enabled: true\n") == "fp8, experts bf16, head fp8");
  CHECK(read("fp8:\n  enabled: false\n") == "bf16");
}

TEST_CASE("launches express types of modules where the framework has them", "[jobs][precision]") {
  const auto launch = [](const std::string& precision, const std::string& framework) {
    const config::Value tree = config::read_yaml_text(
        "model: llama-3-8b\nparallel: {shard: 8}\nglobal_batch: 8\nstack: " +
            (framework == "torchtitan" ? std::string("torchtitan") : "megatron-core") +
            "\ntraining: {precision: " + precision + "}\n",
        "scenario.yaml");
    return jobs::export_job(config::read_scenario(tree), *jobs::find_framework(framework));
  };
  const std::string text =
      launch("{default: mxfp8, attention: mxfp8, num_layers_at_end_in_bf16: 2}", "megatron").text;
  CHECK_THAT(text, Contains("--fp8-dot-product-attention"));
  CHECK_THAT(text, Contains("--first-last-layers-bf16"));
  CHECK_THAT(text, Contains("--num-layers-at-end-in-bf16 2"));
  const std::string rows = launch("{default: fp8-row, qkv: bf16}", "torchtitan").text;
  CHECK_THAT(rows, Contains("recipe_name = \"rowwise\""));
  CHECK_THAT(rows, Contains("\"attention.wq\", \"attention.wk\", \"attention.wv\", \"output\""));
  const jobs::Launch differs = launch("{default: mxfp8, mlp: bf16}", "megatron");
  REQUIRE_FALSE(differs.differs.empty());
  CHECK_THAT(differs.differs.front().text, Contains("--te-precision-config-file"));
}
