#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "sim/config/scenario.hpp"
#include "sim/config/text/yaml.hpp"
#include "tests/sim/config/support.hpp"

namespace pipewright::config::test {
namespace {

// Returns the error of reading a scenario that is valid in lines 1 to 4 and continues with `more`.
std::string error_with(const std::string& more) {
  return error_of([&] {
    read_scenario(read_yaml_text(
        "devices: 2\nmicrobatches: 4\nforward_times: 1\nbackward_times: 2\n" + more, "t.yaml"));
  });
}

// Returns the error of reading the valid scenario after a key was set to another value.
std::string error_when(const std::string& key, const std::string& value) {
  Value root = read_yaml_text("devices: 2\nmicrobatches: 4\nforward_times: 1\nbackward_times: 2\n",
                              "t.yaml");
  return error_of([&] {
    override_key(root, key, value, {"--set", 0, 0, ""});
    read_scenario(root);
  });
}

const std::string all_keys =
    "cluster, devices (or num_stages), placement, microbatches (or num_batches), global_batch, "
    "iterations, schedule, model, gpu, stack, parallel, partition, training, modules, "
    "communication, "
    "variation, "
    "goodput, rl, sites, "
    "symmetric, layer_times, forward_times, backward_times, input_grad_times, weight_grad_times, "
    "output_times, output_grad_times, overlap, "
    "fused_times, pass_overhead, p2p_time, "
    "boundary_tensor, activation, state, samples_per_microbatch, tokens_per_microbatch, p2p, "
    "engine, output (or output_file), trace";

TEST_CASE("the valid scenario of these tests has no fault") {
  CHECK(error_with("").empty());
  CHECK(error_when("devices", "2147483648").empty());
  CHECK(error_when("forward_times", "0").empty());
}

TEST_CASE("unknown and repeated keys are refused") {
  CHECK(error_with("forwardtimes: 1") ==
        "t.yaml:5:1: unknown key 'forwardtimes'; did you mean 'forward_times'? allowed: " +
            all_keys);
  CHECK(error_with("Iteration: 1") ==
        "t.yaml:5:1: unknown key 'Iteration'; did you mean 'iterations'? allowed: " + all_keys);
  CHECK(error_with("ouptut: 1") ==
        "t.yaml:5:1: unknown key 'ouptut'; did you mean 'output'? allowed: " + all_keys);
  CHECK(error_with("colour: red") == "t.yaml:5:1: unknown key 'colour'; allowed: " + all_keys);
  CHECK(error_with("num_stages: 3") ==
        "t.yaml:5:1: num_stages is another name of devices, which is given at t.yaml:1:1; leave "
        "out one of them");
  CHECK(error_with(std::string(200, 'x') + ": 3") ==
        "t.yaml:5:1: unknown key '" + std::string(60, 'x') + "...'; allowed: " + all_keys);
}

TEST_CASE("an error about a missing key names its option") {
  const auto missing = [](std::string_view text) {
    return error_of([&] { read_scenario(read_yaml_text(text, "t.yaml")); });
  };
  const std::string nothing =
      "the scenario has neither a model nor times of passes; give a model, such as --model "
      "llama-3-8b, or devices and forward_times";
  CHECK(error_of([] { read_scenario(empty_scenario()); }) == nothing);
  CHECK(missing("{}") == "t.yaml: " + nothing);
  CHECK(missing("cluster: dgx-h100-8") == "t.yaml: " + nothing);
  CHECK(missing("forward_times: 1") ==
        "t.yaml: devices is missing: number of pipeline devices, the same as parallel.pp; default "
        "with a model: 1 (-s/--num-stages, or the key devices)");
  CHECK(missing("devices: 1") ==
        "t.yaml: microbatches is missing: number of microbatches per iteration and replica "
        "(-b/--num-batches, or the key microbatches); give the batch of an iteration: global_batch "
        "(--global-batch), or microbatches");
  CHECK(missing("{devices: 1, microbatches: 1}") ==
        "t.yaml: forward_times is missing: time of the forward pass F: a single time, one per "
        "device, or one per stage (-f/--forward-times, or the key forward_times)");
  CHECK(missing("[1, 2]") ==
        "t.yaml:1:1: the scenario is a list; allowed: a map with keys of: cluster, devices, "
        "placement, microbatches, global_batch, iterations, schedule, model, gpu, stack, parallel, "
        "partition, training, modules, communication, variation, goodput, rl, sites, symmetric, "
        "layer_times, "
        "forward_times, "
        "backward_times, "
        "input_grad_times, weight_grad_times, output_times, output_grad_times, overlap, "
        "fused_times, pass_overhead, p2p_time, "
        "boundary_tensor, "
        "activation, state, "
        "samples_per_microbatch, tokens_per_microbatch, p2p, engine, output, trace");
}

TEST_CASE("the backward pass needs its time or those of both halves") {
  const std::string advice =
      "; give backward_times (--backward-times), or both input_grad_times and weight_grad_times "
      "(--input-grad-times and --weight-grad-times), or all three";
  const auto with = [](const std::string& more) {
    return error_of([&] {
      read_scenario(
          read_yaml_text("devices: 2\nmicrobatches: 4\nforward_times: 1\n" + more, "t.yaml"));
    });
  };
  CHECK(with("") == "t.yaml: the backward pass has no time" + advice);
  CHECK(with("input_grad_times: 1") ==
        "t.yaml:4:19: input_grad_times needs weight_grad_times" + advice);
  CHECK(with("weight_grad_times: 1") ==
        "t.yaml:4:20: weight_grad_times needs input_grad_times" + advice);
  CHECK(error_with("weight_grad_times: 1") ==
        "t.yaml:4:17: backward_times and weight_grad_times are given without input_grad_times" +
            advice);
  CHECK(error_with("input_grad_times: 1") ==
        "t.yaml:4:17: backward_times and input_grad_times are given without weight_grad_times" +
            advice);
}

TEST_CASE("counts are whole numbers from 1") {
  const std::string allowed = "; allowed: a whole number from 1 to 2147483648, such as 8";
  for (const std::string text :
       {"0", "-1", "1.5", "1.5e3", "1e3", "2147483649", "99999999999", "0x10", "8 x", "+8", "-0"}) {
    CAPTURE(text);
    CHECK(error_when("devices", text) == fmt::format("--set: devices is {}{}", text, allowed));
  }
  CHECK(error_when("devices", "many") == "--set: devices is the text 'many'" + allowed);
  CHECK(error_when("devices", "''") == "--set: devices is an empty text" + allowed);
  CHECK(
      error_when("devices", "[2]") ==
      "--set: devices is a list, so this is a sweep; run it with 'pipewright search', or give one "
      "value" +
          allowed);
  CHECK(error_when("devices", "{a: 2}") == "--set: devices is a map" + allowed);
  CHECK(error_when("microbatches", "0") ==
        "--set: microbatches is 0; allowed: a whole number from 1 to 2147483648, such as 64");
  CHECK(error_when("iterations", "0") ==
        "--set: iterations is 0; allowed: a whole number from 1 to 2147483648, such as 2");
}

TEST_CASE("every key refuses invalid values") {
  const auto [key, value, message] = GENERATE(table<std::string, std::string, std::string>({
      {"forward_times", "[18.5 ms, 19 ms, -3 ms]",
       "forward_times[2] is -3 ms; allowed: a pass time from 0 to 1e9 s, such as 18.5 ms"},
      {"forward_times", "nan",
       "forward_times is nan; allowed: a pass time from 0 to 1e9 s, such as 18.5 ms"},
      {"backward_times", "[]",
       "backward_times is an empty list; allowed: a pass time, or a list of them, such as 18.5 ms "
       "or [18.5 ms, 19 ms]"},
      {"backward_times", "{a: 1}",
       "backward_times is a map; allowed: a pass time, or a list of them, such as 18.5 ms or "
       "[18.5 ms, 19 ms]"},
      {"forward_times", "[1, [2]]",
       "forward_times[1] is a list; allowed: a pass time, such as 18.5 ms"},
      {"p2p_time", "-1", "p2p_time is -1; allowed: a latency from 0 to 1e9 s, such as 18.5 ms"},
      {"p2p_time", "[1]", "p2p_time is a list; allowed: a latency, such as 18.5 ms"},
      {"boundary_tensor", "24 MiBit",
       "boundary_tensor is 24 MiBit, and 'MiBit' is no unit of a size; allowed: the size of a "
       "boundary tensor from 0 to 2^63 bytes, such as 24 MiB; in B, kB, MB, GB, TB, KiB, MiB, GiB, "
       "TiB (a bare number is in bytes)"},
      {"boundary_tensor", "[1]",
       "boundary_tensor is a list; allowed: the size of a boundary tensor, such as 24 MiB"},
      {"samples_per_microbatch", "0",
       "samples_per_microbatch is 0; allowed: a number of samples > 0, such as 3"},
      {"tokens_per_microbatch", "[1]",
       "tokens_per_microbatch is a list; allowed: a number of tokens, such as 3"},
      {"p2p", "eagr",
       "p2p is the text 'eagr'; did you mean 'eager'? allowed: one of eager, rendezvous, blocking, "
       "steady"},
      {"p2p", "x", "p2p is the text 'x'; allowed: one of eager, rendezvous, blocking, steady"},
      {"engine", "{a: b}", "engine is a map; allowed: one of simgrid, timing"},
      {"schedule", "[]",
       "schedule is an empty list; allowed: a name, a map, or a list of those, such as 1f1b or "
       "{name: interleaved-1f1b, chunks: 2}"},
      {"schedule", "[[a]]",
       "schedule[0] is a list; allowed: a name, a map, or a list of those, such as 1f1b or {name: "
       "interleaved-1f1b, chunks: 2}"},
      {"schedule.chunks", "2",
       "schedule.name is missing: name of the schedule, such as interleaved-1f1b (--schedule, or "
       "the key schedule.name)"},
      {"schedule", "{name: [a]}",
       "schedule.name is a list; allowed: a name such as interleaved-1f1b"},
      {"schedule", "[{name: a, chunks: 0}]",
       "schedule[0].chunks is 0; allowed: a whole number from 1 to 2147483648, such as 2"},
      {"schedule", "{name: a, group_size: x}",
       "schedule.group_size is the text 'x'; allowed: a whole number from 1 to 2147483648, such as "
       "8"},
      {"schedule", "{name: a, chunk: 2}",
       "unknown key 'chunk' in schedule; did you mean 'chunks'? allowed: name, chunks, "
       "group_size, slices, recompute, fused, barriers, layers_per_device, fold, memory_limit, "
       "legacy"},
      {"activation", "{per_microbatch: [1, 2, 3]}",
       "activation.per_microbatch has 3 values; allowed: 1, or one per device (2)"},
      {"state", "{weights: -1}",
       "state.weights is -1; allowed: a size of memory from 0 to 2^63 bytes, such as 24 MiB"},
      {"output", "''", "output is an empty text; allowed: a path such as run.html"},
      {"output", "[a.png, {b: c}]", "output[1] is a map; allowed: a path such as run.html"},
      {"output", "[]", "output is an empty list; allowed: a path or a list of paths"},
      {"trace", "[a.h5]", "trace is a list; allowed: a path such as run.h5"},
      {"placement", "[a, b]",
       "placement needs a cluster; give a cluster (--cluster), or leave out placement"},
      {"placement", "[a, b, c]",
       "placement has 3 hosts for 2 GPUs; allowed: a list of host names, one per GPU"},
      {"placement", "[a, '']",
       "placement[1] is an empty text; allowed: a host name of the cluster"},
      {"placement", "[]",
       "placement is an empty list; allowed: a list of host names, one per GPU, or a map with the "
       "keys domain (number of GPUs to use in each NVLink domain) and gpu_types (GPU types in the "
       "order of ranks)"},
      {"cluster", "[a]", "cluster is a list; allowed: the path of a SimGrid platform file"},
  }));
  CAPTURE(key, value);
  CHECK(error_when(key, value) == "--set: " + message);
}

TEST_CASE("an error keeps its parts apart") {
  const auto caught = [](const std::string& more) {
    try {
      read_scenario(read_yaml_text(
          "devices: 2\nmicrobatches: 4\nforward_times: 1\nbackward_times: 2\n" + more, "t.yaml"));
    } catch (const Error& error) {
      return error;
    }
    return Error("");
  };
  const Error choice = caught("engine: timming");
  CHECK(to_string(choice.location()) == "t.yaml:5:9");
  CHECK(choice.key() == "engine");
  CHECK(choice.found() == "engine is the text 'timming'");
  CHECK(choice.allowed() == "one of simgrid, timing");
  CHECK(choice.suggestion() == "timing");
  CHECK(choice.suggests_name());
  CHECK(choice.message() ==
        "engine is the text 'timming'; did you mean 'timing'? allowed: one of simgrid, timing");
  CHECK(choice.what() == "t.yaml:5:9: " + choice.message());

  const Error contradiction = caught("variation: {slow_links: {link: a, factor: 0.5}}");
  CHECK(contradiction.key() == "variation.slow_links");
  CHECK(contradiction.suggestion() == "give a cluster (--cluster), or leave out slow_links");
  CHECK_FALSE(contradiction.suggests_name());
  CHECK(contradiction.allowed().empty());

  CHECK(caught("iterations: 0").at({"other.yaml", 1, 1}, "devices").key() == "iterations");
  CHECK(caught("gpu: h100").found().starts_with("gpu: 'h100' is not among the gpus"));
}

TEST_CASE("a key outside its section is recognised by its last part") {
  const auto [key, meant] = GENERATE(table<std::string, std::string>({
      {"tp", "parallel.tp"},
      {"sequence", "training.sequence"},
      {"microbatch_size", "training.microbatch_size"},
      {"zero", "parallel.zero"},
  }));
  CAPTURE(key);
  CHECK_THAT(error_with(key + ": 8"),
             Catch::Contains("unknown key '" + key + "'; did you mean '" + meant + "'?"));
}

TEST_CASE("values of a sweep are named as such in a scenario") {
  for (const std::string value : {"auto", "[1, 2]", "1..8"}) {
    CAPTURE(value);
    CHECK_THAT(error_with("parallel: {tp: " + value + "}"),
               Catch::Contains("parallel.tp is ") &&
                   Catch::Contains(", so this is a sweep; run it with 'pipewright search'"));
  }
}

TEST_CASE("an override has the key that it sets") {
  Value root = read_yaml_text("devices: 2\n", "t.yaml");
  override_key(root, "parallel.tp", "0", {"--set parallel.tp", 0, 0, ""});
  CHECK(find(*find(root, "parallel"), "tp")->origin.key == "parallel.tp");
  CHECK(find(root, "devices")->origin.key == "devices");
}

TEST_CASE("an error in a file has line and column") {
  CHECK(error_with("iterations: 0") ==
        "t.yaml:5:13: iterations is 0; allowed: a whole number from 1 to 2147483648, such as 2");
  CHECK(error_with("schedule:\n  - gpipe\n  - name: x\n    chunks: -1\n") ==
        "t.yaml:8:13: schedule[1].chunks is -1; allowed: a whole number from 1 to 2147483648, such "
        "as 2");
  CHECK(error_with("state:\n  weights: [1, 2 s]\n") ==
        "t.yaml:6:16: state.weights[1] is 2 s, and 's' is no unit of a size; allowed: a size of "
        "memory from 0 to 2^63 bytes, such as 24 MiB; in B, kB, MB, GB, TB, KiB, MiB, GiB, TiB (a "
        "bare number is in bytes)");
}

TEST_CASE("a cluster and the ideal network's latency exclude each other") {
  const Folder folder;
  const std::string net = folder.write("net.xml", "<platform/>");
  CHECK(error_with("p2p_time: 1 us\ncluster: " + net) ==
        "t.yaml:5:11: p2p_time is the latency of the ideal network, but the cluster given at "
        "t.yaml:6:10 has latencies of its own; leave out one of them");
  const std::string allowed =
      "; allowed: the path of a SimGrid platform file, from the folder of the scenario or, on a "
      "command line, the current one";
  CHECK(error_with("cluster: " + net + "x") ==
        "t.yaml:5:10: cluster is '" + net + "x', and '" + net + "x' is no file" + allowed);
  const std::string path = folder.path().string();
  CHECK(error_with("cluster: " + path) ==
        "t.yaml:5:10: cluster is '" + path + "', and '" + path + "' is a folder" + allowed);
}

TEST_CASE("messages show hostile texts harmlessly") {
  CHECK(error_when("p2p", "\"a\\tb\\nc\"") ==
        "--set: p2p is the text 'a\\x09b\\x0ac'; allowed: one of eager, rendezvous, blocking, "
        "steady");
  std::string euros;
  for (int i = 0; i < 30; ++i) euros += "\u20ac";
  CHECK(error_when("p2p", "x" + euros) ==
        "--set: p2p is the text 'x" + euros.substr(0, 57) +
            "...'; allowed: one of eager, rendezvous, blocking, steady");
}

}  // namespace
}  // namespace pipewright::config::test
