#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "analysis/search/rows.hpp"

namespace pipewright::search {

// Whose results these are.
struct SearchIdentity {
  std::string sweep;  // its text
  std::vector<analysis::SearchAxis> axes;
};

// Throws trace::TraceError, which says where `found` in `file` is another search than `asked`.
void check_same_search(const std::filesystem::path& file, const SearchIdentity& found,
                       const SearchIdentity& asked);

}  // namespace pipewright::search
