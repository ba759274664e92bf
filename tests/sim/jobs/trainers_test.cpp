#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "sim/jobs/request/model_names.hpp"
#include "sim/jobs/support.hpp"

using namespace pipewright;
using Catch::Contains;
using tests::scenario_of;

namespace {

jobs::Job import_on(std::uint64_t gpus, const std::string& name, const std::string& text) {
  const tests::CommandFolder place;
  place.write(name, text);
  const std::vector<std::string> files{(place.folder() / name).string()};
  return jobs::import_job(files, {.variables = {}, .gpus = gpus});
}

const std::string swift_flags =
    "--tensor_model_parallel_size 2 --expert_model_parallel_size 8 --sequence_parallel true "
    "--micro_batch_size 1 --global_batch_size 16 --max_length 8192 ";

}  // namespace

TEST_CASE("the whole name of a checkpoint chooses a model of the library", "[jobs]") {
  CHECK(jobs::model_named("Qwen/Qwen3-30B-A3B-Base") == "qwen3-30b-a3b");
  CHECK(jobs::model_named("/models/Qwen3-30B-A3B-Instruct-2507-mcore/") == "qwen3-30b-a3b");
  CHECK(jobs::model_named("meta-llama/Meta-Llama-3-8B-Instruct") == "llama-3-8b");
  CHECK(jobs::model_named("meta-llama/Llama-3.1-70B") == "llama-3-70b");
  CHECK(jobs::model_named("mistralai/Mixtral-8x7B-v0.1") == "mixtral-8x7b");
  CHECK(jobs::model_named("openai/gpt-oss-20b") == "gpt-oss-20b");
  CHECK(jobs::model_named("Qwen/Qwen3.5-35B-A3B") == "qwen3.6-35b-a3b");
  CHECK(jobs::model_named("google/gemma-4-26B-A4B-it") == "gemma-4-26b-a4b");
  CHECK(jobs::model_named("moonshotai/Moonlight-16B-A3B") == "moonlight-16b");
  // A part of a name is no model.
  CHECK(jobs::model_named("deepseek-ai/DeepSeek-V2-Lite").empty());
  CHECK(jobs::model_named("Qwen/Qwen3-30B").empty());
  CHECK(jobs::model_named("Qwen/Qwen3-8B-Draft").empty());
  CHECK(jobs::model_named("").empty());
}

TEST_CASE("ms-swift's megatron sft has ms-swift's defaults", "[jobs]") {
  const jobs::Job job = tests::import_text(
      "train.sh", "NNODES=2 NPROC_PER_NODE=8 megatron sft \\\n  --load Qwen3-30B-A3B-Base-mcore " +
                      swift_flags + "--packing true --dataset data.jsonl\n");
  CHECK(job.framework == "swift");
  CHECK(job.not_modelled.empty());
  CHECK(job.assumed.empty());
  const config::Scenario scenario = scenario_of(job);
  CHECK(scenario.model->value.name == "qwen3-30b-a3b");
  CHECK(scenario.training.sequence == 8192U);
  CHECK(scenario.parallel.tp.value == 2);
  CHECK(scenario.parallel.dp.value == 8);  // 16 / 2
  CHECK(scenario.parallel.zero == 1);
  CHECK(scenario.microbatches.value == 2);  // 16 / (1 x 8)
  CHECK(scenario.training.recompute.granularity == config::Recompute::Granularity::selective);
  CHECK(scenario.training.fused_loss);
  CHECK_FALSE(scenario.communication.overlap_grad_reduce);
  CHECK_FALSE(scenario.communication.overlap_param_gather);
  // Defaults of the batch are 1 and 16.
  const config::Scenario plain = scenario_of(tests::import_text(
      "train.sh",
      "export NPROC_PER_NODE=8\nmegatron pt --model Qwen/Qwen3-8B --max_length 4096\n"));
  CHECK(plain.global_batch->value == 16);
  CHECK(plain.parallel.tp.value == 1);
}

TEST_CASE("ms-swift's flags of experts count for a model that is known by name", "[jobs]") {
  const auto train = [](const std::string& model, const std::string& flags) {
    return import_on(8, "train.sh",
                     "megatron sft --model " + model +
                         " --max_length 8192 --packing true --sequence_parallel true "
                         "--tensor_model_parallel_size 4 --global_batch_size 16 " +
                         flags + "\n");
  };
  const std::string experts = "Qwen/Qwen3-30B-A3B";
  const jobs::Job job = train(experts,
                              "--pipeline_model_parallel_size 2 --expert_model_parallel_size 4 "
                              "--moe_expert_capacity_factor 2 --moe_shared_expert_overlap true "
                              "--moe_permute_fusion true --decoder_first_pipeline_num_layers 25");
  const config::Scenario scenario = scenario_of(job);
  CHECK(scenario.parallel.expert_tp() == 1);  // ms-swift's default, beside tp 4
  CHECK(scenario.training.experts.drop_above == 2);
  // The model has no shared experts.
  CHECK_FALSE(scenario.training.experts.shared_overlap);
  CHECK(tests::has_note(job.without_effect, "--moe_shared_expert_overlap"));
  CHECK(scenario.training.stack.fuses(config::Fusable::permutation));
  const jobs::Job plain = train(experts, "");
  CHECK_FALSE(scenario_of(plain).training.stack.fuses(config::Fusable::permutation));
  // Without experts such flags do nothing, and the scenario has no section of them.
  const jobs::Job dense = train("Qwen/Qwen3-8B", "--moe_expert_capacity_factor 2");
  CHECK(config::value_at(dense.tree, "training.experts") == nullptr);
  CHECK(config::value_at(dense.tree, "parallel.etp") == nullptr);
}

TEST_CASE("each argument of ms-swift without effect has its own reason", "[jobs]") {
  const jobs::Job job = import_on(8, "train.sh",
                                  "megatron sft --model Qwen/Qwen3-8B --max_length 4096 --lr 1e-5 "
                                  "--packing true --dataset data.jsonl --report_to wandb\n");
  for (const std::string note : {"--model Qwen/Qwen3-8B: model of the job",
                                 "--lr 1e-5: learning rate", "--packing true: form of the samples",
                                 "--dataset data.jsonl: data", "--report_to wandb: logs"}) {
    CAPTURE(note);
    CHECK(tests::has_note(job.without_effect, note));
  }
  CHECK(job.not_modelled.empty());
}

TEST_CASE("what ms-swift and LLaMA-Factory freeze of a vision model is read", "[jobs]") {
  const auto frozen = [](const jobs::Job& job, const std::string& key) {
    const config::Value* const value = config::value_at(job.tree, key);
    std::string names;
    if (value != nullptr)
      for (const config::Value& item : value->items) names += item.text + " ";
    return names;
  };
  const jobs::Job swift = tests::import_text(
      "train.sh", "NNODES=2 NPROC_PER_NODE=8 megatron sft --model Qwen/Qwen3.6-35B-A3B " +
                      swift_flags +
                      "--freeze_llm false --freeze_vit true --freeze_aligner false\n");
  CHECK(frozen(swift, "modules.vision.frozen") == "encoder ");
  CHECK(config::value_at(swift.tree, "training.frozen") == nullptr);
  CHECK(config::value_at(swift.tree, "modules.vision.tokens")->text == "0");
  CHECK_THAT(swift.assumed.back(), Contains("modules.vision.tokens sets the patches of an image"));
  CHECK_FALSE(scenario_of(swift).modules.vision);
  const jobs::Job text = tests::import_text(
      "train.sh", "NNODES=2 NPROC_PER_NODE=8 megatron sft --model Qwen/Qwen3.6-35B-A3B " +
                      swift_flags + "--freeze_llm true --freeze_aligner false\n");
  CHECK(frozen(text, "training.frozen") == "embedding attention mlp experts router norms head ");
  CHECK(frozen(text, "modules.vision.frozen") == "encoder ");  // frozen by default
  // Models of texts have no encoder.
  const jobs::Job plain = tests::import_text(
      "train.sh", "NNODES=2 NPROC_PER_NODE=8 megatron sft --model Qwen/Qwen3-30B-A3B " +
                      swift_flags + "--freeze_vit true\n");
  CHECK(config::value_at(plain.tree, "modules") == nullptr);
  CHECK(tests::has_note(plain.without_effect, "--freeze_vit true: the model has no encoder"));
  const jobs::Job factory =
      import_on(8, "train.yaml",
                "model_name_or_path: Qwen/Qwen3.6-35B-A3B\nstage: sft\ndo_train: true\n"
                "finetuning_type: full\nfreeze_multi_modal_projector: false\ncutoff_len: 4096\n"
                "per_device_train_batch_size: 1\n");
  CHECK(frozen(factory, "modules.vision.frozen") == "encoder ");
}

TEST_CASE("jobs of ms-swift that are not modelled are refused", "[jobs]") {
  CHECK_THROWS_WITH(tests::import_text("train.sh",
                                       "NPROC_PER_NODE=8 megatron sft --model Qwen/Qwen3-8B "
                                       "--freeze_parameters layers.0 --max_length 4096\n"),
                    Contains("--freeze_parameters layers.0: frozen weights are not read"));
  CHECK_THROWS_WITH(tests::import_text("train.sh",
                                       "NPROC_PER_NODE=8 megatron sft --model Qwen/Qwen3-8B "
                                       "--tuner_type longlora --max_length 4096\n"),
                    Contains("--tuner_type longlora: adapters of this kind are not modelled") &&
                        Contains("allowed: LoRA"));
  CHECK_THROWS_WITH(
      tests::import_text("train.sh",
                         "NPROC_PER_NODE=8 megatron sft --train_type lora --use_dora true "
                         "--model Qwen/Qwen3-8B --max_length 4096\n"),
      Contains("--use_dora true: adapters of this kind"));
  CHECK_THROWS_WITH(tests::import_text("train.sh",
                                       "megatron rlhf --rlhf_type grpo --model "
                                       "Qwen/Qwen3-8B --micro_batch_size 1\n"),
                    Contains("megatron rlhf also generates texts"));
  const jobs::Job unknown =
      import_on(8, "train.sh", "megatron sft --model Qwen/Qwen2.5-14B --max_length 4096\n");
  CHECK(unknown.missing == std::vector<std::string>{"model"});
  // Layouts have the rules of Megatron-Core: 48 layers on 32 devices.
  CHECK_THROWS_WITH(import_on(64, "train.sh",
                              "megatron sft --model Qwen/Qwen3-30B-A3B --max_length 4096 "
                              "--pipeline_model_parallel_size 32\n"),
                    Contains("(48 layers, pp 32)"));
}

TEST_CASE("adapters of ms-swift have its defaults", "[jobs]") {
  const auto lora_of = [](const std::string& flags) {
    const jobs::Job job = tests::import_text(
        "train.sh",
        "NPROC_PER_NODE=8 megatron sft --model Qwen/Qwen3-30B-A3B --max_length 4096 "
        "--expert_model_parallel_size 8 --packing true --train_type lora " +
            flags + "\n");
    CHECK(job.not_modelled.empty());
    const config::Scenario scenario = scenario_of(job);
    REQUIRE(scenario.training.lora);
    return *scenario.training.lora;
  };
  const config::Lora plain = lora_of("--lora_alpha 32");
  CHECK(to_string(plain) ==
        "adapters of rank 8 in linear_qkv, linear_proj, linear_fc1 and linear_fc2");
  CHECK(plain.dropout == 0.05);
  CHECK(plain.experts == config::Lora::Experts::each);
  const config::Lora given =
      lora_of("--lora_rank 16 --lora_dropout 0 --target_modules linear_qkv linear_proj");
  CHECK(to_string(given) == "adapters of rank 16 in linear_qkv and linear_proj");
  CHECK(given.dropout == 0);
}

TEST_CASE("the data type of ms-swift's weights is that of products", "[jobs]") {
  const auto job_of = [](const std::string& program, const std::string& flags) {
    return tests::import_text(
        "train.sh",
        "NPROC_PER_NODE=8 " + program + " --model Qwen/Qwen3-8B --max_length 4096 " + flags + "\n");
  };
  using config::DataType;
  for (const std::string program : {"swift sft", "megatron sft"}) {
    CAPTURE(program);
    const auto precision = [&](const std::string& flags) {
      const jobs::Job job = job_of(program, flags);
      CHECK(job.not_modelled.empty());
      return scenario_of(job).training.precision;
    };
    CHECK(precision("--torch_dtype bfloat16") == DataType::bf16);
    CHECK(precision("--torch_dtype float16") == DataType::fp16);
    CHECK(precision("--torch_dtype float16 --bf16 true") == DataType::bf16);
    CHECK_THROWS_WITH(job_of(program, "--torch_dtype int8"),
                      Contains("--torch_dtype int8: weights of this type are not trained") &&
                          Contains("bfloat16, float16, float32"));
  }
}

TEST_CASE("products with adapters are named once in a job of ms-swift", "[jobs]") {
  const jobs::Job job = tests::import_text(
      "train.sh",
      "NPROC_PER_NODE=8 swift sft --model Qwen/Qwen3-8B --train_type lora --target_modules q_proj "
      "v_proj --max_length 4096\n");
  CHECK(to_string(*scenario_of(job).training.lora) == "adapters of rank 8 in q_proj and v_proj");
  CHECK_FALSE(tests::has_note(job.without_effect, "--target_modules"));
  // Without DeepSpeed the Trainer runs PyTorch's own software.
  CHECK(scenario_of(job).training.stack.name == "pytorch-fsdp");
}

TEST_CASE("ms-swift's swift sft runs the Trainer of Hugging Face", "[jobs]") {
  const jobs::Job job = tests::import_text(
      "train.sh",
      "NPROC_PER_NODE=8 swift sft --model Qwen/Qwen3-8B --train_type full --torch_dtype bfloat16 "
      "--gradient_accumulation_steps 4 --max_length 4096 --packing true --deepspeed zero3\n");
  const config::Scenario scenario = scenario_of(job);
  CHECK(scenario.model->value.name == "qwen3-8b");
  CHECK(scenario.training.microbatch_size == 1);
  CHECK(scenario.microbatches.value == 4);
  CHECK(scenario.parallel.zero == 3);
  CHECK(scenario.parallel.dp.value == 8);
  CHECK(scenario.training.stack.name == "deepspeed");
  // Without a method, adapters are trained.
  const auto& lora = scenario_of(tests::import_text("train.sh",
                                                    "NPROC_PER_NODE=8 swift sft --model "
                                                    "Qwen/Qwen3-8B --max_length 4096 --lr 1e-4 "
                                                    "--quant_method bnb --quant_bits 4\n"))
                         .training.lora;
  REQUIRE(lora);
  CHECK(lora->rank == 8);
  CHECK(lora->base == config::Lora::Base::nf4);
  CHECK(lora->has(config::LoraModule::gate_proj));
}

TEST_CASE("full training of LLaMA-Factory is read with DeepSpeed's JSON", "[jobs]") {
  const tests::CommandFolder place;
  std::filesystem::create_directories(place.folder() / "examples/deepspeed");
  place.write("examples/deepspeed/ds_z3_config.json",
              "{\"train_batch_size\": \"auto\", \"gradient_accumulation_steps\": \"auto\",\n"
              " \"zero_optimization\": {\"stage\": 3, \"overlap_comm\": true,\n"
              "   \"stage3_prefetch_bucket_size\": 5e8,\n"
              "   \"offload_optimizer\": {\"device\": \"cpu\"}}}\n");
  const std::string text =
      "model_name_or_path: meta-llama/Meta-Llama-3-8B-Instruct\nstage: sft\ndo_train: true\n"
      "finetuning_type: full\ndeepspeed: examples/deepspeed/ds_z3_config.json\ndataset: identity\n"
      "template: llama3\ncutoff_len: 4096\nper_device_train_batch_size: 2\n"
      "gradient_accumulation_steps: 8\nlearning_rate: 1.0e-5\nbf16: true\n";
  place.write("full.yaml", text);
  const std::vector<std::string> files{(place.folder() / "full.yaml").string()};
  const jobs::Job job = jobs::import_job(files, {.variables = {}, .gpus = 16});
  CHECK(job.framework == "llamafactory");
  const config::Scenario scenario = scenario_of(job);
  CHECK(scenario.model->value.name == "llama-3-8b");
  CHECK(scenario.parallel.zero == 3);
  CHECK(scenario.parallel.gather_ahead == 500'000'000U);
  CHECK(scenario.parallel.dp.value == 16);
  CHECK(scenario.microbatches.value == 8);
  CHECK(scenario.training.microbatch_size == 2);
  CHECK(scenario.training.sequence == 4096U);
  CHECK(scenario.communication.overlap_grad_reduce);
  CHECK(scenario.training.recompute.granularity == config::Recompute::Granularity::full);
  CHECK(scenario.training.stack.name == "deepspeed");
  const auto& offload = scenario.training.optimizer.offload;
  REQUIRE(offload);
  CHECK(offload->fraction == 1);
  CHECK(offload->gradients);
  CHECK_FALSE(offload->weights);
  CHECK(jobs::import_job(files).missing == std::vector<std::string>{"parallel.dp"});
  const auto with = [&](const std::string& older, const std::string& newer) {
    std::string other = text;
    other.replace(other.find(older), older.size(), newer);
    place.write("full.yaml", other);
    return jobs::import_job(files, {.variables = {}, .gpus = 16});
  };
  // --model may have been given, so that only what is missing asks for it.
  const jobs::Job unnamed = with("Meta-Llama-3-8B-Instruct", "Ours-8B");
  CHECK(unnamed.missing == std::vector<std::string>{"model"});
  CHECK(tests::has_note(unnamed.not_modelled, "the library has no model of this name"));
  CHECK_FALSE(tests::has_note(unnamed.not_modelled, "--model"));
  CHECK(jobs::commented_yaml(unnamed).find("# missing: model: a model of the library") !=
        std::string::npos);
  CHECK_THROWS_WITH(with("finetuning_type: full", "finetuning_type: freeze"),
                    Contains("training of some layers is not modelled"));
  CHECK_THROWS_WITH(with("finetuning_type: full", "finetuning_type: oft"),
                    Contains("finetuning_type: oft: adapters of this kind are not modelled"));
  CHECK_THROWS_WITH(with("finetuning_type: full", "finetuning_type: lora\nuse_dora: true"),
                    Contains("use_dora: true"));
  CHECK_THROWS_WITH(with("finetuning_type: full", "finetuning_type: lora\nquantization_bit: 8"),
                    Contains("quantization_bit: 8") && Contains("allowed: 4"));
  const auto lora = scenario_of(with("finetuning_type: full\n",
                                     "lora_rank: 16\nlora_target: q_proj,v_proj\n"
                                     "quantization_bit: 4\nlora_dropout: 0.1\n"))
                        .training.lora;
  REQUIRE(lora);
  CHECK(to_string(*lora) == "adapters of rank 16 in q_proj and v_proj beside weights in nf4");
  CHECK(lora->dropout == 0.1);
  const auto by_default =
      scenario_of(with("finetuning_type: full", "finetuning_type: lora")).training.lora;
  REQUIRE(by_default);
  CHECK(by_default->rank == 8);
  CHECK(by_default->has(config::LoraModule::linear_fc2));
  CHECK_FALSE(by_default->has(config::LoraModule::linear_qkv));
  CHECK_THROWS_WITH(with("stage: sft", "stage: dpo"), Contains("allowed: pt, sft"));
  CHECK_THROWS_WITH(with("ds_z3_config.json", "ours.json"),
                    Contains("its name has no level of ZeRO"));
  CHECK_THROWS_WITH(with("bf16: true", "tensor_model_parallel_size: 2"),
                    Contains("that run Megatron-Core are not read"));
  CHECK(scenario_of(with("deepspeed: examples/deepspeed/ds_z3_config.json\n", "")).parallel.zero ==
        0);
}

TEST_CASE("nanotron's configuration gives model, layout and batch", "[jobs]") {
  const std::string text =
      "model:\n  dtype: bfloat16\n  make_vocab_size_divisible_by: 1\n  model_config:\n"
      "    hidden_act: silu\n    hidden_size: 2048\n    intermediate_size: 11008\n"
      "    num_attention_heads: 16\n    num_hidden_layers: 28\n    num_key_value_heads: 2\n"
      "    tie_word_embeddings: true\n    vocab_size: 128256\n"
      "optimizer:\n  zero_stage: 1\nparallelism:\n  dp: 4\n  pp: 2\n  pp_engine: 1f1b\n  tp: 2\n"
      "  tp_mode: REDUCE_SCATTER\ntokens:\n  batch_accumulation_per_replica: 8\n"
      "  micro_batch_size: 3\n  sequence_length: 4096\n";
  const jobs::Job job = tests::import_text("job.yaml", text);
  CHECK(job.framework == "nanotron");
  CHECK(job.not_modelled.empty());
  const config::Scenario scenario = scenario_of(job);
  const config::Model& model = scenario.model->value;
  CHECK(model.hidden == 2048);
  CHECK(model.kv_heads == 2);
  CHECK(model.gated);
  CHECK(model.tied_embeddings);
  CHECK(model.biases == config::Model::Biases::none);
  CHECK(scenario.parallel.dp.value == 4);
  CHECK(scenario.parallel.tp.value == 2);
  CHECK(scenario.parallel.sequence);
  CHECK(scenario.parallel.zero == 1);
  CHECK(scenario.schedules.front().name == "1f1b");
  CHECK(scenario.microbatches.value == 8);
  CHECK(scenario.training.microbatch_size == 3);
  CHECK(scenario.training.stack.name == "nanotron");
  const auto with = [&](const std::string& older, const std::string& newer) {
    std::string other = text;
    other.replace(other.find(older), older.size(), newer);
    return tests::import_text("job.yaml", other);
  };
  // All forward passes come first by default.
  CHECK(scenario_of(with("  pp_engine: 1f1b\n", "")).schedules.front().name == "gpipe");
  CHECK_FALSE(scenario_of(with("REDUCE_SCATTER", "all_reduce")).parallel.sequence);
  CHECK_THROWS_WITH(with("pp_engine: 1f1b", "pp_engine: zb"), Contains("allowed: 1f1b, afab"));
  CHECK_THROWS_WITH(with("    hidden_act: silu\n", "    is_mamba_config: true\n"),
                    Contains("only models with the shape of Llama or Qwen are read"));
  CHECK_THROWS_WITH(import_on(32, "job.yaml", text), Contains("dp x pp x tp x cp is 16"));
}

TEST_CASE("GPT-NeoX's files of a model and of a machine are a job", "[jobs]") {
  const std::string model =
      "{\n   \"pipe_parallel_size\": 2,\n   \"model_parallel_size\": 4,\n"
      "   \"num_layers\": 44,\n   \"hidden_size\": 6144,\n   \"num_attention_heads\": 64,\n"
      "   \"seq_length\": 2048,\n   \"max_position_embeddings\": 2048,\n   \"norm\": "
      "\"layernorm\",\n"
      "   \"pos_emb\": \"rotary\",\n   \"no_weight_tying\": true,\n"
      "   \"attention_config\": [[[\"flash\"], 44]],\n   \"tokenizer_type\": "
      "\"GPT2BPETokenizer\",\n"
      "   \"zero_optimization\": {\"stage\": 1, \"overlap_comm\": True},\n"
      "   \"train_micro_batch_size_per_gpu\": 4,\n   \"gradient_accumulation_steps\": 32,\n"
      "   \"checkpoint_activations\": true,\n   \"fp16\": {\"enabled\": true},\n}\n";
  const jobs::Job job = import_on(96, "20B.yml", model);
  CHECK(job.framework == "neox");
  CHECK(job.not_modelled.empty());
  const config::Scenario scenario = scenario_of(job);
  CHECK(scenario.model->value.layers == 44);
  CHECK(scenario.model->value.ffn == 24576);  // 4 x 6144
  CHECK_FALSE(scenario.model->value.tied_embeddings);
  CHECK(scenario.parallel.tp.value == 4);
  CHECK(scenario.devices.value == 2);
  CHECK(scenario.parallel.dp.value == 12);  // 96 / (4 x 2)
  CHECK(scenario.parallel.zero == 1);
  CHECK(scenario.microbatches.value == 32);
  CHECK(scenario.training.precision == config::DataType::fp16);
  CHECK(scenario.training.stack.name == "deepspeed");
  CHECK_FALSE(scenario.training.optimizer.offload);
  CHECK_THROWS_WITH(import_on(100, "20B.yml", model), Contains("is not divisible by"));
  std::string offloading = model;
  const std::string_view stage = "\"stage\": 1,";
  offloading.replace(offloading.find(stage), stage.size(),
                     "\"stage\": 1, \"offload_optimizer\": {\"device\": \"cpu\"},");
  const auto offload = scenario_of(import_on(96, "20B.yml", offloading)).training.optimizer.offload;
  REQUIRE(offload);
  CHECK(offload->fraction == 1);
  CHECK_FALSE(offload->gradients);  // They are sharded from ZeRO-2 on.
  const tests::CommandFolder place;
  place.write("model.yml",
              "num-layers: 32\nhidden-size: 4096\nnum-attention-heads: 32\nseq-length: 2048\n"
              "intermediate_size: 33024\nactivation: swiglu\nmlp-multiple-of: 256\n"
              "pipe-parallel-size: 0\npadded_vocab_size: 32000\ngpt_j_residual: true\n"
              "train_micro_batch_size_per_gpu: 2\n");
  place.write("machine.yml", "pipe-parallel-size: 1\nnum_gpus: 8\n");
  const std::vector<std::string> files{(place.folder() / "model.yml").string(),
                                       (place.folder() / "machine.yml").string()};
  const jobs::Job two = jobs::import_job(files);
  const config::Scenario of_two = scenario_of(two);
  CHECK(of_two.parallel.dp.value == 8);
  CHECK(of_two.model->value.ffn == 11008);  // 33024 x 2/3 / 2
  CHECK(of_two.model->value.gated);
  CHECK(tests::has_note(two.not_modelled, "common residual"));
  CHECK_THROWS_WITH(
      import_on(8, "mamba.yml",
                "pipe_parallel_size: 1\nnum_layers: 24\nattention_config: [[[\"mamba\"], 24]]\n"),
      Contains("layers of mamba are not read"));
}

TEST_CASE("full training of NeMo Automodel is read", "[jobs]") {
  const std::string text =
      "recipe: TrainFinetuneRecipeForNextTokenPrediction\n"
      "step_scheduler:\n  global_batch_size: 128\n  local_batch_size: 4\n"
      "model:\n  _target_: nemo_automodel.NeMoAutoModelForCausalLM.from_pretrained\n"
      "  pretrained_model_name_or_path: meta-llama/Llama-3.1-70B\n"
      "distributed:\n  strategy: fsdp2\n  dp_size: none\n  tp_size: 4\n  cp_size: 1\n  pp_size: 4\n"
      "  activation_checkpointing: true\n  pipeline:\n    pp_schedule: interleaved1f1b\n"
      "    pp_microbatch_size: 1\n    layers_per_stage: 4\n"
      "packed_sequence:\n  packed_sequence_size: 4096\n";
  const jobs::Job job = import_on(32, "job.yaml", text);
  CHECK(job.framework == "automodel");
  CHECK(job.not_modelled.empty());
  const config::Scenario scenario = scenario_of(job);
  CHECK(scenario.model->value.name == "llama-3-70b");
  CHECK(scenario.parallel.dp.value == 2);  // 32 / (4 x 4)
  CHECK(scenario.parallel.zero == 3);
  CHECK(scenario.schedules.front().name == "interleaved-1f1b");
  // 80 layers / (4 layers x 4 devices)
  CHECK(scenario.schedules.front()[&schedules::Parameters::chunks]->value == 5);
  CHECK(scenario.training.microbatch_size == 1);
  CHECK(scenario.global_batch->value == 128);
  CHECK(scenario.training.sequence == 4096U);
  CHECK(scenario.training.recompute.granularity == config::Recompute::Granularity::full);
  const auto lora_of = [&](const std::string& peft) {
    return scenario_of(import_on(32, "job.yaml", text + "peft:\n" + peft)).training.lora;
  };
  const auto lora = lora_of(
      "  _target_: nemo_automodel.components._peft.lora.PeftConfig\n  dim: 16\n  alpha: 32\n"
      "  target_modules: \"*_proj\"\n  use_triton: true\n");
  REQUIRE(lora);
  CHECK(to_string(*lora) ==
        "adapters of rank 16 in linear_proj, linear_fc2, q_proj, k_proj, v_proj, gate_proj and "
        "up_proj");
  CHECK(lora_of("  match_all_linear: true\n")->rank == 8);
  CHECK_THROWS_WITH(lora_of("  dim: 16\n  use_dora: true\n"),
                    Contains("use_dora: true: adapters of this kind"));
  CHECK_THROWS_WITH(import_on(24, "job.yaml", text), Contains("is not divisible by tp x cp x pp"));
  CHECK(tests::import_text("job.yaml", text).missing == std::vector<std::string>{"parallel.dp"});
}

TEST_CASE("a program with the Trainer's arguments is read with its defaults", "[jobs]") {
  const tests::CommandFolder place;
  const std::string start =
      "deepspeed --num_nodes 4 --num_gpus 8 train.py --model_name_or_path "
      "meta-llama/Meta-Llama-3-8B --per_device_train_batch_size 2 "
      "--gradient_accumulation_steps 4 --max_seq_length 4096 --bf16 --learning_rate 2e-5 ";
  const auto import = [&](const std::string& text) {
    place.write("train.sh", text + "\n");
    return jobs::import_job(std::vector<std::string>{(place.folder() / "train.sh").string()});
  };
  place.write("ds.json", "{\"train_batch_size\": \"auto\", \"zero_optimization\": {\"stage\": 3}}");
  const jobs::Job job = import(start + "--gradient_checkpointing --deepspeed $HERE/ds.json");
  CHECK(job.framework == "trainer");
  CHECK(job.not_modelled.empty());
  const config::Scenario scenario = scenario_of(job);
  CHECK(scenario.model->value.name == "llama-3-8b");
  CHECK(scenario.parallel.dp.value == 32);
  CHECK(scenario.parallel.zero == 3);
  CHECK(scenario.microbatches.value == 4);
  CHECK(scenario.training.microbatch_size == 2);
  CHECK(scenario.training.sequence == 4096U);
  CHECK(scenario.training.recompute.granularity == config::Recompute::Granularity::full);
  CHECK(scenario.training.stack.name == "deepspeed");
  // Recomputation is off by default, other than in LLaMA-Factory.
  CHECK(scenario_of(import(start + "--deepspeed ds.json")).training.recompute.granularity ==
        config::Recompute::Granularity::none);
  const config::Scenario sharded =
      scenario_of(import("torchrun --nproc_per_node 8 train.py --model_name_or_path "
                         "meta-llama/Meta-Llama-3-8B --per_device_train_batch_size 1 "
                         "--fsdp 'full_shard auto_wrap'"));
  CHECK(sharded.parallel.zero == 3);
  CHECK(sharded.training.stack.name == "pytorch-fsdp");
  CHECK_THROWS_WITH(import(start + "--use_peft true"), Contains("adapters (LoRA)"));
  CHECK_THROWS_WITH(import("accelerate launch " + start), Contains("a launch of accelerate"));
  CHECK_THROWS_WITH(import(start + "--deepspeed ours.json"),
                    Contains("give the JSON as another file of the job"));
  place.write("ds.json", "{\"train_batch_size\": 64, \"zero_optimization\": {\"stage\": 3}}");
  CHECK_THROWS_WITH(import(start + "--deepspeed ds.json"),
                    Contains("train_batch_size") && Contains("give 256"));
}

TEST_CASE("DeepSpeed's JSON may be another file of jobs of the Trainer", "[jobs]") {
  const tests::CommandFolder place;
  place.write("zero.json",
              "{\"train_batch_size\": \"auto\", \"gradient_accumulation_steps\": \"auto\",\n"
              " \"zero_optimization\": {\"stage\": 2}}\n");
  const auto level = [&](const std::string& name, const std::string& text) {
    place.write(name, text);
    const std::vector<std::string> files{(place.folder() / name).string(),
                                         (place.folder() / "zero.json").string()};
    return scenario_of(jobs::import_job(files, {.variables = {}, .gpus = 16})).parallel.zero;
  };
  CHECK(level("full.yaml",
              "model_name_or_path: meta-llama/Meta-Llama-3-8B\nstage: sft\ncutoff_len: 4096\n"
              "finetuning_type: full\ndeepspeed: /opt/elsewhere/ds.json\n") == 2);
  CHECK(level("train.sh",
              "NPROC_PER_NODE=8 swift sft --model Qwen/Qwen3-8B --train_type full "
              "--max_length 4096 --deepspeed /opt/elsewhere/ds.json\n") == 2);
}
