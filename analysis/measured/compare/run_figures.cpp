#include "analysis/measured/compare/run_figures.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "analysis/measured/measured_run.hpp"
#include "analysis/report/palette.hpp"
#include "analysis/trace/reader.hpp"
#include "analysis/trace/sink.hpp"
#include "analysis/trace/tables.hpp"

namespace pipewright::analysis {
namespace {

// Returns the mean time between the starts of consecutive iterations.
std::optional<double> measured_iteration(const std::vector<TimedPass>& passes) {
  std::map<std::uint32_t, double> starts;
  for (const TimedPass& pass : passes) {
    const auto [start, is_new] = starts.emplace(pass.key.iteration, pass.start);
    if (!is_new) start->second = std::min(start->second, pass.start);
  }
  if (starts.size() < 2) return std::nullopt;
  return (starts.rbegin()->second - starts.begin()->second) /
         static_cast<double>(starts.size() - 1);
}

// Collects the figures of a run that its summary lacks: passes, traffic, and maxima of memory.
class OtherFigures final : public trace::Sink {
 public:
  void begin(const trace::RunInfo&, const std::vector<trace::DeviceRow>& devices,
             const std::vector<trace::StageRow>&) override {
    figures.memory_most.resize(devices.size());
  }
  void pass(const trace::PassRow& row) override { figures.passes.push_back(timed(row)); }
  void transfer(const trace::TransferRow& row) override { add(traffic_of(row.kind), row.bytes); }
  void memory(const trace::MemoryRow& row) override {
    std::uint64_t& most =
        figures.memory_most.at(row.device).at(static_cast<std::size_t>(row.category));
    most = std::max(most, row.bytes);
  }
  void collective(const trace::CollectiveRow& row) override {
    add(traffic_of(row.kind), row.bytes);
  }
  bool needs_links() const override { return true; }
  void link(const trace::LinkRow& row) override { links_.push_back(row); }
  void link_use(const trace::LinkUseRow& row) override {
    const trace::LinkRow& link = links_.at(row.link);
    figures.traffic.of_link_class[link.link_class] += row.bytes * link.alike;
    if (row.traffic == trace::TrafficClass::in_passes) figures.traffic.in_passes_on_links = true;
  }
  void finish() override {}

  RunFigures figures;

 private:
  void add(trace::TrafficClass traffic, std::uint64_t bytes) {
    figures.traffic.of_class.at(static_cast<std::size_t>(traffic)) += bytes;
  }

  std::vector<trace::LinkRow> links_;
};

// Collects the figures of a run from its rows, which `replay_rows` sends to a sink. The summary
// receives all rows, as in the reports of `run` and `show`, so its figures are theirs.
RunFigures collect(std::string name, const auto& replay_rows) {
  SummarySink summary;
  OtherFigures others;
  trace::Tee rows({&summary, &others});
  replay_rows(rows);
  RunFigures figures = std::move(others.figures);
  figures.name = std::move(name);
  figures.summary = summary.summary();
  const trace::RunInfo& run = figures.summary.run;
  figures.iteration_s = run.engine == measured_engine
                            ? measured_iteration(figures.passes)
                            : figures.summary.makespan_s / std::max(1U, run.iterations);
  return figures;
}

}  // namespace

RunFigures read_figures(const std::filesystem::path& file) {
  return collect(file.string(), [&](trace::Sink& sink) { trace::replay(file, sink); });
}

RunFigures figures_of(const trace::Trace& trace, std::string name) {
  return collect(std::move(name), [&](trace::Sink& sink) { trace::replay(trace, sink); });
}

Metrics metrics_of(const RunFigures& run) {
  const Summary& summary = run.summary;
  TimeParts largest;  // maximum over devices, of each part separately
  double busy = 0;
  double in_flight = 0;
  std::uint64_t memory = 0;
  for (const DeviceSummary& device : summary.devices) {
    largest.p2p = std::max(largest.p2p, device.parts.p2p);
    largest.in_passes = std::max(largest.in_passes, device.parts.in_passes);
    largest.gradients = std::max(largest.gradients, device.parts.gradients);
    largest.weights = std::max(largest.weights, device.parts.weights);
    busy = std::max(busy, device.busy_s);
    largest.optimizer = std::max(largest.optimizer, device.parts.optimizer);
    in_flight = std::max(in_flight, device.peak_in_flight);
    memory = std::max(memory, device.peak_memory_bytes);
  }
  Metrics metrics{
      {"makespan_s", "time", MetricKind::seconds, summary.makespan_s},
      {"iteration_s", "iteration", MetricKind::seconds, run.iteration_s},
      {"bubble_ratio", "bubble ratio", MetricKind::ratio, summary.bubble_ratio},
      {"span_bubble_s", "span bubble", MetricKind::seconds, summary.span_bubble_s},
      {"busy_s", "busy", MetricKind::seconds, busy},
      {"exposed_communication_s", "exposed communication", MetricKind::seconds,
       exposed_communication(summary)},
      {"p2p_s", "  point to point", MetricKind::seconds, largest.p2p},
      {"in_passes_s", "  collectives in passes", MetricKind::seconds, largest.in_passes},
      {"gradients_s", "  gradient reduction", MetricKind::seconds, largest.gradients},
      {"weights_s", "  weight gathering", MetricKind::seconds, largest.weights},
      {"optimizer_step_s", "optimizer step", MetricKind::seconds, largest.optimizer},
      {"peak_memory_bytes", "memory peak", MetricKind::bytes,
       memory > 0 ? std::optional<double>(static_cast<double>(memory)) : std::nullopt},
      {"peak_in_flight", "peak in flight", MetricKind::count, in_flight},
      {"samples_per_s", "throughput", MetricKind::samples_per_s, summary.samples_per_s},
      {"tokens_per_s", "throughput", MetricKind::tokens_per_s, summary.tokens_per_s},
      {"model_flops_per_gpu", "model FLOP/s per GPU", MetricKind::flops,
       summary.model_flops_per_gpu},
      {"mfu", "MFU of bf16 peak, causal attention", MetricKind::ratio, summary.mfu},
      {"mfu_full_attention", "MFU of bf16 peak, full attention", MetricKind::ratio,
       summary.mfu_full_attention},
      {"mfu_precision", "MFU of the precision's peak", MetricKind::ratio, summary.mfu_precision},
      {"hfu", "HFU of bf16 peak", MetricKind::ratio, summary.hfu},
  };
  const auto classes = trace::enum_names(trace::ColumnType::traffic_class);
  for (std::size_t i = 0; i < static_cast<std::size_t>(trace::TrafficClass::in_passes); ++i)
    metrics.push_back({fmt::format("{}_bytes", classes[i]),
                       fmt::format("traffic, {}", traffic_styles.at(i).words), MetricKind::bytes,
                       static_cast<double>(run.traffic.of_class[i])});
  for (const auto& [name, bytes] : run.traffic.of_link_class)
    metrics.push_back(
        {"link_bytes." + name, "links, " + name, MetricKind::bytes, static_cast<double>(bytes)});
  return metrics;
}

}  // namespace pipewright::analysis
