#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "analysis/report/goodput/goodput_report.hpp"
#include "analysis/trace/partial_file.hpp"
#include "analysis/web/comm/html_parts.hpp"
#include "analysis/web/html_file.hpp"

namespace pipewright::analysis {
namespace {

using Draw = std::string (*)(const GoodputReport& report, double width, PictureKind kind);

// Returns the HTML of a chart. Narrow screens get a narrower picture with text of the same size.
std::string chart(const GoodputReport& report, Draw draw, std::string_view words) {
  constexpr double wide = 760;
  constexpr double narrow = 380;
  return fmt::format(
      "<picture><source media=\"print, (min-width: 640px)\" srcset=\"{}\">"
      "<img class=\"chart\" alt=\"{}\" src=\"{}\"></picture>",
      svg_address(draw(report, wide, PictureKind::svg)), words,
      svg_address(draw(report, narrow, PictureKind::svg)));
}

// Escapes a text for HTML and replaces its line breaks, which are meant for terminals, by spaces.
std::string in_one_line(std::string words) {
  while (words.ends_with('\n')) words.pop_back();
  std::ranges::replace(words, '\n', ' ');
  return html_text(words);
}

// Escapes a text for HTML and keeps its line breaks, since each line is a statement of its own.
std::string in_lines(std::string_view words) {
  std::string html;
  while (!words.empty()) {
    const std::size_t end = std::min(words.find('\n'), words.size());
    html += (html.empty() ? "" : "<br>\n") + html_text(words.substr(0, end));
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return html;
}

std::string section(std::string_view heading, std::string_view content) {
  return fmt::format("<section><h2>{}</h2>{}</section>\n", heading, content);
}

std::string sections(const GoodputReport& report) {
  std::string html = section("Over seeds", html_table(goodput_bands(report)));
  html += section("Where the time goes", html_table(goodput_parts_table(report)));
  html +=
      section("Days of one run", chart(report, days_picture, "activities of the job over time"));
  if (!report.intervals.empty())
    html += section(goodput_intervals_heading(report),
                    chart(report, interval_picture, "effective training time over intervals") +
                        html_table(goodput_intervals(report)) + "<p>" +
                        in_one_line(goodput_formulas(report)) + "</p>");
  if (!report.worth.empty())
    html += section("What a change is worth", html_table(goodput_worth(report)));
  return html;
}

}  // namespace

void write_goodput_page(const std::filesystem::path& path, const GoodputReport& report) {
  trace::write_file(path, [&](std::ostream& stream) {
    write_head(stream, report.title, {"page.css", "compare.css"});
    Frame frame(stream, asset("goodput.html"));
    frame.fill("title", html_text(report.title + ": goodput"));
    frame.fill("subject", in_lines(goodput_subject(report)));
    frame.fill("sections", sections(report));
    frame.fill("script", bundled_script("compare.js"));
    frame.finish();
  });
}

}  // namespace pipewright::analysis
