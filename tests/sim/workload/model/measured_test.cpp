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

// Collectives of a pass, by kind and size: how many there are, and the total seconds of compute
// beside which they can run.
using CallSums = std::map<std::tuple<workload::Group, workload::Operation, std::uint64_t>,
                          std::pair<std::uint32_t, double>>;

CallSums sum_calls(const StageTraffic& traffic, PassKind kind) {
  CallSums sums;
  for (const Call& call : traffic.inside[static_cast<std::size_t>(kind)]) {
    auto& [times, overlap] = sums[{call.group, call.collective, call.bytes}];
    times += call.times;
    overlap += call.overlappable_compute;
  }
  return sums;
}

void check_equal(const CallSums& left, const CallSums& right) {
  REQUIRE(left.size() == right.size());
  for (const auto& [call, sums] : left) {
    REQUIRE(right.count(call) == 1);
    CHECK(sums.first == right.at(call).first);
    CHECK(sums.second == Approx(right.at(call).second));
  }
}

// Layers 1 to 5 of DeepSeek-V3: two dense layers, then three with experts.
const StageParts five_layers{
    .layers = {1, 5}, .embedding = true, .head = true, .receives = true, .sends = true};

struct Job {
  explicit Job(const std::string& training)
      : fixture(library_model("deepseek-v3"), training,
                {.tp = 4, .sequence = true, .ep = 8, .dp = 8}) {}
  StageTraffic all_calls(const StageParts& parts) const {
    return stage_calls(fixture.setting, parts, gpu, communication);
  }
  StageTraffic unmeasured(const LayerTimes& times) const {
    return unmeasured_calls(fixture.setting, five_layers, gpu, communication, times);
  }

  SettingFixture fixture;
  config::Gpu gpu = config::find_gpu("h100-sxm");
  config::Communication communication;
};

}  // namespace

TEST_CASE("recomputation scales with the measured forward time", "[model]") {
  PartTimes times;
  times.forward = {5};
  const PassSeconds seconds = with_measured_times(model, times);
  CHECK(seconds.forward == 5);
  CHECK(seconds.recomputed == 5);
  CHECK(seconds.input_grad == 3);
  CHECK(seconds.weight_grad == 1);
  // If only a part of the forward pass is recomputed, that part is scaled like the forward pass.
  PassSeconds selective = model;
  selective.recomputed = 0.5;
  CHECK(with_measured_times(selective, times).recomputed == Approx(1.25));
}

TEST_CASE("measured backward times include recomputation", "[model]") {
  PartTimes times;
  times.forward = {5};
  times.input_grad = {7};
  CHECK(with_measured_times(model, times).recomputed == 0);
  CHECK(with_measured_times(model, times).input_grad == 7);
  CHECK(with_measured_times(model, times).weight_grad == 1);

  // The model has 2 + 3 s of recomputation and input gradients and 1 s of weight gradients. The
  // measured backward pass takes 12 s, so both are doubled.
  PartTimes whole;
  whole.forward = {5};
  whole.backward = {12};
  const PassSeconds seconds = with_measured_times(model, whole);
  CHECK(seconds.recomputed == 0);
  CHECK(seconds.input_grad == Approx(10));
  CHECK(seconds.weight_grad == Approx(2));
}

TEST_CASE("each layer takes its own time from a list", "[model]") {
  PartTimes times;
  times.forward = {1, 2, 4};
  times.backward = {6, 12, 18};
  CHECK(with_measured_times(model, times, 0).forward == 1);
  CHECK(with_measured_times(model, times, 2).forward == 4);
  CHECK(with_measured_times(model, times, 1).weight_grad == Approx(2));
}

TEST_CASE("layers with experts take their own times or else those of all layers", "[model]") {
  LayerTimes times;
  times.layers.forward = {1};
  times.layers.backward = {2};
  times.experts.forward = {3};
  CHECK(times_of_layers(times, LayerKind::dense).forward == std::vector<double>{1});
  CHECK(times_of_layers(times, LayerKind::experts).forward == std::vector<double>{3});
  CHECK(times_of_layers(times, LayerKind::experts).backward == std::vector<double>{2});
  // If a kind of layer has some times of its own, times of all layers are not used for it in the
  // other form: either one time for B, or two for I and W.
  times.experts.input_grad = {4};
  CHECK(times_of_layers(times, LayerKind::experts).backward.empty());
  times.experts = {};
  times.experts.backward = {5};
  times.layers.backward = {};
  times.layers.weight_grad = {6};
  CHECK(times_of_layers(times, LayerKind::experts).weight_grad.empty());
  CHECK(times_of_layers(times, LayerKind::dense).weight_grad == std::vector<double>{6});
}

TEST_CASE("without measured times, all calls of a stage remain", "[model]") {
  for (const char* const training : {"{}", "{recompute: full}"}) {
    const Job job(training);
    const StageTraffic unmeasured = job.unmeasured({});
    for (std::size_t kind = 0; kind < schedules::pass_kinds; ++kind)
      check_equal(sum_calls(unmeasured, static_cast<PassKind>(kind)),
                  sum_calls(job.all_calls(five_layers), static_cast<PassKind>(kind)));
  }
}

TEST_CASE("measured times of layers include their calls; those of the ends remain", "[model]") {
  const Job job("{}");
  StageParts ends = five_layers;
  ends.layers.count = 0;
  LayerTimes times;
  times.layers.forward = {1};
  check_equal(sum_calls(job.unmeasured(times), PassKind::forward),
              sum_calls(job.all_calls(ends), PassKind::forward));
  check_equal(sum_calls(job.unmeasured(times), PassKind::recompute),
              sum_calls(job.all_calls(ends), PassKind::forward));
  check_equal(sum_calls(job.unmeasured(times), PassKind::backward),
              sum_calls(job.all_calls(five_layers), PassKind::backward));
  times.head.forward = {1};
  ends.head = false;
  check_equal(sum_calls(job.unmeasured(times), PassKind::forward),
              sum_calls(job.all_calls(ends), PassKind::forward));
  times.embedding.forward = {1};
  CHECK(sum_calls(job.unmeasured(times), PassKind::forward).empty());
}

TEST_CASE("measured layers with experts leave the calls of dense layers", "[model]") {
  const Job job("{}");
  LayerTimes times;
  times.experts.forward = times.experts.backward = {1};
  StageParts dense = five_layers;
  dense.layers.count = 2;
  for (const PassKind kind : {PassKind::forward, PassKind::input_grad, PassKind::backward})
    check_equal(sum_calls(job.unmeasured(times), kind), sum_calls(job.all_calls(dense), kind));
}

TEST_CASE("B with a measured I still has the calls of W", "[model]") {
  const Job job("{}");
  LayerTimes times;
  for (PartTimes* part : {&times.layers, &times.embedding, &times.head}) part->input_grad = {1};
  const StageTraffic unmeasured = job.unmeasured(times);
  CHECK(sum_calls(unmeasured, PassKind::input_grad).empty());
  CHECK_FALSE(sum_calls(unmeasured, PassKind::backward).empty());
  check_equal(sum_calls(unmeasured, PassKind::backward),
              sum_calls(unmeasured, PassKind::weight_grad));
}

TEST_CASE("recomputation adds no calls if the forward time was measured", "[model]") {
  const Job full("{recompute: full}");
  const Job none("{}");
  LayerTimes times;
  times.layers.forward = {1};
  for (const PassKind kind : {PassKind::input_grad, PassKind::backward}) {
    check_equal(sum_calls(full.unmeasured(times), kind),
                sum_calls(none.all_calls(five_layers), kind));
    CHECK(sum_calls(full.unmeasured({}), kind) != sum_calls(none.all_calls(five_layers), kind));
  }
}
