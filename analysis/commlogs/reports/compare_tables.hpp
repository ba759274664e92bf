#pragma once

#include <span>
#include <string>
#include <vector>

#include "analysis/commlogs/reports/compare_report.hpp"
#include "analysis/report/report_table.hpp"

// Output of a comparison: tables for the console and the page, JSON and CSV.
namespace pipewright::analysis {

// Columns for tables, JSON and CSV: of a row, of a summary of errors, and of a size range.
const ReportColumns<ComparedRow>& row_columns();
ReportColumns<ErrorSummary> error_columns();
ReportColumns<SizeRange> size_columns();

TextTable row_table(std::span<const ComparedRow> rows);
TextTable curve_table(const CompareReport& report);
TextTable size_table(const CompareReport& report);
TextTable assumption_table(const CompareReport& report);  // The report must have an assumption.

// Selects the rows to print. For a curve that is too long to read, these are the first row of each
// doubling, and a note is returned: "32 of 1024 rows, one each doubling". The note is empty if all
// rows are selected.
std::string abridged(const CurveReport& curve, std::vector<ComparedRow>& rows);

std::string sentence(const OneSided& finding);
std::string assumption_sentence(const CompareReport& report);
std::string summary_sentence(const CompareReport& report);

// Returns the tables of the console: the rows of each curve (long curves abridged, no rows at all
// if these are still too many), errors by curve and by size, and conclusions. With `all_rows`,
// every row is included.
std::string console_text(const CompareReport& report, bool all_rows = false);
// JSON keys end in their units. Errors are ratios: 0.1 means 10 % too slow.
std::string json_text(const CompareReport& report);
// Writes one line of CSV for each row.
std::string csv_text(const CompareReport& report);

}  // namespace pipewright::analysis
