#include "sim/config/settings.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <catch2/catch.hpp>

#include "sim/config/scenario.hpp"
#include "sim/config/stack.hpp"
#include "sim/config/text/yaml.hpp"

using namespace pipewright::config;

namespace {

using Values = std::pair<std::string, std::string>;
using Changes = std::map<std::string, Values>;

Value tree(const std::string& more, const std::string& sizes = "gpu: h100-sxm, devices: 2") {
  return read_scenario(
             read_yaml_text("{model: llama-3-8b, microbatches: 4, " + sizes + more + "}", "t.yaml"))
      .tree;
}

Changes changes(const Value& first, const Value& other) {
  Changes by_key;
  for (const SettingChange& change : setting_changes(first, other))
    by_key[change.key] = {change.was.value_or("none"), change.is.value_or("none")};
  return by_key;
}

// Changes of a scenario without further keys if it gets these keys.
Changes changes_by(const std::string& more) { return changes(tree(""), tree(more)); }

bool has_changed_stack(const std::string& more) {
  return is_changed_stack(*find(tree(more), "stack"));
}

}  // namespace

TEST_CASE("a setting that differs is listed with its default", "[settings]") {
  CHECK(changes_by("").empty());
  CHECK(changes_by(", training: {loss_chunks: 4}") ==
        Changes{{"training.loss_chunks", {"1", "4"}}});
  CHECK(changes_by(", communication: {overlap_grad_reduce: false}") ==
        Changes{{"communication.overlap_grad_reduce", {"true", "false"}}});
  const Changes bucket = changes_by(", communication: {bucket: 10 MB}");
  REQUIRE(bucket.size() == 1);
  CHECK(bucket.at("communication.bucket").second == "10 MB");
  // The default of the bytes of weights depends on the precision, and has no text.
  CHECK(changes_by(", training: {bytes: {weights: 4}}") ==
        Changes{{"training.bytes.weights", {"none", "4"}}});
  CHECK(changes(tree(", training: {loss_chunks: 4}"), tree("")) ==
        Changes{{"training.loss_chunks", {"4", "1"}}});
}

TEST_CASE("a setting that equals its default is not listed", "[settings]") {
  CHECK(changes_by(", training: {loss_chunks: 1, fused_loss: true, precision: bf16}").empty());
  CHECK(changes_by(", schedule: 1f1b").empty());
  CHECK(changes_by(", schedule: {name: 1f1b}").empty());
  CHECK(changes_by(", partition: even, engine: simgrid, variation: {jitter: 0}").empty());
  CHECK(changes_by(", stack: {like: megatron-core, schedules: [], memory: {context: 0.5 GiB}}")
            .empty());
}

TEST_CASE("defaults that a stack gives are settings of the scenario", "[settings]") {
  // Megatron-Core's allocator holds 10 % beyond tensors; its context and NCCL take 2 GiB.
  CHECK(changes_by(", training: {fragmentation: 0.1, reserved: 2 GiB}").empty());
  CHECK(changes_by(", training: {fragmentation: 20 %, reserved: 3 GiB}") ==
        Changes{{"training.fragmentation", {"10 %", "20 %"}},
                {"training.reserved", {"2048 MiB", "3 GiB"}}});
  CHECK(changes_by(", training: {fused_loss: false}") ==
        Changes{{"training.fused_loss", {"true", "false"}}});
  CHECK(changes(tree(", stack: torchtitan-eager"),
                tree(", stack: torchtitan-eager, training: {fused_loss: false}"))
            .empty());
  // torchtitan has weights of 4 bytes.
  const Changes titan = changes_by(", stack: torchtitan");
  CHECK(titan.at("training.bytes.weights") == Values{"none", "4"});
  CHECK(titan.at("stack.name") == Values{"megatron-core", "torchtitan"});
  CHECK(titan.at("stack.host.kernel").second == "12 us");
  for (const auto& [key, values] : titan) {
    CAPTURE(key);
    CHECK_FALSE(key.starts_with("stack.training"));
    CHECK(key != "stack.help");
    CHECK(key != "stack.assumed");
  }
  CHECK(changes(tree(", stack: torchtitan, training: {bytes: {weights: 4}}"),
                tree(", stack: torchtitan"))
            .empty());
}

TEST_CASE("keys in lists of maps are settings", "[settings]") {
  const auto slow = [](const std::string& factor) {
    return tree(", variation: {stragglers: [{device: 1, factor: " + factor + "}]}");
  };
  CHECK(changes(slow("1.5"), slow("1.50")).empty());
  CHECK(changes(slow("1.5"), slow("2")) ==
        Changes{{"variation.stragglers.0.factor", {"1.5", "2"}}});
}

TEST_CASE("a setting in two forms is listed without a default", "[settings]") {
  const Changes forms = changes(tree(", training: {recompute: full}"),
                                tree(", training: {recompute: {granularity: full, method: block, "
                                     "num_layers: 4}}"));
  CHECK(forms.at("training.recompute") == Values{"full", "none"});
  CHECK(forms.at("training.recompute.granularity") == Values{"none", "full"});
}

TEST_CASE("unlike models and GPUs are listed by their names", "[settings]") {
  const Value first = tree("");
  const Value other = tree("", "gpu: a100-80gb, devices: 2");
  CHECK(changes(first, other) == Changes{{"gpu.name", {"h100-sxm", "a100-80gb"}}});
  CHECK(changes(first, tree("", "cluster: dgx-h100-8, devices: 2")) ==
        Changes{{"cluster", {"none", "dgx-h100-8"}}, {"gpu.name", {"h100-sxm", "none"}}});
  Value longer =
      read_yaml_text("{model: llama-3-8b, microbatches: 4, gpu: h100-sxm, devices: 2}", "t.yaml");
  override_key(longer, "model.layers", "36", {});
  CHECK(changes(first, read_scenario(longer).tree) == Changes{{"model.layers", {"32", "36"}}});
}

TEST_CASE("scenarios without a stack, and unknown keys of older traces, can be compared",
          "[settings]") {
  const Value times = read_scenario(read_yaml_text("{devices: 2, microbatches: 4, forward_times: "
                                                   "1 ms, backward_times: 2 ms}",
                                                   "t.yaml"))
                          .tree;
  const Changes against_times = changes(tree(""), times);
  CHECK(against_times.at("stack.name") == Values{"megatron-core", "none"});
  CHECK(against_times.at("forward_times") == Values{"none", "1 ms"});
  CHECK(against_times.count("stack.host.kernel") == 0);
  CHECK(against_times.count("model.layers") == 0);
  const auto read = [](const std::string& text) { return read_yaml_text(text, "t.yaml"); };
  CHECK(changes(read("{devices: 2, old: {key: 1}}"), read("{devices: 2, old: {key: 2}}")) ==
        Changes{{"old.key", {"1", "2"}}});
  CHECK(changes(read("{training: {reserved: nonsense}}"), read("{training: {reserved: 1 GiB}}")) ==
        Changes{{"training.reserved", {"nonsense", "1 GiB"}}});
  CHECK(changes(read("{training: 4, stack: torchtitan}"), read("{training: 4, stack: 5}")) ==
        Changes{{"stack", {"torchtitan", "5"}}});
}

TEST_CASE("times of layers are a single setting", "[settings]") {
  const auto read = [](const std::string& text) { return read_yaml_text(text, "t.yaml"); };
  const Value first = read("{devices: 2, layer_times: {forward: [1 ms, 2 ms]}}");
  CHECK(changes(first, first).empty());
  CHECK(changes(read("{devices: 2}"), first) == Changes{{"layer_times", {"none", "given"}}});
  CHECK(changes(first, read("{devices: 2, layer_times: {forward: [1 ms, 3 ms]}}")) ==
        Changes{{"layer_times", {"given", "other times"}}});
}

TEST_CASE("a stack is changed if its keys differ from those of its name", "[settings]") {
  CHECK_FALSE(has_changed_stack(""));
  CHECK_FALSE(has_changed_stack(", stack: torchtitan"));
  CHECK_FALSE(has_changed_stack(", stack: {like: torchtitan}"));
  CHECK_FALSE(has_changed_stack(", stack: {like: torchtitan, host: {kernel: 0.012 ms}}"));
  CHECK(has_changed_stack(", stack: {like: torchtitan, host: {kernel: 13 us}}"));
  CHECK(has_changed_stack(", stack: {like: torchtitan, attention: [cudnn]}"));
  CHECK(has_changed_stack(", stack: {like: torchtitan, training: {bytes: {weights: 2}}}"));
  // The default stack alone may have all schedules.
  CHECK_FALSE(has_changed_stack(", stack: {like: megatron-core, schedules: []}"));
  CHECK(has_changed_stack(", stack: {like: torchtitan, schedules: []}"));
  CHECK_FALSE(has_changed_stack(", stack: {like: torchtitan, name: mine, attention: [cudnn]}"));
  CHECK_FALSE(is_changed_stack(read_yaml_text("{host: {kernel: 1 us}}", "s.yaml")));
}
