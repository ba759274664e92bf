#include "sim/workload/model/measured.hpp"

#include <map>
#include <tuple>

#include <catch2/catch.hpp>

#include "sim/workload/model/calls.hpp"
#include "tests/sim/workload/model/support.hpp"

using namespace pipewright;
using namespace pipewright::test;
using config::LayerTimes;
using config::PartTimes;
using schedules::PassKind;
using workload::Call;
using workload::LayerKind;
using workload::PassSeconds;
using workload::StageParts;
using workload::StageTraffic;

namespace {

constexpr PassSeconds model{.forward = 2, .input_grad = 3, .weight_grad = 1, .recomputed = 2};

// How often each call is made, and the seconds under which all of them can hide.
using Said = std::map<std::tuple<workload::Group, workload::Operation, std::uint64_t>,
                      std::pair<std::uint32_t, double>>;

Said said(const StageTraffic& traffic, PassKind kind) {
  Said sums;
  for (const Call& call : traffic.inside[static_cast<std::size_t>(kind)]) {
    auto& [times, hides] = sums[{call.group, call.collective, call.bytes}];
    times += call.times;
    hides += call.overlappable_compute;
  }
  return sums;
}

void check_same(const Said& one, const Said& other) {
  REQUIRE(one.size() == other.size());
  for (const auto& [call, sums] : one) {
    REQUIRE(other.count(call) == 1);
    CHECK(sums.first == other.at(call).first);
    CHECK(sums.second == Approx(other.at(call).second));
  }
}

// DeepSeek-V3's layers 1 to 5: two dense ones, then three with experts.
const StageParts five_layers{
    .layers = {1, 5}, .embedding = true, .head = true, .receives = true, .sends = true};

struct Job {
  explicit Job(const std::string& training)
      : own(library_model("deepseek-v3"), training, {.tp = 4, .sequence = true, .ep = 8, .dp = 8}) {
  }
  StageTraffic all(const StageParts& parts) const {
    return stage_calls(own.setting, parts, gpu, communication);
  }
  StageTraffic left(const LayerTimes& times) const {
    return unmeasured_calls(own.setting, five_layers, gpu, communication, times);
  }

  OwnSetting own;
  config::Gpu gpu = config::find_gpu("h100-sxm");
  config::Communication communication;
};

}  // namespace

TEST_CASE("what is recomputed follows the forward that was measured", "[model]") {
  PartTimes times;
  times.forward = {5};
  const PassSeconds seconds = measured(model, times);
  CHECK(seconds.forward == 5);
  CHECK(seconds.recomputed == 5);
  CHECK(seconds.input_grad == 3);
  CHECK(seconds.weight_grad == 1);
  // A part of the forward keeps its share.
  PassSeconds selective = model;
  selective.recomputed = 0.5;
  CHECK(measured(selective, times).recomputed == Approx(1.25));
}

TEST_CASE("but not where it was measured with the backward pass", "[model]") {
  PartTimes times;
  times.forward = {5};
  times.input_grad = {7};
  CHECK(measured(model, times).recomputed == 0);
  CHECK(measured(model, times).input_grad == 7);
  CHECK(measured(model, times).weight_grad == 1);

  // 12 s of a backward of 2 + 3 and 1: twice the model's.
  PartTimes whole;
  whole.forward = {5};
  whole.backward = {12};
  const PassSeconds seconds = measured(model, whole);
  CHECK(seconds.recomputed == 0);
  CHECK(seconds.input_grad == Approx(10));
  CHECK(seconds.weight_grad == Approx(2));
}

TEST_CASE("of a list each layer has its own", "[model]") {
  PartTimes times;
  times.forward = {1, 2, 4};
  times.backward = {6, 12, 18};
  CHECK(measured(model, times, 0).forward == 1);
  CHECK(measured(model, times, 2).forward == 4);
  CHECK(measured(model, times, 1).weight_grad == Approx(2));
}

TEST_CASE("layers with experts have their own times, and else those of all", "[model]") {
  LayerTimes times;
  times.layers.forward = {1};
  times.layers.backward = {2};
  times.experts.forward = {3};
  CHECK(times_of_layers(times, LayerKind::dense).forward == std::vector<double>{1});
  CHECK(times_of_layers(times, LayerKind::experts).forward == std::vector<double>{3});
  CHECK(times_of_layers(times, LayerKind::experts).backward == std::vector<double>{2});
  // Whole or in halves: of the layer's own and of all layers' never both.
  times.experts.input_grad = {4};
  CHECK(times_of_layers(times, LayerKind::experts).backward.empty());
  times.experts = {};
  times.experts.backward = {5};
  times.layers.backward = {};
  times.layers.weight_grad = {6};
  CHECK(times_of_layers(times, LayerKind::experts).weight_grad.empty());
  CHECK(times_of_layers(times, LayerKind::dense).weight_grad == std::vector<double>{6});
}

TEST_CASE("where nothing was measured all calls of a stage are left", "[model]") {
  for (const char* const training : {"{}", "{recompute: full}"}) {
    const Job job(training);
    const StageTraffic left = job.left({});
    for (std::size_t kind = 0; kind < schedules::pass_kinds; ++kind)
      check_same(said(left, static_cast<PassKind>(kind)),
                 said(job.all(five_layers), static_cast<PassKind>(kind)));
  }
}

TEST_CASE("the calls of layers go with their times, those of the ends stay", "[model]") {
  const Job job("{}");
  StageParts ends = five_layers;
  ends.layers.count = 0;
  LayerTimes times;
  times.layers.forward = {1};
  check_same(said(job.left(times), PassKind::forward), said(job.all(ends), PassKind::forward));
  check_same(said(job.left(times), PassKind::recompute), said(job.all(ends), PassKind::forward));
  check_same(said(job.left(times), PassKind::backward),
             said(job.all(five_layers), PassKind::backward));
  times.head.forward = {1};
  ends.head = false;
  check_same(said(job.left(times), PassKind::forward), said(job.all(ends), PassKind::forward));
  times.embedding.forward = {1};
  CHECK(said(job.left(times), PassKind::forward).empty());
}

TEST_CASE("measured layers with experts leave the calls of the dense ones", "[model]") {
  const Job job("{}");
  LayerTimes times;
  times.experts.forward = times.experts.backward = {1};
  StageParts dense = five_layers;
  dense.layers.count = 2;
  for (const PassKind kind : {PassKind::forward, PassKind::input_grad, PassKind::backward})
    check_same(said(job.left(times), kind), said(job.all(dense), kind));
}

TEST_CASE("of a B of which I was measured the calls of W are left", "[model]") {
  const Job job("{}");
  LayerTimes times;
  for (PartTimes* part : {&times.layers, &times.embedding, &times.head}) part->input_grad = {1};
  const StageTraffic left = job.left(times);
  CHECK(said(left, PassKind::input_grad).empty());
  CHECK_FALSE(said(left, PassKind::backward).empty());
  check_same(said(left, PassKind::backward), said(left, PassKind::weight_grad));
}

TEST_CASE("what is recomputed makes no calls beside a measured forward", "[model]") {
  const Job full("{recompute: full}");
  const Job none("{}");
  LayerTimes times;
  times.layers.forward = {1};
  for (const PassKind kind : {PassKind::input_grad, PassKind::backward}) {
    check_same(said(full.left(times), kind), said(none.all(five_layers), kind));
    CHECK(said(full.left({}), kind) != said(none.all(five_layers), kind));
  }
}
