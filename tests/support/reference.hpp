#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace pipewright::tests {

// Where published data lies that is not copied into the project: $PIPEWRIGHT_REFERENCE, or else
// ../shared/reference beside it. It need not be there.
std::filesystem::path reference_folder();

// The rows of a CSV file by the names of its columns.
std::vector<std::map<std::string, std::string>> read_csv(const std::filesystem::path& file);

}  // namespace pipewright::tests
