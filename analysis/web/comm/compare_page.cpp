#include "analysis/web/comm/compare_page.hpp"

#include <fmt/format.h>

#include "analysis/commlogs/reports/compare_tables.hpp"
#include "analysis/trace/partial_file.hpp"
#include "analysis/web/html_file.hpp"
#include "analysis/web/html_parts.hpp"

namespace pipewright::analysis {
namespace {

std::string compare_findings_html(const CompareReport& report) {
  std::string html =
      fmt::format("<p class=\"verdict\">{}</p>\n", html_text(summary_sentence(report)));
  for (const OneSided& finding : report.one_sided)
    html += fmt::format("<p class=\"verdict\">{}</p>\n", html_text(sentence(finding)));
  return html;
}

std::string compare_rows_html(const CompareReport& report) {
  std::string html;
  for (const CurveReport& curve : report.curves) {
    std::vector<ComparedRow> shown_rows;
    const std::string note = abridged(curve, shown_rows);
    html += fmt::format("<details class=\"curve\"{}><summary>{}{}</summary>{}</details>\n",
                        report.curves.size() == 1 ? " open" : "", html_text(curve.curve.name),
                        note.empty() ? "" : ": " + note, html_table(row_table(shown_rows)));
  }
  return html;
}

std::string compare_remarks_html(const CompareReport& report) {
  if (report.remarks.empty()) return "";
  std::string html = "<section><h2>Remarks on the logs</h2><ul>\n";
  for (const LogRemark& remark : report.remarks)
    html += fmt::format("<li>{}:{}: {}</li>\n", html_text(remark.file), remark.line,
                        html_text(remark.text));
  return html + "</ul></section>\n";
}

}  // namespace

void write_compare_page(const std::filesystem::path& path, const CompareReport& report,
                        std::span<const DrawnCurve> curves, const CurveWords& words) {
  const auto chart = [&](CurveAxis axis) {
    return svg_address(curve_picture(curves, words, axis, PictureKind::svg));
  };
  std::string errors = html_table(size_table(report));
  if (report.curves.size() > 1) errors += html_table(curve_table(report));
  trace::write_file(path, [&](std::ostream& stream) {
    const std::string title = fmt::format("Measured against {}", report.cluster);
    write_head(stream, title, {"page.css", "compare.css"});
    Frame frame(stream, asset("compare.html"));
    frame.fill("title", html_text(title));
    frame.fill("findings", compare_findings_html(report));
    frame.fill("time chart", chart(CurveAxis::time));
    frame.fill("bandwidth chart", chart(CurveAxis::bus_bandwidth));
    frame.fill("errors", fmt::format("<div class=\"tables\">{}</div>", errors));
    frame.fill("assumption",
               report.assumed
                   ? fmt::format("<section><h2>Assumed bus bandwidth</h2><p>{}</p>{}</section>",
                                 assumption_sentence(report), html_table(assumption_table(report)))
                   : "");
    frame.fill("rows", compare_rows_html(report));
    frame.fill("remarks", compare_remarks_html(report));
    frame.fill("script", bundled_script("compare.js"));
    frame.finish();
  });
}

}  // namespace pipewright::analysis
