#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace pipewright::cli {

// A page of documentation that `pipewright help NAME` prints.
struct Topic {
  std::string_view name;
  std::string_view path;  // of its Markdown file, from the root of the tree
};
std::span<const Topic> topics();

// The Markdown text of the page at `path`, which is part of the program; empty for an unknown path.
std::string_view embedded_page(std::string_view path);

// The question that a page answers: its first paragraph, one line below the title.
std::string question(std::string_view markdown);

// What a link between pages is called in a terminal: "help schedules" for "schedules.md" or
// "../docs/schedules.md#blocks", the path from the root of the tree for a file that is no topic,
// the address itself for a web page, and nothing for a place in the same page.
std::string link_name(std::string_view target);

// A page in Markdown as text for a terminal. Prose is filled to `columns`; titles are underlined,
// code is indented as it stands, the cells of a table are aligned and its last column is wrapped.
// Links show where they lead (link_name in topics.hpp); comments are left out.
std::string markdown_text(std::string_view markdown, std::size_t columns = 90);

}  // namespace pipewright::cli
