// Fits the shipped cluster files to parts of published logs of collectives and tries each fit on
// the rest, in the four ways of `pipewright comm fit`: prints the table of docs/accuracy.md. Fails
// if fits are worse than the files that they began with in more than one case of ten.
//
// The logs are read where they lie: in $PIPEWRIGHT_REFERENCE, or else ../shared/reference beside
// the project.

#include <array>
#include <map>
#include <string_view>

#include <fmt/format.h>
#include <sys/mman.h>

#include "sim/comm/fit.hpp"
#include "sim/config/text/library.hpp"
#include "support/reference.hpp"
#include "validation/apart.hpp"
#include "validation/network_rows.hpp"

using namespace pipewright;

namespace {

struct Log {
  std::string name;
  std::string cluster;
  std::vector<analysis::Measurement> rows;
};

struct Device {
  std::string_view name;
  std::string_view cluster;
};
// Boards of the same NVLink share a file.
constexpr std::array devices{
    Device{"NVIDIA A100-SXM4-80GB", "dgx-a100"}, Device{"NVIDIA H100 80GB HBM3", "dgx-h100"},
    Device{"NVIDIA H200", "dgx-h200"},           Device{"NVIDIA B200", "dgx-b200"},
    Device{"NVIDIA B300 SXM6 AC", "dgx-b300"},   Device{"NVIDIA GB200", "gb200-nvl72"},
    Device{"NVIDIA GB300", "gb300-nvl72"},
};

// Of each number of GPUs a log, and one of all.
void add_logs(std::vector<Log>& logs, const std::string& name, const std::string& cluster,
              const std::vector<analysis::Measurement>& rows) {
  std::map<std::uint32_t, std::vector<analysis::Measurement>> by_ranks;
  for (const analysis::Measurement& row : rows) by_ranks[row.ranks].push_back(row);
  for (const auto& [ranks, those] : by_ranks)
    logs.push_back({fmt::format("{}, {}", name, ranks), cluster, those});
  if (by_ranks.size() > 1)
    logs.push_back(
        {fmt::format("{}, {} to {}", name, by_ranks.begin()->first, by_ranks.rbegin()->first),
         cluster, rows});
}

std::vector<analysis::Measurement> domain_rows(const std::filesystem::path& csv,
                                               std::string_view device) {
  std::vector<analysis::Measurement> rows;
  int line = 1;
  for (const auto& cells : tests::read_csv(csv)) {
    ++line;
    const auto operation =
        analysis::parse_operation(cells.at("op") == "alltoall" ? "all-to-all" : cells.at("op"));
    if (cells.at("device") != device || !operation) continue;
    rows.push_back({.operation = *operation,
                    .ranks = static_cast<std::uint32_t>(std::stoul(cells.at("gpus"))),
                    .nodes = 1,
                    .bytes = std::stoull(cells.at("size_bytes")),
                    .seconds = std::stod(cells.at("time_us")) / 1e6,
                    .type = "",
                    .file = csv.string(),
                    .line = line});
  }
  return rows;
}

struct Tally {
  int cases = 0;
  int better = 0;
  int equal = 0;
};

// Half a tenth of a percent is what the table does not show.
constexpr double shown = 0.0005;

bool try_log(const Log& log, Tally& tally) {
  cluster::Cluster cluster =
      cluster::Cluster::load(config::library_file("clusters", log.cluster, ".xml"), log.cluster);
  const analysis::FitReport report =
      comm::fit(cluster, log.rows, comm::held_out_rows(log.rows, comm::HoldOut::none));
  std::string cells;
  for (const analysis::FitTrial& trial : report.trials) {
    if (trial.after.empty()) {
      cells += " | -";
      continue;
    }
    const double before = summarize(trial.before).median;
    const double after = summarize(trial.after).median;
    ++tally.cases;
    if (after < before - shown)
      ++tally.better;
    else if (after <= before + shown)
      ++tally.equal;
    cells += fmt::format(" | {:.1f} to {:.1f}{}", 100 * before, 100 * after,
                         after > before + shown ? " (worse)" : "");
  }
  fmt::print("| {} | {} | {}{} |\n", log.name, log.cluster, log.rows.size(), cells);
  return true;
}

}  // namespace

int main() {
  const auto folder = tests::reference_folder();
  const auto curves = folder / "nccl_curves.csv";
  const auto domain = folder / "2026" / "aic_nccl_one_nvlink_domain.csv";
  for (const auto& file : {curves, domain})
    if (!std::filesystem::exists(file)) {
      fmt::print("skipped: {}: no such file\n", file.string());
      return 0;
    }
  std::vector<Log> logs;
  for (const accuracy::MeasuredNetwork& network : accuracy::measured_networks())
    add_logs(logs, std::string(network.name), std::string(network.cluster),
             accuracy::network_rows(curves, network));
  for (const Device& device : devices)
    add_logs(logs, std::string(device.name), std::string(device.cluster),
             domain_rows(domain, device.name));

  void* const shared =
      ::mmap(nullptr, sizeof(Tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 1;
  Tally& tally = *new (shared) Tally;
  fmt::print(
      "| log, GPUs | cluster file | rows | every other size | upper half of sizes | most ranks | "
      "a whole operation |\n|---|---|---:|---:|---:|---:|---:|\n");
  int failed = 0;
  for (const Log& log : logs)
    failed += accuracy::apart([&] { return try_log(log, tally); }) ? 0 : 1;
  const int worse = tally.cases - tally.better - tally.equal;
  fmt::print("\nOf {} cases the fit is better than its file in {}, equal in {}, worse in {}.\n",
             tally.cases, tally.better, tally.equal, worse);
  return failed == 0 && 10 * worse <= tally.cases ? 0 : 1;
}
