#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

// Pages of tables and pictures that need no scripts of their own, such as those of goodput and of
// reinforcement learning.
namespace pipewright::analysis {

struct PlainPage {
  std::string title;     // in the window
  std::string heading;   // on the page
  std::string subject;   // HTML: what was simulated
  std::string sections;  // HTML, from page_section()
  const char* glossary;  // asset with the entries of the glossary
};

// Writes the page. Throws trace::TraceError if that fails.
void write_plain_page(const std::filesystem::path& path, const PlainPage& page);

std::string page_section(std::string_view heading, std::string_view content);

// Returns a section with the notes as a list; empty without notes.
std::string page_notes(const std::vector<std::string>& notes);

// Returns the HTML of a chart that `draw` draws as SVG with a width in points. Narrow screens get a
// narrower picture with text of the same size. `words` describe the chart for screen readers.
std::string page_chart(const std::function<std::string(double width)>& draw,
                       std::string_view words);

// Escape a text for HTML. The first replaces line breaks, which are meant for terminals, by blanks;
// the second keeps them, since each line is a statement of its own.
std::string html_in_one_line(std::string words);
std::string html_in_lines(std::string_view words);

}  // namespace pipewright::analysis
