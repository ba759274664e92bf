#include "sim/workload/model/measured.hpp"

#include <algorithm>
#include <initializer_list>
#include <optional>

#include "sim/workload/model/calls.hpp"

namespace pipewright::workload {
namespace {

using schedules::PassKind;

// Returns the kind of pass whose collectives must be added to the measured time of a pass of
// `kind`, which does not include them; nothing if the whole pass was measured.
std::optional<PassKind> calls_left(const config::PartTimes& times, PassKind kind) {
  const bool forward = !times.forward.empty();
  const bool input = !times.backward.empty() || !times.input_grad.empty();
  const bool weight = !times.backward.empty() || !times.weight_grad.empty();
  const auto unless_measured = [&](bool is_measured) {
    return is_measured ? std::nullopt : std::optional(kind);
  };
  switch (kind) {
    case PassKind::forward:
    case PassKind::recompute:
      return unless_measured(forward);
    case PassKind::input_grad:
      return unless_measured(input);
    case PassKind::weight_grad:
      return unless_measured(weight);
    case PassKind::output:
    case PassKind::output_grad:
      return kind;
    case PassKind::backward:
      break;
  }
  if (input != weight) return input ? PassKind::weight_grad : PassKind::input_grad;
  return unless_measured(input);
}

// Part of a stage, such as a run of equal layers, with the times that were measured for it.
struct MeasuredPart {
  StageParts parts;
  config::PartTimes times;
};

// Splits a stage into runs of layers of the same kind, its embedding, head and multi-token
// prediction modules, and its boundary tensors, each with its measured times.
std::vector<MeasuredPart> measured_parts(const ModelSetting& setting, const StageParts& stage,
                                         const config::LayerTimes& times) {
  std::vector<MeasuredPart> parts;
  const std::uint32_t end = stage.layers.first + stage.layers.count;
  for (std::uint32_t layer = stage.layers.first; layer < end;) {
    const LayerKind kind = kind_of_layer(setting.model, layer);
    LayerRange run{layer, 0};
    for (; layer < end && kind_of_layer(setting.model, layer) == kind; ++layer) ++run.count;
    parts.push_back({{.layers = run}, times_of_layers(times, kind)});
  }
  const LayerRange none{stage.layers.first, 0};
  if (stage.embedding) parts.push_back({{.layers = none, .embedding = true}, times.embedding});
  if (stage.encoder) parts.push_back({{.layers = none, .encoder = true}, {}});
  if (stage.head) parts.push_back({{.layers = none, .head = true}, times.head});
  if (stage.mtp > 0) parts.push_back({{.layers = none, .mtp = stage.mtp}, {}});
  parts.push_back({{.layers = none, .receives = stage.receives, .sends = stage.sends}, {}});
  return parts;
}

}  // namespace

config::PartTimes times_of_layers(const config::LayerTimes& times, LayerKind kind) {
  if (!has_experts(kind)) return times.layers;
  config::PartTimes result = times.experts;
  const bool has_half_times = !result.input_grad.empty() || !result.weight_grad.empty();
  const auto fill = [](std::vector<double>& target, const std::vector<double>& source) {
    if (target.empty()) target = source;
  };
  fill(result.forward, times.layers.forward);
  if (!result.backward.empty()) return result;
  fill(result.input_grad, times.layers.input_grad);
  fill(result.weight_grad, times.layers.weight_grad);
  if (!has_half_times) fill(result.backward, times.layers.backward);
  return result;
}

PassSeconds with_measured_times(const PassSeconds& model, const config::PartTimes& times,
                                std::uint32_t layer) {
  const auto time_of = [&](const std::vector<double>& part_times) {
    return part_times[part_times.size() == 1 ? 0 : layer];
  };
  PassSeconds seconds = model;
  if (!times.forward.empty()) {
    seconds.forward = time_of(times.forward);
    seconds.recomputed *= seconds.forward / model.forward;
  }
  if (!times.backward.empty()) {
    const double input = model.recomputed + model.input_grad;
    const double factor = time_of(times.backward) / (input + model.weight_grad);
    seconds.input_grad = input * factor;
    seconds.weight_grad = model.weight_grad * factor;
    seconds.recomputed = 0;
  }
  if (!times.input_grad.empty()) {
    seconds.input_grad = time_of(times.input_grad);
    seconds.recomputed = 0;
  }
  if (!times.weight_grad.empty()) seconds.weight_grad = time_of(times.weight_grad);
  return seconds;
}

PartSeconds with_measured_times(const PartSeconds& model, const config::PartTimes& times,
                                std::uint32_t layer) {
  PartSeconds seconds{with_measured_times(model.kernels, times, layer), model.launches};
  const auto clear_if_measured = [](double& launches,
                                    std::initializer_list<const std::vector<double>*> part_times) {
    if (std::ranges::any_of(part_times, [](const auto* list) { return !list->empty(); }))
      launches = 0;
  };
  clear_if_measured(seconds.launches.forward, {&times.forward});
  clear_if_measured(seconds.launches.recomputed,
                    {&times.forward, &times.backward, &times.input_grad});
  clear_if_measured(seconds.launches.input_grad, {&times.backward, &times.input_grad});
  clear_if_measured(seconds.launches.weight_grad, {&times.backward, &times.weight_grad});
  return seconds;
}

StageTraffic unmeasured_calls(const ModelSetting& setting, const StageParts& stage,
                              const config::Gpu& gpu, const config::Communication& communication,
                              const config::LayerTimes& times) {
  // A measured time of F is also used for the recomputation of F, and includes its collectives.
  config::Training no_recompute = setting.training;
  no_recompute.recompute = {};
  const ModelSetting without_recompute{setting.model, no_recompute, setting.sizes};
  StageTraffic traffic;
  for (const MeasuredPart& part : measured_parts(setting, stage, times)) {
    const bool forward = !part.times.forward.empty();
    const StageTraffic calls =
        stage_calls(forward ? without_recompute : setting, part.parts, gpu, communication);
    for (std::size_t kind = 0; kind < schedules::pass_kinds; ++kind) {
      const auto source = calls_left(part.times, static_cast<PassKind>(kind));
      if (!source) continue;
      const std::vector<Call>& unmeasured = calls[*source];
      traffic.inside[kind].insert(traffic.inside[kind].end(), unmeasured.begin(), unmeasured.end());
    }
  }
  return traffic;
}

}  // namespace pipewright::workload
