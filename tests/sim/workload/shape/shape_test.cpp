#include "sim/workload/shape/shape.hpp"

#include <cmath>

#include <catch2/catch.hpp>

#include "sim/config/text/library.hpp"
#include "tests/sim/workload/model/support.hpp"

using namespace pipewright;
using namespace pipewright::test;
using workload::kind_of_layer;
using workload::LayerKind;

TEST_CASE("every model of the library has its published parameter count", "[model]") {
  const std::vector<std::string> names = config::library_names("models", ".yaml");
  REQUIRE(names.size() >= 24);
  for (const std::string& name : names) {
    INFO(name);
    const config::Model model = library_model(name);
    const auto count = static_cast<double>(workload::parameter_count(model));
    CHECK(std::abs(count / model.published.value - 1) <= 0.005);
  }
}

TEST_CASE("parameters of released checkpoints are counted exactly", "[model]") {
  CHECK(workload::parameter_count(library_model("llama-3-8b")) == 8'030'261'248U);
  CHECK(workload::parameter_count(library_model("llama-3-70b")) == 70'553'706'496U);
  CHECK(workload::parameter_count(library_model("llama-3-405b")) == 405'853'388'800U);
  CHECK(workload::parameter_count(library_model("mixtral-8x7b")) == 46'702'792'704U);
}

TEST_CASE("a GPT's parameters follow Megatron-LM's formula", "[model]") {
  // P = 12 l h^2 (1 + 13/(12 h) + (V + s)/(12 l h)), arXiv 2104.04473, equation 2, plus 2 h of the
  // final norm, which the formula omits.
  for (const char* const name : {"megatron-1.7b", "megatron-18.4b", "megatron-1008b"}) {
    const config::Model m = library_model(name);
    const double l = m.layers;
    const double h = m.hidden;
    const double formula =
        12 * l * h * h * (1 + 13 / (12 * h) + (m.vocabulary + m.sequence) / (12 * l * h));
    CHECK(static_cast<double>(workload::parameter_count(m)) == Approx(formula + 2 * h));
  }
}

TEST_CASE("the experts that a token visits count as active", "[model]") {
  // Per token, 37 billion parameters of DeepSeek-V3 are active (arXiv 2412.19437) and 12.9 billion
  // of Mixtral 8x7B (its release).
  CHECK(workload::active_parameter_count(library_model("deepseek-v3")) ==
        Approx(37e9).epsilon(0.02));
  CHECK(workload::active_parameter_count(library_model("mixtral-8x7b")) ==
        Approx(12.88e9).epsilon(0.001));
  const config::Model dense = library_model("llama-3-8b");
  CHECK(workload::active_parameter_count(dense) == workload::parameter_count(dense));
}

TEST_CASE("dense layers are at the positions that a mixture of experts defines", "[model]") {
  config::Model m = library_model("deepseek-v3");
  CHECK(kind_of_layer(m, 2) == LayerKind::dense);
  CHECK(kind_of_layer(m, 3) == LayerKind::experts);
  m.experts->every = 2;
  CHECK(kind_of_layer(m, 3) == LayerKind::dense);
  CHECK(kind_of_layer(m, 4) == LayerKind::experts);
  CHECK(kind_of_layer(library_model("llama-3-8b"), 0) == LayerKind::dense);
}

TEST_CASE("parameters on the ranks of tp and ep add up to the layer", "[model]") {
  for (const char* const name : {"llama-3-8b", "deepseek-v3", "mixtral-8x7b", "gpt3-175b"}) {
    const config::Model m = library_model(name);
    const LayerKind kind = m.experts ? LayerKind::experts : LayerKind::dense;
    const SettingFixture whole(m, "{}", {});
    const auto total = layer_parameters(m, kind, whole.setting.sizes);
    for (const std::uint32_t tp : {2U, 4U, 8U}) {
      const SettingFixture cut(m, "{}", {.tp = tp, .ep = m.experts ? 4U : 1U, .dp = 4});
      const auto part = layer_parameters(m, kind, cut.setting.sizes);
      // Norms, routers, down-projections and biases of row-parallel products are not divided: every
      // rank of tp has all of them.
      INFO(name << " tp " << tp);
      CHECK(part.dense * tp >= total.dense);
      const double replicated = static_cast<double>(part.dense * tp - total.dense) / (tp - 1);
      CHECK(replicated < (m.latent || m.experts ? 0.1 : 0.001) * static_cast<double>(total.dense));
      if (m.experts) CHECK(part.experts * tp * 4 == total.experts);
      double flops = 0;
      for (const auto& linear : linears_of(layer_on_gpu(m, kind, cut.setting.sizes)))
        flops += linear.flops();
      double whole_flops = 0;
      for (const auto& linear : linears_of(layer_on_gpu(m, kind, whole.setting.sizes)))
        whole_flops += linear.flops();
      CHECK(flops * tp >= whole_flops * (1 - 1e-12));
    }
  }
}

TEST_CASE("the vocabulary is padded like in Megatron-LM", "[model]") {
  CHECK(workload::padded_vocabulary(50257, 128, 8) == 51200);
  CHECK(workload::padded_vocabulary(50257, 128, 1) == 50304);
  CHECK(workload::padded_vocabulary(51200, 128, 8) == 51200);
  CHECK(workload::padded_vocabulary(128256, 1, 8) == 128256);
}
