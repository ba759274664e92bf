#include "sim/workload/model/measured.hpp"

#include <algorithm>
#include <initializer_list>
#include <optional>

#include "sim/workload/model/calls.hpp"

namespace pipewright::workload {
namespace {

using config::PartTimes;
using schedules::PassKind;

// The pass whose calls those of that kind still have; none where all of it was measured.
std::optional<PassKind> calls_left(const PartTimes& times, PassKind kind) {
  const bool forward = !times.forward.empty();
  const bool input = !times.backward.empty() || !times.input_grad.empty();
  const bool weight = !times.backward.empty() || !times.weight_grad.empty();
  const auto unless = [&](bool known) { return known ? std::nullopt : std::optional(kind); };
  switch (kind) {
    case PassKind::forward:
    case PassKind::recompute:
      return unless(forward);
    case PassKind::input_grad:
      return unless(input);
    case PassKind::weight_grad:
      return unless(weight);
    case PassKind::backward:
      break;
  }
  if (input != weight) return input ? PassKind::weight_grad : PassKind::input_grad;
  return unless(input);
}

// What of a stage was measured together.
struct Measured {
  StageParts parts;
  PartTimes times;
};

// Layers of one kind that follow one another, then the parts at the ends and what stages send.
std::vector<Measured> cut(const ModelSetting& setting, const StageParts& stage,
                          const config::LayerTimes& times) {
  std::vector<Measured> parts;
  const std::uint32_t end = stage.layers.first + stage.layers.count;
  for (std::uint32_t layer = stage.layers.first; layer < end;) {
    const LayerKind kind = kind_of_layer(setting.model, layer);
    LayerRange run{layer, 0};
    for (; layer < end && kind_of_layer(setting.model, layer) == kind; ++layer) ++run.count;
    parts.push_back({{.layers = run}, times_of_layers(times, kind)});
  }
  const LayerRange none{stage.layers.first, 0};
  if (stage.embedding) parts.push_back({{.layers = none, .embedding = true}, times.embedding});
  if (stage.head) parts.push_back({{.layers = none, .head = true}, times.head});
  if (stage.mtp > 0) parts.push_back({{.layers = none, .mtp = stage.mtp}, {}});
  parts.push_back({{.layers = none, .receives = stage.receives, .sends = stage.sends}, {}});
  return parts;
}

}  // namespace

PartTimes times_of_layers(const config::LayerTimes& times, LayerKind kind) {
  if (!has_experts(kind)) return times.layers;
  PartTimes own = times.experts;
  const bool halves = !own.input_grad.empty() || !own.weight_grad.empty();
  const auto fill = [](std::vector<double>& mine, const std::vector<double>& of_all) {
    if (mine.empty()) mine = of_all;
  };
  fill(own.forward, times.layers.forward);
  if (!own.backward.empty()) return own;
  fill(own.input_grad, times.layers.input_grad);
  fill(own.weight_grad, times.layers.weight_grad);
  if (!halves) fill(own.backward, times.layers.backward);
  return own;
}

PassSeconds measured(const PassSeconds& model, const PartTimes& times, std::uint32_t layer) {
  const auto of = [&](const std::vector<double>& given) {
    return given[given.size() == 1 ? 0 : layer];
  };
  PassSeconds seconds = model;
  if (!times.forward.empty()) {
    seconds.forward = of(times.forward);
    seconds.recomputed *= seconds.forward / model.forward;
  }
  if (!times.backward.empty()) {
    const double input = model.recomputed + model.input_grad;
    const double longer = of(times.backward) / (input + model.weight_grad);
    seconds.input_grad = input * longer;
    seconds.weight_grad = model.weight_grad * longer;
    seconds.recomputed = 0;
  }
  if (!times.input_grad.empty()) {
    seconds.input_grad = of(times.input_grad);
    seconds.recomputed = 0;
  }
  if (!times.weight_grad.empty()) seconds.weight_grad = of(times.weight_grad);
  return seconds;
}

PartSeconds measured(const PartSeconds& model, const PartTimes& times, std::uint32_t layer) {
  PartSeconds seconds{measured(model.kernels, times, layer), model.launches};
  const auto known = [](double& launches, std::initializer_list<const std::vector<double>*> given) {
    if (std::ranges::any_of(given, [](const auto* one) { return !one->empty(); })) launches = 0;
  };
  known(seconds.launches.forward, {&times.forward});
  known(seconds.launches.recomputed, {&times.forward, &times.backward, &times.input_grad});
  known(seconds.launches.input_grad, {&times.backward, &times.input_grad});
  known(seconds.launches.weight_grad, {&times.backward, &times.weight_grad});
  return seconds;
}

StageTraffic unmeasured_calls(const ModelSetting& setting, const StageParts& stage,
                              const config::Gpu& gpu, const config::Communication& communication,
                              const config::LayerTimes& times) {
  // What is made again was measured with F.
  config::Training keeps_all = setting.training;
  keeps_all.recompute = {};
  const ModelSetting without{setting.model, keeps_all, setting.sizes};
  StageTraffic left;
  for (const Measured& part : cut(setting, stage, times)) {
    const bool forward = !part.times.forward.empty();
    const StageTraffic calls =
        stage_calls(forward ? without : setting, part.parts, gpu, communication);
    for (std::size_t kind = 0; kind < schedules::pass_kinds; ++kind) {
      const auto source = calls_left(part.times, static_cast<PassKind>(kind));
      if (!source) continue;
      const std::vector<Call>& add = calls[*source];
      left.inside[kind].insert(left.inside[kind].end(), add.begin(), add.end());
    }
  }
  return left;
}

}  // namespace pipewright::workload
