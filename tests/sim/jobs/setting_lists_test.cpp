#include <algorithm>
#include <cctype>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "sim/config/settings.hpp"
#include "sim/jobs/deepspeed/deepspeed.hpp"
#include "sim/jobs/megatron/megatron.hpp"
#include "sim/jobs/nemo/nemo.hpp"
#include "sim/jobs/request/optimizer_name.hpp"
#include "sim/jobs/setting_list.hpp"
#include "sim/jobs/support.hpp"
#include "sim/jobs/torchtitan/torchtitan.hpp"

using namespace pipewright;
using tests::has_note;
using tests::scenario_of;

namespace {

// A script of Megatron-LM with 13 settings that are used, and more flags.
jobs::Job script(const std::string& flags) {
  return tests::import_text(
      "train.sh",
      "torchrun --nproc_per_node=8 pretrain_gpt.py --num-layers 12 --hidden-size 512 "
      "--num-attention-heads 8 --seq-length 512 --vocab-size 1000 --micro-batch-size 2 "
      "--global-batch-size 16 --bf16 --use-distributed-optimizer " +
          flags + "\n");
}

// A configuration of NeMo with more lines in its section `model`.
jobs::Job nemo(const std::string& lines) {
  return tests::import_text("train.yaml",
                            "trainer:\n  devices: 8\n  num_nodes: 1\n"
                            "model:\n  micro_batch_size: 1\n  global_batch_size: 8\n"
                            "  num_layers: 4\n  hidden_size: 512\n  num_attention_heads: 8\n"
                            "  encoder_seq_length: 512\n  ffn_hidden_size: 2048\n" +
                                lines);
}

// A configuration of DeepSpeed with more entries, beside a script.
jobs::Job deepspeed(const std::string& entries) {
  const tests::CommandFolder place;
  place.write("ds.json",
              "{\"train_micro_batch_size_per_gpu\": 2, "
              "\"gradient_accumulation_steps\": 1, \"bf16\": {\"enabled\": true}, " +
                  entries + "}");
  place.write("train.sh",
              "deepspeed --num_gpus 8 pretrain_gpt.py --deepspeed --deepspeed_config ds.json "
              "--num-layers 4 --hidden-size 512 --num-attention-heads 8 --seq-length 512 "
              "--vocab-size 1000 --micro-batch-size 2 --bf16\n");
  const std::vector<std::string> files{(place.folder() / "train.sh").string(),
                                       (place.folder() / "ds.json").string()};
  return jobs::import_job(files, {.gpus = 8});
}

std::vector<std::span<const jobs::SettingRow>> tables() {
  return {jobs::megatron::quiet_settings(), jobs::megatron::unmodelled_settings()};
}

}  // namespace

TEST_CASE("each setting of a job is used, without effect, or not modelled", "[jobs]") {
  const jobs::Job job = script("--lr 1e-4 --min-lr 1e-5 --save out --use-nccl-ub --my-flag 7");
  CHECK(job.used == 9);
  REQUIRE(job.without_effect.size() == 3);
  CHECK(job.without_effect.front().why == "learning rate and its schedule");
  REQUIRE(job.not_modelled.size() == 2);
  CHECK(job.not_modelled[0].changes == jobs::Changes::time_and_memory);
  CHECK(job.not_modelled[1].changes == jobs::Changes::unknown);
  CHECK(jobs::summary_of(job) ==
        "train: 9 settings used, 3 without effect, 2 not modelled: --use-nccl-ub (memory and "
        "time), --my-flag (unknown)");
  // A strict reader hears of each setting once.
  CHECK_THROWS_WITH(jobs::check_all_modelled(job),
                    Catch::StartsWith("train: --strict refuses settings that are not modelled; ") &&
                        Catch::Contains("--use-nccl-ub: NCCL would") &&
                        Catch::EndsWith("--my-flag 7: unknown"));
  CHECK_NOTHROW(jobs::check_all_modelled(script("--lr 1e-4")));
  // The YAML has a line for each reason, and for each setting that is not modelled.
  CHECK_THAT(jobs::commented_yaml(job),
             Catch::Contains("# without effect: learning rate and its schedule: --lr 1e-4 (1), "
                             "--min-lr 1e-5 (1)\n") &&
                 Catch::Contains("# not modelled: --my-flag 7 (1): unknown\n"));
}

TEST_CASE("an unknown setting has a suggestion in the spelling of its file", "[jobs]") {
  CHECK(has_note(script("--sequence-paralel").not_modelled, "did you mean --sequence-parallel?"));
  CHECK(
      has_note(nemo("  sequence_paralel: true\n").not_modelled, "did you mean sequence_parallel?"));
  CHECK(has_note(nemo("  num_moe_expert: 8\n").not_modelled, "did you mean num_moe_experts?"));
  CHECK(has_note(script("--xyzzy").not_modelled, "--xyzzy: unknown"));
}

TEST_CASE("a setting that is off has no effect only if the model assumes so", "[jobs]") {
  // These are on by default, so that off changes the job.
  for (const std::string name : {"moe_grouped_gemm", "align_grad_reduce", "persist_layer_norm"}) {
    CAPTURE(name);
    CHECK(has_note(nemo("  " + name + ": false\n").not_modelled, name));
    CHECK(has_note(nemo("  " + name + ": true\n").without_effect, name));
  }
  CHECK(has_note(nemo("  tp_comm_overlap_rs: false\n").not_modelled, "tp_comm_overlap_rs"));
  // Keys of a scenario hold such settings.
  CHECK_FALSE(scenario_of(nemo("  gradient_accumulation_fusion: false\n  tokenizer:\n"
                               "    type: GPT2BPETokenizer\n"))
                  .training.fused_accumulation);
  CHECK(
      scenario_of(nemo("  grad_reduce_in_fp32: false\n  tokenizer:\n    type: GPT2BPETokenizer\n"))
          .communication.gradient_bytes == 2);
  // Some settings have several values that the model assumes.
  CHECK(has_note(nemo("  mlp_chunks_for_training: 1\n").without_effect, "mlp_chunks"));
  CHECK(has_note(nemo("  mlp_chunks_for_training: 0\n").without_effect, "mlp_chunks"));
  CHECK(has_note(nemo("  mlp_chunks_for_training: 4\n").not_modelled, "mlp_chunks"));
  // A name that no table has may be on by default.
  CHECK(has_note(nemo("  some_new_overlap: false\n").not_modelled, "some_new_overlap"));
  // Off is what the model assumes of these.
  for (const std::string name :
       {"optimizer_cuda_graph", "deterministic_mode", "memory_efficient_layer_norm", "use_nccl_ub"})
    CHECK(has_note(nemo("  " + name + ": false\n").without_effect, name));
  // Megatron-LM turns settings off by --no-x and --disable-x.
  for (const std::string flag : {"--no-fp8-wgrad", "--disable-cuda-graph-use-single-mempool"})
    CHECK(has_note(script(flag).not_modelled, flag));
  CHECK(has_note(script("--no-clone-scatter-output-in-embedding").without_effect, "--no-clone"));
}

TEST_CASE("settings worth gigabytes say what they would change", "[jobs]") {
  const auto changes = [](const jobs::Job& job, const std::string& text) {
    for (const jobs::Note& note : job.not_modelled)
      if (note.text.find(text) != std::string::npos) return note.changes;
    return jobs::Changes::nothing;
  };
  using enum jobs::Changes;
  CHECK(changes(script("--cross-entropy-fusion-impl linear"), "linear") == time_and_memory);
  CHECK(changes(script("--cross-entropy-fusion-impl te"), "te") == nothing);
  CHECK(changes(script("--optimizer muon"), "muon") == nothing);
  CHECK(changes(script("--optimizer muon --muon-use-syrk"), "syrk") == time);
  CHECK(changes(script("--optimizer muon --muon-scalar-optimizer lion"), "lion") ==
        time_and_memory);
  CHECK(changes(script("--optimizer lion"), "lion") == time_and_memory);
  CHECK(changes(script("--optimizer adam"), "adam") == nothing);
  CHECK(changes(script("--experimental-attention-variant dsa --dsa-indexer-topk 2048"),
                "variant") == time_and_memory);
  CHECK(changes(script("--distribute-saved-activations"), "--distribute") == time_and_memory);
  CHECK(changes(script("--use-checkpoint-args --load old"), "--use-checkpoint-args") ==
        time_and_memory);
  CHECK(changes(script("--deterministic-mode"), "--deterministic-mode") == time);
  CHECK(changes(nemo("  defer_embedding_wgrad_compute: true\n"), "defer") == time_and_memory);
  CHECK(changes(nemo("  bucket_cap_mb: 400\n"), "bucket_cap_mb") == time);
}

TEST_CASE("the indexers of sparse attention are read", "[jobs]") {
  const auto indexer = [](const std::string& arguments) {
    const jobs::Job job = script(
        "--multi-latent-attention --q-lora-rank 64 --experimental-attention-variant dsa "
        "--dsa-indexer-n-heads 4 --dsa-indexer-head-dim 32 --dsa-indexer-topk 256 " +
        arguments);
    CHECK(!has_note(job.not_modelled, "variant"));
    return *scenario_of(job).model->value.indexer;
  };
  using Loss = config::Model::Indexer::Loss;
  CHECK(indexer("").heads == 4);
  CHECK(indexer("").head_dim == 32);
  CHECK(indexer("").top_k == 256);
  CHECK(indexer("").loss == Loss::none);
  CHECK(indexer("--dsa-indexer-loss-coeff 0.01").loss == Loss::all);
  CHECK(indexer("--dsa-indexer-loss-coeff 0.01 --dsa-indexer-use-sparse-loss").loss ==
        Loss::chosen);
}

TEST_CASE("the size of latent experts is read", "[jobs]") {
  const jobs::Job job =
      script("--num-experts 8 --moe-grouped-gemm --moe-latent-size 256 --moe-router-topk 2");
  CHECK(job.not_modelled.empty());
  CHECK(scenario_of(job).model->value.experts->latent == 256);
  CHECK(has_note(script("--moe-latent-size 256").without_effect, "without --num-experts"));
}

TEST_CASE("Muon and the settings of its iterations are read", "[jobs][muon]") {
  using config::Optimizer;
  const auto optimizer = [](const std::string& flags) {
    return scenario_of(script(flags)).training.optimizer;
  };
  CHECK(optimizer("--optimizer adam").name == Optimizer::Name::adam);
  const Optimizer padded = optimizer(
      "--optimizer muon --muon-num-ns-steps 3 --muon-tp-mode blockwise --muon-fp32-matmul-prec "
      "high --muon-no-split-qkv");
  CHECK(mode_of(padded, 1) == Optimizer::Mode::layer_wise);
  CHECK(padded.layout == Optimizer::Layout::padded);
  CHECK(padded.ns_steps == 3);
  CHECK(padded.tp_mode == Optimizer::TensorMode::blockwise);
  CHECK(padded.ns_precision == Optimizer::Products::tf32);
  CHECK_FALSE(padded.split_qkv);
  CHECK(padded.name == Optimizer::Name::muon);
  const config::Scenario dealt =
      scenario_of(script("--optimizer muon --no-use-layer-wise-param-layout"));
  CHECK(dealt.training.optimizer.layout == Optimizer::Layout::ping_pong);
  CHECK(dealt.communication.zero_gradients == config::ZeroGradients::all_reduce);
}

TEST_CASE("settings of Muon have no effect on another optimizer", "[jobs][muon]") {
  const jobs::Job job = script("--optimizer adam --muon-num-ns-steps 3 --muon-no-split-qkv");
  CHECK(scenario_of(job).training.optimizer.ns_steps == config::Optimizer{}.ns_steps);
  for (const std::string flag : {"--muon-num-ns-steps 3", "--muon-no-split-qkv"})
    CHECK(tests::has_note(job.without_effect, flag + ": without --optimizer muon"));
}

TEST_CASE("frameworks name the same optimizers by classes and by options", "[jobs][muon]") {
  const auto named = [](std::string_view name) {
    return jobs::optimizer_named(name).value_or("none");
  };
  for (const char* const name :
       {"AdamW", "adamw_torch_fused", "torch.optim.Adam", "FusedAdam", "paged_adamw_32bit"})
    CHECK(named(name) == "adam");
  for (const char* const name : {"adamw_bnb_8bit", "bitsandbytes.optim.Adam8bit"})
    CHECK(named(name) == "adam_8bit");
  CHECK(named("dion.Muon") == "muon");
  CHECK(named("adafactor") == "adafactor");
  CHECK(named("AdEMAMix") == "ademamix");
  for (const char* const name :
       {"sgd", "lion_8bit", "adamw_torch_4bit", "adaptive_muon", "ademamix_8bit", "NAdam"})
    CHECK(named(name) == "none");
}

// optimizer_config.py: store_param_remainders is true.
TEST_CASE("a precision-aware optimizer stores remainders of main weights by default", "[jobs]") {
  const auto bytes = [](const std::string& flags) {
    return config::optimizer_bytes(
        scenario_of(script("--use-precision-aware-optimizer --exp-avg-dtype bf16 " + flags))
            .training);
  };
  CHECK(bytes("") == 8);  // 2 + 4 of moments, and 2 of 4 bytes of a main weight
  CHECK(bytes("--main-params-dtype fp32") == 8);
  // Weights in FP8 have no halves of main weights.
  CHECK(bytes("--fp8-format hybrid --fp8-param-gather") == 10);
  CHECK(config::optimizer_bytes(scenario_of(script("")).training) == 12);
  const jobs::Job recipe = nemo(
      "  tokenizer:\n    type: GPT2BPETokenizer\noptimizer:\n"
      "  use_precision_aware_optimizer: true\n  store_param_remainders: false\n");
  CHECK(config::optimizer_bytes(scenario_of(recipe).training) == 12);
}

TEST_CASE("adapters of NeMo and Megatron-Bridge are read", "[jobs]") {
  const auto lora_of = [](const jobs::Job& job) { return scenario_of(job).training.lora; };
  const std::string tokenizer = "  tokenizer:\n    type: GPT2BPETokenizer\n";
  const auto section = lora_of(
      nemo(tokenizer + "  peft:\n    peft_scheme: lora\n    lora_tuning:\n      adapter_dim: 16\n"
                       "      adapter_dropout: 0.1\n      target_modules: [attention_qkv]\n"
                       "    adapter_tuning:\n      adapter_dim: 64\n"));
  REQUIRE(section);
  CHECK(to_string(*section) == "adapters of rank 16 in linear_qkv");
  CHECK(section->dropout == 0.1);
  const auto overrides =
      lora_of(nemo(tokenizer + "  peft:\n    dim: 8\n    target_modules: [linear_fc1]\n"));
  REQUIRE(overrides);
  CHECK(to_string(*overrides) == "adapters of rank 8 in linear_fc1");
  // NeMo's section without a scheme trains all weights.
  const jobs::Job whole =
      nemo(tokenizer + "  peft:\n    peft_scheme: none\n    lora_tuning:\n      adapter_dim: 32\n");
  CHECK(has_note(whole.without_effect, "adapter_dim"));
  CHECK_FALSE(scenario_of(whole).training.lora);
}

TEST_CASE("adapters of other kinds than LoRA are an error", "[jobs]") {
  const std::string refused = "adapters of this kind are not modelled";
  for (const char* const scheme : {"ptuning", "ia3", "dora", "vera"})
    CHECK_THROWS_WITH(nemo(std::string("  peft:\n    peft_scheme: ") + scheme + "\n"),
                      Catch::Contains(refused) && Catch::Contains("train.yaml:"));
  CHECK_THROWS_WITH(nemo("  peft:\n    _target_: megatron.bridge.peft.dora.DoRA\n    dim: 8\n"),
                    Catch::Contains(refused) && Catch::Contains("allowed: LoRA"));
  CHECK_THROWS_WITH(nemo("  peft:\n    dim: 8\n    target_modules: [output_layer]\n"),
                    Catch::Contains("adapters of output_layer are not modelled") &&
                        Catch::Contains("linear_qkv"));
  CHECK_THROWS_WITH(nemo("  peft:\n    target_modules: ['*.layers.0.*.linear_qkv']\n"),
                    Catch::Contains("adapters of single layers"));
}

TEST_CASE("jobs freeze the language model, the encoder of images and the projector", "[jobs]") {
  CHECK_THROWS_WITH(script("--freeze-all-layers"),
                    Catch::Contains("--freeze-all-layers: frozen weights are not read"));
  const auto frozen = [](const jobs::Job& job, const std::string& key) {
    const config::Value* const value = config::value_at(job.tree, key);
    std::string names;
    if (value != nullptr)
      for (const config::Value& item : value->items) names += item.text + " ";
    return names;
  };
  CHECK(frozen(script("--freeze-LM"), "training.frozen") == "embedding attention mlp norms head ");
  // The script gives its model no encoder of images.
  CHECK(has_note(script("--freeze-ViT").without_effect, "--freeze-ViT"));
  const jobs::Job bridge = nemo(
      "  freeze_language_model: true\n  freeze_vision_model: true\n"
      "  freeze_vision_projection: false\n");
  CHECK(frozen(bridge, "training.frozen") == "embedding attention mlp norms head ");
  CHECK_NOTHROW(nemo("  freeze_language_model: false\n"));
}

TEST_CASE("attention without positions is not modelled", "[jobs]") {
  const jobs::Job job = script("--position-embedding-type none");
  CHECK(has_note(job.not_modelled, "--position-embedding-type none: attention without positions"));
  CHECK(config::value_at(job.tree, "model.positions") == nullptr);
  CHECK(script("--position-embedding-type rope").not_modelled.empty());
}

TEST_CASE("a part of a script that is not followed is shown in the summary", "[jobs]") {
  const jobs::Job job = tests::import_text(
      "train.sh",
      "if nvidia-smi | grep -q H100; then\n  X=--tp-comm-overlap\nfi\n"
      "torchrun --nproc_per_node=8 pretrain_gpt.py --num-layers 12 --hidden-size 512 "
      "--num-attention-heads 8 --seq-length 512 --vocab-size 1000 --micro-batch-size 2 "
      "--global-batch-size 16 --bf16 $X\n");
  CHECK_THAT(jobs::summary_of(job),
             Catch::EndsWith("1 not modelled: \"if nvidia-smi\" (not followed)"));
}

TEST_CASE("gradients of fp16 have the bytes of bf16, and the comment says so", "[jobs]") {
  const jobs::Job job = tests::import_text(
      "train.sh",
      "torchrun --nproc_per_node=8 pretrain_gpt.py --num-layers 12 --hidden-size 512 "
      "--num-attention-heads 8 --seq-length 512 --vocab-size 1000 --micro-batch-size 2 "
      "--global-batch-size 16 --fp16\n");
  CHECK(job.comments.at("training.optimizer.main_grads") == "--fp16, of the same 16 bits");
}

TEST_CASE("flags of optimizers and of DeepSpeed have their own reasons", "[jobs]") {
  CHECK(
      has_note(script("--optimizer adamw_torch_fused").without_effect, "Adam, which is modelled"));
  CHECK(has_note(script("--optimizer adamw_bnb_8bit").not_modelled, "--optimizer adamw_bnb_8bit"));
  CHECK(has_note(script("--deepspeed-activation-checkpointing").without_effect,
                 "DeepSpeed's functions of recomputation"));
}

TEST_CASE("DeepSpeed's keys are in the three lists", "[jobs]") {
  const jobs::Job job = deepspeed(
      "\"zero_optimization\": {\"stage\": 1, \"reduce_bucket_size\": 5e8, "
      "\"contiguous_gradients\": true, \"reduce_scatter\": false}, "
      "\"activation_checkpointing\": {\"partition_activations\": true, \"profile\": true}, "
      "\"optimizer\": {\"type\": \"Lamb\", \"params\": {\"lr\": 1e-4}}, "
      "\"progressive_layer_drop\": {\"enabled\": true, \"theta\": 0.5}, "
      "\"wall_clock_breakdown\": false, \"zero_optimisation\": 1");
  // 5e8 gradients of 2 bytes.
  CHECK(scenario_of(job).communication.bucket == 1'000'000'000);
  for (const std::string name : {"reduce_scatter", "partition_activations", "optimizer.type",
                                 "progressive_layer_drop.enabled", "zero_optimisation"})
    CHECK(has_note(job.not_modelled, name));
  for (const std::string name : {"contiguous_gradients", "activation_checkpointing.profile",
                                 "optimizer.params.lr", "theta", "wall_clock_breakdown"})
    CHECK(has_note(job.without_effect, name));
  CHECK(job.not_modelled.size() == 5);
}

TEST_CASE("torchtitan's settings are in the three lists", "[jobs]") {
  const auto titan = [](const std::string& lines) {
    return tests::import_text("run.toml",
                              "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[parallelism]\n"
                              "data_parallel_shard_degree = 8\n[training]\nlocal_batch_size = 1\n"
                              "seq_len = 8192\n" +
                                  lines);
  };
  const jobs::Job job = titan(
      "deterministic = true\nsteps = 10\n[metrics]\nlog_freq = 1\n"
      "[activation_checkpoint]\nmode = \"full\"\npreserve_rng_state = true\n"
      "[experimental]\nsome_degree = 2\n");
  CHECK(has_note(job.not_modelled, "training.deterministic"));
  CHECK(has_note(job.not_modelled, "experimental.some_degree"));
  CHECK(job.not_modelled.size() == 2);
  CHECK(job.without_effect.size() == 3);
  CHECK(titan("deterministic = false\n").not_modelled.empty());
  // Two moments of Adam in bf16.
  CHECK(config::optimizer_bytes(
            scenario_of(titan("[optimizer]\nimplementation = \"fused_opt_states_bf16\"\n"))
                .training) == 4);
}

TEST_CASE("each row of known settings has a reason, and names that no other row has", "[jobs]") {
  std::set<std::string> names;
  for (const auto& rows : tables())
    for (const jobs::SettingRow& row : rows) {
      CAPTURE(row.reason);
      CHECK_FALSE(row.reason.empty());
      std::string word;
      for (const char c : std::string(row.names) + " ") {
        if (c != ' ') {
          word += c;
          continue;
        }
        CAPTURE(word);
        if (!word.empty()) CHECK(names.insert(word).second);
        word.clear();
      }
    }
  // No flag that is read is in a table by its whole name.
  for (const jobs::Flag& flag : jobs::megatron::flags()) {
    CAPTURE(flag.name);
    CHECK_FALSE(names.contains(std::string(flag.name)));
  }
}

// A reason that names a key promises that the key predicts the setting.
TEST_CASE("keys of a scenario that reasons name exist", "[jobs]") {
  const auto check = [](std::string_view reason) {
    std::string word;
    for (const char c : std::string(reason) + " ") {
      if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.') {
        word += c;
        continue;
      }
      for (const char* const section : {"training.", "communication.", "model.", "parallel."})
        if (word.starts_with(section) && word.size() > std::string_view(section).size()) {
          CAPTURE(reason, word);
          CHECK(config::scenario_key(word) != nullptr);
        }
      word.clear();
    }
  };
  for (const jobs::Framework& framework : jobs::frameworks())
    for (const jobs::SettingUse& use : jobs::uses_of(framework.settings()))
      if (use.list != "used") check(use.text);
}

TEST_CASE("a framework lists what becomes of its settings", "[jobs]") {
  const auto use = [](std::string_view framework, std::string_view name) {
    const jobs::SettingUse answer = jobs::use_of(jobs::find_framework(framework)->settings(), name);
    return fmt::format("{}: {}", answer.list, answer.text);
  };
  CHECK(use("megatron", "hidden-size") == "used: model.hidden");
  CHECK(use("megatron", "lr") == "without effect: learning rate and its schedule");
  CHECK_THAT(use("megatron", "use_sharp"), Catch::StartsWith("not modelled: "));
  CHECK(use("megatron", "my_flag") == "unknown: ");
  CHECK(use("bridge", "model.num_moe_experts") == "used: model.experts.count");
  CHECK_THAT(use("bridge", "checkpoint.save"), Catch::StartsWith("without effect: checkpoints"));
  CHECK(use("deepspeed", "zero_optimization.stage") == "used: parallel.zero");
  CHECK(use("torchtitan", "training.seq_len") == "used: training.sequence");
}
