#include "analysis/search/page_columns.hpp"

#include <cmath>
#include <functional>
#include <unordered_map>

#include "analysis/search/choices.hpp"
#include "analysis/search/findings.hpp"
#include "analysis/search/runner_up.hpp"

namespace pipewright::analysis {
namespace {

template <class Value>
void put(std::string& bytes, Value value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

bool is_known(const CandidateRow& row) { return seconds_of(row) > 0; }

double known_cost(const SearchRun& run, const CandidateRow& row) {
  if (!is_known(row)) return 0;
  const double cost = cost_of(run, row);
  return std::isfinite(cost) ? cost : 0;
}

}  // namespace

PageColumns page_columns(const SearchRun& run) {
  PageColumns columns;
  const auto reals = [&](const std::function<double(const CandidateRow&)>& value) {
    for (const CandidateRow& row : run.rows) put(columns.bytes, value(row));
  };
  reals([](const CandidateRow& row) { return static_cast<double>(row.candidate); });
  reals([&](const CandidateRow& row) { return known_cost(run, row); });
  reals([](const CandidateRow& row) { return throughput(row.work, seconds_of(row)); });
  reals(seconds_of);
  reals([](const CandidateRow& row) { return row.bound_s; });
  reals([](const CandidateRow& row) { return mfu(row.work, seconds_of(row)); });
  reals([](const CandidateRow& row) { return row.bubble_ratio; });
  reals([](const CandidateRow& row) { return row.span_bubble_s; });
  reals([](const CandidateRow& row) { return static_cast<double>(row.peak_bytes); });
  reals([](const CandidateRow& row) { return static_cast<double>(row.capacity_bytes); });
  reals([](const CandidateRow& row) { return static_cast<double>(row.work.gpus); });
  for (const PartWords& part : part_words)
    reals([&](const CandidateRow& row) { return row.parts.*part.part; });

  std::unordered_map<std::string_view, std::uint32_t> known;
  for (const CandidateRow& row : run.rows) {
    const auto [at, is_new] =
        known.try_emplace(row.note, static_cast<std::uint32_t>(columns.notes.size()));
    if (is_new) columns.notes.push_back(row.note);
    put(columns.bytes, at->second);
  }
  for (const CandidateRow& row : run.rows)
    put(columns.bytes, static_cast<std::uint16_t>(row.group));
  std::string axes(2 * run.axes.size() * run.rows.size(), '\0');
  for (std::size_t i = 0; i < run.rows.size(); ++i) {
    const std::vector<std::uint32_t> digits = choices(run.axes, run.rows[i].candidate);
    for (std::size_t axis = 0; axis < digits.size(); ++axis) {
      const std::size_t at = 2 * (axis * run.rows.size() + i);
      axes[at] = static_cast<char>(digits[axis] & 0xFF);
      axes[at + 1] = static_cast<char>(digits[axis] >> 8);
    }
  }
  columns.bytes += axes;
  for (const CandidateRow& row : run.rows) put(columns.bytes, row.outcome);
  return columns;
}

}  // namespace pipewright::analysis
