#include "analysis/web/plain_page.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "analysis/trace/partial_file.hpp"
#include "analysis/web/html_file.hpp"
#include "analysis/web/html_parts.hpp"

namespace pipewright::analysis {

void write_plain_page(const std::filesystem::path& path, const PlainPage& page) {
  trace::write_file(path, [&](std::ostream& stream) {
    write_head(stream, page.title, {"page.css", "compare.css"});
    Frame frame(stream, asset("plain_page.html"));
    frame.fill("title", html_text(page.heading));
    frame.fill("subject", page.subject);
    frame.fill("sections", page.sections);
    frame.fill("glossary", asset(page.glossary));
    frame.fill("script", bundled_script("compare.js"));
    frame.finish();
  });
}

std::string page_section(std::string_view heading, std::string_view content) {
  return fmt::format("<section><h2>{}</h2>{}</section>\n", heading, content);
}

std::string page_notes(const std::vector<std::string>& notes) {
  if (notes.empty()) return "";
  std::string items;
  for (const std::string& note : notes) items += fmt::format("<li>{}</li>", html_text(note));
  return page_section("Notes", "<ul>" + items + "</ul>");
}

std::string page_chart(const std::function<std::string(double width)>& draw,
                       std::string_view words) {
  constexpr double wide = 760;
  constexpr double narrow = 380;
  return fmt::format(
      "<picture><source media=\"print, (min-width: 640px)\" srcset=\"{}\">"
      "<img class=\"chart\" alt=\"{}\" src=\"{}\"></picture>",
      svg_address(draw(wide)), words, svg_address(draw(narrow)));
}

std::string html_in_one_line(std::string words) {
  while (words.ends_with('\n')) words.pop_back();
  std::ranges::replace(words, '\n', ' ');
  return html_text(words);
}

std::string html_in_lines(std::string_view words) {
  std::string html;
  while (!words.empty()) {
    const std::size_t end = std::min(words.find('\n'), words.size());
    html += (html.empty() ? "" : "<br>\n") + html_text(words.substr(0, end));
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return html;
}

}  // namespace pipewright::analysis
