#include "sim/config/pass_checks.hpp"

#include <array>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>

#include "sim/base/numbers.hpp"

namespace pipewright::config {
namespace {

// Checks that the times of backward passes are complete: either one time, or a time for each of its
// two halves, or all three if they were measured separately.
void check_backward(const Scenario& scenario, const Value& root) {
  constexpr std::string_view advice =
      "give backward_times (--backward-times), or both input_grad_times and weight_grad_times "
      "(--input-grad-times and --weight-grad-times), or all three";
  const auto& backward = scenario.backward_times;
  const auto& input_grad = scenario.input_grad_times;
  const auto& weight_grad = scenario.weight_grad_times;
  if (backward && input_grad.has_value() != weight_grad.has_value())
    throw Error(backward->origin,
                fmt::format("backward_times and {} are given without {}",
                            input_grad ? "input_grad_times" : "weight_grad_times",
                            input_grad ? "weight_grad_times" : "input_grad_times"))
        .suggest(advice);
  if (backward || (input_grad && weight_grad)) return;
  if (!input_grad && !weight_grad && scenario.model) return;
  if (input_grad || weight_grad)
    throw Error((input_grad ? input_grad : weight_grad)->origin,
                fmt::format("{} needs {}", input_grad ? "input_grad_times" : "weight_grad_times",
                            input_grad ? "weight_grad_times" : "input_grad_times"))
        .suggest(advice);
  Origin file = root.origin;
  file.line = 0;
  throw Error(file, "the backward pass has no time", "backward_times").suggest(advice);
}

// Checks that no pass has its time given both by layer_times and as a whole.
void check_layers(const Scenario& scenario, const Value& root) {
  if (!scenario.layer_times) return;
  const LayerTimes& times = scenario.layer_times->value;
  const Origin& origin = scenario.layer_times->origin;
  if (!scenario.model)
    throw Error(origin, "layer_times needs a model")
        .suggest("give a model (--model), or times of passes (--forward-times, ...)");
  const Value& section = *find(root, "layer_times");
  check_layer_times(times, {section, "layer_times"}, scenario.model->value);
  const auto refuse_both = [&](bool has_layer_times, std::string_view passes,
                               std::string_view key) {
    const Value* const stage_times = find(root, key);
    if (stage_times == nullptr || !has_layer_times) return;
    throw Error(origin, fmt::format("layer_times gives the time of {}, and so does {} at {}",
                                    passes, key, to_string(stage_times->origin)))
        .suggest("leave out one of them");
  };
  refuse_both(times.has_forward(), "forward passes", "forward_times");
  for (const char* key : {"backward_times", "input_grad_times", "weight_grad_times"})
    refuse_both(times.has_backward(), "backward passes", key);
}

// Rejects keys that state the size of a microbatch if there is a model: the model and the training
// section determine it.
void check_microbatch(const Scenario& scenario, const Value& root) {
  if (!scenario.model) return;
  const auto refuse = [&](std::string_view key, std::string_view training_key,
                          std::uint32_t training_value) {
    const Value* const size = find(root, key);
    if (size == nullptr) return;
    throw Error(size->origin, fmt::format("{} is for passes without a model; with a model {} says "
                                          "so, which is {}",
                                          key, training_key, training_value))
        .suggest(fmt::format("set {} and leave out {}", training_key, key));
  };
  const Training& training = scenario.training;
  refuse("samples_per_microbatch", "training.microbatch_size", training.microbatch_size);
  refuse("tokens_per_microbatch", "training.sequence",
         training.sequence.value_or(scenario.model->value.sequence));
}

// Returns the first time of a kind, with or without a unit; 0 needs none. Null if there is none.
const Value* first_time(const Value& value, bool has_unit) {
  for (const Value& item : value.items)
    if (const Value* const time = first_time(item, has_unit)) return time;
  if (value.kind != Value::Kind::text) return nullptr;
  const std::optional<double> bare = base::parse_number<double>(value.text);
  return bare != 0.0 && bare.has_value() != has_unit ? &value : nullptr;
}

// Checks that times of passes have units, or none of them has. A bare number is in seconds, which
// is hardly meant beside "1 ms".
void check_units(const Value& root) {
  constexpr std::array keys{"forward_times",     "backward_times", "input_grad_times",
                            "weight_grad_times", "output_times",   "output_grad_times",
                            "fused_times"};
  const Value* bare = nullptr;
  const Value* with_unit = nullptr;
  std::string_view bare_key;
  for (const std::string_view key : keys)
    if (const Value* const times = find(root, key)) {
      if (bare == nullptr) {
        bare = first_time(*times, false);
        bare_key = key;
      }
      if (with_unit == nullptr) with_unit = first_time(*times, true);
    }
  if (bare == nullptr || with_unit == nullptr) return;
  throw Error(bare->origin, fmt::format("{} has {} without a unit, but another pass takes {}",
                                        bare_key, shown(bare->text), shown(with_unit->text)))
      .suggest(fmt::format("write the unit, such as {} ms or {} s", bare->text, bare->text));
}

void check_times(const Scenario& scenario, const Value& root) {
  check_units(root);
  if (scenario.model && scenario.fused_times && scenario.communication.detail == Detail::full)
    throw Error(scenario.fused_times->origin,
                "fused_times include the collectives within passes, and communication.detail: full "
                "simulates those collectives again")
        .suggest("leave out one of them");
  if (!scenario.model && scenario.forward_times.value.empty())
    throw missing_key(root, "forward_times");
  const Value* const overhead = find(root, "pass_overhead");
  if (overhead != nullptr && scenario.forward_times.value.empty() && !scenario.backward_times &&
      !scenario.input_grad_times && !scenario.fused_times)
    throw Error(overhead->origin,
                "pass_overhead is added to given times of passes, and there are none")
        .suggest("set stack.host.pass for the passes of a model");
}

}  // namespace

Error missing_key(const Value& root, std::string_view name) {
  for (const KeyRow& key : scenario_keys())
    if (key.name == name) return missing({root, ""}, key.info);
  throw std::logic_error("no scenario key has this name");
}

void check_passes(const Scenario& scenario, const Value& root) {
  check_times(scenario, root);
  check_layers(scenario, root);
  check_microbatch(scenario, root);
  check_backward(scenario, root);
}

}  // namespace pipewright::config
