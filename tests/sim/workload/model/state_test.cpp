#include "sim/workload/model/state.hpp"

#include <catch2/catch.hpp>

#include "tests/sim/workload/model/support.hpp"

using namespace pipewright;
using namespace pipewright::test;
using workload::Parameters;
using workload::StageParts;
using workload::unsharded_gradient_bytes;

namespace {

workload::DeviceState state(const Parameters& parameters, const Layout& layout,
                            const config::ParameterBytes& bytes = {}) {
  config::Training training;
  training.bytes = bytes;
  return workload::state_of(parameters, training, workload::zero_groups(parallel_of(layout)));
}

std::uint64_t sum(const workload::DeviceState& state) {
  return state.weights + state.gradients + state.optimizer;
}

workload::ZeroGroups zero(const Layout& layout) {
  return workload::zero_groups(parallel_of(layout));
}

// Bytes of the weights of a stage that are gathered at a time.
std::uint64_t gathered(const SettingFixture& fixture, const StageParts& stage,
                       const config::Parallel& parallel) {
  return workload::gather_window(fixture.setting, stage, parallel, workload::zero_groups(parallel))
      .bytes;
}

}  // namespace

TEST_CASE("Adam in mixed precision takes 18 bytes per parameter", "[model]") {
  const auto plain = state({1000, 0}, {});
  CHECK(plain.weights == 2000);
  CHECK(plain.gradients == 4000);
  CHECK(plain.optimizer == 12000);
  CHECK(sum(state({1000, 0}, {}, {1, 1, 2})) == 4000);
}

TEST_CASE("ZeRO shards optimizer state, then gradients, then weights", "[model]") {
  const Parameters parameters{6400, 0};
  CHECK(sum(state(parameters, {.dp = 8})) == 6400 * 18);
  CHECK(sum(state(parameters, {.dp = 8, .zero = 1})) == 6400 * (2 + 4) + 6400 * 12 / 8);
  CHECK(sum(state(parameters, {.dp = 8, .zero = 2})) == 6400 * 2 + 6400 * 16 / 8);
  CHECK(sum(state(parameters, {.dp = 8, .zero = 3})) == 6400 * 18 / 8);
  // Ranks of cp hold the same weights, so shards are distributed over them, too.
  CHECK(sum(state(parameters, {.cp = 4, .dp = 2, .zero = 3})) == 6400 * 18 / 8);
}

TEST_CASE("buckets of gradients exist beside accumulated gradients that are reduced", "[model]") {
  const config::ParameterBytes bytes{.gradients = 4, .gradient_buckets = 2};
  const Parameters parameters{6400, 0};
  CHECK(state(parameters, {.dp = 8}, bytes).gradients == 6400 * 6);
  CHECK(state(parameters, {.dp = 8, .zero = 1}, bytes).gradients == 6400 * 6);
  CHECK(state(parameters, {.dp = 8, .zero = 2}, bytes).gradients == 6400 * 6 / 8);
  CHECK(state(parameters, {.dp = 1}, bytes).gradients == 6400 * 4);
}

TEST_CASE("copies of all shards save no memory", "[model]") {
  const Parameters parameters{6400, 3200};
  // Shards of dense weights are distributed over 4 ranks, those of experts over 8 / 2 / ep 2 = 2
  // ranks.
  CHECK(sum(state(parameters, {.ep = 2, .dp = 8, .zero = 3, .replicate = 2})) ==
        6400 * 18 / 4 + 3200 * 18 / 2);
  CHECK(state(parameters, {.cp = 2, .dp = 8, .zero = 3, .replicate = 4}).weights ==
        6400 * 2 / 4 + 3200 * 2 / 4);
}

TEST_CASE("a pipeline of FSDP keeps whole weights beside their shards, and whole gradients",
          "[model]") {
  config::Parallel parallel = parallel_of({.dp = 8, .zero = 3});
  parallel.pp.value = 4;
  parallel.reshard_after_forward = false;
  config::Training training;
  // torchtitan shards the parameters (4 bytes) and the state of Adam (8 bytes), and keeps gathered
  // weights of 2 bytes and gradients of 4 bytes unsharded.
  training.bytes = {.weights = 4, .gradients = 4, .optimizer = 8};
  const auto zero = workload::zero_groups(parallel);
  const auto held = workload::state_of({6400, 0}, training, zero);
  CHECK(held.weights == 6400 * 4 / 8 + 6400 * 2);
  CHECK(held.gradients == 6400 * 4);
  CHECK(held.optimizer == 6400 * 8 / 8);
  CHECK(unsharded_gradient_bytes({6400, 0}, {}, zero) == 0);
}

TEST_CASE("stages that FSDP gathers in turn are no static memory", "[model]") {
  config::Parallel parallel = parallel_of({.dp = 8, .zero = 3});
  parallel.pp.value = 4;
  parallel.reshard_after_forward = false;
  const auto windows = [&](std::uint32_t chunks) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> sizes;
    for (const auto& window :
         workload::unshard_windows(parallel, schedules::Routes::looped(4, chunks)))
      sizes.emplace_back(window.resident, window.lookahead);
    return sizes;
  };
  using Sizes = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
  CHECK(windows(4).empty());
  parallel.max_unsharded_stages = 3;
  CHECK(windows(4) == Sizes(4, {3, 3}));
  CHECK(windows(3).empty());
  parallel.reshard_after_forward = true;
  CHECK(windows(4).empty());
  parallel.reshard_after_forward = false;

  // A lookahead delays gathers even where all stages stay gathered. For 4 devices of 4 stages,
  // PyTorch's documentation has (2, 3, 4, 4) for "auto" (pipelining.md, unshard_lookahead).
  parallel.max_unsharded_stages.reset();
  parallel.unshard_lookahead = {.rule = config::UnshardRule::by_rank, .by_device = {}};
  CHECK(windows(4) == Sizes{{4, 2}, {4, 3}, {4, 4}, {4, 4}});
  CHECK(windows(2).empty());
  parallel.max_unsharded_stages = 3;
  CHECK(windows(4) == Sizes{{3, 2}, {3, 3}, {3, 3}, {3, 3}});
  parallel.unshard_lookahead->by_device = {{1, {}}, {3, {}}, {2, {}}, {3, {}}};
  CHECK(windows(4) == Sizes{{3, 1}, {3, 3}, {3, 2}, {3, 3}});

  config::Training training;
  training.bytes = {.weights = 4, .gradients = 4, .optimizer = 8};
  auto zero = workload::zero_groups(parallel);
  zero.reshards_stages = true;
  const auto held = workload::state_of({6400, 0}, training, zero);
  CHECK(held.weights == 6400 * 4 / 8);
  CHECK(held.gradients == 6400 * 4);
}

TEST_CASE("experts are sharded over the ranks that have the same experts", "[model]") {
  const Parameters parameters{800, 1600};
  CHECK(state(parameters, {.ep = 4, .dp = 8, .zero = 1}).optimizer == 800 * 12 / 8 + 1600 * 12 / 2);
  CHECK(state(parameters, {.ep = 8, .dp = 8, .zero = 3}).weights == 800 * 2 / 8 + 1600 * 2);
  CHECK(workload::updated_parameters(
            parameters, workload::zero_groups(parallel_of({.ep = 4, .dp = 8, .zero = 1}))) == 900);
  CHECK(workload::updated_parameters(
            parameters, workload::zero_groups(parallel_of({.ep = 4, .dp = 8}))) == 2400);
}

TEST_CASE("the stages of a pipeline together hold the model", "[model]") {
  for (const char* const name : {"gpt3-175b", "deepseek-v3", "llama-3-8b"}) {
    INFO(name);
    const SettingFixture fixture(library_model(name), "{vocabulary_multiple: 1}", {});
    const std::uint32_t layers = fixture.model.layers;
    Parameters total_parameters;
    total_parameters += stage_parameters(fixture.setting, {.layers = {0, 1}, .embedding = true});
    total_parameters += stage_parameters(fixture.setting, {.layers = {1, layers - 2}});
    total_parameters +=
        stage_parameters(fixture.setting, {.layers = {layers - 1, 1}, .head = true});
    CHECK(total_parameters.total() == workload::parameter_count(fixture.model));
  }
}

TEST_CASE("a tied head on another device than its embedding has a copy", "[model]") {
  const SettingFixture fixture(library_model("gpt3-175b"), "{}", {.tp = 8});
  const auto with_copy = stage_parameters(fixture.setting, {.head = true, .embedding_copy = true});
  const auto without_copy = stage_parameters(fixture.setting, {.head = true});
  CHECK(with_copy.dense - without_copy.dense == 51200U / 8 * 12288);
}

TEST_CASE("buffers hold gradients in flight, gathered inputs and scores", "[model]") {
  const config::Model model = library_model("llama-3-8b");
  const std::uint64_t hidden = 2ULL * 8192 * 4096;
  CHECK(buffer_bytes(SettingFixture(model, "{}", {}).setting, 1) == 0);
  CHECK(buffer_bytes(SettingFixture(model, "{}", {}).setting, 2) == 2 * hidden);
  CHECK(buffer_bytes(SettingFixture(model, "{}", {.tp = 4, .sequence = true}).setting, 2) ==
        2 * hidden / 4 + hidden);
  CHECK(buffer_bytes(SettingFixture(model, "{flash_attention: false}", {.tp = 4}).setting, 1) ==
        2ULL * 8192 * 8192 * 8);
  CHECK(buffer_bytes(SettingFixture(model, "{}", {}).setting, 2, 4) == 2 * hidden / 4);
}

TEST_CASE("ring attention has two blocks of K and V, and of their gradients", "[model]") {
  const config::Model model = library_model("llama-3-8b");
  // A block is the K and V of a rank: 4,096 tokens in 8 heads of 128 elements.
  const std::uint64_t block = 2ULL * 2 * 4096 * 8 * 128;
  CHECK(buffer_bytes(SettingFixture(model, "{}", {.cp = 2}).setting, 1) == 4 * block);
  CHECK(buffer_bytes(SettingFixture(model, "{}", {.tp = 2, .cp = 2}).setting, 1) == 2 * block);
}

TEST_CASE("ZeRO-3 gathers two neighbouring parts of a stage", "[zero]") {
  // A layer of Llama 3 8B has 2 h h + 2 h h / 4 + 3 h f + 2 h parameters for hidden size h and MLP
  // size f; the embedding has v h for a vocabulary of v.
  const SettingFixture fixture(library_model("llama-3-8b"), "{}", {.dp = 8});
  const std::uint64_t h = 4096;
  const std::uint64_t layer = 2 * h * h + 2 * h * h / 4 + 3 * h * 14336 + 2 * h;
  const std::uint64_t embedding = 128'256 * h;
  const config::Parallel whole = parallel_of({.dp = 8, .zero = 3});
  CHECK(gathered(fixture, {.layers = {8, 8}}, whole) == 2 * 2 * layer);
  CHECK(gathered(fixture, {.layers = {8, 1}}, whole) == 2 * layer);
  CHECK(gathered(fixture, {.layers = {0, 8}, .embedding = true}, whole) == 2 * (embedding + layer));
  CHECK(gathered(fixture, {.layers = {31, 1}, .head = true}, whole) == 2 * (layer + h + embedding));
  CHECK(gathered(fixture, {.layers = {8, 8}}, parallel_of({.dp = 8, .zero = 2})) == 0);
  // A single rank has nothing to gather.
  CHECK(gathered(fixture, {.layers = {8, 8}}, parallel_of({.zero = 3})) == 0);
}

TEST_CASE("ZeRO-3 gathers as many layers ahead as have a number of elements", "[zero]") {
  // A layer of Llama 3 8B has 218 million parameters. Megatron-FSDP gathers half of its
  // communication unit of 1e9 elements ahead, which three layers have, and four do not exceed.
  const SettingFixture fixture(library_model("llama-3-8b"), "{}", {.dp = 8});
  const std::uint64_t h = 4096;
  const std::uint64_t layer = 2 * h * h + 2 * h * h / 4 + 3 * h * 14336 + 2 * h;
  config::Parallel parallel = parallel_of({.dp = 8, .zero = 3});
  const auto window = [&](std::uint32_t elements, std::uint32_t layers) {
    parallel.gather_ahead = elements;
    return workload::gather_window(fixture.setting, {.layers = {8, layers}}, parallel,
                                   workload::zero_groups(parallel));
  };
  CHECK(window(1, 8).bytes == 2 * 2 * layer);
  CHECK(window(1, 8).ahead == 1);
  CHECK(window(500'000'000, 8).bytes == 2 * 4 * layer);
  CHECK(window(500'000'000, 8).ahead == 3);
  // A stage of two layers has only one more.
  CHECK(window(500'000'000, 2).bytes == 2 * 2 * layer);
  CHECK(window(500'000'000, 2).ahead == 1);
}

TEST_CASE("generalized tensor parallelism gathers two neighbouring matrices", "[zero][gtp]") {
  // The matrices of a layer of Llama 3 8B are QKV, output, gate with up, and down.
  const std::uint64_t h = 4096;
  const std::uint64_t f = 14336;
  config::Parallel parallel = parallel_of({.dp = 8, .zero = 3});
  parallel.gtp = parallel.shard = config::Located<std::uint32_t>{4, {}};
  parallel.expert_gtp = config::Located<std::uint32_t>{1, {}};
  parallel.replicate = config::Located<std::uint32_t>{2, {}};
  const auto window = [&](const char* training, const StageParts& stage) {
    const SettingFixture fixture(library_model("llama-3-8b"), training, {.dp = 8});
    return workload::gather_window(fixture.setting, stage, parallel,
                                   workload::zero_groups(parallel));
  };
  const auto bf16 = window("{}", {.layers = {8, 8}});
  CHECK(bf16.bytes == 2 * 3 * h * f);
  CHECK(bf16.matrices == 8 * 4);
  CHECK(window("{}", {.layers = {31, 1}, .head = true}).bytes == 2 * (h * f + 128'256 * h));
  // The block scales of MXFP8 and NVFP4 are gathered with the elements: 1 + 1 / 32 and
  // 1 / 2 + 1 / 16 bytes.
  CHECK(window("{precision: mxfp8, fp8_param_gather: true}", {.layers = {8, 8}}).bytes ==
        3 * h * f * 33 / 32);
  CHECK(window("{precision: nvfp4, fp8_param_gather: true}", {.layers = {8, 8}}).bytes ==
        3 * h * f * 9 / 16);
}

TEST_CASE("copies of a shard may divide its optimizer state", "[zero]") {
  config::Parallel parallel = parallel_of({.dp = 8, .zero = 3});
  parallel.shard = config::Located<std::uint32_t>{4, {}};
  parallel.replicate = config::Located<std::uint32_t>{2, {}};
  const auto held = [&] {
    return workload::state_of({6400, 0}, training_of("{}"), workload::zero_groups(parallel));
  };
  CHECK(held().optimizer == 6400 * 12 / 4);
  parallel.outer_sharding = config::OuterSharding::optimizer;
  CHECK(held().optimizer == 6400 * 12 / 8);
  CHECK(held().weights == 6400 * 2 / 4);
  CHECK(held().gradients == 6400 * 4 / 4);
  CHECK(workload::updated_parameters({6400, 0}, workload::zero_groups(parallel)) == 6400 / 8);
}

TEST_CASE("a head gathers the matrix that it is tied to, wherever it is stored", "[zero]") {
  const SettingFixture fixture(library_model("gpt3-175b"), "{}", {.tp = 8, .dp = 2});
  const config::Parallel three = parallel_of({.dp = 2, .zero = 3});
  CHECK(gathered(fixture, {.layers = {95, 1}, .head = true}, three) ==
        gathered(fixture, {.layers = {95, 1}, .head = true, .embedding_copy = true}, three));
}

TEST_CASE("the vocabulary's weights have no scaled copies", "[model][precision]") {
  const config::Training fp8 = training_of("{precision: fp8}");
  const Parameters parameters{.dense = 1000, .experts = 0, .vocabulary = 200};
  CHECK(workload::state_of(parameters, fp8, zero({})).weights == 2 * 1000 + 2 * 800);
  const config::Training alone = training_of("{precision: fp8, fp8_param_gather: true}");
  CHECK(workload::state_of(parameters, alone, zero({})).weights == 2 * 200 + 2 * 800);
}

TEST_CASE("shards may have a wider type than gathered weights", "[zero]") {
  // The mixed precision of FSDP2 keeps shards in fp32 and gathers layers in bf16.
  const auto bytes = [](const std::string& training) {
    const SettingFixture fixture(library_model("llama-3-8b"), training, {.dp = 8});
    return std::pair{
        gathered(fixture, {.layers = {8, 8}}, parallel_of({.dp = 8, .zero = 3})),
        workload::state_of({800, 0}, fixture.training, zero({.dp = 8, .zero = 3})).weights};
  };
  const auto [plain, plain_shard] = bytes("{}");
  const auto [mixed, mixed_shard] = bytes("{bytes: {weights: 4}}");
  CHECK(plain == mixed);
  CHECK(mixed_shard == 2 * plain_shard);
  CHECK(bytes("{bytes: {gathered: 4}}").first == 2 * plain);
}

TEST_CASE("gradients that are reduced to shards are whole for one or two buckets", "[zero]") {
  config::Communication communication;  // a bucket has 40 M parameters, 160 MB
  const workload::Parameters stage{100'000'000, 0};
  for (const std::uint32_t level : {2U, 3U})
    CHECK(unsharded_gradient_bytes(stage, communication, zero({.dp = 8, .zero = level})) ==
          2 * (400'000'000 / 3));
  for (const std::uint32_t level : {0U, 1U})
    CHECK(unsharded_gradient_bytes(stage, communication, zero({.dp = 8, .zero = level})) == 0);
  CHECK(unsharded_gradient_bytes(stage, communication, zero({.dp = 1, .zero = 2})) == 0);

  communication.bucket = 400'000'000;
  CHECK(unsharded_gradient_bytes(stage, communication, zero({.dp = 8, .zero = 2})) == 400'000'000);
  communication.bucket = 100'000'000;
  CHECK(unsharded_gradient_bytes(stage, communication, zero({.dp = 8, .zero = 2})) == 200'000'000);
  communication.gradient_bytes = 2;
  CHECK(unsharded_gradient_bytes(stage, communication, zero({.dp = 8, .zero = 2})) == 200'000'000);
  // Without overlap, all gradients of the stage are kept until the end of the pass.
  communication.overlap_grad_reduce = false;
  communication.gradient_bytes = 4;
  CHECK(unsharded_gradient_bytes(stage, communication, zero({.dp = 8, .zero = 2})) == 400'000'000);
}

TEST_CASE("gradients of experts without replicas are summed in place", "[zero]") {
  const config::Communication communication;
  const workload::Parameters stage{1000, 8000};
  CHECK(unsharded_gradient_bytes(stage, communication, zero({.ep = 8, .dp = 8, .zero = 2})) ==
        4 * 1000);
  CHECK(unsharded_gradient_bytes(stage, communication, zero({.ep = 4, .dp = 8, .zero = 2})) ==
        4 * 9000);
}

TEST_CASE("results of products that NCCL scatters exist for a whole pass if frees are delayed",
          "[model]") {
  const auto bytes = [](bool delayed, const Layout& layout) {
    SettingFixture fixture(library_model("llama-3-8b"), "{sequence: 1024, microbatch_size: 2}",
                           layout);
    fixture.training.stack.memory.delayed_frees = delayed;
    return workload::delayed_bytes(fixture.setting, 4);
  };
  // Two results of 16 bits for each of four layers, of all tokens.
  CHECK(bytes(true, {.tp = 4, .sequence = true}) == 4ULL * 2 * 2 * 2048 * 4096);
  CHECK(bytes(false, {.tp = 4, .sequence = true}) == 0);
  CHECK(bytes(true, {.tp = 4}) == 0);
}

TEST_CASE("FSDP has scaled copies of the weights in use alone", "[model]") {
  config::Training training;
  training.precision = config::DataType::fp8;
  const auto weights = [&](const Layout& layout) {
    return workload::state_of({6400, 0}, training, zero(layout)).weights;
  };
  CHECK(weights({.dp = 8, .zero = 2}) == 6400 * (2 + 2));
  CHECK(weights({.dp = 8, .zero = 3}) == 6400 * 2 / 8);
  const auto casts = [](const std::string& recipe, std::uint32_t level) {
    const SettingFixture fixture(library_model("llama-3-8b"), recipe, {});
    return workload::cast_bytes(fixture.setting, {.layers = {0, 3}, .embedding = true},
                                zero({.dp = 8, .zero = level}));
  };
  constexpr std::uint64_t layer = 2 * 4096ULL * 4096 + 2 * 4096ULL * 1024 + 3 * 4096ULL * 14336;
  CHECK(casts("{precision: fp8}", 3) == 2 * (layer + 2 * 4096));
  CHECK(casts("{precision: fp8}", 2) == 0);
  CHECK(casts("{precision: bf16}", 3) == 0);
  CHECK(casts("{precision: fp8, fp8_param_gather: true}", 3) == 0);
}

TEST_CASE("an unused gradient stays for each shape of a weight", "[model]") {
  const auto bytes = [](bool keeps, const std::string& training, std::uint32_t layers, bool head) {
    SettingFixture fixture(library_model("llama-3-8b"), training, {.tp = 2});
    fixture.training.stack.memory.unused_gradients = keeps;
    return workload::unused_gradient_bytes(fixture.setting, {.layers = {0, layers}, .head = head});
  };
  constexpr std::uint64_t hidden = 4096;
  constexpr std::uint64_t layer = hidden * (4096 + 2 * 1024) + 4096 * hidden + 3 * hidden * 14336;
  CHECK(bytes(true, "{}", 1, false) == 2 * layer / 2);
  CHECK(bytes(true, "{}", 5, false) == 2 * layer / 2);  // layers have the same shapes
  CHECK(bytes(true, "{}", 5, true) == 2 * layer / 2 + 2 * hidden * 128'256 / 2);
  CHECK(bytes(false, "{}", 5, true) == 0);
  CHECK(bytes(true, "{fused_accumulation: false}", 5, true) == 0);
}
