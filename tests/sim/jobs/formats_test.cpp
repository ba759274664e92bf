#include <catch2/catch.hpp>

#include "sim/jobs/request/draft.hpp"
#include "sim/jobs/support.hpp"
#include "support/program.hpp"

using namespace pipewright;
using tests::import_files;
using tests::scenario_of;

TEST_CASE("NeMo's YAML may refer to its own keys, and overlaps collectives by default", "[jobs]") {
  const jobs::Job job = import_files({"nemo.yaml"});
  CHECK(job.framework == "nemo");
  const config::Scenario scenario = scenario_of(job);
  CHECK(scenario.model->value.ffn == 8192);
  CHECK(scenario.model->value.gated);
  CHECK(scenario.model->value.biases == config::Model::Biases::none);
  CHECK(scenario.parallel.dp.value == 2);  // 32 / (4 x 4)
  CHECK(scenario.parallel.zero == 1);
  CHECK(scenario.schedules.front()[&schedules::Parameters::chunks]->value == 2);
  CHECK(scenario.training.recompute.granularity == config::Recompute::Granularity::selective);
  CHECK(scenario.communication.tp_comm_overlap);
  CHECK(scenario.communication.overlap_param_gather);
  CHECK(scenario.communication.gradient_bytes == 2);
  CHECK(job.not_modelled.empty());
}

TEST_CASE("NeMo's YAML without the number of nodes asks for the number of GPUs", "[jobs]") {
  const std::string text =
      "trainer:\n  devices: 8\nmodel:\n  num_layers: 126\n  hidden_size: 16384\n"
      "  num_attention_heads: 128\n  encoder_seq_length: 8192\n  micro_batch_size: 1\n"
      "  global_batch_size: 1024\n  tensor_model_parallel_size: 8\n"
      "  pipeline_model_parallel_size: 9\n  virtual_pipeline_model_parallel_size: 7\n"
      "  tokenizer:\n    type: GPT2BPETokenizer\n";
  const tests::CommandFolder place;
  place.write("job.yaml", text);
  const std::vector<std::string> files{(place.folder() / "job.yaml").string()};
  CHECK(jobs::import_job(files).missing == std::vector<std::string>{"parallel.dp"});
  const config::Scenario scenario =
      scenario_of(jobs::import_job(files, {.variables = {}, .gpus = 576}));
  CHECK(scenario.parallel.dp.value == 8);  // 576 / (8 x 9)
  CHECK(scenario.schedules.front()[&schedules::Parameters::chunks]->value == 7);
  // Configurations of Megatron-Bridge and MLPerf leave the nodes out, too.
  CHECK_FALSE(tests::import_text("job.yaml",
                                 "num_gpus_per_node: 8\nmodel:\n  tensor_model_parallel_size: "
                                 "2\n")
                  .gpus);
  CHECK_FALSE(
      tests::import_text("config_H100.sh",
                         "export DGXNGPU=8\nexport TENSOR_MODEL_PARALLEL=4\nexport MINIBS=4\n")
          .gpus);
}

TEST_CASE("selective recomputation of NeMo has a method, which Megatron-LM refuses", "[jobs]") {
  for (const std::string method : {"uniform", "block"}) {
    const jobs::Job job = tests::import_text(
        "job.yaml",
        "trainer:\n  devices: 8\n  num_nodes: 1\nmodel:\n  num_layers: 40\n"
        "  hidden_size: 5120\n  num_attention_heads: 40\n  encoder_seq_length: 4096\n"
        "  micro_batch_size: 1\n  global_batch_size: 32\n"
        "  tensor_model_parallel_size: 4\n  sequence_parallel: true\n"
        "  activations_checkpoint_granularity: selective\n"
        "  tokenizer:\n    type: GPT2BPETokenizer\n"
        "  activations_checkpoint_method: " +
            method + "\n");
    const config::Scenario scenario = scenario_of(job);
    CHECK(scenario.training.recompute.granularity == config::Recompute::Granularity::selective);
    CHECK(scenario.parallel.dp.value == 2);  // 8 / 4
    CHECK(tests::has_note(job.without_effect, method));
  }
}

TEST_CASE("RECIPE chooses a function of a file of Python recipes", "[jobs]") {
  CHECK_THROWS_WITH(import_files({"recipe.py"}),
                    Catch::Contains("choose one by RECIPE=NAME: first_config, llama3_70b"));
  const jobs::Job job = import_files(
      {"recipe.py"},
      {.variables = {{"RECIPE", "llama3_70b_pretrain_64gpu_h100_fp8_config"}}, .gpus = {}});
  const config::Scenario scenario = scenario_of(job);
  CHECK(scenario.model->value.name == "llama-3-70b");
  CHECK(scenario.parallel.cp.value == 2);
  CHECK(scenario.parallel.dp.value == 2);  // 64 of its name / (4 x 4 x 2)
  CHECK(scenario.training.precision == config::DataType::fp8);
  CHECK_FALSE(scenario.communication.overlap_grad_reduce);
  CHECK(scenario.communication.tp_comm_overlap);
  CHECK(job.gpu == "h100");
  // A recipe may start from another recipe of the file.
  const config::Scenario other = scenario_of(import_files(
      {"recipe.py"},
      {.variables = {{"RECIPE", "llama3_70b_pretrain_64gpu_h100_bf16_config"}}, .gpus = {}}));
  CHECK(other.parallel.cp.value == 2);
  CHECK(other.training.precision == config::DataType::bf16);
}

TEST_CASE("overrides of a recipe change its model's sequence and layout", "[jobs]") {
  const jobs::Job job = import_files({"overrides.txt"});
  const config::Scenario scenario = scenario_of(job);
  CHECK(scenario.model->value.name == "llama-3-8b");
  CHECK(scenario.training.sequence == 4096U);
  CHECK(scenario.parallel.dp.value == 4);
  CHECK(scenario.microbatches.value == 8);
}

TEST_CASE("overrides of a recipe give the modules of CUDA graphs", "[jobs]") {
  const auto graphs = [](const std::string& modules) {
    const jobs::Job job = tests::import_text(
        "overrides.txt",
        "torchrun --nproc_per_node 8 run_recipe.py --recipe qwen3_30b_a3b_pretrain_config "
        "model.cuda_graph_impl=transformer_engine model." +
            modules +
            " model.tensor_model_parallel_size=1 model.pipeline_model_parallel_size=1 "
            "model.context_parallel_size=1 model.expert_model_parallel_size=8 "
            "train.global_batch_size=64 train.micro_batch_size=2\n");
    return to_string(scenario_of(job).training.cuda_graphs);
  };
  CHECK(graphs("cuda_graph_scope=[attn,moe_router,moe_preprocess]") ==
        "attn and moe_router and moe_preprocess");
  CHECK(graphs("cuda_graph_modules=[moe_router]") == "moe_router");
}

TEST_CASE("MLPerf's variables give the batch of a replica", "[jobs]") {
  const jobs::Job job = import_files({"config_DGXH100_16x8x32xtp4pp8cp1.sh"});
  CHECK(job.framework == "mlperf");
  const config::Scenario scenario = scenario_of(job);
  CHECK(scenario.model->value.name == "llama-3-70b");
  CHECK(scenario.parallel.dp.value == 4);  // 128 / (4 x 8)
  CHECK(scenario.microbatches.value == 32);
  CHECK(scenario.training.precision == config::DataType::fp8);  // of the file that it reads
  CHECK(scenario.parallel.zero == 1);
}

TEST_CASE("torchtitan's TOML means FSDP in fp32 with PyTorch's defaults", "[jobs]") {
  const jobs::Job job = import_files({"titan.toml"}, {.variables = {}, .gpus = 128});
  const config::Scenario scenario = scenario_of(job);
  CHECK(scenario.model->value.name == "llama-3-70b");
  CHECK(scenario.parallel.shard->value == 4);  // 128 / (2 x 4 x 4)
  CHECK(scenario.parallel.replicates() == 2);
  CHECK(scenario.parallel.zero == 3);
  CHECK(scenario.schedules.front().name == "interleaved-1f1b");
  CHECK(scenario.schedules.front()[&schedules::Parameters::chunks]->value == 2);
  CHECK(scenario.microbatches.value == 8);
  // Each end counts as one layer: 80 + 2 layers on 8 stages are 10 per stage, and one more on the
  // first two.
  CHECK(scenario.partition.layers == std::vector<std::uint32_t>{10, 11, 10, 10, 10, 10, 10, 9});
  CHECK(scenario.training.recompute.granularity == config::Recompute::Granularity::op);
  CHECK(scenario.training.fused_loss);
  CHECK(scenario.communication.tp_comm_overlap);
  CHECK(config::weight_bytes(scenario.training) == 4);
  CHECK(job.comments.at("parallel.tp") == "parallelism.tensor_parallel_degree = 4 (line 15)");
  CHECK_THROWS_WITH(import_files({"titan.toml"}, {.variables = {}, .gpus = 100}),
                    Catch::Contains("Invalid parallel dims"));
}

namespace {

// A job of torchtitan with more lines of TOML.
jobs::Job titan(const std::string& lines) {
  return tests::import_text("job.toml",
                            "[model]\nname = \"llama3\"\nflavor = \"8B\"\n"
                            "[parallelism]\ndata_parallel_shard_degree = 8\n"
                            "[training]\nlocal_batch_size = 1\nseq_len = 8192\n" +
                                lines);
}

}  // namespace

TEST_CASE("torchtitan's debugging flag forces the balance of experts", "[jobs]") {
  using config::RouterBalance;
  const auto routing = [](const std::string& lines) {
    return scenario_of(titan(lines)).training.experts.routing;
  };
  CHECK(routing("") == RouterBalance::natural);
  CHECK(routing("[debug]\nmoe_force_load_balance = true\n") == RouterBalance::forced);
  CHECK(routing("[debug]\nmoe_force_load_balance = false\n") == RouterBalance::natural);
  CHECK(routing("debug_moe_force_load_balance = true\n") == RouterBalance::forced);
  const auto is_in_turn = [](const std::string& lines) {
    return scenario_of(titan(lines)).training.experts.round_robin;
  };
  CHECK(is_in_turn("[debug]\nmoe_force_load_balance = true\n"));
  CHECK_FALSE(is_in_turn("[debug]\nmoe_force_load_balance = false\n"));
}

TEST_CASE("a job runs on the stack of its framework", "[jobs]") {
  const auto stack_of = [](const std::vector<std::string>& files) {
    const jobs::Job job = import_files(files);
    CHECK(job.comments.at("stack") == "framework of the job");
    return scenario_of(job).training.stack.name;
  };
  CHECK(stack_of({"gpt-dense.sh"}) == "megatron-core");
  CHECK(stack_of({"overrides.txt"}) == "megatron-bridge");
  CHECK(stack_of({"nemo.yaml"}) == "nemo-2");
  CHECK(stack_of({"config_DGXH100_16x8x32xtp4pp8cp1.sh"}) == "nemo-2");
  // The script gives the shape of the model by flags of Megatron-DeepSpeed.
  CHECK(stack_of({"ds.sh", "ds.json"}) == "megatron-lm-2022");
  const config::Value* const alone = config::find(import_files({"ds.json"}).tree, "stack");
  REQUIRE(alone != nullptr);
  CHECK(alone->text == "deepspeed");
}

TEST_CASE("a configuration of Primus chooses its stack and its model", "[jobs]") {
  const jobs::Job job = tests::import_text(
      "pretrain.yaml",
      "modules:\n  pre_trainer:\n    framework: megatron\n    model: llama3.1_8B.yaml\n"
      "    overrides:\n      micro_batch_size: 2\n      global_batch_size: 128\n"
      "      tensor_model_parallel_size: 1\n");
  const config::Value* const stack = config::find(job.tree, "stack");
  REQUIRE(stack != nullptr);
  CHECK(stack->text == "primus");
  CHECK(job.framework == "primus");
  CHECK(job.not_modelled.empty());
  const config::Value* const model = config::find(job.tree, "model");
  REQUIRE(model != nullptr);
  CHECK(model->text == "llama-3-8b");
  const jobs::Job unknown = tests::import_text(
      "pretrain.yaml",
      "modules:\n  pre_trainer:\n    framework: megatron\n    model: ours.yaml\n"
      "    overrides:\n      micro_batch_size: 2\n      global_batch_size: 128\n");
  CHECK(config::find(unknown.tree, "model") == nullptr);
  CHECK(tests::has_note(unknown.not_modelled, "model: ours.yaml"));
}

TEST_CASE("a model of Primus without its package has the settings of its file", "[jobs]") {
  const auto dispatcher = [](const std::string& model) {
    const jobs::Job job = tests::import_text(
        "pretrain.yaml",
        "modules:\n  pre_trainer:\n    framework: megatron\n    model: " + model +
            "\n    overrides:\n      micro_batch_size: 1\n      global_batch_size: 128\n"
            "      expert_model_parallel_size: 8\n");
    CHECK(std::ranges::any_of(job.assumed, [](const std::string& sentence) {
      return sentence.find("of Primus's package is not here") != std::string::npos;
    }));
    return config::value_at(job.tree, "training.experts.dispatcher")->text;
  };
  CHECK(dispatcher("qwen3_30B_A3B.yaml") == "alltoall");
  CHECK(dispatcher("deepseek_v3.yaml") == "alltoall");
  CHECK(dispatcher("mixtral_8x7B_v0.1.yaml") == "alltoall");
}

TEST_CASE("configurations that are not read are named, with a remedy", "[jobs]") {
  const auto refused = [](const std::string& name, const std::string& text,
                          const std::string& title) {
    CHECK_THROWS_WITH(tests::import_text(name, text),
                      Catch::Contains("a configuration of " + title +
                                      ", which is not read; write a scenario with"));
  };
  refused("job.yaml",
          "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nnum_machines: 2\n"
          "num_processes: 16\n",
          "accelerate");
  // Its batch and layout have names of Megatron-Bridge too.
  const std::string axolotl =
      "base_model: meta-llama/Llama-3.1-8B\nsequence_len: 4096\nmicro_batch_size: 2\n"
      "gradient_accumulation_steps: 4\noptimizer: adamw_torch_fused\nbf16: auto\n";
  refused("job.yaml", axolotl, "axolotl");
  refused("job.yaml", axolotl + "tensor_parallel_size: 2\ncontext_parallel_size: 2\n", "axolotl");
  refused("job.yml", "base_emb_dim: 4096\nper_device_batch_size: 4.0\n", "MaxText");
  refused("job.yaml", "max_seq_len: 2048\nfsdp_config:\n  sharding: FULL_SHARD\n", "LLM Foundry");
  refused("7B.py", "model = dict(num_layers=32)\nparallel = dict(\n    zero1=dict(size=8),\n)\n",
          "InternEvo");
  refused(
      "config.py",
      "from torchtitan.trainer import Trainer\ndef llama3_8b():\n  return Trainer.Config(\n  )\n",
      "torchtitan in Python");
  // Scripts that start them are named too.
  const auto refused_launch = [](const std::string& text, const std::string& title) {
    CHECK_THROWS_WITH(tests::import_text("start.sh", text + "\n"),
                      Catch::Contains("a launch of " + title + ", which is not read"));
  };
  refused_launch("python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo", "verl");
  refused_launch("python3 -m MaxText.train configs/base.yml model_name=llama3-8b", "MaxText");
  refused_launch("accelerate launch --config_file fsdp.yaml train.py", "accelerate");
  refused_launch("axolotl train llama.yaml", "axolotl");
  refused_launch("torchrun --nproc_per_node=8 -m torchtitan.train --module llama3",
                 "torchtitan's train.py");
}

TEST_CASE("a job of DeepSpeed reduces gradients in the type of the weights on every stack",
          "[jobs]") {
  const config::Scenario scenario = scenario_of(import_files({"ds.sh", "ds.json"}));
  CHECK(scenario.communication.gradient_bytes == 2);
  CHECK(config::gradient_bytes(scenario.training) == 2);
}

TEST_CASE("torch.compile decides the stack of torchtitan", "[jobs]") {
  struct Case {
    std::string lines, stack, comment;
    bool fused_loss;
  };
  const Case job = GENERATE(
      Case{"[compile]\nenable = true\n", "torchtitan", "compile.enable = true (line 10)", true},
      Case{"[compile]\nenable = false\n", "torchtitan-eager", "compile.enable = false (line 10)",
           false},
      Case{"", "torchtitan-eager", "without compile.enable", false},
      Case{"[compile]\nenable = true\ncomponents = [\"model\"]\n", "torchtitan",
           "compile.components = model (line 11)", false},
      Case{"[compile]\nenable = true\ncomponents = [\"loss\"]\n", "torchtitan-eager",
           "compile.components = loss (line 11)", true});
  CAPTURE(job.lines);
  const jobs::Job imported = titan(job.lines);
  const config::Training training = scenario_of(imported).training;
  CHECK(training.stack.name == job.stack);
  CHECK(imported.comments.at("stack") == job.comment);
  CHECK(training.fused_loss == job.fused_loss);
  // The scenario has the key only if it differs from the stack's default.
  const bool is_usual = job.fused_loss == (job.stack == "torchtitan");
  CHECK((config::value_at(imported.tree, "training.fused_loss") == nullptr) == is_usual);
}

// The configurations as TOML are older than the chunked loss; those as JSON state the number
// (torchtitan/components/loss.py, torchtitan/trainer.py, to_dict).
TEST_CASE("torchtitan's number of chunks of the loss is read", "[jobs]") {
  CHECK(scenario_of(titan("[loss]\nnum_chunks = 16\n")).training.loss_chunks == 16);
  CHECK(scenario_of(titan("")).training.loss_chunks == 1);
  const jobs::Job json =
      tests::import_text("job.json",
                         R"({"model": {"name": "llama3", "flavor": "8B"}, "loss": {"num_chunks": 8},
          "training": {"local_batch_size": 1, "seq_len": 8192},
          "parallelism": {"data_parallel_shard_degree": 8}})");
  CHECK(scenario_of(json).training.loss_chunks == 8);
}

TEST_CASE("torchtitan's data types of state and reductions are read", "[jobs]") {
  // [training] is the last section of the job.
  const jobs::Job half = titan("dtype = \"bfloat16\"\nmixed_precision_reduce = \"bfloat16\"\n");
  const config::Scenario scenario = scenario_of(half);
  CHECK(config::weight_bytes(scenario.training) == 2);
  CHECK(config::gradient_bytes(scenario.training) == 2);
  CHECK(config::optimizer_bytes(scenario.training) == 4);
  CHECK(scenario.communication.gradient_bytes == 2);
  const config::Scenario full =
      scenario_of(titan("dtype = \"float32\"\nmixed_precision_reduce = \"float32\"\n"
                        "mixed_precision_param = \"bfloat16\"\n"));
  CHECK(config::weight_bytes(full.training) == 4);
  CHECK(full.communication.gradient_bytes == 4);
  for (const std::string line : {"dtype = \"float16\"\n", "mixed_precision_reduce = \"float16\"\n",
                                 "mixed_precision_param = \"float32\"\n"})
    CHECK(tests::has_note(titan(line).not_modelled, line.substr(0, line.find(' '))));
}

TEST_CASE("torchtitan's implementation of the optimizer changes what the stack fuses", "[jobs]") {
  const auto stack_of = [](const std::string& lines) {
    return scenario_of(titan(lines)).training.stack;
  };
  using config::Fusable;
  for (const std::string name : {"foreach", "for-loop"}) {
    const std::string optimizer = "[optimizer]\nimplementation = \"" + name + "\"\n";
    const config::Stack compiled = stack_of(optimizer + "[compile]\nenable = true\n");
    CHECK(compiled.name == "torchtitan");
    CHECK_FALSE(compiled.fuses(Fusable::optimizer));
    CHECK(compiled.fuses(Fusable::norm));
    CHECK(stack_of(optimizer).name == "torchtitan-eager");
    CHECK(stack_of(optimizer).fused.none());
  }
  const jobs::Job usual = titan("[optimizer]\nimplementation = \"fused\"\n");
  CHECK(config::find(usual.tree, "stack")->text == "torchtitan-eager");
  CHECK(tests::has_note(titan("[optimizer]\nimplementation = \"other\"\n").not_modelled,
                        "optimizer.implementation"));
}

TEST_CASE("what a stack says is not repeated in an imported scenario", "[jobs]") {
  const jobs::Job job = titan("");
  for (const char* const key : {"training.bytes", "training.tensor_format",
                                "training.fused_accumulation", "training.fused_loss"})
    CHECK(config::value_at(job.tree, key) == nullptr);
  const config::Scenario scenario = scenario_of(job);
  CHECK(config::weight_bytes(scenario.training) == 4);
  CHECK(scenario.training.tensor_format == config::TensorFormat::bshd);
  CHECK_FALSE(scenario.training.fused_accumulation);
  CHECK_FALSE(scenario.communication.async_tensor_model_parallel_allreduce);
}

TEST_CASE("torchtitan's checkpoints stop early if the job says so", "[jobs]") {
  const auto stops = [](const std::string& lines) {
    return scenario_of(titan("[activation_checkpoint]\n" + lines)).training.recompute.early_stop;
  };
  CHECK_FALSE(stops("mode = \"full\"\n"));
  CHECK(stops("mode = \"full\"\nearly_stop = true\n"));
  CHECK(stops("mode = \"selective\"\nselective_ac_option = \"2\"\nearly_stop = true\n"));
  const jobs::Job op = titan(
      "[activation_checkpoint]\nmode = \"selective\"\nselective_ac_option = \"op\"\n"
      "early_stop = true\n");
  CHECK(tests::has_note(op.not_modelled, "it is read only if whole layers are recomputed"));
  CHECK(config::value_at(op.tree, "training.recompute.early_stop") == nullptr);
  const jobs::Job none = titan("[activation_checkpoint]\nmode = \"none\"\nearly_stop = true\n");
  CHECK(tests::has_note(none.without_effect, "early_stop"));
}

TEST_CASE("torchtitan's first stages have the layers that remain after even division", "[jobs]") {
  const tests::CommandFolder place;
  place.write("run.toml",
              "[model]\nname = \"llama3\"\nflavor = \"70B\"\n"
              "[training]\nlocal_batch_size = 8\nseq_len = 8192\n"
              "[parallelism]\ntensor_parallel_degree = 8\npipeline_parallel_degree = 4\n"
              "pipeline_parallel_schedule = \"Interleaved1F1B\"\n");
  CHECK(place.run("run run.toml --cluster dgx-h100-8 --dp 2 --global-batch 16 --quiet").status ==
        0);
}

TEST_CASE("torchtitan's TOML is recognised by its own sections and keys", "[jobs]") {
  const auto framework_of = [](const std::string& text) {
    const tests::CommandFolder place;
    place.write("job.toml", text);
    const jobs::Framework* const framework =
        jobs::recognise((place.folder() / "job.toml").string());
    return framework == nullptr ? "none" : std::string(framework->name);
  };
  CHECK(framework_of("[parallelism]\npipeline_parallel_degree = 2\n") == "torchtitan");
  CHECK(framework_of("[model]\nname = \"llama3\"\nflavor = \"8B\"\n") == "torchtitan");
  CHECK(framework_of("[training]\nlocal_batch_size = 2\n") == "torchtitan");
  CHECK(framework_of("parallelism.tensor_parallel_degree = 8\n") == "torchtitan");
  // Sections of TOML in general.
  CHECK(framework_of("[model]\nlayers = 24\n[training]\nsteps = 10\n[parallel]\ntp = 2\n") ==
        "none");
  CHECK(framework_of("# [parallelism]\n[model]\nlayers = 24\n") == "none");
}

TEST_CASE("torchtitan's TOML before the section of parallel sizes is read", "[jobs]") {
  const auto older = [](const std::string& training, const std::string& experimental) {
    const tests::CommandFolder place;
    place.write("job.toml",
                "[model]\nname = \"llama3\"\nflavor = \"8B\"\n"
                "[training]\nseq_len = 8192\n" +
                    training + "[experimental]\n" + experimental);
    const std::vector<std::string> files{(place.folder() / "job.toml").string()};
    return jobs::import_job(files, {.variables = {}, .gpus = 64});
  };
  const jobs::Job job = older(
      "batch_size = 8\ntensor_parallel_degree = 2\ndata_parallel_shard_degree = -1\n"
      "compile = true\n",
      "pipeline_parallel_degree = 4\npipeline_parallel_schedule = \"Interleaved1F1B\"\n");
  const config::Scenario scenario = scenario_of(job);
  CHECK(job.not_modelled.empty());
  CHECK(scenario.parallel.tp.value == 2);
  CHECK(scenario.devices.value == 4);
  CHECK(scenario.parallel.shard->value == 8);  // 64 / (2 x 4)
  CHECK(scenario.training.stack.name == "torchtitan");
  // As many microbatches as devices by default: 8 samples in microbatches of 2.
  CHECK(scenario.training.microbatch_size == 2);
  CHECK(scenario.microbatches.value == 4);
  CHECK(scenario.global_batch->value == 64);
  // Embedding and loss did not count as layers: 32 layers on 8 stages.
  CHECK(config::value_at(job.tree, "partition") == nullptr);
  const jobs::Job split = older("batch_size = 8\ndata_parallel_degree = 32\n",
                                "pipeline_parallel_degree = 2\npipeline_parallel_microbatches = 8\n"
                                "pipeline_parallel_schedule = \"1f1b\"\n"
                                "pipeline_parallel_split_points = [\"layers.20\"]\n");
  CHECK(scenario_of(split).partition.layers == std::vector<std::uint32_t>{20, 12});
  CHECK(scenario_of(split).training.microbatch_size == 1);
  CHECK_THROWS_WITH(older("batch_size = 6\n", "pipeline_parallel_degree = 4\n"),
                    Catch::Contains("6 samples of a rank do not divide into 4 microbatches"));
}

TEST_CASE("keys and tables of TOML have a limited depth", "[jobs]") {
  const auto repeated = [](const std::string& text, int times) {
    std::string whole;
    for (int i = 0; i < times; ++i) whole += text;
    return whole;
  };
  const auto import_toml = [](const std::string& text) {
    return tests::import_text("job.toml", "[parallelism]\ntensor_parallel_degree = 2\n" + text);
  };
  const std::string keys = repeated("a.", 20'000) + "a";
  CHECK_THROWS_WITH(import_toml("[" + keys + "]\nx = 1\n"),
                    Catch::Contains("a key has too many parts; allowed: 32 parts"));
  CHECK_THROWS_WITH(import_toml(keys + " = 1\n"), Catch::Contains("a key has too many parts"));
  CHECK_THROWS_WITH(import_toml("x = {" + repeated("\"a\" . ", 20'000) + "a = 1}\n"),
                    Catch::Contains("a key has too many parts"));
  CHECK_THROWS_WITH(import_toml("x = " + repeated("{a = ", 200) + "1" + repeated("}", 200) + "\n"),
                    Catch::Contains("tables are nested too deeply; allowed: 64 levels"));
  CHECK_THROWS_WITH(
      import_toml("x = " + repeated("[", 20'000) + "1" + repeated("]", 20'000) + "\n"),
      Catch::Contains("exceeded maximum nested value depth"));
  // Dots in texts and comments belong to no key.
  const std::string dots = repeated("a.", 100);
  CHECK_NOTHROW(
      import_toml("[job]\nx = \"" + dots + "\"\ny = \"\"\"\n" + dots + "\"\"\"\n# " + dots + "\n"));
  for (const std::string open : {"{\"a\": ", "["})
    CHECK_THROWS_WITH(
        tests::import_text("ds.json", "{\"train_batch_size\": 8, \"x\": " + repeated(open, 20'000) +
                                          "1" + repeated(open == "[" ? "]" : "}", 20'000) + "}"),
        Catch::Contains("nested too deeply; allowed: 64 levels"));
}

TEST_CASE("a torchtitan job may have several TOML files", "[jobs]") {
  const tests::CommandFolder place;
  place.write("more.toml", "[compile]\nenable = false\n");
  const std::string more = (place.folder() / "more.toml").string();
  const std::vector<std::string> files{tests::job_file("titan.toml"), more};
  CHECK_FALSE(
      scenario_of(jobs::import_job(files, {.variables = {}, .gpus = 128})).training.fused_loss);
}

TEST_CASE("the shards of torchtitan's JSON give the number of GPUs", "[jobs]") {
  const config::Scenario scenario = scenario_of(import_files({"titan.json"}));
  CHECK(scenario.parallel.shard->value == 8);
  CHECK(scenario.parallel.reshard_after_forward == false);
  CHECK(scenario.microbatches.value == 4);  // 64 / (2 x 8)
  CHECK_FALSE(scenario.training.fused_loss);
}

TEST_CASE("DeepSpeed's JSON is read together with the flags of its script", "[jobs]") {
  const jobs::Job job = import_files({"ds.sh", "ds.json"});
  CHECK(job.framework == "deepspeed");
  const config::Scenario scenario = scenario_of(job);
  CHECK(scenario.parallel.dp.value == 8);  // 16 / 2
  CHECK(scenario.parallel.zero == 2);
  CHECK(scenario.microbatches.value == 4);
  CHECK(scenario.training.microbatch_size == 2);
  CHECK(scenario.model->value.kv_heads == 4);
  CHECK(scenario.communication.overlap_grad_reduce);
  CHECK(scenario.training.optimizer.offload);
  CHECK(tests::has_note(job.without_effect, "gradient_clipping"));
  // Gradients have the data type of the weights, and the loss is not fused.
  CHECK(scenario.communication.gradient_bytes == 2);
  CHECK(config::gradient_bytes(scenario.training) == 2);
  CHECK_FALSE(scenario.training.fused_loss);
  CHECK(config::value_at(job.tree, "training.fused_loss") == nullptr);
}

TEST_CASE("DeepSpeed's JSON may keep gradients in fp32", "[jobs]") {
  const tests::CommandFolder place;
  place.write("ds.json",
              "{\"train_micro_batch_size_per_gpu\": 2, \"gradient_accumulation_steps\": 4,\n"
              " \"data_types\": {\"grad_accum_dtype\": \"fp32\"}}\n");
  const std::vector<std::string> files{tests::job_file("ds.sh"),
                                       (place.folder() / "ds.json").string()};
  const config::Scenario scenario = scenario_of(jobs::import_job(files));
  CHECK(scenario.communication.gradient_bytes == 4);
  CHECK(config::gradient_bytes(scenario.training) == 4);
}

TEST_CASE("DeepSpeed's JSON is found by its name in the script", "[jobs]") {
  const tests::CommandFolder place;
  const std::string flags =
      "--num-layers 4 --hidden-size 512 --num-attention-heads 8 --seq-length 512 --vocab-size 1000 "
      "--micro-batch-size 2 --bf16 --deepspeed --deepspeed_config ";
  const auto import = [&](const std::string& name) {
    place.write("train.sh", "deepspeed --num_gpus 8 pretrain_gpt.py " + flags + name + "\n");
    return jobs::import_job(std::vector<std::string>{(place.folder() / "train.sh").string()});
  };
  place.write("ds.json",
              "{\"train_micro_batch_size_per_gpu\": 2, \"gradient_accumulation_steps\": 4,\n"
              " \"zero_optimization\": {\"stage\": 2}}\n");
  for (const char* const name : {"ds.json", "$WORK/ds.json", "$HOME/ds.json"}) {
    const config::Scenario scenario = scenario_of(import(name));
    CHECK(scenario.parallel.zero == 2);
    CHECK(scenario.microbatches.value == 4);
  }
  CHECK_THROWS_WITH(import("ours.json"), Catch::Contains("sets the level of ZeRO") &&
                                             Catch::Contains("give the JSON as another file"));
  // The flag repeats the level.
  const jobs::Job job = import("ours.json --zero-stage 1");
  CHECK(scenario_of(job).parallel.zero == 1);
  CHECK(job.assumed.front().find("only --zero-stage is known") != std::string::npos);
}

TEST_CASE("scenarios are not recognised as jobs", "[jobs]") {
  for (const auto& entry :
       std::filesystem::directory_iterator(PIPEWRIGHT_ROOT "/platforms/scenarios"))
    if (entry.path().extension() == ".yaml")
      CHECK(jobs::recognise(entry.path().string()) == nullptr);
}
