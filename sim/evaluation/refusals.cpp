#include "sim/evaluation/refusals.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/report/search/findings.hpp"
#include "analysis/report/text_table.hpp"
#include "schedules/families/catalog.hpp"
#include "sim/config/stack_rules.hpp"

namespace pipewright::evaluation {
namespace {

// Returns whether the job needs an optimizer that is aware of the data types of its state: moments,
// master weights or sums of gradients have fewer than 32 bits, or the CPU updates parameters.
bool has_small_states(const config::Scenario& scenario) {
  const config::Optimizer& optimizer = scenario.training.optimizer;
  const config::Optimizer usual;
  return optimizer.exp_avg != usual.exp_avg || optimizer.exp_avg_sq != usual.exp_avg_sq ||
         optimizer.main_params != usual.main_params || optimizer.offload ||
         (optimizer.main_grads != usual.main_grads && scenario.communication.gradient_bytes != 2);
}

// Returns the sizes and options of a job with one stage on each device.
config::JobSizes sizes_of(const config::Scenario& scenario) {
  const config::Parallel& parallel = scenario.parallel;
  const config::Training& training = scenario.training;
  config::JobSizes sizes{
      .tp = parallel.tp.value,
      .cp = parallel.cp.value,
      .pp = scenario.devices.value,
      .gtp = std::max(parallel.gtp_size(), parallel.expert_gtp_size()),
      .microbatches = scenario.microbatches.value,
      .stages = scenario.devices.value,
      .overlaps_experts = training.experts.overlap,
      .offloads = training.offload && training.offload->modules.none() &&
                  training.offload->layers.value_or(1) > 0,
      .shards_sequence = parallel.sequence,
      .blocks_transfers = scenario.p2p == config::P2p::blocking,
      .shards_copies = parallel.shards_optimizer_over_copies(),
      .scales_attention = is_scaled(config::type_of(training.precision, training.module_types,
                                                    config::PrecisionModule::attention)),
      .gathers_early = parallel.zero > 0 && scenario.communication.overlap_param_gather,
      .reduces_early = scenario.communication.overlap_grad_reduce,
      .copies_small_states = parallel.zero == 0 && has_small_states(scenario),
      .graphs = training.cuda_graphs,
      .recompute = training.recompute};
  if (std::uint64_t{parallel.dp.value} * parallel.cp.value > 1) sizes.zero = parallel.zero;
  if (parallel.zero > 0)
    sizes.shards =
        parallel.shard ? parallel.shard->value : parallel.dp.value / parallel.replicates();
  if (!scenario.model) return sizes;
  const config::Model& model = scenario.model->value;
  if (model.experts) {
    sizes.ep = parallel.ep.value;
    sizes.etp = parallel.expert_tp();
  }
  sizes.layers = model.layers;
  sizes.ties_embeddings = model.tied_embeddings;
  sizes.has_experts = model.experts.has_value();
  sizes.pads_experts = model.experts && model.experts->capacity_factor;
  return sizes;
}

void add_schedule(const config::ScheduleSpec& spec, const schedules::Routes& routes,
                  config::JobSizes& sizes) {
  const auto entry = std::ranges::find(schedules::catalog(), spec.name, &schedules::Entry::name);
  if (entry != schedules::catalog().end()) {
    sizes.schedule = entry->name;
    sizes.takes_chunks = entry->takes(&schedules::Parameters::chunks);
  }
  if (const auto& group = spec[&schedules::Parameters::group_size]) sizes.group_size = group->value;
  sizes.stages = routes.stages();
  const std::uint32_t stages = routes.stages() * routes.count();
  if (stages % sizes.pp != 0) return;  // only a schedule file places stages so unevenly
  sizes.stages_per_device = stages / sizes.pp;
  sizes.is_looped = routes == schedules::Routes::looped(sizes.pp, sizes.stages_per_device);
}

std::string name_of(const config::Stack& stack) {
  return stack.name.empty() ? "the stack" : analysis::printable(stack.name);
}

config::Error refusal(const config::Stack& stack, std::string_view reason) {
  return config::Error(fmt::format("{} {}: {}", name_of(stack), analysis::refusal_words, reason));
}

std::vector<config::Error> broken_rules(const config::Stack& stack, const config::JobSizes& sizes) {
  std::vector<config::Error> broken;
  for (std::size_t i = 0; i < config::stack_rules.size(); ++i) {
    if (!stack.rules.test(i)) continue;
    const config::StackRule& rule = config::stack_rules[i];
    if (const std::string violation = rule.violation(sizes); !violation.empty())
      broken.push_back(
          refusal(stack, fmt::format("{}, and {}", rule.help, violation)).suggest(rule.remedy));
  }
  return broken;
}

// Adds an error if the software does not run the schedule. A job with pp 1 runs no pipeline: it
// accumulates gradients plainly, as 1f1b does. Software with gpipe may run all forward passes first
// (nanotron does). Files and searched orders are the user's own.
void check_schedule(const config::Stack& stack, const config::JobSizes& sizes,
                    std::vector<config::Error>& broken) {
  if (sizes.schedule.empty() || stack.schedules.empty()) return;
  const auto runs = [&](std::string_view name) {
    return std::ranges::find(stack.schedules, name) != stack.schedules.end();
  };
  const std::string on_one_device = runs("gpipe") ? "1f1b, gpipe" : "1f1b";
  if (sizes.pp == 1 && (sizes.schedule == "1f1b" || (sizes.schedule == "gpipe" && runs("gpipe"))))
    return;
  if (!runs(sizes.schedule))
    broken.push_back(refusal(stack, fmt::format("its pipelines do not run {}", sizes.schedule))
                         .allow(sizes.pp == 1
                                    ? on_one_device
                                    : fmt::format("{}", fmt::join(stack.schedules, ", "))));
  else if (sizes.pp == 1)
    broken.push_back(refusal(stack, fmt::format("{} needs a pipeline, and pp is 1", sizes.schedule))
                         .allow(on_one_device + ", or a larger pp"));
}

}  // namespace

std::vector<config::Error> refusals(const config::Scenario& scenario) {
  return broken_rules(scenario.training.stack, sizes_of(scenario));
}

std::vector<config::Error> refusals(const config::Scenario& scenario,
                                    const config::ScheduleSpec& spec,
                                    const schedules::Routes& routes) {
  const config::Stack& stack = scenario.training.stack;
  config::JobSizes sizes = sizes_of(scenario);
  add_schedule(spec, routes, sizes);
  std::vector<config::Error> broken = broken_rules(stack, sizes);
  check_schedule(stack, sizes, broken);
  return broken;
}

}  // namespace pipewright::evaluation
