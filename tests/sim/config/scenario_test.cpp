#include "sim/config/scenario.hpp"

#include <array>

#include <catch2/catch.hpp>

#include "sim/config/text/yaml.hpp"
#include "tests/sim/config/support.hpp"

namespace pipewright::config::test {
namespace {

using Times = std::vector<double>;

Scenario read(std::string_view text) { return read_scenario(read_yaml_text(text, "t.yaml")); }

constexpr std::string_view small =
    "{devices: 2, microbatches: 4, forward_times: 1, backward_times: 2}";

TEST_CASE("a scenario with all keys is read") {
  const Folder folder;
  folder.write("clusters/net.xml", "<platform/>");
  const std::string path = folder.write("scenarios/full.yaml", R"(
cluster: ../clusters/net.xml
devices: 2
placement: [gpu-0, gpu-1]
microbatches: 64
iterations: 3
schedule: [1f1b, {name: interleaved-1f1b, chunks: 2, group_size: 4}]
forward_times: [18.5 ms, 19 ms]
input_grad_times: 18 ms
weight_grad_times: [9 ms, 9 ms, 9.5 ms, 0]
boundary_tensor: 24 MiB
activation: {per_microbatch: 1 GiB, released_by_input_grad: 25 %}
state: {weights: 2 GiB, gradients: 4 GiB, optimizer: [1 GiB, 3 GiB]}
samples_per_microbatch: 3
tokens_per_microbatch: 3072
p2p: rendezvous
engine: timing
output: [a.html, b.png]
trace: run.h5
)");
  const Scenario s = read_scenario(read_yaml_file(path));
  REQUIRE(s.cluster);
  CHECK(s.cluster->value == folder.path() / "clusters/net.xml");
  CHECK(s.devices.value == 2);
  REQUIRE(s.placement.hosts.size() == 2);
  CHECK(s.placement.hosts[1].value == "gpu-1");
  CHECK(to_string(s.placement.hosts[1].origin) == path + ":4:20");
  CHECK(s.microbatches.value == 64);
  CHECK(s.iterations.value == 3);
  REQUIRE(s.schedules.size() == 2);
  CHECK(s.schedules[0].name == "1f1b");
  CHECK_FALSE(s.schedules[0][&schedules::Parameters::chunks]);
  CHECK(s.schedules[1].name == "interleaved-1f1b");
  CHECK(s.schedules[1][&schedules::Parameters::chunks]->value == 2);
  CHECK(s.schedules[1][&schedules::Parameters::group_size]->value == 4);
  CHECK(to_string(s.schedules[1].origin) == path + ":7:25");
  CHECK(s.forward_times.value == Times{0.0185, 0.019});
  CHECK(to_string(s.forward_times.origin) == path + ":8:16");
  CHECK_FALSE(s.backward_times);
  CHECK(s.input_grad_times->value == Times{0.018});
  CHECK(s.weight_grad_times->value == Times{0.009, 0.009, 0.0095, 0});
  CHECK(s.boundary_tensor == 24U << 20U);
  CHECK(s.activation.released_by_input_grad.at(1) == std::uint64_t{1} << 28U);
  CHECK(s.state.optimizer.at(1) == std::uint64_t{3} << 30U);
  CHECK(s.samples_per_microbatch == 3.0);
  CHECK(s.tokens_per_microbatch == 3072.0);
  CHECK(s.p2p == P2p::rendezvous);
  CHECK(s.engine == Engine::timing);
  REQUIRE(s.outputs.size() == 2);
  CHECK(s.outputs[1].value == "b.png");
  REQUIRE(s.trace);
  CHECK(s.trace->value == "run.h5");
  CHECK(s.title == "full");
}

TEST_CASE("missing keys of a scenario have their defaults") {
  const Scenario s = read(small);
  CHECK_FALSE(s.cluster);
  CHECK(s.placement.hosts.empty());
  CHECK(s.iterations.value == 1);
  REQUIRE(s.schedules.size() == 1);
  CHECK(s.schedules[0].name == "1f1b");
  CHECK(s.p2p_time == 0);
  CHECK_FALSE(s.boundary_tensor);
  CHECK(s.activation.per_microbatch.at(1) == 0);
  CHECK(s.state.weights.at(1) == 0);
  CHECK_FALSE(s.samples_per_microbatch);
  CHECK_FALSE(s.tokens_per_microbatch);
  CHECK(s.p2p == P2p::eager);
  CHECK(s.engine == Engine::simgrid);
  CHECK(s.outputs.empty());
  CHECK_FALSE(s.trace);
}

TEST_CASE("configs with aliases are read in JSON and YAML") {
  const Folder folder;
  const std::vector<std::string> paths{
      folder.write("six.json", R"({
  "num_stages": 6,
  "num_batches": 12,
  "forward_times": [0.8, 1.0, 1.2, 1.0, 0.9, 1.1],
  "backward_times": [1.6, 2.0, 2.4, 2.0, 1.8, 2.2],
  "p2p_time": 0.05,
  "output_file": "six.png"
})"),
      folder.write("six.yaml",
                   "num_stages: 6\nnum_batches: 12\n"
                   "forward_times:\n- 0.8\n- 1.0\n- 1.2\n- 1.0\n- 0.9\n- 1.1\n"
                   "backward_times: [1.6, 2.0, 2.4, 2.0, 1.8, 2.2]\n"
                   "p2p_time: 0.05\noutput_file: six.png\n")};
  for (const std::string& path : paths) {
    const Scenario s = read_scenario(read_yaml_file(path));
    CHECK(s.devices.value == 6);
    CHECK(s.microbatches.value == 12);
    CHECK(s.forward_times.value == Times{0.8, 1.0, 1.2, 1.0, 0.9, 1.1});
    CHECK(s.backward_times->value == Times{1.6, 2.0, 2.4, 2.0, 1.8, 2.2});
    CHECK(s.p2p_time == 0.05);
    REQUIRE(s.outputs.size() == 1);
    CHECK(s.outputs[0].value == "six.png");
    CHECK(s.title == "six");
  }
  const Scenario five = read(R"({"num_stages": 5, "num_batches": 8,
    "forward_times": [0.9, 1.1, 1.0, 0.8, 1.2], "backward_times": [1.8, 2.2, 2.0, 1.6, 2.4],
    "p2p_time": 0, "output_file": "five.png"})");
  CHECK(five.devices.value == 5);
  CHECK(five.forward_times.value.back() == 1.2);
  CHECK(five.text ==
        "devices: 5\nmicrobatches: 8\nforward_times: [0.9, 1.1, 1.0, 0.8, 1.2]\n"
        "backward_times: [1.8, 2.2, 2.0, 1.6, 2.4]\np2p_time: 0\n");
}

TEST_CASE("a scenario can be set without a file") {
  Value root = empty_scenario();
  override_key(root, "num_stages", "4", {"--num-stages", 0, 0, ""});
  override_key(root, "microbatches", "8", {"--num-batches", 0, 0, ""});
  set_key(root, "forward_times",
          make_list({"1 s", "2 s", "1 s", "1000 ms"}, {"--forward-times", 0, 0, ""}));
  override_key(root, "backward_times", "2 s", {"--backward-times", 0, 0, ""});
  override_key(root, "schedule", "interleaved-1f1b", {"--schedule", 0, 0, ""});
  override_key(root, "schedule.chunks", "2", {"--chunks", 0, 0, ""});
  const Scenario s = read_scenario(root);
  CHECK(s.devices.value == 4);
  CHECK(s.forward_times.value == Times{1, 2, 1, 1});
  CHECK(s.forward_times.origin.source == "--forward-times");
  REQUIRE(s.schedules.size() == 1);
  CHECK(s.schedules[0].name == "interleaved-1f1b");
  CHECK(s.schedules[0][&schedules::Parameters::chunks]->value == 2);
  CHECK(s.schedules[0][&schedules::Parameters::chunks]->origin.source == "--chunks");
  CHECK(s.title == "interleaved-1f1b");
  CHECK(s.text ==
        "devices: 4\nmicrobatches: 8\nschedule:\n  name: interleaved-1f1b\n  chunks: 2\n"
        "forward_times: [1 s, 2 s, 1 s, 1000 ms]\nbackward_times: 2 s\n");
}

TEST_CASE("an override replaces a key that the file has under its alias") {
  Value root = read_yaml_text(
      R"({"num_stages": 2, "num_batches": 4, "forward_times": 1, "backward_times": 2})", "t.json");
  override_key(root, "devices", "3", {"-s", 0, 0, ""});
  override_key(root, "num_batches", "5", {"-b", 0, 0, ""});
  const Scenario s = read_scenario(root);
  CHECK(s.devices.value == 3);
  CHECK(s.microbatches.value == 5);
}

TEST_CASE("parameters of a schedule can be set if it was only a name, also within a list") {
  Value root = read_yaml_text(small, "t.yaml");
  override_key(root, "schedule", "[gpipe, 1f1b]", {"--schedule", 0, 0, ""});
  override_key(root, "schedule.1.chunks", "2", {"--set", 0, 0, ""});
  const Scenario s = read_scenario(root);
  REQUIRE(s.schedules.size() == 2);
  CHECK(s.schedules[0].name == "gpipe");
  CHECK(s.schedules[1].name == "1f1b");
  CHECK(s.schedules[1][&schedules::Parameters::chunks]->value == 2);
  CHECK(error_of([&] {
          override_key(root, "schedule.chunks", "2", {"--chunks", 0, 0, ""});
        }) ==
        "--chunks: schedule is a list and has no item 'chunks'; allowed: 0 to 1, such as "
        "schedule.0");
}

TEST_CASE(
    "the path of a cluster is relative to its file, or on a command line to the current folder") {
  const Folder folder;
  const std::string net = folder.write("clusters/net.xml", "<platform/>");
  Value root = read_yaml_file(folder.write("scenarios/a.yaml", std::string(small) + "\n"));
  CHECK(error_of([&] {
          override_key(root, "cluster", "../clusters/net.xml", {"--set cluster", 0, 0, ""});
          read_scenario(root);
        }) ==
        "--set cluster: cluster is '../clusters/net.xml', and '../clusters/net.xml' is no file; "
        "allowed: the path of a SimGrid platform file, from the folder of the scenario or, on a "
        "command line, the current one");
  override_key(root, "cluster", net, {"--set cluster", 0, 0, ""});
  CHECK(read_scenario(root).cluster->value == net);
}

TEST_CASE("the stored text of a scenario with all keys reads as the same scenario") {
  const Folder folder;
  folder.write("net.xml", "<platform/>");
  const Scenario first = read_scenario(
      read_yaml_file(folder.write("a.yaml",
                                  "forward_times: [1 ms, 2 ms]\noutput_file: x.png\ntrace: x.h5\n"
                                  "backward_times: 4 ms\nnum_stages: 2\nnum_batches: 6\n"
                                  "cluster: ./net.xml\nactivation: {per_microbatch: 1 GiB}\n")));
  CHECK(first.text == "cluster: " + (folder.path() / "net.xml").string() +
                          "\ndevices: 2\nmicrobatches: 6\nforward_times: [1 ms, 2 ms]\n"
                          "backward_times: 4 ms\nactivation:\n  per_microbatch: 1 GiB\n");
  const Scenario second = read_scenario(read_yaml_text(first.text, "trace"));
  CHECK(second.text == first.text);
  CHECK(second.cluster->value == first.cluster->value);
  CHECK(second.forward_times.value == first.forward_times.value);

  Value changed = first.tree;
  override_key(changed, "microbatches", "7", {"--set", 0, 0, ""});
  CHECK(read_scenario(changed).microbatches.value == 7);
  CHECK(read_scenario(changed).cluster->value == first.cluster->value);
}

TEST_CASE("the help lists every key once") {
  std::vector<std::string> names;
  for (const KeyRow& key : scenario_keys()) {
    CHECK_FALSE(key.info.help.empty());
    CHECK(std::find(names.begin(), names.end(), key.name) == names.end());
    names.push_back(key.name);
  }
  for (const std::string name :
       {"devices", "schedule.chunks", "activation.per_microbatch", "state.weights", "p2p_time",
        "trace", "stack.host.kernel", "model.kv_heads", "model.experts.top_k",
        "model.latent.kv_rank", "gpu.flops", "gpu.memory_bandwidth", "parallel.pp",
        "training.bytes.optimizer"})
    CHECK(std::find(names.begin(), names.end(), name) != names.end());
}

TEST_CASE("every listed choice and every default can be read") {
  for (const KeyRow& row : scenario_keys()) {
    // Sections with required keys have tests of their own.
    constexpr std::array<std::string_view, 4> sections{"model.", "modules.", "rl.", "sites."};
    const bool has_required_keys = std::ranges::any_of(
        sections, [&](std::string_view section) { return row.name.starts_with(section); });
    if (row.value.choices.empty() || has_required_keys) continue;
    INFO(row.name);
    std::vector<std::string_view> values(row.value.choices.begin(), row.value.choices.end());
    // Some keys have no fixed default, as it depends on other keys.
    constexpr std::array<std::string_view, 10> varying{
        "goodput.failures.per",     "parallel.reshard_after_forward",
        "training.frozen",          "training.lora.modules",
        "training.optimizer.mode",  "training.recompute.early_stop",
        "training.offload.modules", "stack.fused",
        "stack.attention",          "stack.rules"};
    // Modules follow the recipe of training.precision.default.
    const bool is_module = row.info.default_value == "default";
    if (!is_module && std::find(varying.begin(), varying.end(), row.name) == varying.end())
      CHECK(std::find(values.begin(), values.end(), row.info.default_value) != values.end());
    for (const std::string_view value : values) {
      Value root = read_yaml_text(small, "t");
      override_key(root, row.name, value, {});
      // The output of attention is the input of the projection.
      if (row.name == "training.offload.modules")
        set_key(root, row.name, make_list({"core_attn", std::string(value)}, {}));
      if (row.name.starts_with("training.optimizer.offload."))
        override_key(root, "parallel.zero", "3", {});
      if (row.name == "training.recompute.method")
        override_key(root, "training.recompute.num_layers", "1", {});
      if (row.name == "parallel.reshard_after_forward" || row.name == "parallel.outer_sharding" ||
          row.name == "parallel.unshard_lookahead")
        override_key(root, "parallel.zero", "3", {});
      if (row.name == "parallel.unshard_lookahead")
        override_key(root, "parallel.reshard_after_forward", "false", {});
      if (is_module || row.name == "training.precision.head")
        override_key(root, "training.precision.default", value, {});
      // The optimizer that has every key of moments and of matrices.
      if (row.name.starts_with("training.optimizer.") && row.name != "training.optimizer.name" &&
          !row.name.starts_with("training.optimizer.offload."))
        override_key(root, "training.optimizer.name", "muon", {});
      if (row.name == "communication.tp_comm_overlap")
        override_key(root, "parallel.sp", "true", {});
      if (row.name.starts_with("training.lengths."))
        override_key(root, "training.lengths.longest", "512", {});
      if (value == "context_parallel") {
        override_key(root, "training.lengths.tokens_per_rank", "512", {});
        override_key(root, "parallel.cp", "2", {});
        override_key(root, "devices", "1", {});
      }
      if (row.name.starts_with("goodput.failures."))
        override_key(root, "goodput.failures.rate", "1", {});
      CHECK_NOTHROW(read_scenario(root));
    }
  }
}

TEST_CASE("the help of a key has its choices and its default") {
  const auto help = [](std::string_view name) {
    for (const KeyRow& row : scenario_keys())
      if (row.name == name) return help_line(row);
    return std::string();
  };
  CHECK(help("p2p") ==
        "protocol of point-to-point transfers: eager, rendezvous, blocking or steady (eager)");
  CHECK(help("partition") ==
        "distribution of layers over stages; a list, a map, a layout such as Et*3|(t*4|)*2tL, or a "
        "rule: even, ends_less, by_cost, by_weights, or a list (even)");
  CHECK(help("parallel.tp") == "tensor parallelism: number of GPUs that share each layer (1)");
  CHECK(help("forward_times") ==
        "time of the forward pass F: a single time, one per device, or one per stage");
}

TEST_CASE("modes and engines have the names by which they are read") {
  for (const std::string name : {"eager", "rendezvous", "blocking", "steady"}) {
    Value root = read_yaml_text(small, "t");
    override_key(root, "p2p", name, {});
    CHECK(to_string(read_scenario(root).p2p) == name);
  }
  for (const std::string name : {"simgrid", "timing"}) {
    Value root = read_yaml_text(small, "t");
    override_key(root, "engine", name, {});
    CHECK(to_string(read_scenario(root).engine) == name);
  }
}

}  // namespace
}  // namespace pipewright::config::test
