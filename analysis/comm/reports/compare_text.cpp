#include "analysis/comm/reports/compare_report.hpp"
#include "analysis/comm/reports/compare_tables.hpp"
#include "analysis/text_table.hpp"

namespace pipewright::analysis {
namespace {

constexpr std::size_t most_rows = 240;  // of all curves, from which on none are shown

std::string row_tables(const CompareReport& report, bool all_rows) {
  std::string text;
  std::size_t shown = 0;
  for (const CurveReport& one : report.curves) {
    std::vector<ComparedRow> rows;
    std::string note = abridged(one, rows);
    if (all_rows) {
      rows = one.curve.rows;
      note.clear();
    }
    shown += rows.size();
    text += printable(one.curve.name) + (note.empty() ? "" : ": " + note) + "\n" +
            row_table(rows).text() + "\n";
  }
  return all_rows || shown <= most_rows ? text : "";
}

}  // namespace

std::string console_text(const CompareReport& report, bool all_rows) {
  std::string text = row_tables(report, all_rows);
  if (report.curves.size() > 1) text += curve_table(report).text() + "\n";
  text += size_table(report).text() + "\n";
  if (report.assumed)
    text += assumption_sentence(report) + ":\n" + assumption_table(report).text() + "\n";
  text += printable(summary_sentence(report)) + "\n";
  for (const OneSided& finding : report.one_sided) text += sentence(finding) + "\n";
  return text;
}

}  // namespace pipewright::analysis
