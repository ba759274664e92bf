#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/measured/compare/metric.hpp"
#include "analysis/measured/compare/pass_times.hpp"
#include "analysis/report/summary.hpp"
#include "analysis/trace/sink.hpp"

namespace pipewright::analysis {

// Bytes that a run's rows say were sent.
struct Traffic {
  std::array<std::uint64_t, trace::traffic_classes> of_class{};  // boundary tensors, collectives
  std::map<std::string, std::uint64_t> of_link_class;            // over all links of it
  bool in_passes_on_links = false;  // of runs in full detail: collectives in passes too
};

// What comparisons need of one run.
struct RunFigures {
  std::string name;  // the file's
  Summary summary;
  // From the start of an iteration to that of the next, the optimizer's step included; unknown of
  // a single measured one.
  std::optional<double> iteration_s;
  Traffic traffic;
  std::vector<TimedPass> passes;  // as they came
};

// Gathers that from rows as they come; passes are the only rows that it keeps.
class RunFiguresSink final : public trace::Sink {
 public:
  void begin(const trace::RunInfo& run, const std::vector<trace::DeviceRow>& devices,
             const std::vector<trace::StageRow>& stages) override;
  void pass(const trace::PassRow& row) override;
  void transfer(const trace::TransferRow& row) override;
  void memory(const trace::MemoryRow& row) override { summary_.memory(row); }
  void collective(const trace::CollectiveRow& row) override;
  void step(const trace::StepRow& row) override { summary_.step(row); }
  bool wants_links() const override { return true; }
  void link(const trace::LinkRow& row) override { links_.push_back(row); }
  void link_use(const trace::LinkUseRow& row) override;
  void finish() override;

  RunFigures figures;

 private:
  SummarySink summary_;
  std::vector<trace::LinkRow> links_;
};

RunFigures read_figures(const std::filesystem::path& file);
RunFigures figures_of(const trace::Trace& trace, std::string name);

// Every number of the run that stands alone. Those of link classes are called link_bytes.CLASS.
Metrics metrics_of(const RunFigures& run);

}  // namespace pipewright::analysis
