#include "sim/goodput/iteration.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analysis/job.hpp"
#include "sim/evaluation/run_notes.hpp"
#include "sim/evaluation/scenario_run.hpp"
#include "sim/process/run.hpp"
#include "sim/workload/shape/shape.hpp"

namespace pipewright::goodput {
namespace {

using nlohmann::json;

// Of transfers between stages and of what replicas reduce and gather, which goes to the network;
// what passes say within a node does not.
class TrafficSink final : public trace::Sink {
 public:
  void begin(const trace::RunInfo&, const std::vector<trace::DeviceRow>&,
             const std::vector<trace::StageRow>&) override {}
  void pass(const trace::PassRow&) override {}
  void transfer(const trace::TransferRow& row) override { add(row.bytes, 1); }
  void memory(const trace::MemoryRow&) override {}
  void collective(const trace::CollectiveRow& row) override {
    // A ring passes an all-reduce twice.
    add(row.bytes, row.kind == trace::CollectiveKind::gather_weights ? 1 : 2);
  }
  void step(const trace::StepRow&) override {}
  void finish() override {}

  double bytes() const { return bytes_; }

 private:
  void add(std::uint64_t bytes, double times) { bytes_ += static_cast<double>(bytes) * times; }
  double bytes_ = 0;
};

// A checkpoint has the weights and what the optimizer keeps of each parameter: 14 bytes with bf16
// and Adam in fp32, as Megatron-LM writes it.
double state_bytes(const config::Scenario& scenario) {
  constexpr double bf16 = 2;
  if (scenario.model) {
    const double each = bf16 + config::optimizer_bytes(scenario.training);
    return each * static_cast<double>(workload::parameter_count(scenario.model->value));
  }
  double bytes = 0;
  for (std::uint32_t device = 0; device < scenario.devices.value; ++device)
    bytes += static_cast<double>(scenario.state.weights.at(device)) +
             static_cast<double>(scenario.state.optimizer.at(device));
  return bytes;
}

std::uint32_t nodes_of(const evaluation::Hardware& hardware) {
  constexpr std::uint32_t usual = 8;  // GPUs of a node, where no cluster says it
  if (hardware.cluster.is_ideal()) return (hardware.ranks.size() + usual - 1) / usual;
  std::set<std::uint32_t> nodes;
  for (const cluster::Host* host : hardware.hosts) nodes.insert(hardware.cluster.node_of(host));
  return static_cast<std::uint32_t>(nodes.size());
}

std::string figures(const config::Scenario& scenario) {
  evaluation::ScenarioRun run(scenario);
  TrafficSink traffic;
  const analysis::Summary summary = run.run(0, {&traffic});
  const double iterations = scenario.iterations.value;
  const double seconds = summary.makespan_s / iterations;
  const evaluation::Hardware& hardware = run.hardware();
  const double copies = static_cast<double>(hardware.ranks.size()) / scenario.devices.value;
  const std::string job = summary.job ? analysis::describe(*summary.job) : "";
  std::string what = evaluation::label(run.plans().front().schedule);
  if (!job.empty()) what += ": " + job;
  json found{{"what", what},
             {"seconds", seconds},
             {"gpus", hardware.ranks.size()},
             {"nodes", nodes_of(hardware)},
             {"state_bytes", state_bytes(scenario)},
             {"traffic_bytes", traffic.bytes() * copies / iterations},
             {"notes", evaluation::notes_before(run)}};
  if (summary.tokens_per_s) found["tokens"] = *summary.tokens_per_s * seconds;
  return found.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

Iteration simulate_iteration(const config::Scenario& scenario) {
  const process::Result ran = process::run([&] { return figures(scenario); });
  if (ran.failed) throw std::runtime_error(ran.text);
  const json found = json::parse(ran.text);
  Iteration iteration{.what = found["what"],
                      .seconds = found["seconds"],
                      .gpus = found["gpus"],
                      .nodes = found["nodes"],
                      .state_bytes = found["state_bytes"],
                      .traffic_bytes = found["traffic_bytes"],
                      .notes = found["notes"]};
  if (found.contains("tokens")) iteration.tokens = found["tokens"].get<double>();
  return iteration;
}

}  // namespace pipewright::goodput
