#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "schedules/families/catalog.hpp"
#include "sim/config/text/value.hpp"
#include "sim/config/training_checks.hpp"
#include "sim/evaluation/what_if.hpp"
#include "sim/workload/plan/modelled.hpp"

namespace pipewright::evaluation {
namespace {

using config::Scenario;
using config::Value;
using Changes = std::vector<Change>;

void remove_key(Value& root, std::string_view map, std::string_view key) {
  if (Value* const value = config::find(root, map))
    std::erase_if(value->entries, [&](const config::Entry& entry) { return entry.key == key; });
}

// Value for the key variation.bandwidth: the scenario's factors, with that of one link class
// doubled.
Value doubled_bandwidth(const std::string& link_class, const config::Variation& variation) {
  Value map{.kind = Value::Kind::map, .origin = {"what if"}};
  const auto put = [&](const std::string& name, double factor) {
    map.entries.push_back(
        {name, map.origin, config::make_text(fmt::format("{}", factor), map.origin)});
  };
  bool is_listed = false;
  for (const auto& [name, factor, origin] : variation.bandwidth) {
    const bool is_class = name == link_class;
    put(name, is_class ? factor * 2 : factor);
    is_listed = is_listed || is_class;
  }
  if (!is_listed) put(link_class, 2);
  return map;
}

void add_network(const Scenario& scenario, const std::vector<std::string>& link_classes,
                 Changes& changes) {
  for (const std::string& link_class : link_classes)
    changes.push_back({.words = fmt::format("{} bandwidth doubled", link_class),
                       .edit = [&scenario, link_class](Value& root) {
                         config::set_key(root, "variation.bandwidth",
                                         doubled_bandwidth(link_class, scenario.variation));
                       }});
  if (scenario.cluster || scenario.p2p_time > 0)
    changes.push_back(
        {.words = "all latencies halved",
         .settings = {{"variation.latency", fmt::format("{}", scenario.variation.latency / 2)}}});
}

// Shortens the compute time of a stage's passes. Their waits for collectives stay.
void speed_up(workload::StageCosts& costs, std::uint32_t stage, config::Detail detail) {
  constexpr double factor = 0.9;
  costs.slow_down(stage, factor, detail);
  if (stage < costs.times.fused.size()) costs.times.fused[stage] *= factor;
}

void add_stages(const Scenario& scenario, const analysis::WhyReport& report, Changes& changes,
                std::vector<std::string>& notes) {
  std::vector<std::uint32_t> stages;
  for (const analysis::StageSlack& stage : report.slack.stages) stages.push_back(stage.stage);
  if (stages.size() > max_changed_stages) {
    notes.push_back(fmt::format(
        "only the {} of {} stages with the largest share of the critical path are made faster",
        max_changed_stages, stages.size()));
    stages.clear();
    for (const analysis::StageShare& stage : report.path.stages)
      if (stages.size() < max_changed_stages) stages.push_back(stage.stage);
    std::ranges::sort(stages);
  }
  const config::Detail detail = scenario.communication.detail;
  for (const std::uint32_t stage : stages)
    changes.push_back(
        {.words = fmt::format("passes of stage {} 10 % faster", stage),
         .speed = [stage, detail](workload::StageCosts& costs) { speed_up(costs, stage, detail); },
         .stage = stage});
}

void add_p2p(const Scenario& scenario, Changes& changes) {
  for (const config::P2p mode :
       {config::P2p::eager, config::P2p::rendezvous, config::P2p::blocking}) {
    if (mode == scenario.p2p) continue;
    const std::string name(to_string(mode));
    Change change{.words = fmt::format("p2p {}", name), .settings = {{"p2p", name}}};
    if (config::value_at(scenario.tree, "communication.overlap_p2p") != nullptr)
      change.edit = [](Value& root) { remove_key(root, "communication", "overlap_p2p"); };
    changes.push_back(std::move(change));
  }
}

void add_chunks(const Scenario& scenario, std::uint32_t chunks, Changes& changes) {
  const config::ScheduleSpec& spec = scenario.schedules.front();
  const auto entry = std::ranges::find(schedules::catalog(), spec.name, &schedules::Entry::name);
  // 1F1B with one more chunk is the interleaved schedule.
  if (spec.name == "1f1b") {
    changes.push_back({.words = "one more chunk: interleaved-1f1b x2",
                       .settings = {{"schedule", "interleaved-1f1b"}, {"schedule.chunks", "2"}}});
    return;
  }
  if (entry == schedules::catalog().end() || !entry->takes(&schedules::Parameters::chunks)) return;
  const auto add_chunk_count = [&](std::uint32_t count, const char* words) {
    changes.push_back({.words = fmt::format("{}: {} chunks", words, count),
                       .settings = {{"schedule.chunks", std::to_string(count)}}});
  };
  add_chunk_count(chunks + 1, "one more chunk");
  if (chunks > 1) add_chunk_count(chunks - 1, "one fewer chunk");
}

void add_switch(std::string_view name, bool is_on, Changes& changes) {
  changes.push_back(
      {.words = fmt::format("{} {}", name, is_on ? "off" : "on"),
       .settings = {{fmt::format("communication.{}", name), is_on ? "false" : "true"}}});
}

// Adds the overlaps of communication that have an effect. A pipeline that keeps FSDP's weights
// reduces gradients at its end in any case, and gathers weights at its start only if a device may
// hold those of all its stages at a time.
void add_overlaps(const Scenario& scenario, std::uint32_t chunks, Changes& changes) {
  if (!scenario.model) return;
  const config::Communication& communication = scenario.communication;
  const config::Parallel& parallel = scenario.parallel;
  if (parallel.dp.value > 1) {
    if (!parallel.keeps_weights())
      add_switch("overlap_grad_reduce", communication.overlap_grad_reduce, changes);
    const config::UnshardLookahead lookahead =
        parallel.unshard_lookahead.value_or(config::UnshardLookahead{});
    const bool gathers_all =
        parallel.keeps_weights() && parallel.max_unsharded_stages.value_or(chunks) >= chunks &&
        lookahead.rule == config::UnshardRule::full && lookahead.by_device.empty();
    if (parallel.zero == 1 || parallel.zero == 2 || gathers_all)
      add_switch("overlap_param_gather", communication.overlap_param_gather, changes);
  }
  if (parallel.tp.value > 1 && parallel.sequence)
    add_switch("tp_comm_overlap", communication.tp_comm_overlap, changes);
}

void add_setting(std::string_view key, std::string_view value, Changes& changes) {
  changes.push_back({.words = fmt::format("{} {}", key, value),
                     .settings = {{fmt::format("training.{}", key), std::string(value)}}});
}

void add_dispatchers(const Scenario& scenario, Changes& changes) {
  if (!scenario.model || scenario.parallel.ep.value == 1) return;
  const config::ExpertTraining& experts = scenario.training.experts;
  for (std::size_t i = 0; i < config::dispatcher_names.size(); ++i) {
    const auto dispatcher = static_cast<config::Dispatcher>(i);
    const bool keeps_waiting =  // all-gathers do not overlap
        dispatcher == config::Dispatcher::allgather && (experts.overlap || experts.shared_overlap);
    if (dispatcher != experts.dispatcher && !keeps_waiting)
      add_setting("experts.dispatcher", config::dispatcher_names[i], changes);
  }
}

// Adds the change that turns the overlap of expert dispatch on or off. Only for schedules whose
// passes run in fused pairs with the overlap, and separately without it.
void add_dispatch_overlap(const Scenario& scenario, std::uint32_t chunks, Changes& changes) {
  if (!scenario.model || scenario.parallel.ep.value == 1) return;
  const config::ExpertTraining& experts = scenario.training.experts;
  const config::ScheduleSpec& spec = scenario.schedules.front();
  const bool has_pairs = spec.name == "interleaved-1f1b" ? chunks > 1 : spec.name == "1f1b";
  if (!has_pairs || spec[&schedules::Parameters::fused]) return;
  if (spec.name == "1f1b" && scenario.devices.value > 1) return;
  if (experts.shared_overlap || experts.dispatcher == config::Dispatcher::allgather) return;
  if (scenario.training.recompute.granularity == config::Recompute::Granularity::full) return;
  if (experts.overlap && experts.delay_wgrad) return;
  add_setting("experts.overlap", experts.overlap ? "false" : "true", changes);
  if (experts.overlap) add_setting("experts.delay_wgrad", "true", changes);
}

void add_recompute(const Scenario& scenario, Changes& changes) {
  if (!scenario.model) return;
  const config::Training& training = scenario.training;
  for (const std::string_view name : config::recompute_names) {
    const bool is_useless = name == "selective" && training.flash_attention;  // frees nothing
    if (!is_useless && name != to_string(training.recompute))
      add_setting("recompute", name, changes);
  }
  const config::Model& model = scenario.model->value;
  const auto add_module = [&](std::string_view name) {
    if (name == to_string(training.recompute)) return;
    changes.push_back(
        {.words = fmt::format("recompute {}", name),
         .settings = {{"training.recompute", fmt::format("{{modules: [{}]}}", name)}}});
  };
  for (std::size_t i = 0; i < config::recompute_modules.size(); ++i) {
    const auto module = static_cast<config::RecomputeModule>(i);
    // A norm that is fused into the next matrix product is only recomputed with it.
    const bool is_useless =
        module == config::RecomputeModule::core_attn ||
        (module == config::RecomputeModule::layernorm && !model.latent && !model.experts);
    if (!is_useless && has_module(model, module)) add_module(config::recompute_modules[i]);
  }
}

// Returns whether a change of the recipe may make products or tensors smaller. fp16 is as wide as
// bf16.
bool may_be_faster(config::DataType recipe, config::DataType current) {
  using enum config::DataType;
  // A scale for each row only adds casts to those of a single scale.
  if (recipe == current || recipe == fp16 || recipe == fp8_row) return false;
  if (config::value_bytes(recipe) > config::value_bytes(current)) return false;
  return config::is_scaled(current) ||
         config::element_bytes(recipe) < config::element_bytes(current) ||
         recipe == config::DataType::tf32;
}

// Adds attention in types of 8 bits, which only frameworks with scaled products have: fp8_dpa is a
// part of Transformer Engine's recipes.
void add_attention_types(const config::Training& training, const std::vector<std::string>& types,
                         Changes& changes) {
  if (!config::is_scaled(training.precision)) return;
  const config::DataType current =
      type_of(training.precision, training.module_types, config::PrecisionModule::attention);
  for (const std::string& type : types)
    if (type != config::name_of(current))
      changes.push_back({.words = fmt::format("attention in {}", type),
                         .settings = {{"training.precision.attention", type}}});
}

void add_training(const Scenario& scenario, const std::vector<std::string>& recipes,
                  Changes& changes) {
  if (!scenario.model) return;
  const config::Training& training = scenario.training;
  for (const std::string& recipe : recipes) {
    const auto index = std::ranges::find(config::data_types, recipe) - config::data_types.begin();
    if (may_be_faster(static_cast<config::DataType>(index), training.precision))
      add_setting("precision", recipe, changes);
  }
  for (const std::string_view graphs : config::cuda_graph_names)
    if (graphs != to_string(training.cuda_graphs)) add_setting("cuda_graphs", graphs, changes);
  if (training.optimizer.name != config::Optimizer::Name::adam)
    changes.push_back(
        {.words = fmt::format("adam instead of {}",
                              base::name_of(config::optimizer_names, training.optimizer.name)),
         .settings = {{"training.optimizer.name", "adam"}}});
}

// Adds changes of the job's software: fused small kernels, other attention kernels, and checkpoints
// that stop early.
void add_software(const Scenario& scenario, const std::vector<std::string>& attention_kernels,
                  Changes& changes) {
  using enum config::Fusable;
  if (!scenario.model) return;
  const config::Training& training = scenario.training;
  std::vector<std::string_view> fused;
  for (std::size_t group = 0; group < config::fusable_names.size(); ++group)
    if (training.stack.fused.test(group)) fused.push_back(config::fusable_names[group]);
  const std::size_t groups_now = fused.size();
  for (const config::Fusable group : {norm, activation, rope, residual, cross_entropy})
    if (!training.stack.fuses(group)) fused.push_back(base::name_of(config::fusable_names, group));
  if (fused.size() > groups_now)
    changes.push_back({.words = "small kernels fused, as by torch.compile",
                       .settings = {{"stack.fused", fmt::format("[{}]", fmt::join(fused, ", "))}}});
  for (const std::string& kernel : attention_kernels)
    changes.push_back({.words = "attention " + kernel,
                       .settings = {{"stack.attention", fmt::format("[{}]", kernel)}}});
  if (training.recompute.granularity != config::Recompute::Granularity::full) return;
  // The scenario's own key has precedence over that of the stack.
  constexpr std::string_view own = "training.recompute.early_stop";
  const bool is_own = config::value_at(scenario.tree, own) != nullptr;
  const bool stops = training.recompute.early_stop;
  changes.push_back({.words = fmt::format("recompute.early_stop {}", stops ? "off" : "on"),
                     .settings = {{std::string(is_own ? own : "stack.recompute.early_stop"),
                                   stops ? "false" : "true"}}});
}

void remove_routing(Value& root) {
  Value* const training = config::find(root, "training");
  Value* const experts = training == nullptr ? nullptr : config::find(*training, "experts");
  if (experts != nullptr)
    std::erase_if(experts->entries, [](const config::Entry& entry) {
      return entry.key == "imbalance" || entry.key == "power_law" || entry.key == "routing";
    });
  config::override_key(root, "training.experts.routing", "forced", {"what if"});
}

void add_evenness(const Scenario& scenario, Changes& changes) {
  if (!scenario.model) return;
  const config::Training& training = scenario.training;
  if (scenario.model->value.experts && scenario.parallel.ep.value > 1 &&
      !config::routing_text(training.experts).empty())
    changes.push_back({.words = "equal tokens per expert", .edit = remove_routing});
  if (training.lengths && training.lengths->balance == config::Lengths::Balance::none)
    changes.push_back({.words = "documents balanced by length",
                       .settings = {{"training.lengths.balance", "length"}}});
}

void add_variation(const Scenario& scenario, Changes& changes) {
  const auto add_removal = [&](const char* key, const char* words) {
    changes.push_back(
        {.words = words, .edit = [key](Value& root) { remove_key(root, "variation", key); }});
  };
  if (!scenario.variation.stragglers.empty()) add_removal("stragglers", "no stragglers");
  if (!scenario.variation.links.empty()) add_removal("slow_links", "no slow links");
  if (scenario.variation.is_random()) add_removal("jitter", "no jitter");
  if (scenario.model && workload::slowest_replica(scenario) > 1)
    changes.push_back(
        {.words = "all replicas equally fast", .settings = {{"stack.replica_spread", "0"}}});
}

}  // namespace

std::vector<Change> what_if_changes(const Scenario& scenario, const analysis::WhyReport& report,
                                    const HardwareChoices& choices,
                                    std::vector<std::string>& notes) {
  Changes changes;
  add_network(scenario, choices.link_classes, changes);
  add_stages(scenario, report, changes, notes);
  if (scenario.devices.value > 1) {  // pp 1 has no transfers between stages
    add_p2p(scenario, changes);
    add_chunks(scenario, report.chunks, changes);
  }
  add_overlaps(scenario, report.chunks, changes);
  add_dispatchers(scenario, changes);
  add_dispatch_overlap(scenario, report.chunks, changes);
  add_recompute(scenario, changes);
  add_training(scenario, choices.recipes, changes);
  if (scenario.model) add_attention_types(scenario.training, choices.attention_types, changes);
  add_software(scenario, choices.attention_kernels, changes);
  add_evenness(scenario, changes);
  add_variation(scenario, changes);
  return changes;
}

}  // namespace pipewright::evaluation
