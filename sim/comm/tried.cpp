#include "sim/comm/tried.hpp"

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

bool is_of_same(const Record& one, const Record& other) {
  return one.operation == other.operation && one.held_out == other.held_out &&
         one.source == other.source && (one.most_nodes == 1) == (other.most_nodes == 1);
}

Record empty_record() {
  constexpr auto most = std::numeric_limits<std::uint32_t>::max();
  return {.operation = {},
          .least_ranks = most,
          .least_nodes = most,
          .least_bytes = std::numeric_limits<std::uint64_t>::max(),
          .source = {}};
}

void widen(Record& record, const Measurement& row, std::uint32_t nodes) {
  record.least_ranks = std::min(record.least_ranks, row.ranks);
  record.most_ranks = std::max(record.most_ranks, row.ranks);
  record.least_nodes = std::min(record.least_nodes, nodes);
  record.most_nodes = std::max(record.most_nodes, nodes);
  record.least_bytes = std::min(record.least_bytes, row.bytes);
  record.most_bytes = std::max(record.most_bytes, row.bytes);
}

template <class Number, class Text>
std::string range_text(Number least, Number most, const Text& text) {
  return least == most ? text(most) : fmt::format("{} to {}", text(least), text(most));
}

std::string sentence_of(const Record& record) {
  const auto plain = [](std::uint32_t count) { return fmt::format("{}", count); };
  return fmt::format(
      "{}, {} ranks, {}: median {}, 90th percentile {} ({})", record.operation,
      range_text(record.least_ranks, record.most_ranks, plain),
      range_text(record.least_bytes, record.most_bytes, analysis::format_exact_bytes),
      analysis::format_percent(record.median), analysis::format_percent(record.p90),
      record.held_out ? "held out" : "fitted");
}

}  // namespace

std::uint32_t nodes_of(const cluster::Cluster& cluster, const Measurement& row) {
  if (row.nodes != 0) return row.nodes;
  const execution::RankPlacement placement = run_of(cluster, row).placement;
  std::set<std::uint32_t> nodes;
  for (std::uint32_t rank = 0; rank < placement.size(); ++rank) nodes.insert(placement.node(rank));
  return static_cast<std::uint32_t>(nodes.size());
}

std::vector<Record> records_of(const cluster::Cluster& cluster, std::span<const ComparedRow> rows,
                               bool held_out, const std::string& source) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> nodes;  // by ranks and nodes
  std::map<std::pair<analysis::Operation, bool>, std::vector<const ComparedRow*>> kinds;
  const auto nodes_on = [&](const Measurement& row) {
    const auto [place, is_new] = nodes.try_emplace({row.ranks, row.nodes});
    if (is_new) place->second = nodes_of(cluster, row);
    return place->second;
  };
  for (const ComparedRow& row : rows)
    kinds[{row.measured.operation, nodes_on(row.measured) > 1}].push_back(&row);
  std::vector<Record> records;
  for (const auto& [kind, those] : kinds) {
    Record record = empty_record();
    std::vector<ComparedRow> compared;
    for (const ComparedRow* row : those) {
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
  std::vector<Record> records = records_of(cluster, held_out, true, source_of(report.after));
  for (Record& record : records_of(cluster, fitted, false, source_of(report.after)))
    records.push_back(std::move(record));
  return records;
}

std::vector<Record> merged(std::span<const Record> of_file, std::span<const Record> further) {
  std::vector<Record> all(of_file.begin(), of_file.end());
  for (const Record& record : further) {
    const auto place =
        std::ranges::find_if(all, [&](const Record& other) { return is_of_same(record, other); });
    if (place == all.end())
      all.push_back(record);
    else
      *place = record;
  }
  return all;
}

std::string source_of(std::span<const ComparedRow> rows) {
  std::vector<std::string> names;
  for (const ComparedRow& row : rows) {
    std::string name = std::filesystem::path(row.measured.file).filename().string();
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  constexpr std::size_t most = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i)
    text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > most) text += fmt::format(" and {} more", names.size() - most);
  return text;
}

std::string tried_text(std::span<const Record> records, std::string_view operation,
                       std::uint32_t nodes) {
  std::string text;
  for (const bool held_out : {true, false}) {
    for (const Record& record : records)
      if (record.held_out == held_out && record.operation == operation &&
          (record.most_nodes == 1) == (nodes == 1))
        text += (text.empty() ? "tried on " : "; ") + sentence_of(record);
    if (!text.empty()) break;  // how well it fits what it was fitted to is worth less
  }
  return text;
}

}  // namespace pipewright::comm
