#include <string>

#include "analysis/report/rl/rl_picture.hpp"
#include "analysis/report/rl/rl_report.hpp"
#include "analysis/web/html_file.hpp"
#include "analysis/web/html_parts.hpp"
#include "analysis/web/plain_page.hpp"

namespace pipewright::analysis {
namespace {

std::string rl_sections(const RlReport& report) {
  const auto chart = [&](auto draw, std::string_view words) {
    return page_chart([&](double width) { return draw(report, width, PictureKind::svg); }, words);
  };
  std::string html =
      page_section("Pools of GPUs", chart(rl_picture, "what each pool of GPUs does over time"));
  html += page_section("Time of a step", html_table(rl_phases(report)));
  if (!report.variants.empty())
    html += page_section("What a change does",
                         chart(rl_changes_picture, "time of a step with each change"));
  if (!report.splits.empty())
    html += page_section("Division of the GPUs",
                         chart(rl_splits_picture, "time of a step over the training GPUs") +
                             html_table(rl_splits(report)));
  else if (report.rollout_gpus > 0)
    html += page_section("Division of the GPUs",
                         "<p>The option --split N tries the divisions of N GPUs.</p>");
  return html + page_section("Accuracy", "<p>" + html_in_lines(rl_remarks(report)) + "</p>") +
         page_notes(report.notes);
}

}  // namespace

void write_rl_page(const std::filesystem::path& path, const RlReport& report) {
  write_plain_page(path, {.title = report.title,
                          .heading = report.title + ": reinforcement learning",
                          .subject = html_in_lines(rl_answer(report) + rl_subject(report)),
                          .sections = rl_sections(report),
                          .glossary = "glossary_rl.html"});
}

}  // namespace pipewright::analysis
