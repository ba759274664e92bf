#include <algorithm>

#include <fmt/format.h>

#include "schedules/families/catalog.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/config/training_checks.hpp"
#include "sim/evaluation/what_if.hpp"

namespace pipewright::evaluation {
namespace {

using config::Scenario;
using config::Value;
using Changes = std::vector<Change>;

void set(Value& root, std::string_view path, std::string text) {
  config::set_key(root, path, config::make_text(std::move(text), {"what if"}));
}

void remove(Value& root, std::string_view map, std::string_view key) {
  if (Value* const value = config::find(root, map))
    std::erase_if(value->entries, [&](const config::Entry& entry) { return entry.key == key; });
}

// The variation's bandwidths, with twice that of a class.
Value twice(const std::string& link_class, const config::Variation& variation) {
  Value map{.kind = Value::Kind::map, .origin = {"what if"}};
  const auto put = [&](const std::string& name, double factor) {
    map.entries.push_back(
        {name, map.origin, config::make_text(fmt::format("{}", factor), map.origin)});
  };
  bool is_there = false;
  for (const auto& [name, factor, origin] : variation.bandwidth) {
    const bool is_it = name == link_class;
    put(name, is_it ? factor * 2 : factor);
    is_there = is_there || is_it;
  }
  if (!is_there) put(link_class, 2);
  return map;
}

void add_network(const Scenario& scenario, const std::vector<std::string>& link_classes,
                 Changes& changes) {
  for (const std::string& one : link_classes)
    changes.push_back({.words = fmt::format("{} of twice the bandwidth", one),
                       .edit = [&scenario, one](Value& root) {
                         config::set_key(root, "variation.bandwidth",
                                         twice(one, scenario.variation));
                       }});
  if (scenario.cluster || scenario.p2p_time > 0)
    changes.push_back({.words = "all latencies halved", .edit = [&scenario](Value& root) {
                         set(root, "variation.latency",
                             fmt::format("{}", scenario.variation.latency / 2));
                       }});
}

// Its waits for collectives are as before.
void speed_up(workload::StageCosts& costs, std::uint32_t stage, config::Detail detail) {
  constexpr double factor = 0.9;
  costs.slow_down(stage, factor, detail);
  if (stage < costs.times.fused.size()) costs.times.fused[stage] *= factor;
}

void add_stages(const Scenario& scenario, const analysis::WhyReport& report, Changes& changes,
                std::vector<std::string>& notes) {
  std::vector<std::uint32_t> stages;
  for (const analysis::StageSlack& one : report.slack.stages) stages.push_back(one.stage);
  if (stages.size() > most_stages) {
    notes.push_back(
        fmt::format("of {} stages, those {} are made faster that have most of the critical path",
                    stages.size(), most_stages));
    stages.clear();
    for (const analysis::StageShare& one : report.path.stages)
      if (stages.size() < most_stages) stages.push_back(one.stage);
    std::ranges::sort(stages);
  }
  const config::Detail detail = scenario.communication.detail;
  for (const std::uint32_t stage : stages)
    changes.push_back(
        {.words = fmt::format("passes of stage {} 10 % faster", stage),
         .speed = [stage, detail](workload::StageCosts& costs) { speed_up(costs, stage, detail); },
         .of_stage = true});
}

void add_p2p(const Scenario& scenario, Changes& changes) {
  for (const config::P2p mode :
       {config::P2p::eager, config::P2p::rendezvous, config::P2p::blocking}) {
    if (mode == scenario.p2p) continue;
    const std::string name(to_string(mode));
    changes.push_back({.words = fmt::format("p2p {}", name), .edit = [name](Value& root) {
                         remove(root, "communication", "overlap_p2p");
                         set(root, "p2p", name);
                       }});
  }
}

void add_chunks(const Scenario& scenario, std::uint32_t chunks, Changes& changes) {
  const config::ScheduleSpec& spec = scenario.schedules.front();
  const auto entry = std::ranges::find(schedules::catalog(), spec.name, &schedules::Entry::name);
  // With a chunk more, 1F1B is the interleaved schedule.
  if (spec.name == "1f1b") {
    changes.push_back({.words = "one more chunk: interleaved-1f1b of 2", .edit = [](Value& root) {
                         set(root, "schedule", "interleaved-1f1b");
                         set(root, "schedule.chunks", "2");
                       }});
    return;
  }
  if (entry == schedules::catalog().end() || !entry->takes(&schedules::Parameters::chunks)) return;
  const auto with = [&](std::uint32_t count, const char* words) {
    changes.push_back(
        {.words = fmt::format("{}: {} chunks", words, count),
         .edit = [count](Value& root) { set(root, "schedule.chunks", std::to_string(count)); }});
  };
  with(chunks + 1, "one more chunk");
  if (chunks > 1) with(chunks - 1, "one chunk less");
}

void add_switch(std::string_view name, bool is_on, Changes& changes) {
  changes.push_back({.words = fmt::format("{} {}", name, is_on ? "off" : "on"),
                     .edit = [name, is_on](Value& root) {
                       set(root, fmt::format("communication.{}", name), is_on ? "false" : "true");
                     }});
}

void add_overlaps(const Scenario& scenario, Changes& changes) {
  if (!scenario.model) return;
  const config::Communication& talk = scenario.communication;
  const config::Parallel& parallel = scenario.parallel;
  if (parallel.dp.value > 1) {
    add_switch("overlap_grad_reduce", talk.overlap_grad_reduce, changes);
    if (parallel.zero == 1 || parallel.zero == 2 || parallel.keeps_weights())
      add_switch("overlap_param_gather", talk.overlap_param_gather, changes);
  }
  if (parallel.tp.value > 1 && parallel.sequence)
    add_switch("tp_comm_overlap", talk.tp_comm_overlap, changes);
}

void add_setting(std::string_view key, std::string_view value, Changes& changes) {
  changes.push_back({.words = fmt::format("{} {}", key, value),
                     .edit = [key, value = std::string(value)](Value& root) {
                       set(root, fmt::format("training.{}", key), value);
                     }});
}

void add_dispatchers(const Scenario& scenario, Changes& changes) {
  if (!scenario.model || scenario.parallel.ep.value == 1) return;
  const config::ExpertTraining& experts = scenario.training.experts;
  for (std::size_t i = 0; i < config::dispatcher_names.size(); ++i) {
    const auto other = static_cast<config::Dispatcher>(i);
    const bool keeps_waiting =  // all-gathers run beside nothing
        other == config::Dispatcher::allgather && (experts.overlap || experts.shared_overlap);
    if (other != experts.dispatcher && !keeps_waiting)
      add_setting("experts.dispatcher", config::dispatcher_names[i], changes);
  }
}

// Where the schedule has fused pairs with it, and none without.
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
    const bool idle = name == "selective" && training.flash_attention;  // frees nothing
    if (!idle && name != to_string(training.recompute)) add_setting("recompute", name, changes);
  }
  const config::Model& model = scenario.model->value;
  const auto module = [&](std::string_view name) {
    if (name == to_string(training.recompute)) return;
    changes.push_back({.words = fmt::format("recompute {}", name), .edit = [name](Value& root) {
                         config::set_key(root, "training.recompute",
                                         config::read_yaml_text(
                                             fmt::format("{{modules: [{}]}}", name), "what if"));
                       }});
  };
  for (std::size_t i = 0; i < config::recompute_modules.size(); ++i) {
    const auto each = static_cast<config::RecomputeModule>(i);
    // Norms that are a part of the products that take them come with these.
    const bool idle =
        each == config::RecomputeModule::core_attn ||
        (each == config::RecomputeModule::layernorm && !model.latent && !model.experts);
    if (!idle && has_module(model, each)) module(config::recompute_modules[i]);
  }
}

void add_training(const Scenario& scenario, const std::vector<std::string>& recipes,
                  Changes& changes) {
  if (!scenario.model) return;
  const config::Training& training = scenario.training;
  const bool wide = !is_scaled(training.precision);
  for (const std::string& recipe : recipes) {
    const bool as_wide = wide && (recipe == "bf16" || recipe == "fp16");
    if (!as_wide && recipe != name_of(training.precision) && recipe != "fp16")
      add_setting("precision", recipe, changes);
  }
  for (const std::string_view graphs : config::cuda_graph_names)
    if (graphs != config::cuda_graph_names.at(static_cast<std::size_t>(training.cuda_graphs)))
      add_setting("cuda_graphs", graphs, changes);
}

void remove_routing(Value& root) {
  Value* const training = config::find(root, "training");
  Value* const experts = training == nullptr ? nullptr : config::find(*training, "experts");
  if (experts != nullptr)
    std::erase_if(experts->entries, [](const config::Entry& entry) {
      return entry.key == "imbalance" || entry.key == "power_law";
    });
}

void add_evenness(const Scenario& scenario, Changes& changes) {
  if (!scenario.model) return;
  const config::Training& training = scenario.training;
  if (scenario.parallel.ep.value > 1 && !config::routing_text(training.experts).empty())
    changes.push_back({.words = "experts with as many tokens each", .edit = remove_routing});
  if (training.lengths && training.lengths->balance == config::Lengths::Balance::none)
    changes.push_back({.words = "documents dealt out by length", .edit = [](Value& root) {
                         set(root, "training.lengths.balance", "length");
                       }});
}

void add_variation(const Scenario& scenario, Changes& changes) {
  const auto without = [&](const char* key, const char* words) {
    changes.push_back(
        {.words = words, .edit = [key](Value& root) { remove(root, "variation", key); }});
  };
  if (!scenario.variation.stragglers.empty()) without("stragglers", "no stragglers");
  if (!scenario.variation.links.empty()) without("slow_links", "no slow links");
  if (scenario.variation.is_random()) without("jitter", "no jitter");
}

}  // namespace

std::vector<Change> what_if_changes(const Scenario& scenario, const analysis::WhyReport& report,
                                    const HardwareChoices& choices,
                                    std::vector<std::string>& notes) {
  Changes changes;
  add_network(scenario, choices.link_classes, changes);
  add_stages(scenario, report, changes, notes);
  add_p2p(scenario, changes);
  add_chunks(scenario, report.chunks, changes);
  add_overlaps(scenario, changes);
  add_dispatchers(scenario, changes);
  add_dispatch_overlap(scenario, report.chunks, changes);
  add_recompute(scenario, changes);
  add_training(scenario, choices.recipes, changes);
  add_evenness(scenario, changes);
  add_variation(scenario, changes);
  return changes;
}

}  // namespace pipewright::evaluation
