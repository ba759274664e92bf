#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pipewright::cli {

// A page in Markdown as text for a terminal. Prose is filled to `columns`; titles are underlined,
// code is indented as it stands, the cells of a table are aligned and its last column is wrapped.
// Links show where they lead (link_name in topics.hpp); comments are left out.
std::string markdown_text(std::string_view markdown, std::size_t columns = 90);

}  // namespace pipewright::cli
