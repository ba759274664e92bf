#pragma once

#include <string>
#include <string_view>

#include "analysis/report/text_table.hpp"

// Parts of HTML that several pages share.
namespace pipewright::analysis {

std::string html_table(const TextTable& table);

// Returns a data URL, which embeds the picture in its page.
std::string svg_address(std::string_view svg);

}  // namespace pipewright::analysis
