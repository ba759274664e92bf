#pragma once

#include <string>
#include <string_view>

namespace pipewright::analysis {

// The page of a server that runs scenarios: a form, and the pages of the runs within it. It begins
// with the text of a scenario, which may be empty.
std::string explore_page(std::string_view scenario);

}  // namespace pipewright::analysis
