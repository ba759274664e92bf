#include "sim/workload/compute/recompute.hpp"

#include <catch2/catch.hpp>

#include "sim/workload/model/activation_memory.hpp"
#include "tests/sim/workload/model/support.hpp"

using namespace pipewright;
using namespace pipewright::test;
using workload::is_recomputed;
using workload::Kernel;
using workload::Part;
using workload::share_recomputed;

namespace {

config::Recompute recompute(const std::string& yaml) {
  return training_of("{recompute: " + yaml + "}").recompute;
}

std::string fault(const std::string& yaml) {
  try {
    recompute(yaml);
  } catch (const config::Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("recomputation is configured with Megatron-LM's terms", "[recompute]") {
  using Granularity = config::Recompute::Granularity;
  CHECK(recompute("full").granularity == Granularity::full);
  CHECK(recompute("{granularity: full, method: block, num_layers: 3}").block == 3);
  CHECK(recompute("{method: uniform, num_layers: 2}").uniform == 2);
  CHECK(recompute("{modules: [mlp, layernorm]}").granularity == Granularity::selective);
  CHECK(recompute("{granularity: op, every: 2}").every == 2);
  CHECK(to_string(recompute("none")) == "none");
  CHECK(to_string(recompute("selective")) == "selective");
  CHECK(to_string(recompute("{modules: [mlp, layernorm]}")) == "layernorm and mlp");
  CHECK(to_string(recompute("{method: block, num_layers: 3}")) == "full of 3 layers a stage");
  CHECK_THAT(fault("{modules: [attention]}"),
             Catch::Contains("t.yaml:1:24: training.recompute.modules[0] is the text 'attention'; "
                             "allowed: one of core_attn, layernorm, moe_act"));
  CHECK_THAT(fault("{granularity: full, modules: [mlp]}"),
             Catch::Contains("no value, as the key belongs to granularity selective"));
  CHECK_THAT(fault("{method: block}"), Catch::Contains("num_layers is missing"));
  CHECK_THAT(fault("some"), Catch::Contains("allowed: one of none, selective, full"));
}

TEST_CASE("layers of a stage are recomputed by block and by distance", "[recompute]") {
  const workload::LayerRange stage{8, 4};
  const auto layers = [&](const std::string& yaml) {
    std::string text;
    for (std::uint32_t layer = 8; layer < 12; ++layer)
      text += is_recomputed(recompute(yaml), stage, layer) ? 'R' : '-';
    return text;
  };
  CHECK(layers("none") == "----");
  CHECK(layers("full") == "RRRR");
  CHECK(layers("{method: block, num_layers: 1}") == "R---");
  CHECK(layers("{method: block, num_layers: 9}") == "RRRR");
  CHECK(layers("{granularity: full, every: 2}") == "-R-R");
}

TEST_CASE("recomputation takes the time of its forward kernels", "[recompute]") {
  const config::Gpu gpu = config::find_gpu("a100-80gb");
  const auto seconds = [&](const std::string& yaml) {
    const SettingFixture fixture(library_model("llama-3-8b"), "{recompute: " + yaml + "}", {});
    return layer_seconds(fixture.setting, workload::LayerKind::dense, gpu).kernels;
  };
  const double forward = seconds("none").forward;
  CHECK(seconds("full").recomputed == Approx(forward));
  CHECK(seconds("{modules: [core_attn, layernorm, mlp]}").recomputed < forward);
  CHECK(seconds("{modules: [core_attn, layernorm, mlp]}").recomputed ==
        Approx(seconds("selective").recomputed + seconds("{modules: [layernorm]}").recomputed +
               seconds("{modules: [mlp]}").recomputed));
  CHECK(seconds("{granularity: op}").recomputed < 0.6 * forward);
}

TEST_CASE("a recomputed layer that stops early does not repeat its last product", "[stack]") {
  using workload::LayerKind;
  const config::Gpu gpu = config::find_gpu("a100-80gb");
  const auto recomputed = [&](const config::Model& model, LayerKind kind, const std::string& yaml) {
    SettingFixture fixture(model, "{recompute: " + yaml + "}", {.tp = 2, .dp = 2});
    fixture.training.stack.host = {.kernel = 1e-6, .collective = 1e-3};
    return layer_seconds(fixture.setting, kind, gpu);
  };
  const config::Model llama = library_model("llama-3-8b");
  const auto full = recomputed(llama, LayerKind::dense, "full");
  const auto early = recomputed(llama, LayerKind::dense, "{granularity: full, early_stop: true}");
  const SettingFixture plain(llama, "{}", {.tp = 2, .dp = 2});
  const double last = layer_seconds(plain.setting, LayerKind::dense, gpu, [](Part part) {
                        return part == Part::mlp_out;
                      }).forward;
  REQUIRE(last > 0);
  CHECK(early.kernels.recomputed == Approx(full.kernels.recomputed - last));
  CHECK(early.kernels.forward == full.kernels.forward);
  // The host launches neither the product nor the sum over tp that follows it.
  CHECK(full.launches.recomputed - early.launches.recomputed == Approx(1e-6 + 1e-3));
  // A layer of experts leaves out their last products and the combination of their results.
  const config::Model mixtral = library_model("mixtral-8x7b");
  const auto experts = [&](const std::string& yaml) {
    return recomputed(mixtral, LayerKind::experts, yaml).kernels.recomputed;
  };
  CHECK(experts("{granularity: full, early_stop: true}") < experts("full"));
}

TEST_CASE("early stopping has no effect where the last product is needed or nothing is full",
          "[stack]") {
  using workload::LayerKind;
  const config::Gpu gpu = config::find_gpu("a100-80gb");
  const auto recomputed = [&](const config::Model& model, const std::string& yaml) {
    const SettingFixture fixture(model, "{recompute: {" + yaml + "}}", {});
    return layer_seconds(fixture.setting, LayerKind::dense, gpu).kernels.recomputed;
  };
  const auto same = [&](const config::Model& model, const std::string& yaml) {
    return recomputed(model, yaml + ", early_stop: true") == recomputed(model, yaml);
  };
  config::Model model = library_model("llama-3-8b");
  CHECK_FALSE(same(model, "granularity: full"));
  CHECK_FALSE(same(model, "method: block, num_layers: 2"));
  CHECK(same(model, "method: uniform, num_layers: 2"));
  CHECK(same(model, "modules: [mlp]"));
  CHECK(same(model, "granularity: op"));
  model.post_norms = true;
  CHECK(same(model, "granularity: full"));
}

TEST_CASE("early stopping does not change the memory of a recomputed layer", "[stack]") {
  using workload::LayerKind;
  const auto bytes = [](const char* model, LayerKind kind, const std::string& yaml) {
    const SettingFixture fixture(library_model(model), "{recompute: " + yaml + "}", {});
    return layer_bytes(fixture.setting, kind);
  };
  for (const auto& [model, kind] :
       {std::pair{"llama-3-8b", LayerKind::dense}, std::pair{"mixtral-8x7b", LayerKind::experts}})
    CHECK(bytes(model, kind, "{granularity: full, early_stop: true}") ==
          bytes(model, kind, "full"));
}

TEST_CASE("each checkpoint of a layer handles random number states", "[recompute]") {
  using workload::LayerKind;
  const auto checkpoints = [](const char* model, const std::string& yaml, LayerKind kind) {
    const SettingFixture fixture(library_model(model), "{recompute: " + yaml + "}", {});
    return workload::random_states(fixture.setting, kind).kernels / 4;
  };
  CHECK(checkpoints("llama-3-8b", "none", LayerKind::dense) == 0);
  CHECK(checkpoints("llama-3-8b", "full", LayerKind::dense) == 1);
  CHECK(checkpoints("llama-3-8b", "{method: uniform, num_layers: 4}", LayerKind::dense) == 0.25);
  CHECK(checkpoints("llama-3-8b", "{modules: [mlp, layernorm]}", LayerKind::dense) == 1);
  CHECK(checkpoints("llama-3-8b", "{granularity: op}", LayerKind::dense) == 0);
  // A layer of experts has three recomputed modules, two norms and the activation function; a dense
  // layer has one norm. Norms inside products do not count.
  const std::string modules = "{modules: [layernorm, moe_act]}";
  CHECK(checkpoints("deepseek-v3", modules, LayerKind::experts) == 3);
  CHECK(checkpoints("deepseek-v3", modules, LayerKind::dense) == 1);
  // Graphs capture the states of the norms before attention and before the router.
  const SettingFixture graphs(library_model("deepseek-v3"),
                              "{recompute: " + modules + ", cuda_graphs: [attn, moe_router]}", {});
  const workload::Launches states = workload::random_states(graphs.setting, LayerKind::experts);
  CHECK(states.kernels == 4);
  CHECK(states.captured == 2 * 4);
}

TEST_CASE("selective recomputation frees no memory if attention stores no scores", "[recompute]") {
  const SettingFixture flash(library_model("llama-3-8b"), "{recompute: selective}", {});
  CHECK(frees_nothing(flash.setting));
  const SettingFixture scores(library_model("llama-3-8b"),
                              "{recompute: selective, flash_attention: false}", {});
  CHECK(!frees_nothing(scores.setting));
}

TEST_CASE("a note explains recomputation that frees no memory and names modules that would",
          "[recompute]") {
  const auto note = [](const char* model, const char* training) {
    return idle_recompute_note(SettingFixture(library_model(model), training, {}).setting);
  };
  CHECK(note("llama-3-8b", "{recompute: selective}") ==
        "recompute selective frees no memory in this model, and costs time: flash attention stores "
        "no scores; modules that free memory: recompute: {modules: [..]} with mlp");
  CHECK(note("llama-3-8b", "{recompute: {modules: [layernorm]}}") ==
        "recompute layernorm frees no memory in this model: its norms are part of the products "
        "that use them; modules that free memory: recompute: {modules: [..]} with mlp");
  // The suggestion does not include mlp, because no layer of this model has a dense MLP.
  CHECK_THAT(note("mixtral-8x7b", "{recompute: selective}"),
             Catch::EndsWith("with layernorm, moe_act, moe"));
  CHECK(note("mixtral-8x7b", "{recompute: {modules: [moe_act]}}").empty());
  CHECK(note("llama-3-8b", "{}").empty());
}
