#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "analysis/comm/reports/compare_report.hpp"

// The tables of a comparison, as the console and the page show them.
namespace pipewright::analysis {

struct CellColumn {
  std::vector<std::string> head;   // lines
  std::vector<std::string> cells;  // as they are: whoever renders them escapes names
  bool is_name = false;            // to the left
};
using CellTable = std::vector<CellColumn>;

CellTable row_cells(std::span<const ComparedRow> rows);
CellTable curve_cells(const CompareReport& report);
CellTable size_cells(const CompareReport& report);
CellTable assumption_cells(const CompareReport& report);  // which has one

// "32 of 1024 rows, one each doubling" of a curve that is longer than people read; empty: all.
std::string abridged(const CurveReport& curve, std::vector<ComparedRow>& rows);

std::string sentence(const OneSided& finding);
std::string assumption_sentence(const CompareReport& report);
std::string summary_sentence(const CompareReport& report);

}  // namespace pipewright::analysis
