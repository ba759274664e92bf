#include "sim/jobs/request/model_names.hpp"

#include <catch2/catch.hpp>

#include "sim/config/text/library.hpp"
#include "sim/jobs/support.hpp"
#include "sim/workload/figures/model_figures.hpp"

using namespace pipewright;
using jobs::model_advice;
using jobs::model_named;

TEST_CASE("every model of the library is found by its own name", "[jobs]") {
  for (const std::string& name : config::library_names("models", ".yaml"))
    CHECK(model_named(name) == name);
}

TEST_CASE("names of recipes and repositories mean the model with exactly these sizes", "[jobs]") {
  CHECK(model_named("meta-llama/Meta-Llama-3.1-70B") == "llama-3-70b");
  CHECK(model_named("llama3_70b_pretrain_64gpu_h100_fp8cs_config") == "llama-3-70b");
  CHECK(model_named("llama31_405b_pretrain_config") == "llama-3-405b");
  CHECK(model_named("llama3_8b_16k_pretrain_config") == "llama-3-8b");
  CHECK(model_named("configs/llama3.1_8B.yaml") == "llama-3-8b");
  CHECK(model_named("glm45_air_106b_pretrain_config") == "glm-4.5-air");
  CHECK(model_named("mistralai/Mixtral-8x7B-Instruct-v0.1") == "mixtral-8x7b");
  CHECK(model_named("mistralai/Mixtral-8x7B-v0.1") == "mixtral-8x7b");
  CHECK(model_named("Qwen/Qwen3-Next-80B-A3B-Instruct") == "qwen3-next-80b-a3b");
  CHECK(model_named("deepseek_v32_pretrain_config") == "deepseek-v3.2");
  CHECK(model_named("deepseek_v4_flash_pretrain_32gpu_h100_bf16_config") == "deepseek-v4-flash");
  CHECK(model_named("moonlight_16b_pretrain_config") == "moonlight-16b");
}

TEST_CASE("a part of a name is no model", "[jobs]") {
  for (const std::string name :
       {"deepseek_v3_16b", "deepseek_v3 236B", "deepseek_v3-debugmodel", "deepseek_v2_lite",
        "deepseek-ai/DeepSeek-V2-Lite", "deepseek_v5_pretrain_config", "glm_45v_sft_config",
        "zai-org/GLM-4.5V", "qwen3_4b_pretrain_config", "nemotron_3_nano_4b_pretrain_config",
        "llama3_1b", "my-llama-3-8b-cut", "8b", ""}) {
    CAPTURE(name);
    CHECK(model_named(name).empty());
  }
}

TEST_CASE("an advice names no model of another generation or size", "[jobs]") {
  CHECK(model_advice("deepseek_v5") == "give --model");
  CHECK(model_advice("zai-org/GLM-4.5V") == "give --model");
  CHECK(model_advice("deepseek_v3_16b") == "give --model");
  CHECK(model_advice("lama-3-8b") == "give --model, such as --model llama-3-8b");
}

namespace {

config::Scenario titan_model(const std::string& name, const std::string& flavor) {
  return tests::scenario_of(
      tests::import_text("job.toml", "[model]\nname = \"" + name + "\"\nflavor = \"" + flavor +
                                         "\"\n[parallelism]\ndata_parallel_shard_degree = 8\n"
                                         "[training]\nlocal_batch_size = 1\nseq_len = 4096\n"));
}

double parameters_of(const std::string& name, const std::string& flavor) {
  return static_cast<double>(
      workload::model_size(titan_model(name, flavor).model->value).parameters);
}

}  // namespace

// 16B: 2 x 102,400 x 2,048 of the embeddings; 27 layers of attention with 2,048 x (16 x 192) +
// 2,048 x 576 + 512 x (16 x 256) + 2,048 x 2,048; a dense layer of 3 x 2,048 x 10,944, and 26 of 66
// experts of 3 x 2,048 x 1,408 and a router of 2,048 x 64.
TEST_CASE("torchtitan's flavors have the sizes of torchtitan", "[jobs]") {
  const double attention = 2048.0 * 16 * 192 + 2048 * 576 + 512.0 * 16 * 256 + 2048.0 * 2048;
  const double experts = 66 * 3 * 2048.0 * 1408 + 2048 * 64;
  const double total = 2 * 102'400.0 * 2048 + 27 * attention + 3 * 2048.0 * 10'944 + 26 * experts;
  CHECK(parameters_of("deepseek_v3", "16B") == Approx(total).epsilon(1e-3));
  CHECK(total == Approx(15.7e9).epsilon(0.005));
  CHECK(titan_model("deepseek_v3", "236B").model->value.name == "deepseek-v2");
  CHECK(titan_model("deepseek_v3", "671B").model->value.name == "deepseek-v3");
  // debugmodel: 6 layers of 256, with 7 of 8 + 2 experts of 256.
  CHECK(parameters_of("deepseek_v3", "debugmodel") < 50e6);
  // Llama 3.2 1B and Qwen3 4B and 14B: the published numbers of parameters.
  CHECK(parameters_of("llama3", "1B") == Approx(1.236e9).epsilon(0.002));
  CHECK(parameters_of("qwen3", "4B") == Approx(4.02e9).epsilon(0.01));
  CHECK(parameters_of("qwen3", "14B") == Approx(14.77e9).epsilon(0.005));
}

TEST_CASE("a flavor that torchtitan does not have is a question", "[jobs]") {
  for (const auto& [name, flavor] :
       {std::pair{"deepseek_v3", "17B"}, {"llama3", "13B"}, {"qwen9", "8B"}}) {
    const jobs::Job job = tests::import_text(
        "job.toml", std::string("[model]\nname = \"") + name + "\"\nflavor = \"" + flavor +
                        "\"\n[parallelism]\ndata_parallel_shard_degree = 8\n");
    CHECK(config::find(job.tree, "model") == nullptr);
    CHECK(tests::has_note(job.not_modelled, "whose sizes are known; give --model"));
  }
}
