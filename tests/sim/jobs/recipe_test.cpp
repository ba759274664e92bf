#include <catch2/catch.hpp>

#include "sim/config/text/yaml.hpp"
#include "sim/jobs/support.hpp"
#include "support/program.hpp"

using namespace pipewright;
using tests::has_note;
using tests::import_files;
using tests::scenario_of;

namespace {

const std::string recipes = "recipes/src/megatron/bridge/recipes/toy.py";
const std::string benchmarks = "recipes/src/megatron/bridge/perf_recipes/toy/h100.py";

jobs::Job import_recipe(const std::string& file, const std::string& name,
                        std::optional<std::uint64_t> gpus = 16) {
  return import_files({file}, {.variables = {{"RECIPE", name}}, .gpus = gpus});
}

// Imports a command that lies outside of the package.
jobs::Job import_command_with(const std::string& command, const std::string& package) {
  const tests::CommandFolder place;
  place.write("launch.sh", command);
  jobs::JobWords words;
  if (!package.empty()) words.variables.emplace_back("PACKAGE", package);
  const std::vector<std::string> files{(place.folder() / "launch.sh").string()};
  return jobs::import_job(files, words);
}

const std::string package = tests::job_file("recipes");

}  // namespace

TEST_CASE("a recipe takes the values of the functions that it calls", "[jobs]") {
  const jobs::Job job = import_recipe(recipes, "llama3_8b_pretrain_config");
  const config::Scenario scenario = scenario_of(job);
  CHECK(scenario.model->value.name == "llama-3-8b");
  CHECK(scenario.parallel.tp.value == 2);
  CHECK(scenario.parallel.sequence);
  CHECK(scenario.parallel.cp.value == 2);
  CHECK(scenario.parallel.dp.value == 4);                   // 16 / (2 x 2)
  CHECK(scenario.training.microbatch_size == 1);            // 2 of pretrain_common, // 2
  CHECK(scenario.microbatches.value == 16);                 // 64 / (4 x 1)
  CHECK_FALSE(scenario.communication.overlap_grad_reduce);  // of ddp, without comm_overlap
  CHECK(scenario.communication.gradient_bytes == 4);        // of the class MixedPrecisionConfig
  CHECK(job.comments.at("parallel.tp") == "cfg.model.tensor_model_parallel_size = tp (toy.py:15)");
  CHECK(job.not_modelled.empty());
}

TEST_CASE("a library's model that a job changes has no published number of parameters", "[jobs]") {
  const jobs::Job job = tests::import_text(
      "overrides.txt",
      "torchrun --nnodes 4 --nproc_per_node 8 run_recipe.py --recipe deepseek_v3_pretrain_config "
      "model.tensor_model_parallel_size=1 model.pipeline_model_parallel_size=1 "
      "model.context_parallel_size=1 model.expert_model_parallel_size=8 "
      "train.global_batch_size=64 train.micro_batch_size=1 model.mtp_num_layers=1\n");
  // 671 B parameters without the module of multi-token prediction, 682.6 B with it.
  const config::Scenario scenario =
      config::read_scenario(config::read_yaml_text(jobs::commented_yaml(job), "job.yaml"));
  CHECK(scenario.model->value.mtp_layers == 1);
}

TEST_CASE("an override keeps the other sizes of the library's model", "[jobs]") {
  const auto overridden = [](const std::string& recipe, const std::string& override) {
    const jobs::Job job = tests::import_text(
        "overrides.txt", "torchrun --nnodes 4 --nproc_per_node 8 run_recipe.py --recipe " + recipe +
                             " model.tensor_model_parallel_size=1 "
                             "model.pipeline_model_parallel_size=1 "
                             "model.context_parallel_size=1 model.expert_model_parallel_size=8 "
                             "train.global_batch_size=64 train.micro_batch_size=1 " +
                             override + "\n");
    CHECK(job.missing.empty());
    return scenario_of(job).model->value;
  };
  for (const std::string override :
       {"model.vocab_size=100000", "model.num_layers=30", "model.ffn_hidden_size=1000",
        "model.multi_latent_attention=true model.num_layers=30"}) {
    CAPTURE(override);
    const config::Model deepseek = overridden("deepseek_v3_pretrain_config", override);
    CHECK(deepseek.experts->ffn == 2048);  // of an expert, beside the dense layers' 18,432
    CHECK(deepseek.latent->kv_rank == 512);
  }
  // Patterns and shared experts that are as in the library leave the model as it is.
  CHECK(overridden("deepseek_v3_pretrain_config",
                   "model.moe_shared_expert_intermediate_size=2048 "
                   "'model.moe_layer_freq=([0]*3+[1]*58)'")
            .name == "deepseek-v3");
  CHECK(overridden("deepseek_v3_pretrain_config", "model.moe_layer_freq=1").experts->first_dense ==
        0);
  CHECK(overridden("qwen3_30b_a3b_pretrain_config", "model.ffn_hidden_size=1000").experts->ffn ==
        768);
  CHECK(overridden("nemotron_3_nano_pretrain_config", "model.vocab_size=100000").mamba->heads ==
        64);
}

TEST_CASE("a recipe's layout follows from loops, defaults and the library's model", "[jobs]") {
  const config::Scenario scenario =
      scenario_of(import_recipe(recipes, "llama3_70b_pretrain_16k_config"));
  CHECK(scenario.model->value.name == "llama-3-70b");
  CHECK(scenario.training.sequence == 16'384U);
  // 79 layers on 3 stages, and one beside the loss.
  CHECK(scenario.partition.layers == std::vector<std::uint32_t>{27, 26, 26, 1});
  // CommOverlapConfig overlaps data parallelism whatever ddp says.
  CHECK(scenario.communication.overlap_grad_reduce);
  CHECK(scenario.communication.tp_comm_overlap);
}

TEST_CASE("a recipe of a package starts from another, with its own graphs and overlaps", "[jobs]") {
  const jobs::Job job =
      import_recipe(benchmarks, "qwen3_30b_a3b_pretrain_64gpu_h100_fp8mx_config", std::nullopt);
  const config::Scenario scenario = scenario_of(job);
  CHECK(scenario.model->value.name == "qwen3-30b-a3b");
  CHECK(scenario.parallel.pp.value == 2);
  CHECK(scenario.parallel.ep.value == 8);
  CHECK(scenario.parallel.dp.value == 32);  // 64 of its name / 2
  CHECK(scenario.training.precision == config::DataType::mxfp8);
  CHECK(scenario.communication.gradient_bytes == 2);
  CHECK(to_string(scenario.training.cuda_graphs) == "attn and moe_router");
  CHECK(scenario.schedules.front()[&schedules::Parameters::chunks]->value == 4);
  CHECK(scenario.training.experts.overlap);
  const config::Value* const dispatcher = config::value_at(job.tree, "training.experts.dispatcher");
  REQUIRE(dispatcher != nullptr);
  CHECK(dispatcher->text == "hybridep");
  // Modules are listed without the granularity `selective`, so that none is recomputed.
  CHECK(config::value_at(job.tree, "training.recompute") == nullptr);
  CHECK(job.gpu == "h100");
}

TEST_CASE("overlap of tensor parallelism is read with sequence parallelism", "[jobs]") {
  const config::Scenario scenario = scenario_of(
      import_recipe(benchmarks, "llama3_8b_pretrain_8gpu_h100_bf16_config", std::nullopt));
  CHECK(scenario.communication.tp_comm_overlap);
  CHECK(scenario.communication.overlap_grad_reduce);
  CHECK_FALSE(scenario.communication.overlap_param_gather);
}

TEST_CASE("what a recipe does not tell is listed with its place or asked for", "[jobs]") {
  const jobs::Job unsure = import_recipe(recipes, "unsure_pretrain_config");
  CHECK(has_note(unsure.not_modelled,
                 "the value is not known, because of the condition torch.cuda.is_available()"));
  CHECK(config::value_at(unsure.tree, "training.recompute") == nullptr);
  CHECK_THROWS_WITH(import_recipe(recipes, "unknown_size_pretrain_config"),
                    Catch::Contains("toy.py:63:1: cfg.model.tensor_model_parallel_size = "
                                    "gpus_of_this_node(): the value is not known"));
  CHECK_THROWS_WITH(import_recipe(recipes, "wrong_pretrain_config"),
                    Catch::Contains("mixed_precision.py:37:1: the recipe raises ValueError: no "
                                    "precision fp5; known: bf16_mixed, bf16_with_mxfp8_mixed"));
  CHECK_THROWS_WITH(import_recipe(recipes, "llama3_8b"),
                    Catch::Contains("the file has no recipe llama3_8b"));
}

TEST_CASE("a repository of Hugging Face without a model in the library is a question", "[jobs]") {
  const jobs::Job job = import_recipe(recipes, "toy_lite_pretrain_config");
  CHECK(config::find(job.tree, "model") == nullptr);
  CHECK(has_note(job.not_modelled,
                 "the library has no model deepseek-ai/DeepSeek-V2-Lite; give --model"));
  CHECK_FALSE(has_note(job.not_modelled, "--model deepseek-v2"));
}

TEST_CASE("a command's recipe is found in its package", "[jobs]") {
  const std::string command =
      "torchrun --nproc_per_node 8 run_recipe.py --recipe llama3_8b_pretrain_config "
      "train.global_batch_size=128\n";
  const config::Scenario scenario = scenario_of(import_command_with(command, package));
  CHECK(scenario.model->value.name == "llama-3-8b");
  CHECK(scenario.parallel.tp.value == 2);
  CHECK(scenario.parallel.cp.value == 2);
  CHECK(scenario.parallel.dp.value == 2);
  CHECK(scenario.training.microbatch_size == 1);
  CHECK(scenario.microbatches.value == 64);  // the override's 128 / 2
  const config::Scenario other = scenario_of(import_command_with(
      "torchrun --nnodes 2 --nproc_per_node 8 run_recipe.py -cp 1 -mb 2 --recipe "
      "llama3_8b_pretrain_config\n",
      package));
  CHECK(other.parallel.cp.value == 1);
  CHECK(other.parallel.dp.value == 8);
  CHECK(other.training.microbatch_size == 2);
  // The launcher of benchmarks composes the name from its options.
  const config::Scenario composed = scenario_of(import_command_with(
      "python setup_experiment.py --model_recipe_name qwen3_30b_a3b --task pretrain --num_gpus 64 "
      "--gpu h100 --compute_dtype fp8_mx\n",
      package));
  CHECK(composed.model->value.name == "qwen3-30b-a3b");
  CHECK(composed.parallel.ep.value == 8);
}

TEST_CASE("a command's recipe that is not found is a question", "[jobs]") {
  const std::string launch = "torchrun --nproc_per_node 8 run_recipe.py ";
  CHECK_THROWS_WITH(
      import_command_with(launch + "--recipe llama3_70b_pretrain_config\n", ""),
      Catch::Contains("launch.sh:1:1: llama3_70b_pretrain_config is not in the files, and the "
                      "settings do not give tensor_model_parallel_size") &&
          Catch::Contains("PACKAGE=Megatron-Bridge"));
  CHECK_THROWS_WITH(import_command_with("nemo llm pretrain --factory llama3_8b\n", ""),
                    Catch::Contains("llama3_8b is not in the files"));
  CHECK_THROWS_WITH(import_command_with(launch + "--recipe nothing_config\n", package),
                    Catch::Contains("nothing_config is not in the files"));
  CHECK_THROWS_WITH(import_command_with(launch + "--recipe x_config\n", "/no/such/folder"),
                    Catch::Contains("PACKAGE=/no/such/folder: there is no such folder"));
  // A pipeline without the number of chunks, and experts without the size of their groups.
  const std::string sizes =
      " model.tensor_model_parallel_size=1 model.pipeline_model_parallel_size=2 "
      "model.context_parallel_size=1 train.micro_batch_size=1 train.global_batch_size=64\n";
  CHECK_THROWS_WITH(
      import_command_with(launch + "--recipe qwen3_30b_a3b_pretrain_config" + sizes, ""),
      Catch::Contains("do not give virtual_pipeline_model_parallel_size, "
                      "expert_model_parallel_size"));
  const jobs::Job whole =
      import_command_with(launch +
                              "--recipe llama3_8b_pretrain_config "
                              "model.virtual_pipeline_model_parallel_size=null" +
                              sizes,
                          "");
  CHECK(has_note(whole.not_modelled, "its other settings are not known"));
  CHECK(scenario_of(whole).parallel.pp.value == 2);
}

TEST_CASE("an override of null takes a recipe's setting back", "[jobs]") {
  const jobs::Job job = import_command_with(
      "torchrun --nnodes 2 --nproc_per_node 8 run_recipe.py --recipe "
      "llama3_70b_pretrain_16k_config model.pipeline_model_parallel_layout=null\n",
      package);
  CHECK(config::value_at(job.tree, "partition") == nullptr);
  CHECK(scenario_of(job).parallel.pp.value == 4);
}

namespace {

// Recipe on 8 GPUs with a model that a class of the file describes, and further statements.
jobs::Job toy_recipe(const std::string& statements) {
  return tests::import_text("toy.py",
                            "from dataclasses import dataclass\n"
                            "from megatron.bridge.training.config import ConfigContainer\n"
                            "@dataclass\n"
                            "class ToyProvider(TransformerConfig):\n"
                            "    normalization: str = 'RMSNorm'\n"
                            "    add_bias_linear: bool = False\n"
                            "    num_query_groups: int = 4\n"
                            "    vocab_size: int = None\n"
                            "def toy_pretrain_8gpu_h100_config():\n"
                            "    cfg = ConfigContainer()\n"
                            "    cfg.model = ToyProvider(num_layers=4, hidden_size=512, "
                            "num_attention_heads=8, seq_length=1024)\n"
                            "    cfg.model.num_query_groups = 2\n"
                            "    cfg.train.global_batch_size = 16\n"
                            "    cfg.train.micro_batch_size = 1\n" +
                                statements + "    return cfg\n");
}

}  // namespace

TEST_CASE("a model that a class describes has the defaults of the class", "[jobs]") {
  const config::Scenario scenario =
      scenario_of(toy_recipe("    cfg.tokenizer.tokenizer_model = "
                             "'nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-Base-BF16'\n"));
  CHECK(scenario.model->value.norm == config::Model::Norm::rmsnorm);
  CHECK(scenario.model->value.biases == config::Model::Biases::none);
  CHECK(scenario.model->value.kv_heads == 2);
  // The vocabulary is that of the library's model whose tokenizer the recipe names.
  CHECK(scenario.model->value.vocabulary == 131'072);
}

TEST_CASE("the tokenizer has the vocabulary of a model without one of its own", "[jobs]") {
  const std::string size = "    cfg.tokenizer.vocab_size = 50_000\n";
  CHECK(scenario_of(toy_recipe(size)).model->value.vocabulary == 50'000);
  CHECK(scenario_of(toy_recipe(size + "    cfg.model.vocab_size = 60_000\n"))
            .model->value.vocabulary == 60'000);
}

TEST_CASE("each variable of a recipe's environment is used or listed", "[jobs]") {
  const jobs::Job job = toy_recipe(
      "    cfg.model.vocab_size = 1000\n"
      "    cfg.env_vars = {'PYTORCH_CUDA_ALLOC_CONF': 'expandable_segments:True',\n"
      "                    'NCCL_NVLS_ENABLE': 1, 'NVLINK_DOMAIN_SIZE': 72}\n");
  CHECK(scenario_of(job).training.fragmentation == Approx(0.02));
  CHECK(has_note(job.not_modelled, "env_vars.NCCL_NVLS_ENABLE = 1: variables of NCCL"));
  CHECK(has_note(job.without_effect, "env_vars.NVLINK_DOMAIN_SIZE = 72: NVLink domains"));
}

TEST_CASE("a layout of unknown layers is a question, not a layout without layers", "[jobs]") {
  const jobs::Job job = toy_recipe(
      "    cfg.model.vocab_size = 1000\n"
      "    stage = ['embedding']\n"
      "    stage.extend(['decoder'] * layers_of(cfg))\n"
      "    cfg.model.pipeline_model_parallel_layout = [stage + ['loss']]\n");
  CHECK(config::value_at(job.tree, "partition") == nullptr);
  CHECK(has_note(job.not_modelled, "pipeline_model_parallel_layout"));
}

TEST_CASE("experts of a recipe are cut by tensor parallelism only if it says so", "[jobs]") {
  const std::string experts =
      "    cfg.model.vocab_size = 1000\n"
      "    cfg.model.num_moe_experts = 8\n"
      "    cfg.model.moe_router_topk = 2\n"
      "    cfg.model.moe_ffn_hidden_size = 256\n"
      "    cfg.model.tensor_model_parallel_size = 2\n"
      "    cfg.model.sequence_parallel = True\n"
      "    cfg.model.expert_model_parallel_size = 4\n";
  CHECK(scenario_of(toy_recipe(experts)).parallel.etp->value == 1);
  CHECK(scenario_of(toy_recipe(experts + "    cfg.model.expert_tensor_parallel_size = 2\n"))
            .parallel.etp->value == 2);
}
