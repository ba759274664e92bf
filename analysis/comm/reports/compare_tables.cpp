#include "analysis/comm/reports/compare_tables.hpp"

#include <bit>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "analysis/units_text.hpp"

namespace pipewright::analysis {
namespace {

std::string percent_cell(double error) {
  const double tenths = std::round(1000 * error);
  return fmt::format("{:.1f}", tenths == 0 ? 0.0 : tenths / 10);
}

// nccl-tests' digits.
std::string microseconds_cell(double seconds) {
  const double us = seconds * 1e6;
  return fmt::format("{:.{}f}", us, us < 999.995 ? 2 : us < 9999.95 ? 1 : 0);
}
std::string bandwidth_cell(const Measurement& row, double seconds) {
  return fmt::format("{:.2f}", bus_bandwidth(row, seconds) / 1e9);
}

std::string ratio_cell(double ratio) {
  return ratio < 99.5 ? fmt::format("{:.3g}", ratio) : fmt::format("{:.0f}", ratio);
}

std::vector<ComparedRow> one_each_doubling(std::span<const ComparedRow> rows) {
  std::vector<ComparedRow> first;
  for (const ComparedRow& row : rows)
    if (first.empty() ||
        std::bit_width(row.measured.bytes) != std::bit_width(first.back().measured.bytes))
      first.push_back(row);
  return first;
}

CellTable error_table(const char* head) {
  return {{{head}, {}, true},
          {{"rows"}, {}},
          {{"median", "error", "%"}, {}},
          {{"p90", "error", "%"}, {}},
          {{"largest", "error", "%"}, {}},
          {{"bias", "%"}, {}}};
}

void add_line(CellTable& table, std::vector<std::string> cells) {
  for (std::size_t i = 0; i < cells.size(); ++i) table[i].cells.push_back(std::move(cells[i]));
}

void add_errors(CellTable& table, const std::string& name, const ErrorSummary& errors) {
  add_line(table,
           {name, std::to_string(errors.rows), percent_cell(errors.median),
            percent_cell(errors.p90), percent_cell(errors.largest), percent_cell(errors.bias)});
}

}  // namespace

CellTable row_cells(std::span<const ComparedRow> rows) {
  CellTable table{{{"size"}, {}},
                  {{"measured", "us"}, {}},
                  {{"predicted", "us"}, {}},
                  {{"error", "%"}, {}},
                  {{"measured", "busbw", "GB/s"}, {}},
                  {{"predicted", "busbw", "GB/s"}, {}},
                  {{"by"}, {}, true}};
  for (const ComparedRow& row : rows) {
    const Measurement& measured = row.measured;
    add_line(table,
             {format_exact_bytes(measured.bytes), microseconds_cell(measured.seconds),
              microseconds_cell(row.predicted), percent_cell(row.error()),
              bandwidth_cell(measured, measured.seconds), bandwidth_cell(measured, row.predicted),
              row.by + (row.held_out ? " (not fitted to)" : "")});
  }
  return table;
}

CellTable curve_cells(const CompareReport& report) {
  CellTable table = error_table("curve");
  for (const CurveReport& one : report.curves) add_errors(table, one.curve.name, one.errors);
  return table;
}

CellTable size_cells(const CompareReport& report) {
  CellTable table = error_table("size");
  for (const SizeRange& range : report.by_size) add_errors(table, range.name, range.errors);
  add_errors(table, "all", report.errors);
  return table;
}

CellTable assumption_cells(const CompareReport& report) {
  CellTable table{{{"curve"}, {}, true},
                  {{"against"}, {}, true},
                  {{"sizes"}, {}, true},
                  {{"rows"}, {}},
                  {{"assumed over", "actual busbw"}, {}}};
  for (const CurveReport& one : report.curves) {
    const auto add = [&](const char* against, const std::vector<OffRange>& ranges) {
      const auto line = [&](const std::string& sizes, std::size_t rows, const std::string& ratio) {
        add_line(table, {one.curve.name, against, sizes,
                         fmt::format("{} of {}", rows, one.curve.rows.size()), ratio});
      };
      if (ranges.empty()) line("none", 0, "-");
      for (const OffRange& range : ranges) {
        std::string sizes = format_exact_bytes(range.from);
        std::string ratio = ratio_cell(range.least);
        if (range.to != range.from) sizes += " to " + format_exact_bytes(range.to);
        if (ratio_cell(range.most) != ratio) ratio += ".." + ratio_cell(range.most);
        line(sizes, range.rows, ratio);
      }
    };
    add("measured", one.assumption->measured);
    add("predicted", one.assumption->predicted);
  }
  return table;
}

std::string abridged(const CurveReport& curve, std::vector<ComparedRow>& rows) {
  constexpr std::size_t most = 40;
  if (curve.curve.rows.size() <= most) {
    rows = curve.curve.rows;
    return "";
  }
  rows = one_each_doubling(curve.curve.rows);
  return fmt::format("{} of {} rows, one each doubling", rows.size(), curve.curve.rows.size());
}

std::string sentence(const OneSided& finding) {
  return fmt::format("{}{}predicted times are {} too {} (median; {} of {} rows are)", finding.sizes,
                     finding.sizes.empty() ? "" : ": ", format_percent(std::abs(finding.bias)),
                     finding.bias < 0 ? "short" : "long", finding.rows, finding.of);
}

std::string assumption_sentence(const CompareReport& report) {
  return fmt::format("where an assumed bus bandwidth of {:.4g} GB/s is off by more than {:.0f} %",
                     *report.assumed / 1e9, 100 * tolerated);
}

std::string summary_sentence(const CompareReport& report) {
  return fmt::format("{} {} on {}: error {} at the median, {} at the 90th percentile",
                     report.errors.rows, report.errors.rows == 1 ? "row" : "rows", report.cluster,
                     format_percent(report.errors.median), format_percent(report.errors.p90));
}

}  // namespace pipewright::analysis
