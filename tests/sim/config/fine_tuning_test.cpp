#include "sim/config/fine_tuning.hpp"

#include <catch2/catch.hpp>

#include "sim/config/scenario.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/config/training_checks.hpp"
#include "tests/sim/config/support.hpp"

namespace pipewright::config::test {
namespace {

Training training_of(const std::string& yaml) {
  const Value value = read_yaml_text(yaml, "t.yaml");
  return read_training({value, "training"});
}

}  // namespace

TEST_CASE("LoRA has adapters of rank 32 in the four products of a layer by default", "[training]") {
  const Training training = training_of("{lora: {}}");
  REQUIRE(training.lora);
  CHECK(training.lora->rank == 32);
  CHECK(to_string(*training.lora) ==
        "adapters of rank 32 in linear_qkv, linear_proj, linear_fc1 and linear_fc2");
  CHECK(training.frozen_groups().all());
  CHECK_FALSE(training.trains_all());
  CHECK(training_of("{}").trains_all());
  CHECK(trained_text({}, training_of("{}")).empty());
}

TEST_CASE("names of Megatron-Bridge's settings are read, too", "[training]") {
  const Training training = training_of("{lora: {dim: 16, target_modules: [linear_qkv]}}");
  CHECK(trained_text({}, training) == "adapters of rank 16 in linear_qkv");
}

TEST_CASE("groups that are not frozen are trained beside adapters", "[training]") {
  const Training training = training_of(
      "{lora: {rank: 8, modules: [q_proj, v_proj], base: nf4}, "
      "frozen: [attention, mlp, experts, router, norms]}");
  CHECK(trained_text({}, training) ==
        "adapters of rank 8 in q_proj and v_proj beside weights in nf4, and all weights of "
        "embedding and "
        "head");
  CHECK(trained_text({}, training_of("{frozen: [embedding]}")) == "all weights but embedding");
}

TEST_CASE("descriptions of training leave out groups that the model does not have", "[training]") {
  const Model dense{.vocabulary = 1000};
  CHECK(groups_text(groups_of(dense)) == "embedding, attention, mlp, norms and head");
  Model tied = dense;
  tied.tied_embeddings = true;
  CHECK(groups_text(groups_of(tied)) == "embedding, attention, mlp and norms");
  Model mixture = dense;
  mixture.experts = Model::Experts{.count = 8, .top_k = 2};
  CHECK(groups_of(mixture).all());

  const Training attention = training_of("{lora: {modules: [linear_qkv]}, frozen: [attention]}");
  CHECK(trained_text(dense, attention) ==
        "adapters of rank 32 in linear_qkv, and all weights of embedding, mlp, norms and head");
  CHECK(trained_text(mixture, attention) ==
        "adapters of rank 32 in linear_qkv, and all weights of embedding, mlp, experts, router, "
        "norms and head");
  // The weights of a tied head are the embedding's.
  CHECK(trained_text(tied, training_of("{frozen: [head]}")).empty());
}

TEST_CASE("groups that the model does not have are not frozen", "[training]") {
  CHECK_THAT(fault("", "frozen: [router]"),
             Catch::Contains("training.frozen has router, which the model does not have"));
}

TEST_CASE("modules that contain each other are refused", "[training]") {
  CHECK_THAT(fault("", "lora: {modules: [linear_qkv, q_proj]}"),
             Catch::Contains("training.lora.modules has linear_qkv and q_proj, which is a part of "
                             "it; leave out q_proj"));
}

TEST_CASE("adapters of products that the model does not have are refused", "[training]") {
  CHECK(fault("", "lora: {modules: [linear_qkv, linear_fc2]}").empty());
  CHECK_THAT(fault("", "lora: {modules: [gate_proj]}"), Catch::Contains("has gate_proj, which"));
  CHECK_THAT(fault("", "lora: {modules: [linear_q_down_proj]}"),
             Catch::Contains("allowed: linear_qkv, linear_proj, linear_fc1, linear_fc2"));
  CHECK(fault(experts, "lora: {modules: [linear_fc1]}").empty());
}

TEST_CASE("training nothing is refused", "[training]") {
  CHECK_THAT(fault("", "frozen: [embedding, attention, mlp, experts, router, norms, head]"),
             Catch::Contains("so that nothing is trained") && Catch::Contains("training.lora"));
  CHECK(fault("", "frozen: [embedding, attention, mlp]").empty());
}

TEST_CASE("adapters of trained weights are refused", "[training]") {
  CHECK_THAT(fault("", "{lora: {modules: [linear_fc1]}, frozen: [attention]}"),
             Catch::Contains("training.frozen lacks the weights of linear_fc1") &&
                 Catch::Contains("add mlp"));
}

TEST_CASE("experts need no mention where the model has none", "[training]") {
  CHECK(fault("", "{lora: {modules: [linear_fc1]}, frozen: [embedding, attention, mlp]}").empty());
  CHECK_THAT(fault(experts, "{lora: {modules: [linear_fc1]}, frozen: [attention, mlp]}"),
             Catch::Contains("training.frozen lacks the weights of linear_fc1"));
}

TEST_CASE("weights in 4 bits need products in 16 bits", "[training]") {
  CHECK(fault("", "lora: {base: nf4}").empty());
  CHECK_THAT(fault("", "{lora: {base: nf4}, precision: fp8}"),
             Catch::Contains("training.lora.base is nf4") && Catch::Contains("bf16"));
}

}  // namespace pipewright::config::test
