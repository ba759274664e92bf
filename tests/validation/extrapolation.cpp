// Fits the shipped cluster files to parts of published logs of collectives and tries each fit on
// the rest, in the four ways of `pipewright comm fit`: prints the table of docs/accuracy.md. Fails
// if fits are worse than the files that they began with in more than one case of ten.
//
// The logs are read where they lie: in $PIPEWRIGHT_REFERENCE, or else ../shared/reference beside
// the project.

#include <map>

#include <fmt/format.h>
#include <sys/mman.h>

#include "sim/comm/fit.hpp"
#include "support/reference.hpp"
#include "validation/apart.hpp"
#include "validation/network_rows.hpp"

using namespace pipewright;

namespace {

struct Log {
  std::string name;
  const accuracy::MeasuredNetwork* network = nullptr;
  std::vector<analysis::Measurement> rows;
};

// Of each number of GPUs a log, and one of all.
void add_logs(std::vector<Log>& logs, const accuracy::MeasuredNetwork& network,
              const std::vector<analysis::Measurement>& rows) {
  const std::string_view title =
      network.file == accuracy::between_nodes_file ? network.name : network.hardware;
  std::map<std::uint32_t, std::vector<analysis::Measurement>> by_ranks;
  for (const analysis::Measurement& row : rows) by_ranks[row.ranks].push_back(row);
  for (const auto& [ranks, those] : by_ranks)
    logs.push_back({fmt::format("{}, {}", title, ranks), &network, those});
  if (by_ranks.size() > 1)
    logs.push_back(
        {fmt::format("{}, {} to {}", title, by_ranks.begin()->first, by_ranks.rbegin()->first),
         &network, rows});
}

struct Tally {
  int cases = 0;
  int better = 0;
  int equal = 0;
  double worst = 0;  // largest growth of a median error by a fit
};

// Half a tenth of a percent is what the table does not show.
constexpr double shown = 0.0005;

bool try_log(const Log& log, Tally& tally) {
  cluster::Cluster cluster = accuracy::load(*log.network);
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
    tally.worst = std::max(tally.worst, after - before);
    if (after < before - shown)
      ++tally.better;
    else if (after <= before + shown)
      ++tally.equal;
    cells += fmt::format(" | {:.1f} to {:.1f}{}", 100 * before, 100 * after,
                         after > before + shown ? " (worse)" : "");
  }
  fmt::print("| {} | {} | {}{} |\n", log.name, log.network->cluster, log.rows.size(), cells);
  return true;
}

}  // namespace

int main() {
  const auto folder = tests::reference_folder();
  std::vector<Log> logs;
  for (const accuracy::MeasuredNetwork& network : accuracy::measured_networks()) {
    if (!std::filesystem::exists(folder / network.file)) {
      fmt::print("skipped: {}: no such file\n", (folder / network.file).string());
      return 0;
    }
    add_logs(logs, network, accuracy::network_rows(folder, network));
  }
  for (const accuracy::MeasuredNetwork& network : accuracy::networks_between_nodes())
    if (network.file == accuracy::between_nodes_file &&
        std::filesystem::exists(folder / network.file))
      add_logs(logs, network, accuracy::network_rows(folder, network));

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
  fmt::print(
      "\nOf {} cases the fit is better than its file in {}, equal in {}, worse in {}; "
      "at worst by {:.1f} %.\n",
      tally.cases, tally.better, tally.equal, worse, 100 * tally.worst);
  return failed == 0 && 10 * worse <= tally.cases ? 0 : 1;
}
