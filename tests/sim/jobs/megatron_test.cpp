#include "sim/jobs/megatron/megatron.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/jobs/support.hpp"
#include "support/program.hpp"

using namespace pipewright;
using tests::import_files;
using tests::scenario_of;

TEST_CASE("a script of Megatron-LM gives model, layout, schedule and batch", "[jobs]") {
  const jobs::Job job = import_files({"gpt-dense.sh"});
  const config::Scenario scenario = scenario_of(job);
  const config::Model& model = scenario.model->value;
  CHECK(model.layers == 32);
  CHECK(model.kv_heads == 8);
  CHECK(model.gated);
  // Megatron-LM computes int((4 * 4096 * 2 / 3) / 64) * 64.
  CHECK(model.ffn == 10880);
  CHECK(model.dropout == 0);
  CHECK_FALSE(model.tied_embeddings);
  CHECK(model.vocabulary == 32000);
  CHECK(scenario.parallel.tp.value == 4);
  CHECK(scenario.devices.value == 2);
  CHECK(scenario.parallel.dp.value == 4);  // 4 nodes x 8 / (4 x 2)
  CHECK(scenario.parallel.sequence);
  CHECK(scenario.parallel.zero == 1);
  CHECK(scenario.schedules.front().name == "interleaved-1f1b");
  // 32 layers / 2 devices / 4 layers per chunk
  CHECK(scenario.schedules.front()[&schedules::Parameters::chunks]->value == 4);
  CHECK(scenario.microbatches.value == 32);  // 256 / (2 x 4)
  CHECK(scenario.training.precision == config::DataType::bf16);
  CHECK(scenario.p2p == config::P2p::steady);
  CHECK(tests::has_note(job.without_effect, "--lr 3e-4"));
  CHECK(tests::has_note(job.without_effect, "--train-iters $ITERATIONS"));
  CHECK(job.not_modelled.empty());
  CHECK(job.comments.at("parallel.tp") == "--tensor-model-parallel-size 4 (line 28)");
}

TEST_CASE("variables of the command line replace those of a script", "[jobs]") {
  const config::Scenario scenario = scenario_of(
      import_files({"gpt-dense.sh"}, {.variables = {{"TP", "2"}, {"USE_FP8", "yes"}}, .gpus = 64}));
  CHECK(scenario.parallel.tp.value == 2);
  CHECK(scenario.parallel.dp.value == 16);
  CHECK(scenario.training.precision == config::DataType::fp8);
}

TEST_CASE("a script gives experts and latent attention", "[jobs]") {
  const jobs::Job job = import_files({"moe.sh"});
  const config::Scenario scenario = scenario_of(job);
  const config::Model& model = scenario.model->value;
  REQUIRE(model.experts);
  CHECK(model.experts->count == 64);
  CHECK(model.experts->top_k == 6);
  CHECK(model.experts->first_dense == 1);
  CHECK(model.experts->every == 1);
  CHECK(model.experts->ffn == 1408);
  CHECK(model.experts->shared_ffn == 2816);
  REQUIRE(model.latent);
  CHECK(model.latent->query_rank == 0);
  CHECK(model.latent->kv_rank == 512);
  CHECK(model.latent->nope_head_dim == 128);
  CHECK(scenario.training.vocabulary_multiple == 1);
  CHECK(scenario.parallel.dp.value == 64);
  CHECK(scenario.parallel.ep.value == 8);
  CHECK(scenario.training.experts.dispatcher == config::Dispatcher::deepep);
  CHECK(scenario.training.recompute.has(config::RecomputeModule::moe_act));
  CHECK_FALSE(scenario.training.recompute.has(config::RecomputeModule::core_attn));
  REQUIRE(job.not_modelled.size() == 1);
  CHECK(job.not_modelled.front().text == "--some-new-flag 3");
  CHECK(job.not_modelled.front().origin.line > 3);
}

TEST_CASE("flags of the router tell how even its routing is", "[jobs]") {
  using config::RouterBalance;
  const auto job_with = [](const std::string& flags) {
    return tests::import_text(
        "train.sh",
        "torchrun --nproc_per_node=8 pretrain_gpt.py --num-layers 12 --hidden-size 512 "
        "--num-attention-heads 8 --seq-length 512 --vocab-size 1000 --micro-batch-size 2 "
        "--global-batch-size 16 --bf16 --num-experts 8 --expert-model-parallel-size 8 " +
            flags);
  };
  const auto experts = [&](const std::string& flags) {
    const jobs::Job job = job_with(flags);
    CHECK(job.not_modelled.empty());
    return scenario_of(job).training.experts;
  };
  CHECK(experts("").routing == RouterBalance::natural);
  CHECK(experts("--moe-router-load-balancing-type aux_loss --moe-aux-loss-coeff 1e-2").routing ==
        RouterBalance::natural);
  CHECK(experts("--moe-router-force-load-balancing").routing == RouterBalance::forced);
  CHECK(experts("--moe-router-load-balancing-type sinkhorn").routing == RouterBalance::forced);
  const auto assumes_balance = [&](const std::string& flags) {
    const jobs::Job job = job_with("--moe-router-load-balancing-type none " + flags);
    return std::ranges::any_of(job.assumed, [](const std::string& sentence) {
      return sentence.starts_with("the router has no balance loss");
    });
  };
  CHECK(assumes_balance(""));
  CHECK_FALSE(assumes_balance("--moe-router-enable-expert-bias"));
  // A capacity drops tokens, with padded buffers or without.
  const std::string capacity = "--moe-expert-capacity-factor 1.25 --moe-token-drop-policy probs ";
  CHECK(experts(capacity).drop_above == 1.25);
  CHECK_FALSE(experts(capacity + "--moe-pad-expert-input-to-capacity").drop_above);
  CHECK_FALSE(experts("--moe-expert-capacity-factor -1.0 ").drop_above);
  CHECK_FALSE(job_with("--moe-expert-capacity-factor 0.5 ").not_modelled.empty());
  CHECK(scenario_of(job_with(capacity + "--moe-pad-expert-input-to-capacity"))
            .model->value.experts->capacity_factor == 1.25);
  // Layers of experts of DeepSpeed.
  const auto padded = [&](const std::string& flags) {
    const jobs::Job job = job_with("--moe-train-capacity-factor 1.5 " + flags);
    CHECK(job.not_modelled.empty());
    return scenario_of(job).model->value.experts->capacity_factor;
  };
  CHECK(padded("") == 1.5);
  CHECK_FALSE(padded("--disable-moe-token-dropping"));
}

TEST_CASE("a hybrid pattern gives layers, stages and the heads of Mamba", "[jobs]") {
  const config::Scenario scenario = scenario_of(import_files({"hybrid.sh"}));
  const config::Model& model = scenario.model->value;
  CHECK(fmt::format("{}", fmt::join(model.pattern, "")) == "M-M-M-M*-M-M-M-M*-");
  CHECK(scenario.partition.layers == std::vector<std::uint32_t>{4, 5, 4, 5});
  REQUIRE(model.mamba);
  CHECK(model.mamba->heads == 32);  // 2 x 1024 / 64
  CHECK(model.mamba->state == 64);
  CHECK(scenario.parallel.dp.value == 2);
  CHECK(scenario.p2p == config::P2p::blocking);  // 1F1B is not interleaved
}

TEST_CASE("the YAML of a functional test holds flags", "[jobs]") {
  const jobs::Job job = import_files({"functional.yaml"}, {.variables = {}, .gpus = 8});
  const config::Scenario scenario = scenario_of(job);
  CHECK(scenario.partition.layers == std::vector<std::uint32_t>{5, 7});
  CHECK(scenario.parallel.dp.value == 4);
  CHECK(scenario.parallel.zero == 0);
  CHECK(scenario.model->value.vocabulary == 50257);
  CHECK(scenario.model->value.tied_embeddings);
  CHECK(scenario.model->value.ffn == 2048);
  CHECK(scenario.model->value.dropout == 0.1);
}

namespace {

// Returns the error message of importing a script with `flags` and a small model, or an empty text
// if the script is valid.
std::string refusal(const std::string& flags, std::uint64_t gpus) {
  jobs::Request request{.name = "trial", .gpus = gpus, .gpus_from = "--gpus"};
  const std::string line =
      "--num-layers 12 --hidden-size 512 --num-attention-heads 8 --seq-length 512 --vocab-size "
      "1000 --micro-batch-size 2 --bf16 " +
      flags;
  for (const std::string& word : {line}) {
    std::size_t at = 0;
    std::vector<std::string> words;
    while (at < word.size()) {
      const std::size_t end = std::min(word.find(' ', at), word.size());
      words.push_back(word.substr(at, end - at));
      at = end + 1;
    }
    for (std::size_t i = 0; i < words.size(); ++i) {
      jobs::Setting setting{.name = jobs::flag_name(words[i]), .written = words[i]};
      while (i + 1 < words.size() && !words[i + 1].starts_with("--"))
        setting.values.push_back(words[++i]);
      request.settings.push_back(setting);
    }
  }
  try {
    jobs::megatron::read(request);
  } catch (const config::Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a backend of attention changes the kernels of a job's stack", "[jobs]") {
  const auto import_backend = [](const std::string& flag) {
    return tests::import_text("train.sh",
                              "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 4 "
                              "--hidden-size 512 --num-attention-heads 8 --seq-length 512 "
                              "--vocab-size 1000 --micro-batch-size 1 --bf16 " +
                                  flag + "\n");
  };
  using config::AttentionKernel;
  using Kernels = std::vector<AttentionKernel>;
  const jobs::Job flash = import_backend("--attention-backend flash");
  CHECK(scenario_of(flash).training.stack.name == "megatron-core");
  CHECK(scenario_of(flash).training.stack.attention ==
        Kernels{AttentionKernel::fa2, AttentionKernel::ck});
  CHECK(flash.comments.at("stack.like") == "framework of the job");
  CHECK(flash.comments.at("stack.attention") == "--attention-backend flash (line 1)");
  CHECK(scenario_of(import_backend("--attention-backend fused")).training.stack.attention ==
        Kernels{AttentionKernel::cudnn, AttentionKernel::ck});
  CHECK_FALSE(scenario_of(import_backend("--attention-backend unfused")).training.flash_attention);
  const jobs::Job local = import_backend("--transformer-impl local");
  CHECK(scenario_of(local).training.stack.name == "megatron-local");
  CHECK_FALSE(scenario_of(local).training.flash_attention);
  CHECK(scenario_of(import_backend("--transformer-impl local --use-flash-attn"))
            .training.stack.attention.front() == AttentionKernel::fa2);
  CHECK(scenario_of(import_backend("--attention-backend auto")).training.stack.attention ==
        Kernels{AttentionKernel::cudnn, AttentionKernel::fa2, AttentionKernel::ck});
}

TEST_CASE("flags of CUDA graphs give scope or modules", "[jobs]") {
  const auto import_graphs = [](const std::string& flags) {
    return tests::import_text(
        "train.sh",
        "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 4 --hidden-size 512 "
        "--num-attention-heads 8 --seq-length 512 --vocab-size 1000 --micro-batch-size 1 --bf16 "
        "--num-experts 8 " +
            flags + "\n");
  };
  const auto graphs = [&](const std::string& flags) {
    return to_string(scenario_of(import_graphs(flags)).training.cuda_graphs);
  };
  const std::string engine = "--cuda-graph-impl transformer_engine ";
  CHECK(graphs("") == "none");
  CHECK(graphs("--cuda-graph-impl none --cuda-graph-modules attn") == "none");
  CHECK(graphs(engine) == "layer");
  CHECK(graphs("--enable-cuda-graph --cuda-graph-scope full") == "layer");
  CHECK(graphs("--cuda-graph-impl full_iteration") == "iteration");
  CHECK(graphs("--cuda-graph-impl local --cuda-graph-scope full_iteration") == "iteration");
  CHECK(graphs("--cuda-graph-impl local --cuda-graph-scope full_iteration_inference") == "layer");
  CHECK(graphs(engine + "--cuda-graph-modules attn moe_router moe_preprocess") ==
        "attn and moe_router and moe_preprocess");
  CHECK(graphs("--external-cuda-graph --cuda-graph-scope attn moe_router") ==
        "attn and moe_router");
  CHECK(graphs(engine + "--cuda-graph-scope moe_router,moe_preprocess") ==
        "moe_router and moe_preprocess");
  // Megatron-LM's own implementation captures router and preprocessing together.
  CHECK(graphs("--cuda-graph-impl local --cuda-graph-modules attn moe_router") ==
        "attn and moe_router and moe_preprocess");
  const jobs::Job job = import_graphs(engine + "--cuda-graph-modules attn vision");
  CHECK(to_string(scenario_of(job).training.cuda_graphs) == "attn");
  CHECK(tests::has_note(job.not_modelled, "the module vision is not read"));
  // Recomputation of parts, and experts that pad their buffers.
  CHECK(graphs(engine + "--cuda-graph-modules attn --recompute-granularity selective "
                        "--recompute-modules moe") == "attn");
  CHECK(graphs(engine + "--cuda-graph-modules attn moe --moe-expert-capacity-factor 1.5 "
                        "--moe-pad-expert-input-to-capacity") == "attn and moe");
  CHECK(graphs("--cuda-graph-impl full_iteration --recompute-granularity full "
               "--recompute-method uniform --recompute-num-layers 1") == "iteration");
}

TEST_CASE("CUDA graphs that Megatron-LM refuses are errors in its words", "[jobs]") {
  using Catch::Contains;
  const std::string batch = "--global-batch-size 16 ";
  const auto dense = [&](const std::string& flags) { return refusal(batch + flags, 8); };
  const auto experts = [&](const std::string& flags) {
    return refusal(batch + "--num-experts 8 --moe-token-dispatcher-type alltoall " + flags, 8);
  };
  const std::string engine = "--cuda-graph-impl transformer_engine --cuda-graph-modules ";
  CHECK(dense(engine + "attn mlp").empty());
  CHECK(experts(engine + "attn moe_router moe_preprocess").empty());
  CHECK_THAT(dense("--cuda-graph-impl engine"), Contains("invalid choice (choose from none"));
  CHECK_THAT(dense("--enable-cuda-graph --external-cuda-graph"),
             Contains("cannot be enabled at the same time"));
  CHECK_THAT(dense("--enable-cuda-graph --cuda-graph-impl local"),
             Contains("Do not use enable_cuda_graph or external_cuda_graph with cuda_graph_impl"));
  CHECK_THAT(dense(engine + "full attn"), Contains("full scope cannot be used with other scopes"));
  CHECK_THAT(
      dense(engine + "full_iteration"),
      Contains("full_iteration cannot be combined with cuda_graph_impl='transformer_engine'"));
  CHECK_THAT(dense("--cuda-graph-impl full_iteration --cuda-graph-modules attn"),
             Contains("cuda_graph_modules must be empty"));
  CHECK_THAT(dense("--cuda-graph-impl local --cuda-graph-scope full_iteration attn"),
             Contains("cuda_graph_modules must be empty"));
  CHECK_THAT(dense(engine + "moe_router"), Contains("moe cuda graph is only supported for MoE"));
  CHECK_THAT(experts(engine + "moe moe_router"),
             Contains("must not contain both moe and moe_router"));
  CHECK_THAT(experts(engine + "moe_preprocess"),
             Contains("moe_preprocess cuda graph is only supported with moe_router cuda graph"));
  CHECK_THAT(experts(engine + "mlp"),
             Contains("mlp cuda graph is only supported for dense layers"));
  CHECK_THAT(experts(engine + "attn moe"),
             Contains("moe cuda graph is only supported with drop-padding MoE"));
  CHECK_THAT(experts(engine + "moe_router moe_preprocess --moe-expert-capacity-factor 1.5"),
             Contains("DtoH copies and synchronizations in the preprocess step"));
  const std::string full =
      " --recompute-granularity full --recompute-method uniform --recompute-num-layers 1";
  CHECK_THAT(dense(engine + "attn" + full),
             Contains("full recompute is only supported with full iteration CUDA graph"));
  CHECK_THAT(dense(engine + "attn --cpu-offloading-num-layers 2"),
             Contains("CUDA graphs not supported with CPU offloading"));
  const std::string of_moe = " --recompute-granularity selective --recompute-modules moe";
  CHECK_THAT(experts(engine + "moe_router" + of_moe),
             Contains("moe recompute is not supported with moe_router CUDA graph"));
  CHECK(experts("--cuda-graph-impl local --cuda-graph-modules moe_router" + of_moe).empty());
}

TEST_CASE("flags that Megatron-LM dropped before 2024 choose the stack of its time", "[jobs]") {
  const auto training = [](const std::string& flags) {
    return scenario_of(
               tests::import_text("train.sh",
                                  "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 4 "
                                  "--hidden-size 512 --num-attention-heads 8 --seq-length 512 "
                                  "--vocab-size 1000 --micro-batch-size 1 --bf16 " +
                                      flags + "\n"))
        .training;
  };
  CHECK(training("").stack.name == "megatron-core");
  CHECK(training("--DDP-impl local").stack.name == "megatron-lm-2022");
  CHECK(training("--checkpoint-activations").stack.name == "megatron-lm-2022");
  CHECK_FALSE(training("--DDP-impl local").flash_attention);
  CHECK(training("--DDP-impl local --use-flash-attn").flash_attention);
  // Transformer Engine came before --DDP-impl went.
  CHECK(training("--DDP-impl local --transformer-impl local").stack.name == "megatron-local");
  CHECK(training("--DDP-impl local --transformer-impl transformer_engine").stack.name ==
        "megatron-core");
  const config::Training eight = training("--DDP-impl local --fp8-hybrid");
  CHECK(eight.stack.name == "megatron-core");
  CHECK(eight.precision == config::DataType::fp8);
}

TEST_CASE("flags that Megatron-LM dropped before 2024 are read", "[jobs]") {
  const auto import_flags = [](const std::string& flags) {
    return tests::import_text("train.sh",
                              "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 4 "
                              "--hidden-size 512 --num-attention-heads 8 --seq-length 512 "
                              "--vocab-size 1000 --micro-batch-size 1 --fp16 " +
                                  flags + "\n");
  };
  const auto recompute = [&](const std::string& flags) {
    const jobs::Job job = import_flags(flags);
    CHECK(job.not_modelled.empty());
    return to_string(scenario_of(job).training.recompute);
  };
  CHECK(recompute("--activations-checkpoint-method uniform") == "full");
  CHECK(
      recompute("--activations-checkpoint-method uniform --activations-checkpoint-num-layers 2") ==
      "full, 2 layers together");
  CHECK(recompute("--activations-checkpoint-method block --activations-checkpoint-num-layers 3") ==
        "full of 3 layers a stage");
  // arguments.py of 2021: one layer by default.
  CHECK(recompute("--activations-checkpoint-method block") == "full of 1 layers a stage");
  CHECK(recompute("--activations-checkpoint-num-layers 2") == "none");
  CHECK(recompute("--checkpoint-activations --checkpoint-num-layers 2") ==
        "full, 2 layers together");
  CHECK_THROWS_WITH(import_flags("--activations-checkpoint-method uniform "
                                 "--activations-checkpoint-num-layers two"),
                    Catch::Contains("is not a whole number"));
  const jobs::Job job = import_flags(
      "--model-parallel-size 4 --DDP-impl torch --distribute-checkpointed-activations "
      "--no-contiguous-buffers-in-local-ddp --use-contiguous-buffers-in-ddp");
  CHECK(scenario_of(job).parallel.tp.value == 4);
  CHECK(scenario_of(job).parallel.dp.value == 2);  // 8 / 4
  REQUIRE(job.not_modelled.size() == 1);
  CHECK(tests::has_note(job.not_modelled, "--distribute-checkpointed-activations: inputs of"));
  CHECK(tests::has_note(job.without_effect, "--DDP-impl torch"));
}

TEST_CASE("a fork of Megatron-LM with zero bubbles has more schedules than its stack", "[jobs]") {
  const jobs::Job job = tests::import_text(
      "train.sh",
      "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --hidden-size 512 "
      "--num-attention-heads 8 --seq-length 512 --vocab-size 1000 --micro-batch-size 1 --bf16 "
      "--pipeline-model-parallel-size 4 --global-batch-size 16 --enable-zero-bubble\n");
  const config::Scenario scenario = scenario_of(job);
  CHECK(scenario.schedules.front().name == "zb-2p");
  CHECK(scenario.training.stack.name == "megatron-core");
  CHECK(scenario.training.stack.schedules.empty());
}

TEST_CASE("Megatron-LM's assertions are errors in its words", "[jobs]") {
  using Catch::Contains;
  CHECK(refusal("--global-batch-size 16", 8).empty());
  CHECK_THAT(refusal("--tensor-model-parallel-size 3", 8),
             Contains("world size (8, by --gpus) is not divisible by total_model_size (3"));
  CHECK_THAT(refusal("--global-batch-size 24", 8),
             Contains("global batch size (24) is not divisible by micro batch size (2) times data "
                      "parallel size (8)"));
  CHECK_THAT(refusal("--pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 4 "
                     "--global-batch-size 16",
                     8),
             Contains("divisible number of layers per virtual pipeline stage"));
  CHECK_THAT(refusal("--pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-rank 3 "
                     "--no-overlap-p2p-communication --global-batch-size 16",
                     8),
             Contains("should be greater than 2"));
  for (const std::string flags :
       {"", "--num-virtual-stages-per-pipeline-rank 3 --no-overlap-p2p-communication "})
    CHECK_THAT(refusal("--pipeline-model-parallel-size 4 --global-batch-size 16 "
                       "--overlap-p2p-communication-warmup-flush " +
                           flags,
                       8),
               Contains("only compatible with overlap_p2p_comm but not batch_p2p_comm"));
  CHECK_THAT(refusal("--num-virtual-stages-per-pipeline-rank 2 --pipeline-model-parallel-layout "
                     "Et*6|t*6L --pipeline-model-parallel-size 2 --global-batch-size 16",
                     8),
             Contains("No more than one of the following arguments"));
  CHECK_THAT(refusal("--overlap-param-gather --global-batch-size 16", 8),
             Contains("only supported with distributed optimizer"));
  CHECK_THAT(refusal("--tensor-model-parallel-size 2 --tp-comm-overlap --global-batch-size 16", 8),
             Contains("sequence parallelism is enabled"));
  CHECK_THAT(refusal("--recompute-granularity selective --recompute-method uniform", 8),
             Contains("not yet supported for selective"));
  CHECK_THAT(refusal("--num-virtual-stages-per-pipeline-rank 2 --global-batch-size 16", 8),
             Contains("pipeline-model-parallel size should be greater than 1"));
  CHECK_THAT(refusal("--hybrid-layer-pattern M-|M*|M- --global-batch-size 16", 8),
             Contains("pipeline-model-parallel size should be greater than 1"));
  CHECK_THAT(refusal("--position-embedding-type rotary", 8), Contains("choose from rope"));
}

TEST_CASE("an empty value of a size is refused, with its location", "[jobs]") {
  const tests::CommandFolder place;
  const std::string start =
      "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 4 --num-attention-heads 8 "
      "--seq-length 512 --vocab-size 1000 --micro-batch-size 1 --bf16 \\\n  ";
  for (const std::string flag :
       {"--ffn-hidden-size=", "--ffn-hidden-size ''", "--ffn-hidden-size $EMPTY"}) {
    place.write("train.sh", "EMPTY=\n" + start + "--hidden-size 512 " + flag + "\n");
    CHECK_THAT(place.run("import train.sh").err,
               Catch::Contains("train.sh:3:") && Catch::Contains("--ffn-hidden-size") &&
                   Catch::Contains("the value is empty; allowed: a whole number"));
  }
  place.write("train.sh", start + "--hidden-size=\n");
  CHECK_THAT(
      place.run("import train.sh").err,
      Catch::Contains("train.sh:2:") && Catch::Contains("--hidden-size=: the value is empty"));
}

namespace {

// Flags of Llama 3 8B, without layout and batch.
const std::string llama_flags =
    "--num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 "
    "--group-query-attention --num-query-groups 8 --swiglu --normalization RMSNorm "
    "--disable-bias-linear --untie-embeddings-and-output-weights --position-embedding-type rope "
    "--seq-length 4096 --hidden-dropout 0 --attention-dropout 0 --vocab-size 128256 --bf16 "
    "--use-distributed-optimizer --micro-batch-size 1 --global-batch-size 64 ";
const std::string llama_launch =
    "torchrun --nnodes 2 --nproc_per_node 8 pretrain_gpt.py " + llama_flags;

jobs::Job script_job(const std::string& text, jobs::JobWords words = {}) {
  const tests::CommandFolder place;
  place.write("train.sh", text);
  const std::vector<std::string> files{(place.folder() / "train.sh").string()};
  return jobs::import_job(files, words);
}

}  // namespace

TEST_CASE("a script may choose its layout by a case over several lines", "[jobs][shell]") {
  // 16 GPUs / (tp 4 x pp 2) = 2 replicas, and 16 / (1 x 2) = 8.
  const std::string script =
      "SCALE=${SCALE:-8b}\ncase $SCALE in\n  1b)\n    TP=1\n    ;;\n  8b)\n    TP=4\n    ;;\n"
      "  *)\n    echo unknown scale\n    exit 1\n    ;;\nesac\n" +
      llama_launch + "--tensor-model-parallel-size $TP --pipeline-model-parallel-size 2\n";
  const config::Scenario large = scenario_of(script_job(script));
  CHECK(large.parallel.tp.value == 4);
  CHECK(large.devices.value == 2);
  CHECK(large.parallel.dp.value == 2);
  CHECK(large.microbatches.value == 32);  // 64 / (1 x 2)
  const config::Scenario small = scenario_of(script_job(script, {.variables = {{"SCALE", "1b"}}}));
  CHECK(small.parallel.tp.value == 1);
  CHECK(small.parallel.dp.value == 8);
  CHECK_THROWS_WITH(script_job(script, {.variables = {{"SCALE", "2b"}}}),
                    Catch::Contains("train.sh:11:1: the script exits here"));
}

TEST_CASE("a case in a sourced file or a function is followed", "[jobs][shell]") {
  const tests::CommandFolder place;
  place.write("layout.inc", "case $MODEL in\n  (big|huge)\n    TP=8 ;;\n  *) TP=2 ;;\nesac\n");
  place.write("train.sh", "MODEL=${MODEL:-big}\nsource $(dirname $0)/layout.inc\n" + llama_launch +
                              "--tensor-model-parallel-size $TP\n");
  const std::vector<std::string> files{(place.folder() / "train.sh").string()};
  CHECK(scenario_of(jobs::import_job(files)).parallel.tp.value == 8);
  CHECK(scenario_of(jobs::import_job(files, {.variables = {{"MODEL", "x"}}})).parallel.tp.value ==
        2);
  CHECK(scenario_of(jobs::import_job(files, {.variables = {{"TP", "4"}}})).parallel.tp.value == 4);
  const config::Scenario scenario = scenario_of(script_job(
      "layout() {\n  case \"$1\" in\n    [0-9]b|1[0-9]b)\n      TP=2 ;&\n    none) PP=2 ;;\n    *) "
      "TP=8\n"
      "  esac\n}\nlayout 13b\n" +
      llama_launch + "--tensor-model-parallel-size $TP --pipeline-model-parallel-size $PP\n"));
  CHECK(scenario.parallel.tp.value == 2);
  CHECK(scenario.devices.value == 2);
}

TEST_CASE("an array in the string of a command gives all of its flags", "[jobs][shell]") {
  const std::string array =
      "ARGS=(\n  " + llama_flags +
      "\n  --tensor-model-parallel-size 2 --pipeline-model-parallel-size 2\n)\n";
  const std::string launch = "torchrun --nnodes 2 --nproc_per_node 8 pretrain_gpt.py";
  const std::vector<std::string> scripts{
      array + "CMD=\"" + launch + " ${ARGS[@]}\"\nsrun --label bash -c \"$CMD\"\n",
      array + "eval \"" + launch + " ${ARGS[*]} $EMPTY\"\n",
      array + "export LINE=\"${ARGS[@]}\"\nsrun sh -c '" + launch + " $LINE'\n"};
  for (const std::string& script : scripts) {
    CAPTURE(script);
    const jobs::Job job = script_job(script);
    const config::Scenario scenario = scenario_of(job);
    CHECK(scenario.parallel.tp.value == 2);
    CHECK(scenario.devices.value == 2);
    CHECK(scenario.parallel.dp.value == 4);  // 16 / (2 x 2)
    CHECK(job.comments.at("parallel.tp") == "--tensor-model-parallel-size 2 (line 3)");
  }
}

TEST_CASE("an unset option after a list flag is nothing", "[jobs][shell]") {
  const std::string begin =
      "torchrun --nnodes 4 --nproc_per_node 8 pretrain_gpt.py --num-layers 27 --hidden-size 2048 "
      "--ffn-hidden-size 10944 --num-attention-heads 16 --num-experts 64 --moe-router-topk 6 "
      "--moe-ffn-hidden-size 1408 --swiglu --seq-length 4096 --vocab-size 102400 --bf16 "
      "--micro-batch-size 1 --global-batch-size 256 --expert-model-parallel-size 8 "
      "--moe-grouped-gemm ";
  const std::string list = "--moe-layer-freq \"([0]*1+[1]*26)\" ";
  const std::vector<std::string> scripts{
      "if [ \"${OFFLOAD:-no}\" = yes ]; then\n  offload=\"--cpu-offloading\"\nfi\n" + begin + list +
          "$offload\n",
      begin + list + "${EXTRA_ARGS}\n",
      "more=()\nCMD=\"" + begin +
          "--moe-layer-freq ([0]*1+[1]*26) $late ${more[@]} --overlap-grad-reduce\"\n$CMD $@\n"};
  for (const std::string& script : scripts) {
    CAPTURE(script);
    const jobs::Job job = script_job(script);
    CHECK(job.not_modelled.empty());
    REQUIRE(scenario_of(job).model->value.experts);
    CHECK(scenario_of(job).model->value.experts->first_dense == 1);
  }
  // Only what no script sets is mentioned.
  CHECK(script_job(scripts[0]).assumed.empty());
  REQUIRE_FALSE(script_job(scripts[1]).assumed.empty());
  CHECK_THAT(script_job(scripts[1]).assumed.front(), Catch::Contains("$EXTRA_ARGS adds no flags"));
  CHECK_THAT(script_job(scripts[1], {.variables = {{"EXTRA_ARGS", "--overlap-grad-reduce"}}})
                 .comments.at("communication.overlap_grad_reduce"),
             Catch::Contains("--overlap-grad-reduce"));
  // A value that is missing is asked for.
  CHECK_THROWS_WITH(script_job(llama_launch + "--tensor-model-parallel-size $TP\n"),
                    Catch::Contains("as in TP=8"));
}

TEST_CASE("arithmetic decides on flags", "[jobs][shell]") {
  const std::string end = llama_launch +
                          "--sequence-parallel --pipeline-model-parallel-size 2 "
                          "--tensor-model-parallel-size $TP $opt\n";
  const std::vector<std::string> scripts{
      "TP=${TP:-4}\nOVERLAP=$(( $TP > 1 ? 1 : 0 ))\nopt=--overlap-grad-reduce\nif [ $OVERLAP -eq 1 "
      "]; then\n"
      "  opt=\"--overlap-grad-reduce --tp-comm-overlap\"\nfi\n" +
          end,
      "TP=${TP:-4}\n(( TP > 1 )) && opt=--tp-comm-overlap\n" + end,
      "TP=${TP:-4}\nlet \"OVERLAP = TP >= 2\"\nfor ((i = 0; i < OVERLAP; i++)); do opt+=\" "
      "--tp-comm-overlap\"; "
      "done\n" +
          end};
  for (const std::string& script : scripts) {
    CAPTURE(script);
    CHECK(scenario_of(script_job(script)).communication.tp_comm_overlap);
    const jobs::Job one = script_job(script, {.variables = {{"TP", "1"}}});
    CHECK_FALSE(one.comments.contains("communication.tp_comm_overlap"));
  }
}

TEST_CASE("the last of several training commands is read, and the choice is stated",
          "[jobs][shell]") {
  const std::string loop =
      "for TP in 1 2 4; do\n  " + llama_launch + "--tensor-model-parallel-size $TP\ndone\n";
  const jobs::Job job = script_job(loop);
  CHECK(scenario_of(job).parallel.tp.value == 4);
  REQUIRE(job.not_modelled.size() == 1);
  CHECK_THAT(job.not_modelled.front().why,
             Catch::Contains("of 3 training commands, the last is read"));
  const jobs::Job second = script_job(loop, {.variables = {{"TP", "2"}}});
  CHECK(scenario_of(second).parallel.tp.value == 2);
  CHECK(second.not_modelled.empty());
}

TEST_CASE("what a script does not decide is listed as not understood", "[jobs][shell]") {
  const jobs::Job job =
      script_job("if nvidia-smi | grep -q H100; then\n  opt=--tp-comm-overlap\nfi\n" +
                 llama_launch + "--tensor-model-parallel-size 2 $opt\n");
  REQUIRE(job.not_modelled.size() == 1);
  CHECK_THAT(job.not_modelled.front().text, Catch::Contains("if nvidia-smi"));
  CHECK(job.not_modelled.front().origin.line == 1);
}

TEST_CASE("a program that trains no language model is refused", "[jobs][shell]") {
  for (const std::string program : {"pretrain_bert.py", "pretrain_t5.py", "./train_rl.py"}) {
    CAPTURE(program);
    CHECK_THROWS_WITH(script_job("torchrun --nproc_per_node 8 " + program + " " + llama_flags),
                      Catch::Contains(" trains ") && Catch::Contains("train.sh:1:") &&
                          Catch::Contains("allowed: pretrain_gpt.py"));
  }
  CHECK_NOTHROW(script_job("torchrun --nproc_per_node 8 my_pretrain_bert.py " + llama_flags));
}

TEST_CASE("options of Slurm give the GPUs of a node", "[jobs][shell]") {
  const jobs::Job job = script_job(
      "#!/bin/bash\n#SBATCH -N 2\n#SBATCH --gpus-per-node=8\n"
      "torchrun --nnodes $SLURM_NNODES --nproc_per_node $SLURM_GPUS_PER_NODE pretrain_gpt.py " +
      llama_flags + "--tensor-model-parallel-size 2\n");
  CHECK(scenario_of(job).parallel.dp.value == 8);  // 2 x 8 / 2
}

TEST_CASE("bash runs a script in a sandbox if it is asked to", "[jobs][shell]") {
  const std::string script =
      "set -e\nTP=$(printf '%s' 24 | sed 's/2//')\necho secret > stolen.txt\nsource missing.sh\n" +
      llama_launch + "--tensor-model-parallel-size $TP\n";
  const tests::CommandFolder place;
  place.write("train.sh", script);
  const std::vector<std::string> files{(place.folder() / "train.sh").string()};
  // Our reader does not follow sed.
  CHECK_THROWS_WITH(jobs::import_job(files), Catch::Contains("sed 's/2//'") &&
                                                 Catch::Contains("as in NAME=8") &&
                                                 Catch::Contains("--run-with-bash"));
  try {
    const jobs::Job job = jobs::import_job(files, {.with_bash = true});
    CHECK(scenario_of(job).parallel.tp.value == 4);
    CHECK(scenario_of(job).parallel.dp.value == 4);  // 16 / 4
    CHECK_FALSE(std::filesystem::exists(place.folder() / "stolen.txt"));
    CHECK(job.not_modelled.empty());
    // Programs that do not run in the sandbox print nothing, which may decide on flags.
    place.write("train.sh", "if nvidia-smi -L | grep -q H100; then\n  opt=--tp-comm-overlap\nfi\n" +
                                llama_launch +
                                "--tensor-model-parallel-size 2 $opt 2>&1 | tee log.txt\n");
    const jobs::Job asks = jobs::import_job(files, {.with_bash = true});
    REQUIRE(asks.not_modelled.size() == 1);
    CHECK(asks.not_modelled.front().text == "nvidia-smi -L");
    place.write("train.sh", "while true; do :; done\n" + script);
    CHECK_THROWS_WITH(jobs::import_job(files, {.with_bash = true}),
                      Catch::Contains("longer than the time limit"));
  } catch (const config::Error& error) {
    if (std::string(error.what()).find("needs namespaces") == std::string::npos) throw;
    WARN("skipped: " << error.what());
  }
}

namespace {

// A job of Megatron-LM on 8 GPUs with more flags, after the first lines of a script.
jobs::Job small_job(const std::string& flags, const std::string& first_lines = "") {
  return tests::import_text(
      "train.sh", first_lines +
                      "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --hidden-size "
                      "512 --num-attention-heads 8 --seq-length 512 --vocab-size 1000 "
                      "--micro-batch-size 1 --global-batch-size 8 --bf16 " +
                      flags + "\n");
}

}  // namespace

TEST_CASE("modules of multi-token prediction may share one layer", "[jobs]") {
  const std::string modules = "--mtp-num-layers 2 --mtp-use-repeated-layer";
  CHECK(scenario_of(small_job(modules)).model->value.mtp_use_repeated_layer);
  CHECK(small_job(modules).not_modelled.empty());
  CHECK_FALSE(scenario_of(small_job("--mtp-num-layers 2")).model->value.mtp_use_repeated_layer);
}

TEST_CASE("an optimizer that gives each rank whole matrices divides its state", "[jobs]") {
  const jobs::Job job = small_job("--optimizer dist_muon");
  CHECK(scenario_of(job).parallel.zero == 1);
  CHECK(scenario_of(small_job("--optimizer muon")).parallel.zero == 0);
  CHECK(scenario_of(small_job("--optimizer muon --use-layer-wise-distributed-optimizer"))
            .parallel.zero == 1);
}

TEST_CASE("a block of no layers recomputes nothing", "[jobs]") {
  const std::string block = "--recompute-granularity full --recompute-method block ";
  const jobs::Job job = small_job(block + "--recompute-num-layers 0");
  CHECK(config::value_at(job.tree, "training.recompute") == nullptr);
  CHECK(tests::has_note(job.without_effect, "nothing is recomputed"));
  CHECK(to_string(scenario_of(small_job(block + "--recompute-num-layers 2")).training.recompute) !=
        "none");
}

TEST_CASE("expandable segments of PyTorch's allocator waste less memory", "[jobs]") {
  const double usual = scenario_of(small_job("")).training.fragmentation;
  const auto with = [](const std::string& variable) { return small_job("", variable + "\n"); };
  const double expandable =
      scenario_of(with("export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"))
          .training.fragmentation;
  CHECK(expandable == Approx(0.02));
  CHECK(expandable < usual);
  // A variable that the script keeps to itself does not reach the program.
  CHECK(scenario_of(with("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"))
            .training.fragmentation == usual);
  const jobs::Job other = with("export PYTORCH_ALLOC_CONF=max_split_size_mb:512");
  CHECK(tests::has_note(other.not_modelled, "PYTORCH_ALLOC_CONF=max_split_size_mb:512: another"));
}

TEST_CASE("sizes of Slurm on the command line replace those of the script", "[jobs][shell]") {
  const tests::CommandFolder place;
  place.write("train.sh",
              "#SBATCH --nodes=8\n#SBATCH --ntasks-per-node=8\n"
              "NGPU=$((SLURM_NNODES * SLURM_NTASKS_PER_NODE))\n"
              "srun python pretrain_gpt.py " +
                  llama_flags + "--num-workers $SLURM_NTASKS --global-batch-size $((NGPU * 4))\n");
  const std::vector<std::string> files{(place.folder() / "train.sh").string()};
  const auto check = [&](const jobs::JobWords& words, std::uint32_t gpus) {
    const jobs::Job job = jobs::import_job(files, words);
    const config::Scenario scenario = scenario_of(job);
    CHECK(scenario.parallel.dp.value == gpus);
    CHECK(scenario.microbatches.value == 4);  // global batch / dp
    CHECK(tests::has_note(job.without_effect, fmt::format("--num-workers {}", gpus)));
  };
  check({}, 64);
  check({.variables = {{"SLURM_NNODES", "2"}}}, 16);
  check({.variables = {{"SLURM_JOB_NUM_NODES", "2"}}}, 16);
  check({.variables = {{"SLURM_NTASKS_PER_NODE", "4"}}}, 32);
  check({.variables = {{"SLURM_NNODES", "2"}, {"SLURM_NTASKS_PER_NODE", "4"}}}, 8);
  try {
    check({.variables = {{"SLURM_NNODES", "2"}}, .with_bash = true}, 16);
  } catch (const config::Error& error) {
    if (std::string(error.what()).find("needs namespaces") == std::string::npos) throw;
    WARN("skipped: " << error.what());
  }
}

TEST_CASE("flags that stand in variables alone are one command", "[jobs]") {
  const tests::CommandFolder place;
  place.write("arguments.sh",
              "LOG_ARGS=(--wandb-exp-name)\nNOTHING=\"0 ignore\"\nOUTER=\"cd x; run " +
                  llama_flags + "\"\nANOTHER=optim_grads\n");
  const std::vector<std::string> files{(place.folder() / "arguments.sh").string()};
  const jobs::Job job = jobs::import_job(files, {.gpus = 8});
  CHECK(scenario_of(job).parallel.dp.value == 8);
  for (const std::vector<jobs::Note>& notes : {job.without_effect, job.not_modelled})
    for (const char* const text : {"ignore", "optim_grads", "cd x"})
      CHECK_FALSE(tests::has_note(notes, text));
  const std::string line = jobs::command_line(files, {}).text;
  CHECK(line.find("--hidden-size") != std::string::npos);
  CHECK(line.find("ignore") == std::string::npos);
}

TEST_CASE("pairs of passes need several chunks on several devices", "[jobs]") {
  const std::string flags = llama_launch +
                            "--num-experts 8 --moe-ffn-hidden-size 512 "
                            "--moe-token-dispatcher-type alltoall --expert-model-parallel-size 2 "
                            "--pipeline-model-parallel-size 2 --overlap-moe-expert-parallel-comm ";
  CHECK_THROWS_WITH(tests::import_text("train.sh", flags + "\n"),
                    Catch::Contains("train.sh:1:") &&
                        Catch::Contains("--overlap-moe-expert-parallel-comm: ") &&
                        Catch::Contains("several chunks per device"));
  CHECK(scenario_of(
            tests::import_text("train.sh", flags + "--num-layers-per-virtual-pipeline-stage 1\n"))
            .schedules.front()
            .name == "interleaved-1f1b");
}

TEST_CASE("transfers of interleaved stages overlap in warm-up and cool-down on request", "[jobs]") {
  const std::string flags = llama_launch +
                            "--pipeline-model-parallel-size 2 "
                            "--num-layers-per-virtual-pipeline-stage 1 ";
  const auto p2p_with = [&](const std::string& more) {
    const jobs::Job job = tests::import_text("train.sh", flags + more + "\n");
    for (const jobs::Note& note : job.not_modelled)
      CHECK(note.text.find("p2p") == std::string::npos);
    return scenario_of(job).p2p;
  };
  CHECK(p2p_with("") == config::P2p::steady);
  CHECK(p2p_with("--overlap-p2p-communication-warmup-flush") == config::P2p::eager);
  CHECK_THROWS_WITH(p2p_with("--no-overlap-p2p-communication"),
                    Catch::Contains("should be greater than 2"));
}

TEST_CASE("flags of a fork split the vocabulary with two barriers, one or none", "[jobs]") {
  const auto scenario_with = [&](const std::string& more) {
    return scenario_of(tests::import_text(
        "train.sh",
        llama_launch + "--pipeline-model-parallel-size 2 --enable-vocab-parallel " + more + "\n"));
  };
  using config::VocabularyCut;
  CHECK(scenario_with("").parallel.vocabulary == VocabularyCut::vocab_2);
  CHECK(scenario_with("--disable-backward-fusion").parallel.vocabulary == VocabularyCut::vocab_1);
  const config::Scenario interlaced = scenario_with("--use-interlaced-schedule");
  CHECK(interlaced.parallel.vocabulary == VocabularyCut::interlaced);
  CHECK(interlaced.schedules.front().name == "interlaced");
  CHECK(interlaced.p2p == config::P2p::blocking);
  const config::Scenario v_half = scenario_with(
      "--enable-zb-runtime --zero-bubble-v-schedule "
      "--zero-bubble-v-schedule-mem-setup half");
  CHECK(v_half.parallel.vocabulary == VocabularyCut::vocab_2);
  CHECK(v_half.schedules.front().name == "v-half");
}

TEST_CASE("the summary tells constructs of one name by their lines", "[jobs]") {
  const jobs::Job job = tests::import_text(
      "train.sh", "if probe_a; then EXTRA=--bf16; fi\nif probe_b; then EXTRA=--fp16; fi\n" +
                      llama_launch + "$EXTRA\n");
  CHECK_THAT(jobs::summary_of(job), Catch::Contains("\"if probe_a\" in line 1 (not followed), "
                                                    "\"if probe_b\" in line 2 (not followed)"));
}
