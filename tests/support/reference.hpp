#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace pipewright::tests {

// Returns the folder with published data outside the project: $PIPEWRIGHT_REFERENCE, or
// ../shared/reference next to the project. It may be missing.
std::filesystem::path reference_folder();

// Reads a CSV file. Each row is a map from column name to cell.
std::vector<std::map<std::string, std::string>> read_csv(const std::filesystem::path& file);

}  // namespace pipewright::tests
