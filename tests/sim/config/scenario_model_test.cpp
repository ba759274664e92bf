#include <catch2/catch.hpp>

#include "sim/config/scenario.hpp"
#include "sim/config/text/yaml.hpp"
#include "tests/sim/config/support.hpp"

// Scenarios that name a model in place of times.

namespace pipewright::config::test {
namespace {

Scenario read(std::string_view text) { return read_scenario(read_yaml_text(text, "t")); }

TEST_CASE("a model replaces the times of passes") {
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

TEST_CASE("the number of microbatches follows from the global batch") {
  const Scenario s = read(
      "{model: llama-3-8b, gpu: a100-80gb, devices: 4, global_batch: 96, schedule: 1f1b, "
      "parallel: {dp: 3}, training: {microbatch_size: 2}}");
  CHECK(s.microbatches.value == 16);
}

TEST_CASE(
    "a global batch that is no multiple of the microbatches is refused with the nearest "
    "multiples") {
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

TEST_CASE("ranks divide the weights of experts only where a model has experts") {
  const auto read_gtp = [](const std::string& model) {
    return read("{model: " + model +
                ", gpu: h100-sxm, devices: 1, microbatches: 8, "
                "parallel: {dp: 8, gtp: 2, expert_gtp: 2}}");
  };
  CHECK(error_of([&] { read_gtp("llama-3-8b"); }) ==
        "t:1:103: parallel.expert_gtp is 2, and the model has no experts; leave it out; "
        "parallel.gtp divides all other weights");
  CHECK(read_gtp("mixtral-8x7b").parallel.expert_gtp->value == 2);
}

TEST_CASE("symmetric excludes variation between replicas") {
  constexpr auto base =
      "{model: llama-3-8b, gpu: a100-80gb, devices: 4, microbatches: 8, schedule: 1f1b, "
      "symmetric: true, variation: ";
  CHECK(read(std::string(base) + "{seed: 2}}").symmetric);
  for (const char* const variation : {"{jitter: 1 %}", "{stragglers: {device: 0, factor: 2}}"})
    CHECK(
        error_of([&] {
          read(std::string(base) + variation + "}");
        }).find("symmetric lets one replica stand for all, but variation makes replicas differ") !=
        std::string::npos);
}

TEST_CASE("with a model the number of devices defaults to 1") {
  const Scenario s =
      read("{model: llama-3-8b, gpu: a100-80gb, parallel: {dp: 8, zero: 3}, global_batch: 64}");
  CHECK(s.devices.value == 1);
  CHECK(s.parallel.pp.value == 1);
  CHECK(s.microbatches.value == 8);
  CHECK(read_scenario(read_yaml_text(s.text, "again")).text == s.text);
  CHECK_THAT(error_of([] { read("{microbatches: 4, forward_times: 1, backward_times: 2}"); }),
             Catch::Contains("devices is missing") && Catch::Contains("parallel.pp"));
}

TEST_CASE("an error about contradicting keys names both of them") {
  const auto [text, message] = GENERATE(table<std::string, std::string>({
      {"parallel: {tp: 2}, communication: {tp_comm_overlap: true}",
       "communication.tp_comm_overlap is true, and parallel.sp is false (tp is 2); set "
       "parallel.sp=true (--sp)"},
      {"p2p: blocking, communication: {overlap_p2p: true}",
       "communication.overlap_p2p is true, but p2p is blocking"},
      {"schedule: {name: 1f1b, memory_limit: 4 GiB}",
       "schedule.memory_limit is for the schedule searched"},
      {"schedule: {name: seq1f1b, slices: 1000000}",
       "schedule.slices is 1000000, and a sample has 8192 tokens"},
  }));
  const std::string given = text;
  const std::string base = "{model: llama-3-8b, gpu: a100-80gb, devices: 4, microbatches: 8, ";
  CHECK_THAT(error_of([&] { read(base + given + "}"); }), Catch::Contains(message));
}

TEST_CASE("overlap of token dispatch follows the rules of Megatron-LM") {
  const auto [experts, message] = GENERATE(table<std::string, std::string>({
      {"delay_wgrad: true", "delay_wgrad is true, and training.experts.overlap is not"},
      {"overlap: true, shared_overlap: true",
       "shared_overlap is true, and so is training.experts.overlap"},
      {"shared_overlap: true, dispatcher: deepep",
       "which needs training.experts.dispatcher: alltoall"},
      {"shared_overlap: true", "shared_overlap is true, and the model has no shared experts"},
      {"overlap: true, dispatcher: allgather",
       "which Megatron-LM does not support with dispatcher: allgather"},
      {"overlap: true", ""},
      {"overlap: true, delay_wgrad: true, dispatcher: hybridep", ""},
  }));
  const std::string given = experts;
  const auto error_with_ep = [&](const std::string& ep) {
    return error_of([&] {
      read("{model: mixtral-8x7b, gpu: h100-sxm, microbatches: 8, parallel: {dp: 8, ep: " + ep +
           "}, training: {experts: {" + given + "}}}");
    });
  };
  if (message.empty())
    CHECK(error_with_ep("8").empty());
  else
    CHECK_THAT(error_with_ep("8"), Catch::Contains(message));
  if (message.empty())
    CHECK_THAT(error_with_ep("1"),
               Catch::Contains("training.experts.overlap is true, and parallel.ep is 1"));
}

TEST_CASE("overlap of tensor parallelism needs no sequence parallelism if tp is 1") {
  CHECK(read("{model: llama-3-8b, gpu: a100-80gb, devices: 4, microbatches: 8, "
             "communication: {tp_comm_overlap: true}}")
            .communication.tp_comm_overlap);
}

TEST_CASE("the stored text of a scenario reads as the same scenario") {
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

TEST_CASE("sizes of a microbatch without a model are refused with a model") {
  constexpr auto base = "{model: llama-3-8b, gpu: h100-sxm, devices: 4, microbatches: 8, ";
  CHECK(error_of([&] { read(std::string(base) + "samples_per_microbatch: 7}"); }) ==
        "t:1:89: samples_per_microbatch is for passes without a model; with a model "
        "training.microbatch_size says so, which is 1; set training.microbatch_size and leave out "
        "samples_per_microbatch");
  CHECK(error_of([&] {
          read(std::string(base) + "training: {sequence: 4096}, tokens_per_microbatch: 8192}");
        }).find("training.sequence says so, which is 4096") != std::string::npos);
}

TEST_CASE("fused times exclude full detail of collectives") {
  constexpr auto base =
      "{model: llama-3-8b, gpu: h100-sxm, devices: 4, microbatches: 8, schedule: dualpipe-v, "
      "fused_times: 1";
  CHECK(read(std::string(base) + "}").fused_times);
  CHECK(error_of([&] {
          read(std::string(base) + ", communication: {detail: full}}");
        }).find("fused_times include the collectives within passes") != std::string::npos);
}

TEST_CASE("a key of a named model or GPU can be overridden") {
  const Origin flag{.source = "--set"};
  Value root = read_yaml_text(
      "{model: mixtral-8x7b, gpu: h100-sxm, devices: 4, microbatches: 8, schedule: 1f1b}", "t");
  override_key(root, "model.experts.capacity_factor", "2", flag);
  override_key(root, "gpu.memory", "141 GiB", flag);
  const Scenario s = read_scenario(root);
  CHECK(s.model->value.name == "mixtral-8x7b");
  CHECK(s.model->value.layers == 32);
  CHECK(s.model->value.experts->count == 8);
  CHECK(s.model->value.experts->capacity_factor == 2);
  CHECK(s.gpu->name == "h100-sxm");
  CHECK(s.gpu->memory == std::uint64_t{141} << 30U);
  CHECK(s.gpu->flops > 0);
  CHECK(read_scenario(read_yaml_text(s.text, "again")).text == s.text);
}

TEST_CASE("an overridden key of a named model is checked") {
  const auto error = [](std::string_view model, std::string_view key, std::string_view text) {
    return error_of([&] {
      Value root = read_yaml_text("{gpu: h100-sxm, devices: 4, microbatches: 8}", "t");
      override_key(root, "model", model, {.source = "--model"});
      override_key(root, key, text, {.source = "--set"});
      read_scenario(root);
    });
  };
  CHECK(error("llama-3-8b", "model.layer", "2")
            .rfind("--set: unknown key 'layer' in model; did you mean 'layers'?", 0) == 0);
  CHECK(error("llama-3-8b", "model.heads", "0").rfind("--set: model.heads is 0", 0) == 0);
  CHECK(error("llama-3-8c", "model.layers", "2")
            .rfind("--model: 'llama-3-8c' is not among the models", 0) == 0);
  CHECK(error("llama-3-8b", "model.experts.top_k", "2").find("model.experts.count is missing") !=
        std::string::npos);
}

}  // namespace
}  // namespace pipewright::config::test
