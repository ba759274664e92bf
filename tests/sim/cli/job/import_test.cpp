#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "sim/cli/job_scenario.hpp"
#include "sim/cli/options.hpp"
#include "support/paths.hpp"
#include "support/program.hpp"

using namespace pipewright;

namespace {

const std::string data = PIPEWRIGHT_TEST_DATA "/jobs/";

// Stack of the scenario that a file and options of the command line describe.
config::Stack stack_with(const std::string& file, std::vector<std::string> words) {
  words.insert(words.begin(), {file, "--cluster", "dgx-h100"});
  cli::po::options_description options;
  cli::add_scenario_options(options);
  return config::read_scenario(cli::scenario_tree(cli::parse(words, options, "scenario")))
      .training.stack;
}

}  // namespace

TEST_CASE("samples of a job keep their length with another model", "[import]") {
  const tests::CommandFolder place;
  place.write("train.sh",
              "torchrun --nproc_per_node 8 pretrain_gpt.py --tensor-model-parallel-size 2 "
              "--seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 "
              "--global-batch-size 64 --bf16 --use-distributed-optimizer\n");
  const tests::ProgramResult ran =
      place.run("run train.sh --model llama-3-8b --cluster dgx-h100 --engine timing --quiet");
  CAPTURE(ran.err);
  CHECK_THAT(ran.out, Catch::Contains("batch 64 x 4096,"));
}

TEST_CASE("an imported job is a scenario that runs like the job", "[cli][jobs]") {
  const tests::CommandFolder place;
  const tests::ProgramResult written =
      place.run("import " + data + "moe.sh --cluster dgx-h100-8 -o scenario.yaml");
  CAPTURE(written.err);
  CHECK(written.status == 0);
  CHECK_THAT(written.out, Catch::Contains("not modelled: " + data + "moe.sh:") &&
                              Catch::Contains("--some-new-flag 3") &&
                              Catch::Contains("wrote   scenario.yaml"));
  const std::string quick = " --engine timing --json --quiet";
  const tests::ProgramResult scenario = place.run("run scenario.yaml" + quick);
  const tests::ProgramResult job = place.run("run " + data + "moe.sh --cluster dgx-h100-8" + quick);
  CAPTURE(scenario.err, job.err);
  CHECK(scenario.status == 0);
  CHECK(scenario.out == job.out);
  CHECK_THAT(place.run("import " + data + "moe.sh").out,
             Catch::Contains("  ep: 8                             # --expert-model-parallel-size 8 "
                             "(line 13)") &&
                 Catch::Contains("# not modelled: --some-new-flag 3 (15): unknown"));
}

TEST_CASE("a stack on the command line keeps the keys of the stack that a job sets",
          "[cli][jobs]") {
  const tests::CommandFolder place;
  place.write("flash.sh",
              "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 4 --hidden-size 1024 "
              "--num-attention-heads 8 --seq-length 1024 --max-position-embeddings 1024 "
              "--vocab-size 32000 --micro-batch-size 1 --global-batch-size 8 --bf16 "
              "--attention-backend flash\n");
  place.write("mine.yaml", "like: megatron-core\nhost: {kernel: 9 us}\n");
  const std::string job = (place.folder() / "flash.sh").string();
  const std::string mine = (place.folder() / "mine.yaml").string();
  using Kernels = std::vector<config::AttentionKernel>;
  const Kernels flash{config::AttentionKernel::fa2, config::AttentionKernel::ck};
  const auto stack_of = [&](const std::vector<std::string>& words) {
    return stack_with(job, words);
  };
  CHECK(stack_of({}).attention == flash);
  for (const auto& [option, before] : {std::pair{"--stack", ""}, {"--set", "stack="}}) {
    const config::Stack bridge = stack_of({option, before + std::string("megatron-bridge")});
    CHECK(bridge.name == "megatron-bridge");
    CHECK(bridge.attention == flash);
    const config::Stack own = stack_of({option, before + mine});
    CHECK(own.attention == flash);
    CHECK(own.host.kernel == Approx(9e-6));
  }
  // A map replaces all keys of the stack.
  CHECK(stack_of({"--set", "stack={like: megatron-bridge}"}).attention != flash);
  CHECK_THROWS_WITH(stack_of({"--stack", "megatron-brigde"}),
                    Catch::Contains("did you mean 'megatron-bridge'?"));
}

TEST_CASE("a stack on the command line replaces the map of a scenario", "[cli]") {
  const tests::CommandFolder place;
  place.write("job.yaml",
              "model: llama-3-8b\ngpu: h100-sxm\ndevices: 2\nmicrobatches: 4\n"
              "stack: {like: megatron-core, attention: [fa2]}\n");
  const std::string file = (place.folder() / "job.yaml").string();
  CHECK(stack_with(file, {}).attention.size() == 1);
  CHECK(stack_with(file, {"--stack", "torchtitan"}).attention.size() > 1);
}

TEST_CASE("the error of a job without a cluster lists the clusters that fit", "[cli][jobs]") {
  const tests::CommandFolder place;
  const tests::ProgramResult ran = place.run("run " + data + "moe.sh");
  CHECK(ran.status == 2);
  CHECK_THAT(ran.err,
             Catch::Contains("the cluster is unknown; give --cluster X, such as one with 64 "
                             "GPUs: ") &&
                 Catch::Contains("dgx-h100-8 (64 h100-sxm)") && !Catch::Contains("dgx-h100 (32"));
  const tests::ProgramResult named =
      place.run("run " + data + "config_DGXH100_16x8x32xtp4pp8cp1.sh");
  CHECK_THAT(named.err, Catch::Contains("no cluster of the library has 128 h100") &&
                            Catch::Contains("platform make --node dgx-h100 --nodes 16"));
  // The node that makes a cluster has the GPUs that the job's file names.
  for (const auto& [gpu, node] : {std::pair{"b200", "dgx-b200 --nodes 512"},
                                  {"mi300x", "mi300x-roce --nodes 512"},
                                  {"gb200", "gb200-nvl72 --nodes 57"}}) {
    const std::string name = fmt::format("pretrain_{}.sh", gpu);
    place.write(name,
                "torchrun --nnodes 512 --nproc_per_node 8 pretrain_gpt.py --num-layers 4 "
                "--hidden-size 512 --num-attention-heads 8 --seq-length 512 --vocab-size 1000 "
                "--micro-batch-size 1 --bf16\n");
    CHECK_THAT(place.run("run " + name).err,
               Catch::Contains(fmt::format("platform make --node {} -o", node)));
  }
}

TEST_CASE("the error of an incomplete job names the missing keys", "[cli][jobs]") {
  const tests::CommandFolder place;
  CHECK_THAT(place.run("run " + data + "functional.yaml --cluster dgx-h100").err,
             Catch::Contains("the number of GPUs is unknown; give --dp"));
  CHECK(place.run("run " + data + "functional.yaml --cluster dgx-h100 --dp 4 --engine timing")
            .status == 0);
  place.write("open.sh",
              "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers $LAYERS --hidden-size 512 "
              "--num-attention-heads 8 --micro-batch-size 1\n");
  CHECK_THAT(place.run("import open.sh").err,
             Catch::Contains("open.sh:1:") &&
                 Catch::Contains("give it on the command line, as in LAYERS=8"));
  CHECK(place.run("import open.sh LAYERS=4").status == 0);
  place.write("notes.txt", "nothing of a job\n");
  CHECK_THAT(place.run("import notes.txt").err,
             Catch::Contains("no known job; allowed: files of Megatron-LM"));
}

TEST_CASE("files of a job are recognised without reading the job", "[cli][jobs]") {
  const tests::CommandFolder place;
  const std::string script = (place.folder() / "train.sh").string();
  const std::string variables = (place.folder() / "variables.sh").string();
  place.write("variables.sh", "export NODES=4\n");
  // Importing the job fails, because no script sets the variable LAYERS.
  place.write("train.sh",
              "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers $LAYERS --hidden-size 512 "
              "--num-attention-heads 8 --micro-batch-size 1\n");
  const cli::JobFiles files = cli::job_files({variables, script});
  CHECK(cli::is_job(files));
  CHECK_THROWS_WITH(cli::read_job(files), Catch::Contains("LAYERS"));

  cli::po::options_description options;
  cli::add_file_options(options);
  const cli::po::variables_map values = cli::parse({variables, script}, options, "scenario");
  CHECK(cli::scenario_file(values) == std::filesystem::path(script));
}

TEST_CASE("a strict import refuses settings that are not modelled", "[cli][jobs]") {
  const tests::CommandFolder place;
  for (const std::string command : {"import ", "run ", "layout "}) {
    CAPTURE(command);
    const tests::ProgramResult refused =
        place.run(command + data + "moe.sh --cluster dgx-h100-8 --strict");
    CHECK(refused.status == 2);
    CHECK_THAT(refused.err, Catch::Contains("moe.sh:15:1: --some-new-flag 3: unknown") &&
                                Catch::Contains("leave out --strict"));
    // Nothing is said twice: neither the summary of the settings, nor any of them.
    CHECK_THAT(refused.err, !Catch::Contains("settings used"));
    CHECK(refused.err.find("--some-new-flag") == refused.err.rfind("--some-new-flag"));
  }
  CHECK(place.run("import " + data + "gpt-dense.sh --strict").status == 0);
  const tests::ProgramResult loose =
      place.run("run " + data + "moe.sh --cluster dgx-h100-8 --engine timing --quiet");
  CHECK(loose.status == 0);
  CHECK_THAT(loose.err, Catch::Contains("1 not modelled: --some-new-flag (unknown)"));
}

TEST_CASE("the program lists what becomes of settings", "[cli][jobs]") {
  const tests::CommandFolder place;
  const std::string out = place.run("import --settings megatron hidden-size lr my-flag").out;
  CHECK_THAT(out, Catch::Contains("used: model.hidden") &&
                      Catch::Contains("without effect: learning rate and its schedule") &&
                      Catch::Contains("unknown"));
  CHECK_THAT(place.run("import --settings torchtitan").out, Catch::Contains("used: parallel.tp"));
  CHECK_THAT(place.run("import --settings nothing").err,
             Catch::Contains("there is no framework 'nothing'; allowed: megatron, bridge, "));
  for (const std::string name : {"llama-factory", "LLaMA-Factory", "ms-swift", "Megatron-LM"})
    CHECK(place.run("import --settings " + name).status == 0);
}

// Settings such as --no-rope-fusion change stack.fused since the groups of kernels that they split
// take time.
TEST_CASE("kernels that flags of fusion split take more time", "[cli][jobs]") {
  const tests::CommandFolder place;
  const auto seconds = [&](const std::string& without, const std::string& options) {
    std::string groups;
    for (const std::string group : {"norm", "activation", "rope", "softmax", "residual",
                                    "cross_entropy", "permutation", "optimizer"})
      if (group != without) groups += (groups.empty() ? "" : ", ") + group;
    const tests::ProgramResult result =
        place.run("run --cluster dgx-h100 -s 1 --global-batch 32 --engine timing --json --quiet " +
                  options + " --set 'stack={like: megatron-core, fused: [" + groups + "]}'");
    CAPTURE(result.err);
    REQUIRE(result.status == 0);
    const std::size_t at = result.out.find("\"makespan_s\": ");
    REQUIRE(at != std::string::npos);
    return std::stod(result.out.substr(at + 14));
  };
  const auto loss = [&](const std::string& group, const std::string& options) {
    return seconds(group, options) / seconds("", options) - 1;
  };
  const std::string dense = "--model llama-3-8b --tp 2 --dp 4";
  CHECK(loss("rope", dense) > 0.01);
  CHECK(loss("activation", dense) > 0.01);
  CHECK(loss("softmax", dense + " --set training.flash_attention=false") > 0.01);
  CHECK(loss("permutation", "--model qwen3-30b-a3b --ep 8 --dp 8") > 0.01);
  // A fused kernel of attention has its own softmax, and a layer without dropout only an addition.
  CHECK(loss("softmax", dense) == 0);
  CHECK(loss("residual", dense) == 0);
  CHECK(loss("residual", dense + " --set model.dropout=0.1") > 0.005);
}

TEST_CASE("variables of a job stand anywhere on the command line", "[cli][jobs]") {
  const tests::CommandFolder place;
  place.write("train.sh",
              "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers $LAYERS --hidden-size 512 "
              "--num-attention-heads 8 --seq-length 512 --vocab-size 1000 --micro-batch-size 1 "
              "--bf16 --tensor-model-parallel-size ${TP:-1}\n");
  for (const std::string words :
       {"--cluster dgx-h100 LAYERS=4 TP=2", "LAYERS=4 --cluster dgx-h100 TP=2",
        "TP=2 --engine timing LAYERS=4 --cluster dgx-h100"}) {
    CAPTURE(words);
    CHECK_THAT(place.run("run train.sh --quiet " + words).out, Catch::Contains("tp 2, dp 4"));
  }
  // Values of --set stay its own.
  CHECK_THAT(place
                 .run("run train.sh LAYERS=4 --cluster dgx-h100 --quiet --set parallel.tp=4 "
                      "global_batch=16 training.microbatch_size=1 --set parallel.dp=2")
                 .out,
             Catch::Contains("tp 4, dp 2, batch 16"));
}

TEST_CASE("the number of GPUs of a job may be given to each command", "[cli][jobs]") {
  const tests::CommandFolder place;
  place.write("titan.toml",
              "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 2\n"
              "seq_len = 4096\n[parallelism]\ntensor_parallel_degree = 2\n"
              "data_parallel_shard_degree = -1\n");
  REQUIRE(place.run("import titan.toml --gpus 16 -o titan.yaml").status == 0);
  const std::string time = place.run("run titan.yaml --cluster dgx-h100 --json --quiet").out;
  CHECK_FALSE(time.empty());
  // --dp, and --gpus, mean the same sharding and batch as the imported file.
  for (const std::string size : {"--gpus 16", "--dp 8"})
    CHECK(place.run("run titan.toml --cluster dgx-h100 --json --quiet " + size).out == time);
  CHECK_THAT(place.run("layout titan.toml --cluster dgx-h100 --gpus 16").out,
             Catch::Contains("dp 8"));
  CHECK_THAT(
      place.run("search titan.toml --cluster dgx-h100 --gpus 16 --quiet --set parallel.tp='[1, 2]'")
          .err,
      !Catch::Contains("unrecognised option") && !Catch::Contains("is unknown"));
  CHECK_THAT(place.run("run --model llama-3-8b --cluster dgx-h100 --gpus 8").err,
             Catch::Contains("--gpus applies to jobs of other frameworks only"));
}

TEST_CASE("many settings without effect are counted, and listed with --details", "[cli][jobs]") {
  const tests::CommandFolder place;
  std::string flags;
  for (const char* const flag :
       {"lr", "min-lr", "weight-decay", "clip-grad", "adam-beta1", "adam-beta2", "adam-eps", "seed",
        "log-interval", "eval-interval", "eval-iters", "save-interval", "train-iters",
        "lr-warmup-iters", "lr-decay-iters", "num-workers", "init-method-std"})
    flags += fmt::format("--{} 1 ", flag);
  place.write("train.sh", "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 4 " + flags +
                              "--hidden-size 512 --num-attention-heads 8 --seq-length 512 "
                              "--vocab-size 1000 --micro-batch-size 1 --bf16\n");
  const std::string brief = place.run("import train.sh").out;
  CHECK_THAT(brief, Catch::Contains("# without effect: 17 settings, which --details lists; ") &&
                        !Catch::Contains("--min-lr"));
  CHECK_THAT(place.run("import train.sh --details").out, Catch::Contains("--min-lr 1 (1)"));
}
