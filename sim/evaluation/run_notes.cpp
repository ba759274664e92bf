#include "sim/evaluation/run_notes.hpp"

#include <algorithm>
#include <cstdint>
#include <set>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/config/training_checks.hpp"
#include "sim/evaluation/model_notes.hpp"
#include "sim/evaluation/placing.hpp"
#include "sim/evaluation/refusals.hpp"
#include "sim/evaluation/site.hpp"
#include "sim/evaluation/symmetry.hpp"
#include "sim/workload/model/activation_memory.hpp"
#include "sim/workload/model/optimizer_offload.hpp"
#include "sim/workload/model/state.hpp"
#include "sim/workload/plan/uneven_work.hpp"
#include "sim/workload/ranks.hpp"
#include "sim/workload/schedule_source.hpp"
#include "sim/workload/shape/encoder.hpp"
#include "sim/workload/shape/layout_checks.hpp"

namespace pipewright::evaluation {
namespace {

using Notes = std::vector<std::string>;

std::string parameters_text(std::uint64_t count) {
  constexpr double billion = 1e9;
  const auto number = static_cast<double>(count);
  return number >= billion ? fmt::format("{:.4g} billion", number / billion)
                           : fmt::format("{:.4g} million", number / 1e6);
}

// Returns a note that names what is trained and what is frozen; empty if all weights are trained.
std::string frozen_note(const config::Model& model, const config::Training& training) {
  const std::string trained = config::trained_text(model, training);
  if (trained.empty()) return {};
  const workload::Parameters parameters = workload::whole_parameters(model, training);
  return fmt::format("trains {} of {} parameters, {}; frozen: {}",
                     parameters_text(parameters.trained().total()),
                     parameters_text(parameters.total()), trained,
                     config::groups_text(training.frozen_groups() & config::groups_of(model)));
}

// Returns a note on the encoder of images: its size, its images, and what of it is frozen; and on
// what is not modelled. Empty: the model has no images.
void add_vision_notes(const workload::ModelSetting& setting, Notes& notes) {
  const auto encoder = workload::encoder_of(setting);
  if (!encoder) return;
  workload::Parameters parameters;
  for (const workload::Parameters& part : encoder_parameters(*encoder)) parameters += part;
  const config::VisionModule& vision = *setting.training.vision;
  const config::VisionParts frozen = setting.training.frozen_vision();
  notes.push_back(fmt::format(
      "modules.vision: {}, {:.0f} of {:.0f} tokens of a microbatch; an encoder of {} parameters on "
      "a GPU of the first stage, {}",
      config::images_text(vision), encoder->merged_everywhere,
      setting.sizes.tokens * setting.sizes.cp, parameters_text(parameters.total()),
      config::frozen_text(frozen)));
  if (encoder->sizes.tp < setting.sizes.tp && encoder->has_backward())
    notes.emplace_back(
        "modules.vision: ranks of tp that all compute the encoder have the same gradients; an "
        "all-reduce over tp, with which frameworks keep them equal, is not modelled");
}

void add_model_notes(const config::Scenario& scenario, Notes& notes) {
  if (!scenario.model) return;
  const config::Model& model = scenario.model->value;
  for (std::string& note : notes_of_model(scenario)) notes.push_back(std::move(note));
  const workload::ModelSetting setting{
      model, scenario.training, workload::sizes_of(model, scenario.training, scenario.parallel)};
  if (std::string note = idle_recompute_note(setting); !note.empty())
    notes.push_back(std::move(note));
  if (std::string note = frozen_note(model, scenario.training); !note.empty())
    notes.push_back(std::move(note));
  add_vision_notes(setting, notes);
}

// Adds a note for each rule of its stack that the job breaks: first the rules of the layout, then
// those of each schedule.
void add_rule_notes(const ScenarioRun& run, Notes& notes) {
  std::set<std::string> of_layout;
  for (const config::Error& refusal : refusals(run.scenario())) {
    of_layout.insert(refusal.message());
    notes.push_back(refusal.message());
  }
  for (std::size_t i = 0; i < run.plans().size(); ++i) {
    const schedules::Schedule& schedule = run.plans()[i].schedule;
    for (const config::Error& refusal :
         refusals(run.scenario(), run.scenario().schedules[i], schedule.routes))
      if (!of_layout.contains(refusal.message()))
        notes.push_back(fmt::format("{}: {}", schedule.name, refusal.message()));
  }
}

// Adds a note for each key of FSDP that the layout leaves without effect.
void add_idle_sharding_notes(const config::Scenario& scenario, Notes& notes) {
  const config::Parallel& parallel = scenario.parallel;
  const auto add = [&](std::string_view key, std::string_view reason) {
    if (config::value_at(scenario.tree, key) != nullptr)
      notes.push_back(fmt::format("{} has no effect: {}", key, reason));
  };
  if (parallel.pp.value == 1)
    for (const char* const key : {"parallel.max_unsharded_stages", "parallel.unshard_lookahead"})
      add(key, "it is for stages of a pipeline, and parallel.pp is 1");
  if (parallel.keeps_weights())
    add("parallel.gather_ahead",
        "FSDP gathers whole stages of a pipeline (parallel.reshard_after_forward false)");
}

void add_chunk_notes(const std::vector<workload::Plan>& plans, Notes& notes) {
  for (const workload::Plan& plan : plans)
    if (plan.schedule.name.starts_with("interleaved") && plan.schedule.chunks == 1 &&
        plan.schedule.devices > 1)
      notes.push_back(
          fmt::format("{} with one chunk per device interleaves nothing and holds more activations "
                      "than 1f1b; use --chunks 2 or more",
                      plan.schedule.name));
}

// Returns whether a scenario accepts this number of data-parallel replicas: the sizes of its
// groups, of its model and of its batch.
bool accepts_dp(const config::Scenario& scenario, std::uint64_t dp) {
  try {
    config::Value tree = scenario.tree;
    config::set_key(tree, "parallel.dp", config::make_text(fmt::to_string(dp), {}));
    const config::Scenario changed = config::read_scenario(tree);
    const workload::Ranks ranks(changed.parallel);
    return workload::layout_fits(changed.model->value, changed.training, changed.parallel);
  } catch (const config::Error&) {
    return false;
  }
}

// Adds a note if a job with a model leaves whole nodes, or NVLink racks, of its cluster idle, as
// happens when parallel.dp is forgotten. `other_gpus` more GPUs of the cluster have work beside the
// scenario.
void add_idle_node_note(const config::Scenario& scenario, const Hardware& hardware,
                        std::uint64_t other_gpus, Notes& notes) {
  const cluster::Cluster& cluster = hardware.cluster;
  if (!scenario.model || cluster.is_ideal() || !scenario.placement.hosts.empty()) return;
  std::set<std::uint32_t> busy;
  for (const cluster::Host* host : hardware.hosts) busy.insert(cluster.node_of(host));
  if (other_gpus > 0) {
    const std::unordered_set<const cluster::Host*> job_hosts(hardware.hosts.begin(),
                                                             hardware.hosts.end());
    std::uint64_t uncounted = other_gpus;
    for (const cluster::Host* host : cluster.gpus())
      if (uncounted > 0 && !job_hosts.contains(host)) {
        busy.insert(cluster.node_of(host));
        --uncounted;
      }
  }
  const std::size_t nodes = cluster.nodes().size();
  if (busy.size() >= nodes) return;
  const std::uint64_t used = hardware.hosts.size() + other_gpus;
  const std::uint64_t gpus = usable_gpus(scenario.placement, cluster);
  if (used >= gpus) return;
  const std::uint32_t dp = scenario.parallel.dp.value;
  std::string note =
      fmt::format("the job takes {} of {} GPUs: {} of {} {} are idle", used, cluster.gpus().size(),
                  nodes - busy.size(), nodes, site_of(hardware).rack_nodes > 0 ? "racks" : "nodes");
  if (const std::uint64_t gpus_per_replica = used / dp;
      other_gpus == 0 && gpus % gpus_per_replica == 0 &&
      accepts_dp(scenario, gpus / gpus_per_replica))
    note += fmt::format("; parallel.dp is {}, {} would use all GPUs", dp, gpus / gpus_per_replica);
  notes.push_back(std::move(note));
}

// Adds a note that says whose bubble the tables have, if documents give replicas or ranks different
// work. It is always that of the first replica.
void add_replica_note(const config::Scenario& scenario, const workload::Plan& plan, Notes& notes) {
  if (!scenario.training.lengths) return;
  const auto uneven = workload::uneven_work(scenario, plan.schedule, plan.costs);
  if (!uneven || !uneven->replicas_differ()) return;
  const std::uint32_t replicas = scenario.parallel.dp.value;
  if (scenario.training.lengths->balance == config::Lengths::Balance::context_parallel)
    notes.emplace_back(
        "bubble: ranks that share documents compute for as long as the slowest of them, "
        "in all replicas alike");
  else if (replicas > 1)
    notes.push_back(
        fmt::format("bubble: that of the first of {} replicas, which has the most work; "
                    "the others wait longer",
                    replicas));
}

// Adds a note if the time of the CPU's optimizer step follows from an assumed bandwidth.
void add_host_memory_note(const config::Scenario& scenario, const Hardware& hardware,
                          Notes& notes) {
  const auto& offload = scenario.training.optimizer.offload;
  if (!scenario.model || !offload) return;
  for (const config::Gpu& gpu : hardware.gpus)
    if (workload::assumes_host_memory(*offload, gpu)) {
      notes.push_back(fmt::format(
          "the cluster states no bandwidth of host memory (property host_memory_bandwidth): the "
          "optimizer step on the CPU assumes {:.3g} GB/s for each GPU, as beside 8 GPUs with two "
          "Xeon 8480C; training.optimizer.offload.memory_bandwidth sets it",
          workload::assumed_host_memory_bandwidth / 1e9));
      return;
    }
}

}  // namespace

Notes notes_before(const ScenarioRun& run, const NoteSetting& setting) {
  Notes notes;
  add_rule_notes(run, notes);
  add_model_notes(run.scenario(), notes);
  add_idle_sharding_notes(run.scenario(), notes);
  add_chunk_notes(run.plans(), notes);
  const Hardware& hardware = run.hardware();
  if (std::string note = straddling(hardware.ranks, hardware.hosts, hardware.cluster).note();
      !note.empty())
    notes.push_back(std::move(note));
  if (setting.shows_bubble) add_replica_note(run.scenario(), run.plans().front(), notes);
  add_idle_node_note(run.scenario(), hardware, setting.other_gpus, notes);
  add_host_memory_note(run.scenario(), hardware, notes);
  return notes;
}

Notes notes_of_reduction(const ScenarioRun& run) {
  Notes notes;
  for (std::size_t i = 0; i < run.plans().size(); ++i) {
    std::string note =
        reduction_note(run.scenario(), run.hardware(), run.plans()[i], run.reduction(i));
    if (!note.empty() && std::ranges::find(notes, note) == notes.end())
      notes.push_back(std::move(note));
  }
  return notes;
}

Notes notes_of_files(const std::vector<std::string>& schedules) {
  std::vector<std::string> files;
  for (const std::string& name : schedules)
    if (config::schedule_source(name) == config::ScheduleSource::torch_file &&
        std::ranges::find(files, name) == files.end() && workload::places_transfers(name))
      files.push_back(name);
  if (files.empty()) return {};
  return {
      fmt::format("{}: the placement of SEND and RECV is not simulated; 'pipewright schedule "
                  "check' checks it",
                  fmt::join(files, ", "))};
}

Notes notes_of_speed(const std::vector<analysis::Summary>& runs) {
  Notes notes;
  for (const analysis::Summary& run : runs)
    if (const double mfu = run.mfu_precision.value_or(0); mfu > 1)
      notes.push_back(
          fmt::format("{}: an MFU of {:.4g} % is more than the GPUs can do; the given pass times "
                      "are too short for this model",
                      run.run.schedule, 100 * mfu));
  return notes;
}

Notes notes_of_host(const ScenarioRun& run) {
  // Smallest share of a pass, spent waiting for the host, that is reported.
  constexpr double threshold = 0.01;
  Notes notes;
  for (const workload::Plan& plan : run.plans()) {
    const workload::StageCosts& costs = plan.costs;
    const std::uint32_t stages = plan.schedule.stages();
    std::uint32_t waiting = 0;
    double longest_share = 0;
    for (std::uint32_t stage = 0; stage < stages; ++stage) {
      double share = 0;
      for (const auto kind : {schedules::PassKind::forward, schedules::PassKind::backward}) {
        const schedules::Pass pass{kind, static_cast<std::uint16_t>(stage)};
        const double idle =
            costs.of(costs.host_waits, pass) - costs.of(costs.collective_waits, pass);
        if (idle > 0) share = std::max(share, idle / costs.times(pass));
      }
      longest_share = std::max(longest_share, share);
      waiting += share > threshold ? 1 : 0;
    }
    if (waiting > 0)
      notes.push_back(
          fmt::format("{}: passes of {} of {} stages wait for their host to launch kernels, up to "
                      "{:.0f} % of their time; training.cuda_graphs (layer or iteration) saves "
                      "launches",
                      plan.schedule.name, waiting, stages, 100 * longest_share));
  }
  return notes;
}

}  // namespace pipewright::evaluation
