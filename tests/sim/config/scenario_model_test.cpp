#include <catch2/catch.hpp>

#include "sim/config/scenario.hpp"
#include "sim/config/yaml.hpp"
#include "tests/sim/config/support.hpp"

// Scenarios that name a model in place of times.

namespace pipewright::config::test {
namespace {

Scenario read(std::string_view text) { return read_scenario(read_yaml_text(text, "t")); }

TEST_CASE("a model takes the place of the times of passes") {
  const Scenario s = read(
      "{model: llama-3-8b, gpu: a100-80gb, devices: 4, microbatches: 8, schedule: zb-h1, "
      "parallel: {tp: 2, dp: 3, zero: 1}, training: {microbatch_size: 2}}");
  REQUIRE(s.model);
  CHECK(s.model->value.layers == 32);
  REQUIRE(s.gpu);
  CHECK(s.gpu->name == "a100-80gb");
  CHECK(s.forward_times.value.empty());
  CHECK(s.parallel.tp.value == 2);
  CHECK(s.parallel.dp.value == 3);
  CHECK(s.parallel.pp.value == 4);
  CHECK(s.parallel.zero == 1);
}

TEST_CASE("microbatches follow from the samples of a step") {
  const Scenario s = read(
      "{model: llama-3-8b, gpu: a100-80gb, devices: 4, global_batch: 96, schedule: 1f1b, "
      "parallel: {dp: 3}, training: {microbatch_size: 2}}");
  CHECK(s.microbatches.value == 16);
}

TEST_CASE("samples that do not make whole microbatches are refused with the nearest that do") {
  const std::string error = error_of([] {
    read(
        "{model: llama-3-8b, gpu: a100-80gb, devices: 4, global_batch: 97, schedule: 1f1b, "
        "parallel: {dp: 3}, training: {microbatch_size: 2}}");
  });
  INFO(error);
  CHECK(error.rfind("t:1:", 0) == 0);
  CHECK(error.find("96") != std::string::npos);
  CHECK(error.find("102") != std::string::npos);
}

TEST_CASE("a symmetric run knows no replica that differs") {
  constexpr auto base =
      "{model: llama-3-8b, gpu: a100-80gb, devices: 4, microbatches: 8, schedule: 1f1b, "
      "symmetric: true, variation: ";
  CHECK(read(std::string(base) + "{seed: 2}}").symmetric);
  for (const char* const variation : {"{jitter: 1 %}", "{stragglers: {device: 0, factor: 2}}"})
    CHECK(error_of([&] {
            read(std::string(base) + variation + "}");
          }).find("symmetric lets one replica stand for all, but variation makes them differ") !=
          std::string::npos);
}

TEST_CASE("what was asked is kept as text that reads the same again") {
  const Scenario s = read(
      "{model: mixtral-8x7b, gpu: h100-sxm, microbatches: 8, schedule: 1f1b, "
      "parallel: {pp: 4, dp: 8, ep: 8}, communication: {detail: full}, variation: {jitter: 2 %}}");
  const Scenario again = read_scenario(read_yaml_text(s.text, "again"));
  CHECK(again.text == s.text);
  CHECK(again.devices.value == 4);
  CHECK(again.parallel.ep.value == 8);
  CHECK(again.communication.detail == Detail::full);
  CHECK(again.variation.jitter == Approx(0.02));
}

}  // namespace
}  // namespace pipewright::config::test
