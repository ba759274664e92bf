#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace pipewright::cli {

// A page of documentation that `pipewright help NAME` prints.
struct Topic {
  std::string_view name;
  std::string_view path;  // path of the Markdown file from the root of the tree
};
std::span<const Topic> topics();

// Markdown text of the embedded page at `path`; empty for an unknown path.
std::string_view embedded_page(std::string_view path);

// The question that a page answers: its first paragraph, one line below the title.
std::string question(std::string_view markdown);

// Text that stands for a link's target in a terminal: "help schedules" for "schedules.md" or
// "../docs/schedules.md#blocks", the path from the root of the tree for another file, the address
// of a web page, and nothing for a section of the same page.
std::string link_name(std::string_view target);

// Converts a Markdown page to text for a terminal. Prose is filled to `columns`, titles are
// underlined, code is indented, tables are aligned and their last column is wrapped. Links show
// their target's name (link_name); comments are omitted.
std::string markdown_text(std::string_view markdown, std::size_t columns = 90);

}  // namespace pipewright::cli
