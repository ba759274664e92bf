#include "sim/sweep/space.hpp"

#include <algorithm>
#include <numeric>

#include <catch2/catch.hpp>
#include <fmt/ranges.h>

#include "sim/base/enum_names.hpp"
#include "sim/config/scenario.hpp"
#include "tests/sim/config/support.hpp"
#include "tests/sim/sweep/spaces.hpp"

namespace pipewright::search::test {
namespace {

// Pass times, which replace a model and allow every layout.
const std::string passes = "microbatches: 8\nforward_times: 1 ms\nbackward_times: 2 ms\n";
const std::string on_cluster = "cluster: dgx-a100\nmodel: gpt3-175b\nglobal_batch: 16\n";

std::uint64_t excluded_in_all(const Space& space) {
  std::uint64_t sum = 0;
  for (const analysis::Excluded& excluded : space.excluded()) sum += excluded.combinations;
  return sum;
}

std::string error_with(const std::string& text, std::uint32_t gpus = 16) {
  return config::test::error_of([&] { space_of(text, gpus); });
}

}  // namespace

TEST_CASE("a sweep without lists is one candidate", "[search][space]") {
  const Space space = space_of("devices: 4\n" + passes);
  CHECK(axes_of(space) == "schedule: 1f1b");
  CHECK(space.combinations() == 1);
  CHECK(candidates_of(space) == std::vector<std::uint64_t>{0});
  CHECK(space.excluded().empty());
  CHECK(space.groups() == std::vector<std::string>{"ideal network"});
  CHECK(config::read_scenario(space.candidate(0)).schedules.front().name == "1f1b");
}

TEST_CASE("lists, ranges and any_of become axes, with the schedules last", "[search][space]") {
  const Space space = space_of(
      "devices: [2, 4..6]\nmicrobatches: 8..32 step 8\n"
      "forward_times: {any_of: [1 ms, [1 ms, 2 ms]]}\nbackward_times: 2 ms\n"
      "iterations: 1..5 x2\nschedule: [gpipe, {name: interleaved-1f1b, chunks: [2, 4]}, gpipe]");
  CHECK(axes_of(space) ==
        "pp: 2 4 5 6, microbatches: 8 16 24 32, forward_times: 1 ms [1 ms, 2 ms], iterations: 1 2 "
        "4, schedule: gpipe interleaved-1f1b x2 interleaved-1f1b x4");
  CHECK(space.axes()[0].key == "devices");
  CHECK(space.combinations() == 4 * 4 * 2 * 3 * 3);
  CHECK(candidates_of(space).size() == 288);
  // The number of the combination whose axes have value numbers 1, 3, 1, 2 and 1.
  const std::uint64_t number = (((1 * 4 + 3) * 2 + 1) * 3 + 2) * 3 + 1;
  CHECK(config::to_yaml(space.candidate(number)) ==
        "devices: 4\nmicrobatches: 32\nforward_times: [1 ms, 2 ms]\nbackward_times: 2 ms\n"
        "iterations: 4\nschedule:\n  name: interleaved-1f1b\n  chunks: 2\n");
}

TEST_CASE("parallel sizes multiply to the GPUs, and dp follows if it is not set",
          "[search][space]") {
  // With tp x pp x dp = 16, there are 5, 4 and 3 pairs of pp and dp for tp 1, 2 and 4.
  const Space space = space_of(on_cluster + "parallel: {tp: [1, 2, 4], pp: auto}\n");
  CHECK(axes_of(space) == "tp: 1 2 4, pp: 1 2 4 8 16, dp: 1 2 4 8 16, schedule: 1f1b");
  CHECK(candidates_of(space).size() == 5 + 4 + 3);
  CHECK(space.excluded().front().rule == "tp * cp * pp * dp == 16");
  CHECK(excluded_in_all(space) == 75 - 12);
  for (const std::uint64_t candidate : candidates_of(space)) {
    const config::Scenario scenario = config::read_scenario(space.candidate(candidate));
    const auto& parallel = scenario.parallel;
    CHECK(parallel.tp.value * parallel.pp.value * parallel.dp.value == 16);
    CHECK(scenario.microbatches.value == 16 / parallel.dp.value);
  }
}

TEST_CASE("a scenario that sets all parallel sizes is kept as it is", "[search][space]") {
  const Space space = space_of(on_cluster + "parallel: {tp: 2, pp: 2}\nschedule: [1f1b, gpipe]");
  CHECK(candidates_of(space).size() == 2);
  CHECK(config::read_scenario(space.candidate(1)).parallel.dp.value == 1);
  // If search.gpus is set, the values of dp follow from the numbers of GPUs.
  const Space on_gpus =
      space_of(on_cluster + "parallel: {tp: 2, pp: 2}\nsearch: {gpus: [4, 8, 12]}");
  CHECK(axes_of(on_gpus) == "dp: 1 2 3 4 6 8 12, schedule: 1f1b");
  CHECK(candidates_of(on_gpus).size() == 2);
  // The batch rule depends on dp alone and is applied first: it excludes dp 3, 6 and 12. Of the
  // other values, dp 4 and 8 need more GPUs than are allowed.
  CHECK(on_gpus.excluded()[0].combinations == 2);
  CHECK(on_gpus.excluded()[1].rule == "global_batch % (dp * microbatch_size) == 0");
  CHECK(on_gpus.excluded()[1].combinations == 3);
}

TEST_CASE("auto stands for all possible values", "[search][space]") {
  const Space space = space_of(
      "cluster: dgx-a100\nmodel: mixtral-8x7b\nglobal_batch: 12\n"
      "parallel: {tp: auto, pp: 1, dp: 1, ep: auto, sp: auto, zero: auto}\n"
      "training: {microbatch_size: auto, recompute: auto}\np2p: auto\npartition: auto\n"
      "schedule: {name: interleaved-1f1b, chunks: auto}\nsearch: {gpus: 6}");
  CHECK(axes_of(space) ==
        "tp: 1 2 3 6, ep: 1 2 4 8, microbatch_size: 1 2 3 4 6 12, sp: false true, zero: 0 1 2 3, "
        "recompute: none selective full, p2p: eager rendezvous blocking steady, partition: even "
        "ends_less "
        "by_cost by_weights, schedule: interleaved-1f1b x1 interleaved-1f1b x2 interleaved-1f1b x4 "
        "interleaved-1f1b x8 interleaved-1f1b x16 interleaved-1f1b x32");
}

TEST_CASE("the whole catalog comes with the numbers of chunks that a model allows",
          "[search][space]") {
  const auto schedules = space_of(
                             "devices: 4\nmodel: llama-3-8b\ngpu: a100-80gb\n"
                             "global_batch: 8\nschedule: auto")
                             .axes()
                             .back()
                             .values;
  CHECK(std::ranges::count(schedules, "v-half") == 1);
  CHECK(std::ranges::count(schedules, "looped-bfs x16") == 1);
  CHECK(std::ranges::count(schedules, "looped-bfs x32") == 0);
  CHECK(std::ranges::count(schedules, "looped-bfs") == 0);
  const auto without = space_of("devices: 4\n" + passes + "schedule: auto").axes().back().values;
  CHECK(std::ranges::count(without, "looped-bfs") == 1);
  // Stages of HelixPipe are parts of layers, and models are divided into whole layers.
  CHECK(std::ranges::count(without, "helixpipe") == 1);
  CHECK(std::ranges::count(schedules, "helixpipe") == 0);
}

TEST_CASE("constraints exclude combinations, and single candidates by their schedule",
          "[search][space]") {
  const Space space = space_of(
      "devices: 1..8\n" + passes +
      "schedule: [1f1b, gpipe, {name: interleaved-1f1b, chunks: 2..4}]\n"
      "search: {constraints: [\"schedule != 'gpipe' or pp <= 3\", chunks * pp <= 12, pp != 5]}");
  // Excluded of 8 x 5: pp 5; gpipe with 4, 6, 7 and 8; 2 chunks with 7 and 8, 3 chunks with 6, 7
  // and 8, 4 chunks with 4, 6, 7 and 8.
  CHECK(candidates_of(space).size() == 40 - 5 - 4 - 2 - 3 - 4);
  CHECK(space.excluded()[0].combinations == 4);
  CHECK(space.excluded()[1].combinations == 9);
  CHECK(space.excluded()[2].combinations == 5);
}

TEST_CASE("sizes of hierarchical context parallelism belong to candidates of their kind",
          "[search][space]") {
  const Space space = space_of("devices: 1\n" + passes +
                               "parallel:\n  cp: 8\n  cp_comm_type: [p2p, a2a, a2a+p2p]\n"
                               "  hierarchical_context_parallel_sizes: [2, 4]\n");
  std::vector<std::string> sizes;
  for (const std::uint64_t candidate : candidates_of(space)) {
    const config::Scenario scenario = config::read_scenario(space.candidate(candidate));
    sizes.push_back(
        fmt::format("{} {}", base::name_of(config::context_comm_names, scenario.parallel.cp_comm),
                    scenario.parallel.cp_sizes.size()));
  }
  CHECK(sizes == std::vector<std::string>{"p2p 0", "a2a 0", "a2a+p2p 2"});
}

TEST_CASE("the partition that limits the stages may be that of the stack", "[search][space]") {
  const auto candidates = [](const std::string& keys) {
    return candidates_of(space_of("model: {layers: 6, hidden: 64, heads: 8, vocabulary: 1000, "
                                  "sequence: 32}\nparallel: {pp: [2, 4, 8], tp: 1, dp: 1}\n"
                                  "global_batch: 16\nsearch: {gpus: [2, 4, 8]}\n" +
                                      keys,
                                  0))
        .size();
  };
  CHECK(candidates("") == 2);  // 8 stages are more than 6 layers and a head
  CHECK(candidates("partition: ends_less\n") == 3);
  CHECK(candidates("stack: {like: megatron-core, partition: ends_less}\n") == 3);
  CHECK(candidates("stack: {like: megatron-core, partition: by_cost}\n") == 3);
  CHECK(candidates("stack: {like: megatron-core, partition: ends_less}\npartition: even\n") == 2);
}

TEST_CASE("an enumeration ends when the visitor returns false", "[search][space]") {
  const Space space = space_of("devices: 1..8\n" + passes);
  int visits = 0;
  space.for_each_layout([&](auto, auto) { return ++visits < 3; });
  CHECK(visits == 3);
}

TEST_CASE("every model on every cluster is a group", "[search][space]") {
  const Space space = space_of(
      "cluster: [dgx-a100, dgx-h100]\nmodel: [gpt3-175b, llama-3-8b]\nglobal_batch: 16\n"
      "parallel: {tp: [1, 2], pp: 8}\n"
      "search: {constraints: [\"layers > 32 or cluster == 'dgx-h100'\"]}");
  CHECK(space.groups() ==
        std::vector<std::string>{"gpt3-175b on dgx-a100", "llama-3-8b on dgx-a100",
                                 "gpt3-175b on dgx-h100", "llama-3-8b on dgx-h100"});
  std::vector<std::uint32_t> groups;
  for (const std::uint64_t candidate : candidates_of(space)) {
    const std::uint64_t layout = candidate / space.schedules();
    groups.push_back(space.group(layout));
    CHECK(space.cluster(layout) == space.group(layout) / 2);
    const config::Scenario scenario = config::read_scenario(space.candidate(candidate));
    CHECK(scenario.model->value.name + " on " + scenario.cluster->value.stem().string() ==
          space.groups()[groups.back()]);
  }
  CHECK(groups == std::vector<std::uint32_t>{0, 0, 2, 2, 3, 3});
}

TEST_CASE("alternatives inside a model are separate models", "[search][space]") {
  const Space space = space_of(
      "devices: [2, 4]\nglobal_batch: 8\ngpu: a100-80gb\n"
      "model: {name: tiny, layers: [8, 16], hidden: 64, heads: 8, vocabulary: 100, sequence: 64}\n"
      "search: {constraints: [layers / pp <= 4]}");
  CHECK(axes_of(space) == "model: tiny layers 8 tiny layers 16, pp: 2 4, schedule: 1f1b");
  CHECK(candidates_of(space) == std::vector<std::uint64_t>{0, 1, 3});
  CHECK(config::read_scenario(space.candidate(3)).model->value.layers == 16);
}

TEST_CASE("alternatives can be whole sections", "[search][space]") {
  const Space space = space_of(
      "cluster: dgx-a100\nmodel: gpt3-175b\nglobal_batch: 16\n"
      "parallel: {any_of: [{tp: 8, pp: [1, 2]}, {tp: 4, pp: 4, sp: true}, {dp: 2, pp: 8}]}\n"
      "search: {gpus: 16, constraints: [sp or tp != 4, tp > 1]}");
  CHECK(space.axes()[0].values[0] == "{tp: 8, pp: 1}");
  CHECK(candidates_of(space) == std::vector<std::uint64_t>{1, 2});
}

TEST_CASE("a layout has its schedules in a list, and the keys of its model", "[search][space]") {
  const Space space =
      space_of(on_cluster + "parallel: {tp: [1, 2], pp: 8}\nschedule: [1f1b, gpipe, zb-1p]");
  const std::vector<std::uint32_t> schedules{0, 2};
  const config::Value tree = space.layout(5, schedules);
  const config::Scenario scenario = config::read_scenario(tree);
  REQUIRE(scenario.schedules.size() == 2);
  CHECK(scenario.schedules[1].name == "zb-1p");
  CHECK(config::find(tree, "model")->kind == config::Value::Kind::map);
  CHECK(scenario.model->value.name == "gpt3-175b");
  // The scenario of a candidate has the keys in the form in which users write them.
  CHECK(config::to_yaml(space.candidate(5 * 3 + 1)) ==
        "cluster: dgx-a100\nmodel: gpt3-175b\nglobal_batch: 16\nparallel:\n  tp: 2\n  pp: 8\n"
        "  dp: 1\nschedule: gpipe\n");
}

TEST_CASE("constraints can use sizes, facts and scenario keys", "[search][space]") {
  std::string constraints =
      "p2p != 'eager', overlap_p2p, communication.bucket == '1 GB', seed == 3";
  for (const std::string name : {"tp",           "cp",           "ep",
                                 "dp",           "pp",           "gpus",
                                 "sp",           "zero",         "microbatch_size",
                                 "global_batch", "microbatches", "recompute",
                                 "schedule",     "chunks",       "model",
                                 "layers",       "hidden",       "heads",
                                 "kv_heads",     "experts",      "sequence",
                                 "cluster",      "nodes",        "gpus_per_node",
                                 "gpu",          "memory_gib"})
    constraints += ", \"" + name + " == " + name + "\"";
  const Space space = space_of(
      on_cluster +
      "parallel: {tp: [1, 2], pp: auto}\np2p: [eager, blocking]\nvariation: {seed: [2, 3]}\n"
      "communication: {overlap_p2p: [true, false], bucket: {any_of: [1 GB, 2 GB]}}\n"
      "search: {constraints: [" +
      constraints + "]}");
  CHECK(space.combinations() == 2 * 5 * 5 * 16);
  CHECK(candidates_of(space).size() == 5 + 4);
}

TEST_CASE("constraints calculate with whole numbers that have a scale", "[search][space]") {
  const Space space =
      space_of(on_cluster +
               "training: {sequence: [2k, 4k, 4Ki]}\nsearch: {constraints: sequence % 2000 == 0}");
  CHECK(axes_of(space) == "sequence: 2000 4000 4096, schedule: 1f1b");
  CHECK(candidates_of(space).size() == 2);
}

TEST_CASE("a list of modules for CUDA graphs is one value, and other lists are an axis",
          "[search][space]") {
  const auto axes = [](const std::string& graphs) {
    return axes_of(space_of(on_cluster + "training: {cuda_graphs: " + graphs + "}"));
  };
  CHECK(axes("[attn, mlp]") == "schedule: 1f1b");
  CHECK(axes("[none, layer]") == "cuda_graphs: none layer, schedule: 1f1b");
  CHECK(axes("[none, [attn, mlp], [attn]]") ==
        "cuda_graphs: none [attn, mlp] [attn], schedule: 1f1b");
  CHECK(axes("{any_of: [[attn, mlp], layer]}") == "cuda_graphs: [attn, mlp] layer, schedule: 1f1b");
  CHECK(axes("auto") == "cuda_graphs: none layer iteration, schedule: 1f1b");
}

TEST_CASE("parts of NVLink domains can be an axis", "[search][space]") {
  CHECK(axes_of(space_of(on_cluster + "placement: {domain: [6, 8]}")) ==
        "domain: 6 8, schedule: 1f1b");
  // A domain of eight GPUs is already a multiple of every power of two that fits, so `auto` has no
  // other value.
  CHECK(axes_of(space_of(on_cluster + "placement: {domain: auto}")) == "schedule: 1f1b");
  CHECK(axes_of(Space(sweep_of(on_cluster + "placement: {domain: auto}"),
                      {{"racks", 144, 72, "gb200", 0}})) == "domain: 64 72, schedule: 1f1b");
}

TEST_CASE("auto stands for all choices of a key, and constraints know each key by its default",
          "[search][space]") {
  CHECK(axes_of(space_of(on_cluster + "communication: {all_reduce: auto}")) ==
        fmt::format("all_reduce: {}, schedule: 1f1b", fmt::join(config::algorithm_names, " ")));
  CHECK(axes_of(space_of(on_cluster +
                         "communication: {async_tensor_model_parallel_allreduce: auto}")) ==
        "async_tensor_model_parallel_allreduce: false true, schedule: 1f1b");
  std::size_t open_keys = 0;
  for (const config::KeyRow& row : config::scenario_keys()) {
    // Keys of models, stacks and other commands cannot be used in constraints. An encoder of images
    // needs other keys, too.
    constexpr std::array<std::string_view, 6> left_out{"model.",   "stack.", "goodput.",
                                                       "modules.", "rl.",    "sites."};
    if (row.value.choices.empty() || std::ranges::any_of(left_out, [&](std::string_view section) {
          return row.name.starts_with(section);
        }))
      continue;
    INFO(row.name);
    ++open_keys;
    std::string setting = std::string(row.info.name) + ": auto";
    std::string sections = row.name;
    while (sections.find('.') != std::string::npos) {
      sections.resize(sections.rfind('.'));
      if (sections == "training.lengths") setting += ", mean: 500, p95: 900";
      setting = sections.substr(sections.rfind('.') + 1) + ": {" + setting + "}";
    }
    const Space space = space_of(on_cluster + setting);
    REQUIRE(space.axes().size() == 2);
    CHECK(space.axes()[0].values ==
          std::vector<std::string>(row.value.choices.begin(), row.value.choices.end()));
    // A key without a default, or with one that depends on other keys, has no value unless it is
    // set.
    const auto& choices = row.value.choices;
    if (row.value.type == config::ValueType::choice &&
        std::ranges::find(choices, row.info.default_value) == choices.end())
      continue;
    if (row.info.default_value.empty() || row.info.default_value.starts_with("stack.")) continue;
    const bool text =
        !(row.info.default_value.find_first_not_of("0123456789") == std::string::npos) &&
        row.value.type == config::ValueType::choice;
    const std::string value(row.info.default_value);
    CHECK(candidates_of(space_of(on_cluster + "search: {constraints: \"" + row.name +
                                 " == " + (text ? "'" + value + "'" : value) + "\"}"))
              .size() == 1);
  }
  CHECK(open_keys > 20);
}

TEST_CASE("constraints know the cluster and the model of a candidate", "[search][space]") {
  const auto holds = [&](const std::string& constraint) {
    return candidates_of(space_of("cluster: dgx-a100\nmodel: mixtral-8x7b\nglobal_batch: 16\n"
                                  "parallel: {tp: 2, pp: 4}\ntraining: {sequence: 512}\n"
                                  "schedule: {name: looped-bfs, chunks: 4}\n"
                                  "search: {constraints: \"" +
                                  constraint + "\"}"))
               .size() == 1;
  };
  for (const char* fact : {"layers == 32",
                           "hidden == 4096",
                           "heads == 32",
                           "kv_heads == 8",
                           "experts == 8",
                           "sequence == 512",
                           "model == 'mixtral-8x7b'",
                           "gpus == 8",
                           "gpus_per_node == 8",
                           "nodes == 2",
                           "cluster == 'dgx-a100'",
                           "gpu == 'a100-80gb'",
                           "memory_gib == 80",
                           "chunks == 4",
                           "schedule == 'looped-bfs'",
                           "microbatches == 16",
                           "recompute == 'none'",
                           "zero == 0",
                           "not sp",
                           "ep == 1"}) {
    INFO(fact);
    CHECK(holds(fact));
    CHECK_FALSE(holds(std::string("not (") + fact + ")"));
  }
}

TEST_CASE("errors of a space say what is allowed", "[search][space]") {
  CHECK(error_with(on_cluster + "parallel: {tp: auto, pp: 2}\nsearch: {gpus: 99}") ==
        "search.gpus is 99, but dgx has 16; allowed: 1 to 16");
  CHECK(error_with("devices: auto\n" + passes) ==
        "s.yaml:1:10: devices is auto, which needs the number of GPUs; give search.gpus, or a "
        "cluster that defines it");
  CHECK(error_with("devices: 2\n" + passes + "training: {microbatch_size: auto}") ==
        "s.yaml:5:29: training.microbatch_size is auto, which needs global_batch");
  const std::string unknown =
      error_with("devices: 2\n" + passes + "search:\n  constraints: [tp <= 4, tp <= gpu_count]");
  CHECK_THAT(unknown, Catch::StartsWith("s.yaml:6:26: constraint 'tp <= gpu_count', column 7: "
                                        "unknown name 'gpu_count'; allowed: domain, microbatches, "
                                        "global_batch, iterations, tp, cp, cp_comm_type, "));
  CHECK_THAT(unknown, Catch::EndsWith(", cluster, gpus_per_node, nodes, gpu, memory_gib, model, "
                                      "layers, hidden, heads, kv_heads, experts, sequence, "
                                      "schedule, chunks, gpus, and texts in quotes"));
  for (const std::string_view name : {"microbatch_size", "granularity", "zero_gradients", "seed"})
    CHECK_THAT(unknown, Catch::Contains(fmt::format(", {}, ", name)));
  const auto constraint = [&](const std::string& text) {
    return error_with("devices: 2\n" + passes + "search:\n  constraints: " + text);
  };
  CHECK(constraint("tp <= gpus_per_node") ==
        "s.yaml:6:16: constraint 'tp <= gpus_per_node', column 7: gpus_per_node is not known: no "
        "cluster defines it");
  CHECK(constraint("layers % pp == 0") ==
        "s.yaml:6:16: constraint 'layers % pp == 0', column 1: layers is not known: the sweep has "
        "no model");
  CHECK(constraint("tp * 2") ==
        "s.yaml:6:16: constraint 'tp * 2', column 1: it is a number, but a constraint must be true "
        "or false; compare it, as in tp <= 8");
  CHECK(config::test::error_of([&] {
          candidates_of(
              space_of("devices: 2\n" + passes + "search:\n  constraints: 8 / (pp - 2) > 1"));
        }) == "s.yaml:6:16: constraint '8 / (pp - 2) > 1', column 3: it divides by 0");
}

TEST_CASE("a name of several keys means the one that the sweep sets", "[search][space]") {
  const auto with = [](const std::string& keys) {
    return on_cluster + keys + "search: {constraints: num_layers == 2}";
  };
  CHECK(error_with(with("")) ==
        "s.yaml:4:23: constraint 'num_layers == 2', column 1: num_layers is the name of 2 keys; "
        "allowed: training.recompute.num_layers, training.offload.num_layers");
  const auto candidates = [&](const std::string& keys) {
    return candidates_of(space_of(with(keys))).size();
  };
  CHECK(candidates("training: {offload: {num_layers: 2}}\n") == 1);
  CHECK(candidates("training: {offload: {num_layers: 3}}\n") == 0);
  // The number of experts of a model keeps its name.
  CHECK(
      candidates_of(space_of("cluster: dgx-a100\nmodel: mixtral-8x7b\nglobal_batch: 16\n"
                             "training: {lora: {rank: 16, modules: [linear_qkv], experts: none}}\n"
                             "search: {constraints: [experts == 8, "
                             "training.lora.experts == 'none']}"))
          .size() == 1);
}

TEST_CASE("a space of very many combinations identifies its candidates without an enumeration",
          "[search][space]") {
  const Space space = space_of(huge_sweep("{constraints: [microbatches % pp == 0]}"));
  REQUIRE(space.combinations() == 300.0 * 50'000 * 100'000 * 3);
  // The last combination is no candidate, because 50,000 microbatches are not a multiple of pp 300.
  const auto count = static_cast<std::uint64_t>(space.combinations());
  CHECK_FALSE(space.contains(count - 1));
  CHECK_FALSE(space.contains(count));
  CHECK(space.why_no_candidate(count - 1) ==
        std::optional<std::string>("the rule `microbatches % pp == 0` excludes it"));
  const std::uint64_t candidate = space.index_of(std::vector<std::uint32_t>{249, 49'999, 3, 1, 0});
  CHECK(space.contains(candidate));
  CHECK_FALSE(space.why_no_candidate(candidate));
  CHECK(config::find(space.candidate(candidate), "devices")->text == "250");
  CHECK(config::find(space.candidate(candidate), "iterations")->text == "4");
}

TEST_CASE("looking for a first candidate ends when stop returns true", "[search][space]") {
  const Space space = space_of(huge_sweep("{constraints: [microbatches * iterations * pp == 0]}"));
  int questions = 0;
  const auto stop = [&] { return ++questions == 2; };
  CHECK_FALSE(space.is_empty(stop));
  CHECK(questions == 2);
  CHECK_FALSE(space_of(huge_sweep()).is_empty());
}

TEST_CASE("a space of more than 2^63 combinations is counted and not walked", "[search][space]") {
  const std::string text =
      "microbatches: 1..1000\niterations: 1..1000\nforward_times: 1\nbackward_times: 1\n"
      "parallel: {pp: 1..1000, tp: 1..1000, cp: 1..1000, dp: 1..1000, ep: 1..10}\n";
  CHECK(space_of(text).combinations() == 1e19);
  CHECK(config::test::error_of([&] { candidates_of(space_of(text)); }) ==
        "s: 1e+19 combinations are more than the 2^63 that are supported; give fewer values to an "
        "axis");
}

}  // namespace pipewright::search::test
