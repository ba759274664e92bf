#include "analysis/web/comm/bench_page.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "analysis/commlogs/pictures/bench_picture.hpp"
#include "analysis/trace/partial_file.hpp"
#include "analysis/web/html_file.hpp"
#include "analysis/web/html_parts.hpp"

namespace pipewright::analysis {
namespace {

BenchCurve bench_curve(const BenchReport& report) {
  BenchCurve curve{
      .simulated = {}, .formula = {}, .factor = report.factor(), .assumed = report.assumed};
  for (const BenchRow& row : report.rows) {
    curve.simulated.push_back({row.bytes, row.seconds});
    curve.formula.push_back({row.bytes, row.formula});
  }
  return curve;
}

// Returns the HTML of a chart. Narrow screens get a narrower picture with text of the same size.
std::string bench_chart(const BenchCurve& curve, CurveAxis axis, std::string_view words) {
  constexpr double wide = 760;
  constexpr double narrow = 380;
  const auto address = [&](double width) {
    return svg_address(bench_picture(curve, axis, width, PictureKind::svg));
  };
  return fmt::format(
      "<picture><source media=\"print, (min-width: 640px)\" srcset=\"{}\">"
      "<img class=\"chart\" alt=\"{} over sizes, simulated and by the formula\" src=\"{}\">"
      "</picture>",
      address(wide), words, address(narrow));
}

// Returns the HTML of both charts; none for a single size, whose curve would be a dot.
std::string bench_charts(const BenchReport& report) {
  if (report.rows.size() < 2) return "";
  const BenchCurve curve = bench_curve(report);
  return fmt::format(
      "<section><h2>Bus bandwidth</h2>{}</section>\n<section><h2>Time</h2>{}</section>",
      bench_chart(curve, CurveAxis::bus_bandwidth, "bus bandwidths"),
      bench_chart(curve, CurveAxis::time, "times"));
}

// Returns each finding as a paragraph, without the line breaks that are meant for terminals.
std::string bench_findings_html(const BenchReport& report) {
  std::string html;
  for (std::string finding : bench_findings(report)) {
    std::ranges::replace(finding, '\n', ' ');
    html += fmt::format("<p class=\"verdict\">{}</p>\n", html_text(finding));
  }
  return html;
}

}  // namespace

void write_bench_page(const std::filesystem::path& path, const BenchReport& report) {
  trace::write_file(path, [&](std::ostream& stream) {
    const std::string title = fmt::format("{}: {}", report.cluster, bench_title(report));
    write_head(stream, title, {"page.css", "compare.css"});
    Frame frame(stream, asset("bench.html"));
    frame.fill("title", html_text(title));
    frame.fill("findings", bench_findings_html(report));
    frame.fill("charts", bench_charts(report));
    frame.fill("table", html_table(bench_table(report)));
    frame.fill("script", bundled_script("compare.js"));
    frame.finish();
  });
}

}  // namespace pipewright::analysis
