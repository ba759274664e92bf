#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "sim/config/text/yaml.hpp"
#include "sim/jobs/job.hpp"
#include "sim/jobs/support.hpp"
#include "sim/workload/plan/planner.hpp"

// Tests of flags that move the optimizer or activations to host memory.

using namespace pipewright;
using Catch::Contains;
using tests::import_files;
using tests::import_text;
using tests::scenario_of;

namespace {

workload::StageCosts costs_of(const config::Scenario& scenario) {
  const workload::Gpus gpus(scenario.devices.value, config::find_gpu("h100-sxm"));
  return workload::make_plan(scenario, scenario.schedules.front(), gpus).costs;
}

config::Scenario without_offload(config::Scenario scenario) {
  scenario.training.optimizer.offload.reset();
  scenario.training.offload.reset();
  return scenario;
}

// Bytes of optimizer state of a GPU of the first stage that the offload moves.
double moved_state(const config::Scenario& scenario) {
  return static_cast<double>(costs_of(without_offload(scenario)).state[0].optimizer) -
         static_cast<double>(costs_of(scenario).state[0].optimizer);
}

jobs::Job megatron_job(const std::string& fraction = "1.0", const std::string& more = "",
                       const std::string& threads = "") {
  jobs::JobWords words{.variables = {{"FRACTION", fraction}, {"MORE", more}}};
  if (!threads.empty()) words.variables.emplace_back("OMP_NUM_THREADS", threads);
  return import_files({"optimizer-offload.sh"}, words);
}

// A dense job of Megatron-LM with these flags.
std::string dense_script(const std::string& flags) {
  return "torchrun --nnodes 1 --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 "
         "--num-attention-heads 8 --seq-length 1024 --vocab-size 32000 --bf16 "
         "--micro-batch-size 1 --global-batch-size 8 --transformer-impl transformer_engine "
         "--use-distributed-optimizer " +
         flags + "\n";
}

std::string refusal_of(const std::string& flags) {
  try {
    import_text("train.sh", dense_script(flags));
  } catch (const config::Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("Megatron-LM's offload moves the optimizer state of each GPU to the host", "[jobs]") {
  const jobs::Job job = megatron_job();
  CHECK(job.not_modelled.empty());
  const config::Scenario scenario = scenario_of(job);
  const auto& offload = scenario.training.optimizer.offload;
  REQUIRE(offload);
  CHECK(offload->fraction == 1);
  CHECK_FALSE(offload->overlap);
  CHECK_FALSE(offload->gradients);
  // torchrun starts several processes, each with one thread.
  CHECK(offload->threads == 1U);

  // Of each of 24 layers: Q, K and V 2048 x (4096 + 2 x 512), projection 4096 x 2048, two norms of
  // 2048 and two of 128, router 128 x 2048; and 16 of 128 experts of 3 x 2048 x 768.
  constexpr double dense_layer =
      2048.0 * (4096 + 2 * 512) + 4096.0 * 2048 + 2 * 2048 + 2 * 128 + 128 * 2048;
  constexpr double experts_layer = 16.0 * 3 * 2048 * 768;
  constexpr double embedding = 151936.0 * 2048;
  // 16 replicas share the dense part, and 2 of them the same experts: 12 bytes per parameter.
  constexpr double bytes = 12 * ((24 * dense_layer + embedding) / 16 + 24 * experts_layer / 2);
  CHECK(moved_state(scenario) == Approx(bytes).epsilon(1e-9));
  CHECK(bytes / 0x1p30 == Approx(10.66).epsilon(1e-3));
  CHECK(costs_of(scenario).state[0].optimizer == 0);
}

TEST_CASE("the fraction, overlap and threads of Megatron-LM's offload are read", "[jobs]") {
  const config::Scenario half =
      scenario_of(megatron_job("0.5", "--overlap-cpu-optimizer-d2h-h2d", "14"));
  CHECK(half.training.optimizer.offload->fraction == 0.5);
  CHECK(half.training.optimizer.offload->overlap);
  CHECK(half.training.optimizer.offload->threads == 14U);
  CHECK_FALSE(tests::has_note(megatron_job("1", "", "14").not_modelled, "OMP_NUM_THREADS"));
  CHECK(moved_state(half) == Approx(moved_state(scenario_of(megatron_job())) / 2));
  CHECK_FALSE(scenario_of(megatron_job("0")).training.optimizer.offload);
  const jobs::Job pageable = megatron_job("1", "--no-pin-cpu-grads");
  CHECK(tests::has_note(pageable.not_modelled, "--no-pin-cpu-grads"));
  const jobs::Job torch = megatron_job("1", "--use-torch-optimizer-for-cpu-offload");
  CHECK(tests::has_note(torch.without_effect, "--use-torch-optimizer-for-cpu-offload"));
  CHECK_FALSE(tests::has_note(torch.not_modelled, "offload"));
}

TEST_CASE("an offload that Megatron-LM refuses is refused with its words", "[jobs]") {
  CHECK_THAT(refusal_of("--optimizer-cpu-offload"),
             Contains("--optimizer-cpu-offload: The optimizer cpu offload must be used in "
                      "conjunction with `--use-precision-aware-optimizer`"));
  CHECK_THAT(refusal_of("--optimizer-cpu-offload --use-precision-aware-optimizer "
                        "--optimizer-offload-fraction 2"),
             Contains("--optimizer-offload-fraction 2: a fraction is a number from 0 to 1"));
  CHECK_THAT(refusal_of("--optimizer-cpu-offload --use-precision-aware-optimizer "
                        "--optimizer-offload-fraction half"),
             Contains("a fraction is a number from 0 to 1"));
  CHECK_THAT(refusal_of("--optimizer-cpu-offload --use-precision-aware-optimizer "
                        "--fp8-param-gather --fp8-format hybrid --fp8-recipe blockwise"),
             Contains("must be used in conjunction with `--fp8-recipe delayed`"));
}

TEST_CASE("DeepSpeed's offload moves optimizer state and gradients to the host", "[jobs]") {
  const jobs::Job job = import_files({"ds.sh", "ds.json"});
  CHECK_FALSE(tests::has_note(job.not_modelled, "offload"));
  const config::Scenario scenario = scenario_of(job);
  const auto& offload = scenario.training.optimizer.offload;
  REQUIRE(offload);
  CHECK(offload->fraction == 1);
  CHECK(offload->gradients);
  CHECK_FALSE(offload->weights);
  CHECK(costs_of(scenario).state[0].optimizer == 0);
  CHECK(costs_of(scenario).state[0].gradients == 0);
  CHECK(costs_of(scenario).state[0].weights ==
        costs_of(without_offload(scenario)).state[0].weights);
}

TEST_CASE("DeepSpeed's forms of offloading are read", "[jobs]") {
  struct Read {
    bool offloads = false, gradients = false, weights = false;
    double fraction = 0;
    bool is_whole = false;  // everything is understood
  };
  const auto read = [](const std::string& zero) {
    const tests::CommandFolder place;
    place.write("ds.json",
                "{\"train_micro_batch_size_per_gpu\": 2, \"gradient_accumulation_steps\": 4, "
                "\"zero_optimization\": {" +
                    zero + "}, \"bf16\": {\"enabled\": true}}\n");
    const std::vector<std::string> files{tests::job_file("ds.sh"),
                                         (place.folder() / "ds.json").string()};
    const jobs::Job job = jobs::import_job(files);
    const auto offload = scenario_of(job).training.optimizer.offload;
    const bool is_whole = !tests::has_note(job.not_modelled, "offload");
    return offload ? Read{true, offload->gradients, offload->weights, offload->fraction, is_whole}
                   : Read{.is_whole = is_whole};
  };
  const Read ratio = read(
      "\"stage\": 3, \"offload_optimizer\": {\"device\": \"cpu\", \"pin_memory\": true, "
      "\"ratio\": 0.3}");
  CHECK((ratio.gradients && ratio.is_whole));
  CHECK(ratio.fraction == 0.3);
  const Read all = read(
      "\"stage\": 3, \"offload_optimizer\": {\"device\": \"cpu\"}, \"offload_param\": "
      "{\"device\": \"cpu\"}");
  CHECK((all.gradients && all.weights && all.is_whole));
  const Read older = read("\"stage\": 2, \"cpu_offload\": true");
  CHECK((older.offloads && older.gradients && older.is_whole));
  const Read first = read("\"stage\": 1, \"offload_optimizer\": {\"device\": \"cpu\"}");
  CHECK((first.offloads && !first.gradients && first.is_whole));
  for (const std::string none : {"\"stage\": 2, \"offload_optimizer\": {\"device\": \"none\"}",
                                 "\"stage\": 2, \"cpu_offload\": false", "\"stage\": 2"}) {
    CAPTURE(none);
    CHECK_FALSE(read(none).offloads);
    CHECK(read(none).is_whole);
  }
  // What is not modelled is named.
  const Read drives = read("\"stage\": 3, \"offload_optimizer\": {\"device\": \"nvme\"}");
  CHECK(drives.offloads);
  CHECK_FALSE(drives.is_whole);
  CHECK_FALSE(read("\"stage\": 2, \"offload_param\": {\"device\": \"cpu\"}").is_whole);
}

TEST_CASE("what DeepSpeed's offload would change otherwise is said, and refused strictly",
          "[jobs]") {
  const auto changes = [](const std::string& zero, const std::string& text) {
    const tests::CommandFolder place;
    place.write("ds.json",
                "{\"train_micro_batch_size_per_gpu\": 2, \"gradient_accumulation_steps\": 4, "
                "\"zero_optimization\": {\"stage\": 3, " +
                    zero + "}, \"bf16\": {\"enabled\": true}}\n");
    const std::vector<std::string> files{tests::job_file("ds.sh"),
                                         (place.folder() / "ds.json").string()};
    const jobs::Job job = jobs::import_job(files);
    REQUIRE(job.not_modelled.size() == 1);
    CHECK_THAT(job.not_modelled.front().why, Catch::Contains(text));
    CHECK_THROWS_WITH(jobs::check_all_modelled(job), Catch::Contains(text));
    return job.not_modelled.front().changes;
  };
  using enum jobs::Changes;
  const std::string host = "\"offload_optimizer\": {\"device\": \"cpu\", \"pin_memory\": ";
  CHECK(changes("\"offload_optimizer\": {\"device\": \"nvme\"}",
                "drives would slow the step of the optimizer") == time);
  CHECK(changes(host + "true}, \"offload_param\": {\"device\": \"nvme\"}",
                "drives would slow each pass") == time);
  CHECK(changes("\"offload_param\": {\"device\": \"cpu\"}",
                "2 bytes a parameter less on the GPU") == time_and_memory);
  CHECK(changes(host + "false}", "pageable memory are slower") == time);
}

TEST_CASE("torchtitan's CPU offload moves all shards to the host", "[jobs]") {
  const auto job = [](const std::string& offload, const std::string& shard) {
    return import_text(
        "train.toml",
        "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = "
        "1\nseq_len = 8192\nenable_cpu_offload = " +
            offload + "\n[parallelism]\ndata_parallel_shard_degree = " + shard +
            "\ndata_parallel_replicate_degree = " + (shard == "1" ? "8" : "1") + "\n");
  };
  const jobs::Job all = job("true", "8");
  CHECK(all.not_modelled.empty());
  const config::Scenario scenario = scenario_of(all);
  const workload::DeviceState state = costs_of(scenario).state[0];
  CHECK(state.optimizer == 0);
  CHECK(state.gradients == 0);
  CHECK(state.weights == 0);
  // Shards are fp32: 4 bytes of weights, 4 of gradients and 8 of moments, of an eighth each.
  const workload::DeviceState resident = costs_of(without_offload(scenario)).state[0];
  CHECK(static_cast<double>(resident.optimizer + resident.gradients + resident.weights) ==
        Approx(16 * 8030261248.0 / 8).epsilon(1e-3));
  CHECK_FALSE(scenario_of(job("false", "8")).training.optimizer.offload);
  CHECK_FALSE(scenario_of(job("true", "1")).training.optimizer.offload);  // no FSDP
}

TEST_CASE("fine-grained offloading moves the inputs of modules", "[jobs]") {
  const std::string flags = "--fine-grained-activation-offloading --offload-modules ";
  const jobs::Job job =
      import_text("train.sh", dense_script(flags + "core_attn attn_proj mlp_norm"));
  CHECK(job.not_modelled.empty());
  const auto offload = scenario_of(job).training.offload;
  REQUIRE(offload);
  CHECK(offload->has(config::OffloadModule::core_attn));
  CHECK(offload->has(config::OffloadModule::attn_proj));
  // The norm of a dense MLP is part of the product after it.
  CHECK_FALSE(offload->has(config::OffloadModule::mlp_norm));
  CHECK(scenario_of(
            import_text("train.sh", dense_script(flags + "qkv_linear "
                                                         "--activation-offload-fraction 0.8")))
            .training.offload->share == 0.8);
  CHECK_FALSE(scenario_of(import_text("train.sh", dense_script("--offload-modules core_attn")))
                  .training.offload);
  CHECK_THAT(refusal_of(flags + "attn_proj"),
             Contains("attn_proj cannot be set to offload_modules alone without core_attn"));
  CHECK_THAT(refusal_of(flags + "attention"), Contains("Invalid choices for offload_modules"));
  CHECK_THAT(refusal_of("--fine-grained-activation-offloading"),
             Contains("needs --offload-modules"));
  CHECK_THAT(refusal_of(flags + "core_attn --cpu-offloading-num-layers 2"),
             Contains("cannot be enabled with cpu_offloading"));
  CHECK(tests::has_note(
      import_text("train.sh",
                  dense_script(flags + "core_attn --delta-offload-bytes-across-pp-ranks "
                                       "1000000"))
          .not_modelled,
      "time and memory"));
}

TEST_CASE("a launch with an offload is predicted like its scenario", "[jobs][launch]") {
  const tests::CommandFolder place;
  const auto run = [&](const std::string& words) {
    const tests::ProgramResult result = place.run("run " + words + " --engine timing --quiet");
    CAPTURE(words, result.err);
    REQUIRE(result.status == 0);
    return result.out;
  };
  const auto time_of = [&](const std::string& words) {
    const auto document = nlohmann::json::parse(run(words + " --json"));
    return (document.is_array() ? document.at(0) : document).at("makespan_s").get<double>();
  };
  const std::string job = "--model llama-3-8b --cluster dgx-h100 --global-batch 32 ";
  const std::string offload = " --set training.optimizer.offload.";
  struct Launch {
    std::string words, framework, file;
  };
  for (const Launch& launch :
       {Launch{"-s 2 --dp 4 --zero 1 --p2p blocking" + offload + "fraction=0.5" + offload +
                   "overlap=true",
               "megatron", "half.sh"},
        Launch{"-s 1 --dp 8 --zero 1" + offload + "threads=2", "megatron", "threads.sh"},
        Launch{"-s 2 --dp 4 --zero 1 --p2p blocking --set "
               "'training.offload.modules=[core_attn, attn_proj]'",
               "megatron", "modules.sh"}}) {
    CAPTURE(launch.words);
    run(job + launch.words + " --launch " + launch.framework + ":" + launch.file);
    CAPTURE(place.read(launch.file));
    CHECK_THAT(place.read(launch.file), !Contains("not expressed: training"));
    CHECK(time_of(launch.file + " --cluster dgx-h100") == time_of(job + launch.words));
  }
}

TEST_CASE("a launch of torchtitan or DeepSpeed has the offload of its scenario", "[jobs][launch]") {
  const auto text_of = [](const std::string& keys, const std::string& framework) {
    const config::Value tree = config::read_yaml_text(
        "model: llama-3-8b\nparallel: {dp: 8, zero: 3}\nglobal_batch: 8\n"
        "training: {optimizer: {offload: {" +
            keys + "}}}\n",
        "scenario.yaml");
    const jobs::Launch launch =
        jobs::export_job(config::read_scenario(tree), *jobs::find_framework(framework));
    return launch.text + launch.beside;
  };
  CHECK_THAT(text_of("gradients: true, weights: true", "torchtitan"),
             Contains("enable_cpu_offload = true"));
  CHECK_THAT(text_of("fraction: 0.5", "torchtitan"), Contains("torchtitan moves all of weights"));
  const std::string json = text_of("fraction: 0.3, gradients: true, weights: true", "deepspeed");
  CHECK_THAT(json, Contains("\"offload_optimizer\": {\"device\": \"cpu\", \"ratio\": 0.3}"));
  CHECK_THAT(json, Contains("\"offload_param\": {\"device\": \"cpu\"}"));
  CHECK_THAT(json, !Contains("optimizer-cpu-offload"));
}
