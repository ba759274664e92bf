#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/report/statistics.hpp"
#include "validation/accuracy.hpp"

namespace pipewright::accuracy {
namespace {

// ln(measured / predicted) of an iteration's time; nothing of rows that are of something else.
std::optional<double> miss(const Table& table, const Row& row) {
  if (table.tells_no_band || row.kind.model.empty() || !row.against.empty() ||
      std::isnan(row.predicted))
    return std::nullopt;
  if (table.unit == "s") return std::log(row.measured / row.predicted);
  if (table.unit == "samples/s") return std::log(row.predicted / row.measured);
  return std::nullopt;
}

// Runs of one model in one table.
using Alike = std::pair<std::string, RunKind>;

struct Misses {
  std::vector<double> all;
  std::map<Alike, std::vector<double>> alike;

  void add(const Alike& of, double one) {
    all.push_back(one);
    alike[of].push_back(one);
  }
};

std::string line_of(const std::string& kind, const Misses& misses) {
  double squares = 0;
  std::size_t freedom = 0;
  for (const auto& [of, each] : misses.alike) {
    double mean = 0;
    for (const double one : each) mean += one / static_cast<double>(each.size());
    for (const double one : each) squares += (one - mean) * (one - mean);
    freedom += each.size() - 1;
  }
  const auto percent = [&](double part) {
    return 100 * (std::exp(analysis::quantile(misses.all, part)) - 1);
  };
  const std::string scatter =
      freedom == 0 ? ""
                   : fmt::format("{:.2f}", 100 * std::sqrt(squares / static_cast<double>(freedom)));
  return fmt::format("{},{},{:.2f},{:.2f},{:.2f},{},{}\n", kind, misses.all.size(), percent(0.05),
                     percent(0.5), percent(0.95), freedom, scatter);
}

}  // namespace

std::string bands(const std::vector<Table>& tables) {
  constexpr const char* any = "any";
  std::map<std::string, Misses> by_kind;
  for (const Table& table : tables)
    for (const Row& row : table.rows) {
      const std::optional<double> one = miss(table, row);
      if (!one) continue;
      const std::string model = row.kind.has_experts ? "experts" : "dense";
      // Where a kind has few rows, those of the same precision or model tell most.
      for (const std::string& kind :
           {fmt::format("{},{},{}", row.kind.gpu, row.kind.precision, model),
            fmt::format("{},{},{}", any, row.kind.precision, model),
            fmt::format("{},{},{}", any, any, model)})
        by_kind[kind].add({table.title, row.kind}, *one);
    }
  std::string text =
      "gpu,precision,model,rows,measured_over_predicted_p5_percent,p50_percent,p95_percent,"
      "compared_rows,scatter_percent\n";
  for (const auto& [kind, misses] : by_kind) text += line_of(kind, misses);
  return text;
}

}  // namespace pipewright::accuracy
