#pragma once

#include <string>
#include <string_view>

#include "analysis/report/text_table.hpp"

// What the pages of measured and simulated collectives are made of.
namespace pipewright::analysis {

std::string html_table(const TextTable& table);

// The address of a picture that is part of its page.
std::string svg_address(std::string_view svg);

}  // namespace pipewright::analysis
