#pragma once

#include <string>
#include <string_view>

namespace pipewright::analysis {

// Returns the HTML page of a server that runs scenarios: a form, with the pages of the runs
// embedded in it. `scenario` is the text to start with; it may be empty.
std::string explore_page(std::string_view scenario);

}  // namespace pipewright::analysis
