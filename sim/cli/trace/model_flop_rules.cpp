#include "sim/cli/trace/model_flop_rules.hpp"

#include <optional>

#include <fmt/format.h>

#include "sim/config/scenario.hpp"
#include "sim/config/text/error.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/workload/figures/model_figures.hpp"
#include "sim/workload/shape/shape.hpp"

namespace pipewright::cli {
namespace {

// Reads the scenario of a run; nothing if the run has none, or a file that it names is gone.
std::optional<config::Scenario> readable_scenario(const trace::RunInfo& run) {
  if (run.scenario.empty()) return std::nullopt;
  try {
    return config::read_scenario(config::read_yaml_text(run.scenario, "the scenario of the trace"));
  } catch (const config::StructuredError&) {
    return std::nullopt;
  }
}

}  // namespace

std::vector<analysis::FlopRule> model_flop_rules(const trace::RunInfo& run) {
  const auto scenario = readable_scenario(run);
  if (!scenario || !scenario->model) return {};
  const config::Model& model = scenario->model->value;
  const std::uint32_t sequence = workload::sequence_of(model, scenario->training);
  const workload::ModelSize size = workload::model_size(model, sequence);
  std::vector<analysis::FlopRule> rules{{"6 FLOPs for each parameter, without attention scores",
                                         6 * static_cast<double>(size.parameters)}};
  if (size.active != size.parameters)
    rules.push_back({"6 FLOPs for each parameter that a token uses, without attention scores",
                     6 * static_cast<double>(size.active)});
  if (!model.experts || model.experts->top_k < 2) return rules;
  config::Model with_single_expert = model;
  with_single_expert.experts->top_k = 1;
  const workload::ModelSize single = workload::model_size(with_single_expert, sequence);
  const std::string words = fmt::format("one expert a token instead of {}", model.experts->top_k);
  rules.push_back({words + ", with full attention", single.full_attention_flops_per_token});
  rules.push_back({words + ", with causal attention", single.flops_per_token});
  return rules;
}

}  // namespace pipewright::cli
