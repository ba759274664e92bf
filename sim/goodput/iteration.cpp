#include "sim/goodput/iteration.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analysis/report/job.hpp"
#include "analysis/trace/evidence_json.hpp"
#include "sim/evaluation/run_notes.hpp"
#include "sim/evaluation/scenario_run.hpp"
#include "sim/evaluation/site.hpp"
#include "sim/process/run.hpp"
#include "sim/workload/model/state.hpp"
#include "sim/workload/shape/shape.hpp"

namespace pipewright::goodput {
namespace {

using nlohmann::json;

// Returns the GPUs of the cluster's nodes that are spares. The nodes of the job have `job_gpus`.
std::uint64_t spare_gpus(const config::Scenario& scenario, const analysis::Site& site,
                         std::size_t job_gpus) {
  if (!scenario.goodput || site.nodes == 0) return 0;
  const config::Goodput& goodput = *scenario.goodput;
  std::uint64_t nodes = goodput.spares.value_or(0);
  if (goodput.spares_are_racks) nodes *= site.rack_nodes;
  const std::uint32_t idle = site.cluster_nodes - std::min(site.cluster_nodes, site.nodes);
  if (goodput.rest_is_spare) nodes = idle;
  return std::min<std::uint64_t>(nodes, idle) * (job_gpus / site.nodes);
}

std::string figures(const config::Scenario& scenario) {
  evaluation::ScenarioRun run(scenario);
  evaluation::TrafficSink traffic;
  const analysis::Summary summary = run.run(0, {&traffic});
  const double iterations = scenario.iterations.value;
  const double seconds = summary.makespan_s / iterations;
  const evaluation::Hardware& hardware = run.hardware();
  const analysis::Site site = evaluation::site_of(hardware);
  const std::string job = summary.job ? analysis::describe(*summary.job) : "";
  std::string subject = evaluation::label(run.plans().front().schedule);
  if (!job.empty()) subject += ": " + job;
  json result{
      {"subject", subject},
      {"seconds", seconds},
      {"gpus", hardware.ranks.size()},
      {"nodes", site.nodes},
      {"cluster_nodes", site.cluster_nodes},
      {"racks", site.racks},
      {"rack_nodes", site.rack_nodes},
      {"state_bytes", state_bytes(scenario)},
      {"traffic_bytes", traffic.bytes(scenario, hardware)},
      {"notes", evaluation::notes_before(
                    run, {.shows_bubble = false,
                          .other_gpus = spare_gpus(scenario, site, hardware.ranks.size())})}};
  nlohmann::ordered_json evidence;
  trace::add_evidence(evidence, summary.run.evidence);
  result["evidence"] = std::move(evidence);
  for (const std::string& note : evaluation::notes_of_reduction(run))
    result["notes"].push_back(note);
  if (run.plans().size() > 1)
    result["notes"].push_back(
        fmt::format("the scenario has {} schedules; the figures are those of the first, {}; "
                    "--schedule selects another",
                    run.plans().size(), evaluation::label(run.plans().front().schedule)));
  if (summary.tokens_per_s) result["tokens"] = *summary.tokens_per_s * seconds;
  return result.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

double state_bytes(const config::Scenario& scenario) {
  constexpr double bf16 = 2;
  if (scenario.model) {
    const config::Model& model = scenario.model->value;
    const workload::Parameters trained =
        workload::whole_parameters(model, scenario.training).trained();
    // Frozen weights are those of the checkpoint from which training started.
    const std::uint64_t saved = scenario.training.trains_all() && !scenario.training.vision
                                    ? workload::parameter_count(model)
                                    : trained.total();
    const double all = config::optimizer_bytes(scenario.training);
    const double of_matrix = config::matrix_optimizer_bytes(scenario.training);
    return (bf16 + all) * static_cast<double>(saved) +
           (of_matrix - all) * static_cast<double>(trained.matrices + trained.expert_matrices);
  }
  double bytes = 0;
  for (std::uint32_t device = 0; device < scenario.devices.value; ++device)
    bytes += static_cast<double>(scenario.state.weights.at(device)) +
             static_cast<double>(scenario.state.optimizer.at(device));
  return bytes;
}

Iteration simulate_iteration(const config::Scenario& scenario) {
  const process::Result ran = process::run([&] { return figures(scenario); });
  if (ran.failed) throw std::runtime_error(ran.text);
  const json result = json::parse(ran.text);
  Iteration iteration{.subject = result["subject"],
                      .seconds = result["seconds"],
                      .gpus = result["gpus"],
                      .nodes = result["nodes"],
                      .cluster_nodes = result["cluster_nodes"],
                      .racks = result["racks"],
                      .rack_nodes = result["rack_nodes"],
                      .state_bytes = result["state_bytes"],
                      .traffic_bytes = result["traffic_bytes"],
                      .expected_error = trace::read_evidence(result["evidence"]).expected_error,
                      .notes = result["notes"]};
  if (result.contains("tokens")) iteration.tokens = result["tokens"].get<double>();
  return iteration;
}

}  // namespace pipewright::goodput
