#include "sim/config/training_checks.hpp"

#include <catch2/catch.hpp>

#include "sim/config/scenario.hpp"
#include "sim/config/text/yaml.hpp"
#include "tests/sim/config/support.hpp"

namespace pipewright::config::test {
TEST_CASE("recomputation of modules that the model does not have is refused", "[training]") {
  CHECK(fault("", "recompute: {modules: [mlp, layernorm]}").empty());
  CHECK(fault("", "recompute: {modules: [mlp, moe]}") ==
        "s.yaml:5:24: training.recompute.modules has moe, which the layers of the model do not "
        "have; allowed: core_attn, layernorm, mlp");
  CHECK(fault(experts, "recompute: {modules: [moe, moe_act]}").empty());
  CHECK_THAT(fault(experts, "recompute: {modules: [mlp, shared_experts]}"),
             Catch::Contains("has mlp and shared_experts, which the layers of the model do not "
                             "have; allowed: core_attn, layernorm, moe_act, moe"));
  CHECK_THAT(fault("", "recompute: {modules: [mla_up_proj]}"), Catch::Contains("has mla_up_proj"));
}

TEST_CASE("CUDA graphs of modules that the model does not have are refused", "[training]") {
  CHECK(fault("", "cuda_graphs: [attn, mlp]").empty());
  CHECK(fault("", "cuda_graphs: [attn, mamba]") ==
        "s.yaml:5:16: training.cuda_graphs has mamba, which the layers of the model do not have; "
        "allowed: attn, mlp");
  CHECK_THAT(fault("", "cuda_graphs: [moe_router, moe_preprocess]"),
             Catch::Contains("has moe_router and moe_preprocess, which the layers"));
  CHECK(fault(experts, "cuda_graphs: [attn, moe_router, moe_preprocess]").empty());
  CHECK_THAT(fault(experts, "cuda_graphs: [mlp]"),
             Catch::Contains("has mlp, which") &&
                 Catch::Contains("allowed: attn, moe, moe_router, moe_preprocess"));
  const std::string hybrid =
      ", pattern: M-M-M-M-, mamba: {heads: 8, head_dim: 16, groups: 1, state: 16}";
  CHECK(fault(hybrid, "cuda_graphs: [mamba, mlp]").empty());
  CHECK_THAT(fault(hybrid, "cuda_graphs: [attn]"),
             Catch::Contains("has attn, which") && Catch::Contains("allowed: mlp, mamba"));
}

TEST_CASE("more chunks of the loss than tokens are refused", "[training]") {
  CHECK(fault("", "loss_chunks: 64").empty());
  CHECK(fault("", "loss_chunks: 65") ==
        "s.yaml:5:16: training.loss_chunks is 65, and a GPU has 64 tokens of a microbatch; "
        "allowed: 1 to 64");
  CHECK(fault("", "{loss_chunks: 65, microbatch_size: 2}").empty());
  CHECK_THAT(fault("", "loss_chunks: 0"),
             Catch::Contains("training.loss_chunks is 0; allowed: a whole number from 1"));
}

TEST_CASE("more recomputed or offloaded layers than a stage has are refused", "[training]") {
  CHECK(fault("", "recompute: {method: block, num_layers: 4}").empty());
  CHECK(fault("", "recompute: {method: block, num_layers: 5}") ==
        "s.yaml:5:42: training.recompute.num_layers is 5, and a stage has no more than 4 layers; "
        "allowed: 1 to 4, or without the key for all of them");
  CHECK(fault("", "offload: {num_layers: 4}").empty());
  CHECK_THAT(fault("", "offload: {num_layers: 400}"),
             Catch::StartsWith("s.yaml:5:25: training.offload.num_layers is 400"));
}

}  // namespace pipewright::config::test
