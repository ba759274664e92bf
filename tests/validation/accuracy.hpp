#pragma once

#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/summary.hpp"
#include "sim/evaluation/expected_error.hpp"
#include "sim/workload/stage_costs.hpp"

// Published measurements and what the simulator makes of them.
namespace pipewright::accuracy {

// One run of a scenario, as a row looks at it.
struct Run {
  const analysis::Summary& summary;
  const workload::StageCosts& costs;
  double host_pass = 0;  // seconds of the host that a pass has whatever it does
  // Bytes of the CUDA context and of NCCL, which PyTorch's allocator does not count.
  std::uint64_t outside_allocator = 0;
};

// What kind of run a scenario is.
struct RunKind {
  evaluation::RunKind run;     // without a GPU if passes are given
  std::string model;           // its name, or its sizes
  std::uint64_t sequence = 0;  // tokens of a sample
  std::uint64_t gpus = 0;      // number of GPUs of the run
  // Bit i is set if the run has row i of the table of capabilities (capabilities.hpp).
  std::uint64_t capabilities = 0;

  auto operator<=>(const RunKind&) const = default;
};

struct Row {
  std::string name;
  std::string scenario;  // YAML, as a user would write it; empty: it is predicted already
  std::function<double(const Run&)> predict;
  double measured = 0;     // in the table's unit, as the prediction
  bool is_fitted = false;  // parameters of the GPU were fitted to it: platforms/README.md
  double predicted = std::numeric_limits<double>::quiet_NaN();
  std::vector<std::string> settings = {};  // "model.layers=12", as --set takes them
  // Another scenario, of a pair: what is predicted and measured is in proportion to its.
  std::string against = {};
  // Rows of one job are layouts of the same model, batch and number of GPUs: a user chooses one.
  std::string job = {};
  // Of GPUs at the clock at which kernels were measured alone and of a host that costs nothing: the
  // two numbers of a GPU that may be fitted to whole runs.
  double bare = std::numeric_limits<double>::quiet_NaN();
  RunKind kind = {};  // known once it is predicted

  double error() const { return 100 * (predicted / measured - 1); }  // %
  double bare_error() const { return 100 * (bare / measured - 1); }
};

// What errors may be at the most, in %: of the mean of their absolute values, of their mean with
// its sign, of each.
struct Bars {
  double mean = std::numeric_limits<double>::infinity();
  double bias = std::numeric_limits<double>::infinity();
  double each = std::numeric_limits<double>::infinity();
};

struct Table {
  std::string title;
  std::string unit;
  Bars bars = {};
  std::vector<Row> rows = {};
  std::string skipped = {};   // why there are no rows
  std::string left_out = {};  // which rows of the source are not here, and why
};

double makespan(const Run& run);  // seconds
// The peak of what tensors hold, as PyTorch reports it: of a device, of the one that has most.
double allocated_gib(const analysis::DeviceSummary& device);
double peak_gib(const Run& run);
// The same with what the allocator wastes: PyTorch's reserved memory.
double reserved_gib(const Run& run);
// The same with the CUDA context and NCCL's buffers too: nvidia-smi's memory of the fullest GPU.
double occupied_gib(const Run& run);

// One function per reference table. `reference` is the folder of the data that is read in place.
Table zero_bubble_throughput();
Table zero_bubble_measured();
Table zero_bubble_memory();
Table zero_bubble_passes();
Table megatron_iterations();
Table recompute_iterations();
Table recompute_layers();
Table grid_search();
Table llama_iterations();
std::vector<Table> sailor(const std::filesystem::path& reference);
Table laer_moe(const std::filesystem::path& reference);
Table vtrain_iterations(const std::filesystem::path& reference);
Table vtrain_single_node(const std::filesystem::path& reference);
Table vocabulary_iterations(const std::filesystem::path& reference);
std::vector<Table> vocabulary_models(const std::filesystem::path& reference);
std::vector<Table> simumax(const std::filesystem::path& reference);
std::vector<Table> nemo(const std::filesystem::path& reference);
std::vector<Table> megatron_bridge(const std::filesystem::path& reference);
std::vector<Table> fine_tuning(const std::filesystem::path& reference);
std::vector<Table> bridge_pairs(const std::filesystem::path& reference);
std::vector<Table> bridge_experts(const std::filesystem::path& reference);
std::vector<Table> torchtitan(const std::filesystem::path& reference);
std::vector<Table> mlperf(const std::filesystem::path& reference);
std::vector<Table> megatron_releases(const std::filesystem::path& reference);
std::vector<Table> megatron_tests(const std::filesystem::path& reference);
std::vector<Table> bloom_prequel(const std::filesystem::path& reference);
std::vector<Table> bridge_cards(const std::filesystem::path& reference);
Table nemo_2407(const std::filesystem::path& reference);
std::vector<Table> nemo_blackwell(const std::filesystem::path& reference);
std::vector<Table> moe_folding(const std::filesystem::path& reference);
std::vector<Table> amd(const std::filesystem::path& reference);
std::vector<Table> llm_foundry(const std::filesystem::path& reference);
std::vector<Table> torchtitan_runs(const std::filesystem::path& reference);
std::vector<Table> automodel(const std::filesystem::path& reference);
std::vector<Table> internevo(const std::filesystem::path& reference);
std::vector<Table> nanotron(const std::filesystem::path& reference);

// The path of a file of that name and text, which is written once and lives as long as the program.
std::string temporary_file(const std::string& name, const std::function<std::string()>& text);

// A platform file of so many nodes of a kind, made as `pipewright platform make` makes it, on
// rails. Lives as long as the program.
std::string cluster_of(const std::string& kind, std::uint32_t nodes);
// The same with NICs of another payload bandwidth, in bytes/s, and with that many nodes on a leaf
// switch; 0: the default.
std::string cluster_with_nics(const std::string& kind, std::uint32_t nodes, double bandwidth,
                              std::uint32_t leaf_nodes = 0);

// Runs the scenarios, each distinct one once and in a process of its own, several at a time, and
// sets what the rows predict. Throws std::runtime_error if one fails.
void predict(std::vector<Table>& tables);

// ln(measured / predicted) of an iteration's time; no value for rows with another quantity.
std::optional<double> log_error(const Table& table, const Row& row);

// Errors of the predicted iteration times of all tables, by source and kind of run. A source is
// what the titles of its tables begin with.
std::vector<evaluation::MeasuredRuns> measured_runs(const std::vector<Table>& tables);
// The text of platforms/accuracy/iterations.csv, which has at most ten quantiles of the errors of a
// source and kind.
std::string bands(const std::vector<Table>& tables);
// Prints how many runs of each source lie within the expected error that all other sources give.
// True if these are 85 to 95 % of the runs, and 85 to 95 % of a source's runs in the mean over
// sources.
bool print_coverage(const std::vector<Table>& tables);

// Returns every row of the tables as CSV: its set, the kind of its run, and what was measured and
// predicted.
std::string rows_csv(const std::vector<Table>& tables);

// Prints a table. True if it meets its bars, with a prediction of every row.
bool print(const Table& table);
// Returns the errors of each table, as docs/accuracy.md shows them in Markdown.
std::string overview(const std::vector<Table>& tables);

}  // namespace pipewright::accuracy
