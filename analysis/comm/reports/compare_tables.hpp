#pragma once

#include <span>
#include <string>
#include <vector>

#include "analysis/comm/reports/compare_report.hpp"
#include "analysis/report_table.hpp"

// The tables of a comparison, as the console and the page show them.
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

}  // namespace pipewright::analysis
