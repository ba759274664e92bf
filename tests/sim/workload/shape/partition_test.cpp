#include "sim/workload/shape/partition.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>

#include <catch2/catch.hpp>

#include "tests/sim/config/support.hpp"
#include "tests/sim/workload/model/support.hpp"

using namespace pipewright;
using config::Partition;
using config::test::error_of;
using Counts = std::vector<std::uint32_t>;

namespace {

config::Model layers(std::uint32_t count) {
  return test::model_of("{layers: " + std::to_string(count) +
                        ", hidden: 64, heads: 8, vocabulary: 1000, sequence: 32}");
}

Counts counts(std::uint32_t layer_count, const Partition& partition, std::uint32_t devices,
              std::uint32_t stages, const workload::StageSeconds& seconds = {}) {
  Counts result;
  std::uint32_t next = 0;
  std::vector<std::uint32_t> looped;
  for (std::uint32_t stage = 0; stage < stages; ++stage) looped.push_back(stage % devices);
  for (const workload::StageParts& stage :
       partition_stages(layers(layer_count), partition, looped, seconds)) {
    CHECK(stage.layers.first == next);
    CHECK(stage.embedding == result.empty());
    CHECK(stage.head == (result.size() + 1 == stages));
    next += stage.layers.count;
    result.push_back(stage.layers.count);
  }
  CHECK(next == layer_count);
  return result;
}

Partition rule(Partition::Rule kind) { return {kind, {}, {"s.yaml", 4, 12}}; }
const Partition even = rule(Partition::Rule::even);
const Partition ends_less = rule(Partition::Rule::ends_less);
const Partition by_cost = rule(Partition::Rule::by_cost);

// Returns the least possible time of the slowest stage, found by trying all partitions.
double shortest_longest_stage(std::uint32_t layer_count, std::uint32_t stages,
                              const workload::StageSeconds& seconds) {
  const std::function<double(std::uint32_t, std::uint32_t)> rest = [&](std::uint32_t stage,
                                                                       std::uint32_t first) {
    if (stage + 1 == stages) return seconds(stage, {first, layer_count - first});
    double best = 1e9;
    for (std::uint32_t count = stage == 0 ? 0 : 1; first + count <= layer_count; ++count)
      best =
          std::min(best, std::max(seconds(stage, {first, count}), rest(stage + 1, first + count)));
    return best;
  };
  return rest(0, 0);
}

}  // namespace

TEST_CASE("an even partition gives the first stages one layer more", "[model]") {
  CHECK(counts(12, even, 4, 4) == Counts{3, 3, 3, 3});
  CHECK(counts(14, even, 4, 4) == Counts{4, 4, 3, 3});
  CHECK(counts(8, even, 2, 8) == Counts(8, 1));
  CHECK(counts(3, even, 1, 1) == Counts{3});
}

TEST_CASE("the ends may have one layer fewer, or none", "[model]") {
  CHECK(counts(22, ends_less, 8, 8) == Counts{2, 3, 3, 3, 3, 3, 3, 2});
  CHECK(counts(22, ends_less, 8, 24).front() == 0);
  CHECK(counts(126, ends_less, 16, 16)[1] == 8);
  CHECK_THAT(error_of([] { counts(24, ends_less, 8, 8); }),
             Catch::StartsWith(
                 "s.yaml:4:12: 24 layers cannot be divided into 8 stages: partition ends_less "
                 "needs equally many layers on all stages") &&
                 Catch::EndsWith("allowed: 2 or 13 stages, or partition even or by_cost"));
  CHECK_THAT(error_of([] { counts(24, ends_less, 4, 8); }),
             Catch::Contains("8 stages (4 devices with 2 chunks each)"));
}

TEST_CASE("a list is used as it is", "[model]") {
  CHECK(counts(8, {Partition::Rule::listed, {0, 5, 3}, {}}, 3, 3) == Counts{0, 5, 3});
  const auto error_with = [](const Counts& list, std::uint32_t devices, std::uint32_t stages) {
    return error_of([&] {
      counts(8, {Partition::Rule::listed, list, {"s.yaml", 4, 12}}, devices, stages);
    });
  };
  CHECK_THAT(error_with({4, 4}, 4, 4),
             Catch::Contains("s.yaml:4:12: partition lists 2 stages; this schedule has 4 stages; "
                             "allowed: a list of 4 that adds up to 8 layers, or partition even"));
  CHECK_THAT(error_with({8}, 1, 2),
             Catch::Contains("partition lists 1 stage; this schedule has 2 stages "
                             "(1 device with 2 chunks each)"));
  CHECK_THAT(error_with({4, 5}, 2, 2), Catch::Contains("lists 9 layers; the model has 8"));
  CHECK_THAT(error_with({4, 0, 4}, 3, 3), Catch::Contains("partition gives stage 1 no layer"));
}

TEST_CASE("a layout is used as it is and may leave stages without layers", "[model]") {
  const auto layout = [](const Counts& list) {
    Partition partition{Partition::Rule::layout, list, {"s.yaml", 4, 12}};
    partition.mtp.assign(list.size(), 0);
    partition.text = "E|tt|..";
    return partition;
  };
  CHECK(counts(8, layout({0, 5, 0, 3, 0}), 5, 5) == Counts{0, 5, 0, 3, 0});
  CHECK_THAT(error_of([&] {
               counts(8, layout({4, 4}), 2, 4);
             }),
             Catch::Contains("s.yaml:4:12: partition E|tt|.. has 2 stages; this schedule has 4 "
                             "stages (2 devices with 2 chunks each)"));
  CHECK_THAT(error_of([&] {
               counts(8, layout({4, 5}), 2, 2);
             }),
             Catch::Contains("has 9 transformer layers (t); the model has 8"));
  Partition predicts = layout({4, 4});
  predicts.mtp.back() = 1;
  CHECK_THAT(error_of([&] { counts(8, predicts, 2, 2); }),
             Catch::Contains("has 1 multi-token prediction layers (m); model.mtp_layers is 0"));
}

TEST_CASE("too many stages are rejected with the nearest numbers", "[model]") {
  CHECK_THAT(error_of([] { counts(8, even, 16, 16); }),
             Catch::Contains("8 layers cannot be divided into 16 stages") &&
                 Catch::EndsWith("allowed: 9 stages"));
  CHECK_THAT(error_of([] { counts(8, even, 10, 10); }),
             Catch::EndsWith("allowed: 9 stages, or partition ends_less or by_cost"));
  CHECK_THAT(error_of([] { counts(8, by_cost, 4, 12); }),
             Catch::Contains("4 devices with 3 chunks") && Catch::EndsWith("allowed: 10 stages"));
}

TEST_CASE("a rule is rejected exactly if it would leave an inner stage empty", "[model]") {
  const workload::StageSeconds seconds = [](std::uint32_t, workload::LayerRange range) {
    return range.count;
  };
  for (const Partition& partition : {even, ends_less, by_cost})
    for (std::uint32_t layer_count = 1; layer_count <= 12; ++layer_count)
      for (std::uint32_t stages = 1; stages <= 16; ++stages) {
        CAPTURE(static_cast<int>(partition.rule), layer_count, stages);
        const std::string error =
            error_of([&] { counts(layer_count, partition, stages, stages, seconds); });
        REQUIRE(error.empty() ==
                workload::can_deal_out(partition, layers(layer_count), stages, stages));
        if (!error.empty()) continue;
        const Counts dealt = counts(layer_count, partition, stages, stages, seconds);
        for (std::uint32_t stage = 1; stage + 1 < stages; ++stage) CHECK(dealt[stage] > 0);
      }
}

TEST_CASE("the first and the last device may have their own numbers of layers", "[model]") {
  const auto ends = [](std::optional<std::uint32_t> first, std::optional<std::uint32_t> last) {
    return Partition{
        .rule = Partition::Rule::ends, .origin = {"s.yaml", 4, 12}, .first = first, .last = last};
  };
  // Example from Megatron-LM: 61 layers on 16 devices, with 3 layers on the first and 2 on the
  // last.
  CHECK(counts(61, ends(3, 2), 16, 16) == Counts{3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 2});
  CHECK(counts(14, ends({}, 2), 4, 4) == Counts{4, 4, 4, 2});
  CHECK(counts(7, ends(1, {}), 3, 3) == Counts{1, 3, 3});
  CHECK(counts(5, ends(3, 2), 2, 2) == Counts{3, 2});
  // The four devices have 2, 6, 6 and 4 layers, divided evenly over two chunks each.
  CHECK(counts(18, ends(2, 4), 4, 8) == Counts{1, 3, 3, 2, 1, 3, 3, 2});
  CHECK(error_of([&] { counts(61, ends(3, 3), 16, 16); }) ==
        "s.yaml:4:12: 61 layers cannot be divided into 16 stages: partition first 3 last 3 needs "
        "equally many "
        "layers on all devices between the ends, and on all chunks of a device; "
        "allowed: 13 or 57 stages, or partition even or by_cost");
  CHECK_THAT(error_of([&] { counts(18, ends(3, 3), 4, 8); }), Catch::Contains("first 3 last 3"));
  CHECK_THAT(error_of([&] { counts(5, ends(3, 2), 1, 1); }), Catch::Contains("1 stage"));
}

TEST_CASE("in a V, the chunks of the first device are at both ends", "[model]") {
  const Partition ends{.rule = Partition::Rule::ends, .first = 2, .last = 8};
  Counts dealt;
  for (const auto& stage :
       workload::partition_stages(layers(22), ends, {0, 1, 2, 3, 3, 2, 1, 0}, {}))
    dealt.push_back(stage.layers.count);
  CHECK(dealt == Counts{1, 3, 3, 4, 4, 3, 3, 1});
}

TEST_CASE("the embedding and the loss may each count as a layer", "[model]") {
  Partition loss = ends_less;
  loss.embedding_counts = false;
  CHECK(counts(15, loss, 4, 4) == Counts{4, 4, 4, 3});
  Partition embedding = ends_less;
  embedding.loss_counts = false;
  CHECK(counts(15, embedding, 4, 8) == Counts{1, 2, 2, 2, 2, 2, 2, 2});
  CHECK_THAT(
      error_of([&] { counts(14, loss, 4, 4); }),
      Catch::Contains("partition account_for_loss needs equally many layers on all stages, one "
                      "fewer on the last"));
}

// Layers per stage for the models of nanotron's benchmarks (scripts/scaling_benchmarks.py),
// computed by hand from the rule of nanotron/models/base.py: a layer has 4 h^2 + 3 ffn h weights,
// the head 131072 h.
TEST_CASE("a partition by weights fills each stage beyond its share of the weights", "[model]") {
  const auto by_weights = [](const std::string& sizes, std::uint32_t stages,
                             std::uint32_t vocabulary = 131072) {
    const config::Model model =
        test::model_of("{" + sizes + ", heads: 32, vocabulary: " + std::to_string(vocabulary) +
                       ", sequence: 4096, mlp: swiglu, norm: rmsnorm, biases: false}");
    std::vector<std::uint32_t> devices(stages);
    std::iota(devices.begin(), devices.end(), 0);
    Counts result;
    for (const workload::StageParts& stage :
         workload::partition_stages(model, rule(Partition::Rule::by_weights), devices, {}))
      result.push_back(stage.layers.count);
    return result;
  };
  // 16 layers and a head of 4 layers: 10 layers are not more than half of 20.
  CHECK(by_weights("layers: 16, hidden: 2048, ffn: 8192", 2) == Counts{11, 5});
  CHECK(by_weights("layers: 28, hidden: 3072, ffn: 8192", 2) == Counts{16, 12});
  CHECK(by_weights("layers: 32, hidden: 4096, ffn: 14336", 4) == Counts{9, 9, 8, 6});
  CHECK(by_weights("layers: 32, hidden: 4096, ffn: 14336", 1) == Counts{32});
  // Grouped queries do not count: Llama 3 8B on 8 stages.
  CHECK(by_weights("layers: 32, hidden: 4096, ffn: 14336, kv_heads: 8", 8, 128256) ==
        Counts{5, 4, 4, 5, 4, 4, 4, 2});
  // The head has more weights than all layers, so that no stage but the first gets layers. Two
  // stages are the most, since the last one may be empty.
  CHECK(by_weights("layers: 4, hidden: 64, ffn: 64", 2) == Counts{4, 0});
  for (const std::uint32_t stages : {3U, 5U, 6U})
    CHECK_THAT(error_of([&] { by_weights("layers: 4, hidden: 64, ffn: 64", stages); }),
               Catch::Contains("4 layers cannot be divided into " + std::to_string(stages) +
                               " stages: partition by_weights") &&
                   Catch::Contains("every stage but the last needs a layer; allowed: 2 stages"));
}

TEST_CASE("a partition by cost gives a slow last stage fewer layers", "[model]") {
  const workload::StageSeconds seconds = [](std::uint32_t stage, workload::LayerRange range) {
    return range.count + (stage == 3 ? 3.0 : 0.0);
  };
  CHECK(counts(13, by_cost, 4, 4, seconds) == Counts{4, 4, 4, 1});
}

TEST_CASE("a partition by cost is optimal for random costs", "[model]") {
  std::mt19937 random(11);
  for (int i = 0; i < 300; ++i) {
    const std::uint32_t stages = 1 + test::pick(random, 4);
    const std::uint32_t layer_count = stages - 1 + test::pick(random, 6);
    std::vector<double> cost(layer_count);
    for (double& layer_cost : cost) layer_cost = test::pick(random, 5);
    std::vector<double> speed(stages);
    for (double& stage_speed : speed) stage_speed = test::pick(random, 3);
    const double head = test::pick(random, 8);
    const workload::StageSeconds seconds = [&](std::uint32_t stage, workload::LayerRange range) {
      return speed[stage] * std::accumulate(cost.begin() + range.first,
                                            cost.begin() + range.first + range.count,
                                            stage + 1 == stages ? head : 0.0);
    };
    const Counts dealt = counts(layer_count, by_cost, stages, stages, seconds);
    double longest = 0;
    std::uint32_t first = 0;
    for (std::uint32_t stage = 0; stage < stages; first += dealt[stage++])
      longest = std::max(longest, seconds(stage, {first, dealt[stage]}));
    REQUIRE(longest == Approx(shortest_longest_stage(layer_count, stages, seconds)));
  }
}
