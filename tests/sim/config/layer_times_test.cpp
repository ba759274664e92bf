#include "sim/config/layer_times.hpp"

#include <catch2/catch.hpp>

#include "sim/config/scenario.hpp"
#include "sim/config/text/yaml.hpp"
#include "tests/sim/config/support.hpp"

namespace pipewright::config::test {
namespace {

using Times = std::vector<double>;

Scenario read(const std::string& model, const std::string& keys) {
  return read_scenario(read_yaml_text(
      "{model: " + model + ", gpu: h100-sxm, devices: 4, microbatches: 8, " + keys + "}", "t"));
}

std::string error(const std::string& model, const std::string& keys) {
  return error_of([&] { read(model, keys); });
}

const std::string thirty_two = [] {
  std::string list = "[1 ms";
  for (int layer = 1; layer < 32; ++layer) list += ", " + std::to_string(layer + 1) + " ms";
  return list + "]";
}();

TEST_CASE("layers have a single time or one per layer, and embedding and head their own") {
  const Scenario s =
      read("mixtral-8x7b",
           "layer_times: {forward: 2 ms, backward: 5 ms, experts: {forward: 3 ms}, "
           "embedding: {forward: 1 ms}, head: {input_grad: 4 ms, weight_grad: 6 ms}}");
  REQUIRE(s.layer_times);
  const LayerTimes& times = s.layer_times->value;
  CHECK(times.layers.forward == Times{0.002});
  CHECK(times.layers.backward == Times{0.005});
  CHECK(times.layers.input_grad.empty());
  CHECK(times.experts.forward == Times{0.003});
  CHECK(times.embedding.forward == Times{0.001});
  CHECK(times.head.input_grad == Times{0.004});
  CHECK(times.head.weight_grad == Times{0.006});
  CHECK(times.has_forward());
  CHECK(times.has_backward());

  const Scenario listed = read("llama-3-8b", "layer_times: {forward: " + thirty_two + "}");
  CHECK(listed.layer_times->value.layers.forward.size() == 32);
  CHECK(listed.layer_times->value.layers.forward.back() == Approx(0.032));
  CHECK_FALSE(listed.layer_times->value.has_backward());
}

TEST_CASE("a scenario with layer times reads as the same scenario") {
  const Scenario s =
      read("llama-3-8b", "layer_times: {forward: " + thirty_two + ", head: {forward: 1 ms}}");
  CHECK(read_scenario(read_yaml_text(s.text, "again")).text == s.text);
}

TEST_CASE("a wrong number of layer times is refused with both numbers") {
  CHECK(error("llama-3-8b", "layer_times: {forward: [1 ms, 2 ms]}") ==
        "t:1:88: layer_times.forward has 2 values; allowed: 1, or one per layer of llama-3-8b "
        "(32)");
}

TEST_CASE("contradicting layer times are refused") {
  CHECK(
      error("llama-3-8b", "layer_times: {experts: {forward: 1 ms}}")
          .find("layer_times.experts are times of layers with experts, and llama-3-8b has none") !=
      std::string::npos);
  CHECK(
      error("mixtral-8x7b", "layer_times: {experts: {forward: 1 ms}, forward: " + thirty_two + "}")
          .find("layer_times.forward has a time for every layer, and layer_times.experts for some "
                "of them again") != std::string::npos);
  CHECK(error("llama-3-8b", "layer_times: {backward: 3 ms, input_grad: 1 ms}")
            .find("layer_times.backward includes input_grad") != std::string::npos);
  CHECK(error("llama-3-8b", "layer_times: {head: {backward: 3 ms, weight_grad: 1 ms}}")
            .find("layer_times.head.backward includes weight_grad") != std::string::npos);
}

TEST_CASE("a part of a model has a single time") {
  CHECK(error("llama-3-8b", "layer_times: {head: {forward: [1 ms, 2 ms]}}") ==
        "t:1:95: layer_times.head.forward is a list; allowed: a pass time, such as 18.5 ms");
}

TEST_CASE("times of layers and of stages for the same passes are refused") {
  const std::string stands =
      "layer_times gives the time of forward passes, and so does forward_times at t:1:";
  CHECK(error("llama-3-8b", "forward_times: 1, layer_times: {forward: 1 ms}").find(stands) !=
        std::string::npos);
  CHECK(
      error("llama-3-8b", "forward_times: 1, layer_times: {head: {forward: 1 ms}}").find(stands) !=
      std::string::npos);
  CHECK(error("llama-3-8b", "backward_times: 1, layer_times: {weight_grad: 1 ms}")
            .find("the time of backward passes, and so does backward_times") != std::string::npos);
  CHECK(error("llama-3-8b",
              "input_grad_times: 1, weight_grad_times: 1, layer_times: {backward: 1 ms}")
            .find("the time of backward passes, and so does input_grad_times") !=
        std::string::npos);
  CHECK(error("llama-3-8b", "forward_times: 1, layer_times: {backward: 1 ms}").empty());
}

}  // namespace
}  // namespace pipewright::config::test
