#include <string>

#include "analysis/report/goodput/goodput_report.hpp"
#include "analysis/web/html_file.hpp"
#include "analysis/web/html_parts.hpp"
#include "analysis/web/plain_page.hpp"

namespace pipewright::analysis {
namespace {

std::string goodput_sections(const GoodputReport& report) {
  const auto chart = [&](auto draw, std::string_view words) {
    return page_chart([&](double width) { return draw(report, width, PictureKind::svg); }, words);
  };
  const std::string error = goodput_error(report);
  std::string html =
      page_section("Over seeds", html_table(goodput_bands(report)) +
                                     (error.empty() ? "" : "<p>" + html_text(error) + "</p>"));
  html += page_section("Where the time goes", html_table(goodput_parts_table(report)));
  html += page_section("Days of one run", chart(days_picture, "activities of the job over time"));
  if (!report.intervals.empty())
    html += page_section(goodput_intervals_heading(report),
                         chart(interval_picture, "effective training time over intervals") +
                             html_table(goodput_intervals(report)) + "<p>" +
                             html_in_one_line(goodput_formulas(report)) + "</p>");
  if (!report.worth.empty())
    html += page_section("What a change is worth", html_table(goodput_worth(report)));
  return html + page_notes(goodput_notes(report));
}

}  // namespace

void write_goodput_page(const std::filesystem::path& path, const GoodputReport& report) {
  write_plain_page(path, {.title = report.title,
                          .heading = report.title + ": goodput",
                          .subject = html_in_lines(goodput_subject(report)),
                          .sections = goodput_sections(report),
                          .glossary = "glossary_goodput.html"});
}

}  // namespace pipewright::analysis
