#pragma once

#include <span>
#include <string>
#include <vector>

#include "analysis/commlogs/reports/compare_report.hpp"
#include "analysis/report/report_table.hpp"

// What a comparison writes: tables, as the console and the page show them, JSON and CSV.
namespace pipewright::analysis {

// Of a row, of the errors of several, and of those of a range of sizes, for all outputs.
const ReportColumns<ComparedRow>& row_columns();
ReportColumns<ErrorSummary> error_columns();
ReportColumns<SizeRange> size_columns();

TextTable row_table(std::span<const ComparedRow> rows);
TextTable curve_table(const CompareReport& report);
TextTable size_table(const CompareReport& report);
TextTable assumption_table(const CompareReport& report);  // which has an assumption

// "32 of 1024 rows, one each doubling" of a curve that is longer than people read; empty: all.
std::string abridged(const CurveReport& curve, std::vector<ComparedRow>& rows);

std::string sentence(const OneSided& finding);
std::string assumption_sentence(const CompareReport& report);
std::string summary_sentence(const CompareReport& report);

// Tables: of each curve the rows, of long curves the first of each doubling, none where that is
// still too long; errors by curve, by size, and what to make of them. With `all_rows`, every row.
std::string console_text(const CompareReport& report, bool all_rows = false);
// Keys carry their units; errors are ratios, 0.1 for 10 % too slow.
std::string json_text(const CompareReport& report);
// A line a row.
std::string csv_text(const CompareReport& report);

}  // namespace pipewright::analysis
