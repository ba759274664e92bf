#include "sim/comm/accuracy_records.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "analysis/report/units_text.hpp"
#include "sim/comm/prediction.hpp"

namespace pipewright::comm {
namespace {

using analysis::ComparedRow;
using analysis::Measurement;
using cluster::Record;

bool describes_same_rows(const Record& lhs, const Record& rhs) {
  return lhs.operation == rhs.operation && lhs.held_out == rhs.held_out &&
         lhs.source == rhs.source && (lhs.max_nodes == 1) == (rhs.max_nodes == 1);
}

Record empty_record() {
  constexpr auto limit = std::numeric_limits<std::uint32_t>::max();
  return {.operation = {},
          .min_ranks = limit,
          .min_nodes = limit,
          .min_bytes = std::numeric_limits<std::uint64_t>::max(),
          .source = {}};
}

void widen(Record& record, const Measurement& row, std::uint32_t nodes) {
  record.min_ranks = std::min(record.min_ranks, row.ranks);
  record.max_ranks = std::max(record.max_ranks, row.ranks);
  record.min_nodes = std::min(record.min_nodes, nodes);
  record.max_nodes = std::max(record.max_nodes, nodes);
  record.min_bytes = std::min(record.min_bytes, row.bytes);
  record.max_bytes = std::max(record.max_bytes, row.bytes);
}

template <class Number, class Text>
std::string range_text(Number minimum, Number maximum, const Text& text) {
  return minimum == maximum ? text(maximum) : fmt::format("{} to {}", text(minimum), text(maximum));
}

std::string record_sentence(const Record& record) {
  const auto count_text = [](std::uint32_t count) { return fmt::format("{}", count); };
  return fmt::format("{}, {} ranks, {}: median {}, 90th percentile {} ({})", record.operation,
                     range_text(record.min_ranks, record.max_ranks, count_text),
                     range_text(record.min_bytes, record.max_bytes, analysis::format_exact_bytes),
                     analysis::format_percent(record.median), analysis::format_percent(record.p90),
                     record.held_out ? "held out" : "fitted");
}

}  // namespace

std::uint32_t node_count(const cluster::Cluster& cluster, const Measurement& row) {
  if (row.nodes != 0) return row.nodes;
  const execution::RankPlacement placement = benchmark_run(cluster, row).placement;
  std::set<std::uint32_t> nodes;
  for (std::uint32_t rank = 0; rank < placement.size(); ++rank) nodes.insert(placement.node(rank));
  return static_cast<std::uint32_t>(nodes.size());
}

std::vector<Record> records_of(const cluster::Cluster& cluster, std::span<const ComparedRow> rows,
                               bool held_out, const std::string& source) {
  // number of nodes that ranks occupy, keyed by a row's (ranks, nodes)
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> nodes;
  std::map<std::pair<analysis::Operation, bool>, std::vector<const ComparedRow*>> kinds;
  const auto nodes_on = [&](const Measurement& row) {
    const auto [entry, is_new] = nodes.try_emplace({row.ranks, row.nodes});
    if (is_new) entry->second = node_count(cluster, row);
    return entry->second;
  };
  for (const ComparedRow& row : rows)
    kinds[{row.measured.operation, nodes_on(row.measured) > 1}].push_back(&row);
  std::vector<Record> records;
  for (const auto& [kind, rows_of_kind] : kinds) {
    Record record = empty_record();
    std::vector<ComparedRow> compared;
    for (const ComparedRow* row : rows_of_kind) {
      widen(record, row->measured, nodes_on(row->measured));
      compared.push_back(*row);
    }
    const analysis::ErrorSummary errors = summarize(compared);
    record.operation = to_string(kind.first);
    record.rows = errors.rows;
    record.median = errors.median;
    record.p90 = errors.p90;
    record.held_out = held_out;
    record.source = source;
    records.push_back(std::move(record));
  }
  return records;
}

std::vector<Record> records_of(const cluster::Cluster& cluster, const analysis::FitReport& report) {
  std::vector<ComparedRow> fitted;
  std::vector<ComparedRow> held_out;
  for (const ComparedRow& row : report.after) (row.held_out ? held_out : fitted).push_back(row);
  for (const analysis::FitTrial& trial : report.trials)
    held_out.insert(held_out.end(), trial.after.begin(), trial.after.end());
  std::vector<Record> records = records_of(cluster, held_out, true, source_text(report.after));
  for (Record& record : records_of(cluster, fitted, false, source_text(report.after)))
    records.push_back(std::move(record));
  return records;
}

std::vector<Record> merge_records(std::span<const Record> file_records,
                                  std::span<const Record> new_records) {
  std::vector<Record> merged(file_records.begin(), file_records.end());
  for (const Record& record : new_records) {
    const auto entry = std::ranges::find_if(
        merged, [&](const Record& existing) { return describes_same_rows(record, existing); });
    if (entry == merged.end())
      merged.push_back(record);
    else
      *entry = record;
  }
  return merged;
}

std::string source_text(std::span<const ComparedRow> rows) {
  std::vector<std::string> names;
  for (const ComparedRow& row : rows) {
    std::string name = std::filesystem::path(row.measured.file).filename().string();
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  constexpr std::size_t max_names = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), max_names); ++i)
    text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > max_names) text += fmt::format(" and {} more", names.size() - max_names);
  return text;
}

std::string accuracy_text(std::span<const Record> records, std::string_view operation,
                          std::uint32_t nodes) {
  std::string text;
  for (const bool held_out : {true, false}) {
    for (const Record& record : records)
      if (record.held_out == held_out && record.operation == operation &&
          (record.max_nodes == 1) == (nodes == 1))
        text += (text.empty() ? "tested on " : "; ") + record_sentence(record);
    if (!text.empty()) break;  // accuracy on fitted rows matters less
  }
  return text;
}

}  // namespace pipewright::comm
