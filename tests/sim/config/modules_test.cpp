#include <string>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "sim/config/scenario.hpp"
#include "sim/config/text/yaml.hpp"
#include "tests/sim/config/support.hpp"

using namespace pipewright::config;
using Catch::Contains;
using test::error_of;

namespace {

Scenario with_vision(const std::string& vision, const std::string& keys = "") {
  return read_scenario(read_yaml_text(
      fmt::format("{{model: {{layers: 8, hidden: 4096, heads: 32, vocabulary: 65536, sequence: "
                  "4096}}, gpu: h100-sxm, microbatches: 8{}, modules: {{vision: {}}}}}",
                  keys, vision),
      "mine.yaml"));
}

std::string message(const std::string& vision, const std::string& keys = "") {
  return error_of([&] { with_vision(vision, keys); });
}

const std::string shape = "model: {layers: 2, hidden: 64, heads: 4}";

}  // namespace

TEST_CASE("an encoder of images has defaults of its shape", "[modules]") {
  const Scenario scenario = with_vision("{" + shape + ", tokens: 256}");
  const Model::Vision& vision = scenario.model->value.vision.value();
  CHECK(vision.head_dim == 16);
  CHECK(vision.ffn == 256);
  CHECK(vision.patches_per_token() == 4);
  CHECK(vision.patch_elements() == 14 * 14 * 3);
  CHECK(scenario.training.vision->images == 1);
  CHECK(scenario.training.frozen_vision().none());
  CHECK(scenario.training.trains_vision());
}

TEST_CASE("adapters freeze an encoder unless the scenario says otherwise", "[modules]") {
  const std::string lora = ", training: {lora: {}}";
  CHECK(with_vision("{" + shape + ", tokens: 256}", lora).training.frozen_vision().all());
  CHECK_FALSE(with_vision("{" + shape + ", tokens: 256}", lora).training.trains_vision());
  CHECK(with_vision("{" + shape + ", tokens: 256, adapters: true}", lora).training.trains_vision());
  CHECK(
      with_vision("{" + shape + ", tokens: 256, frozen: encoder}", lora).training.trains_vision());
}

TEST_CASE("patches are a number, a list or a distribution", "[modules]") {
  const auto patches = [](const std::string& tokens) {
    return with_vision(fmt::format("{{{}, tokens: {}}}", shape, tokens)).training.vision->patches;
  };
  CHECK(patches("256").documents == std::vector<std::uint32_t>{256});
  CHECK(patches("[256, 1024]").documents == std::vector<std::uint32_t>{256, 1024});
  CHECK(patches("{mean: 500, p95: 1000}").mean == 500);
  CHECK_FALSE(patches("{shortest: 64, longest: 256}").packed);
  CHECK_THAT(message("{" + shape + ", tokens: {mean: 500, p95: 1000, packing: cut}}"),
             Contains("unknown key 'packing' in modules.vision.tokens"));
}

TEST_CASE("frozen parts of an encoder are a name, a list or none", "[modules]") {
  const auto frozen = [](const std::string& parts) {
    return with_vision("{" + shape + ", tokens: 256, frozen: " + parts + "}")
        .training.frozen_vision();
  };
  CHECK(frozen("none").none());
  CHECK(frozen("projector") == VisionParts(0b10));
  CHECK(frozen("[encoder, projector]").all());
  CHECK_THAT(message("{" + shape + ", tokens: 256, frozen: [none, encoder]}"),
             Contains("modules.vision.frozen[0] is none"));
}

TEST_CASE("an encoder that does not fit is an error that says what would fit", "[modules]") {
  CHECK_THAT(message("{tokens: 256}"),
             Contains("has no encoder of images") && Contains("give modules.vision.model"));
  CHECK_THAT(message("{" + shape + ", tokens: 65536}"),
             Contains("an image of 16384 tokens together, and a sample has 4096 tokens"));
  CHECK_THAT(message("{" + shape + ", tokens: 256, placement: bubbles}"),
             Contains("Optimus") && Contains("first_stage or own_ranks"));
  CHECK_THAT(message("{" + shape + ", tokens: 256, parallel: {tp: 2}}", ", parallel: {tp: 4}"),
             Contains("modules.vision.parallel.tp is 2, and parallel.tp is 4; allowed: 1 or 4"));
  CHECK_THAT(message("{" + shape + ", tokens: 256}", ", parallel: {tp: 8}"),
             Contains("do not divide the encoder of images (4 heads") &&
                 Contains("modules.vision.parallel.tp to 1"));
  CHECK_THAT(message("{" + shape + ", tokens: 256, parallel: {cp: 2}}"),
             Contains("modules.vision.parallel.cp is 2, and parallel.cp is 1"));
  CHECK_THAT(message("{model: llama-3-8b, tokens: 256}"), Contains("no encoder of images"));
  CHECK_THAT(message("{" + shape + "}"), Contains("tokens is missing"));
  CHECK_THAT(error_of([] {
               read_scenario(
                   read_yaml_text("{forward_times: 1 ms, backward_times: 2 ms, num_stages: 2, "
                                  "microbatches: 4, modules: {vision: {tokens: 4}}}",
                                  "t.yaml"));
             }),
             Contains("there is no model"));
}
