#pragma once

#include <filesystem>
#include <vector>

#include "sim/config/text/fields.hpp"

// Restricts the files that scenarios may name to some folders, for servers that run other people's
// scenarios.
namespace pipewright::config {

// Restricts the files that this process reads for scenarios to these folders, after symbolic links
// are resolved. The first folder is the project's, which messages name; the others are those of the
// library. The restriction applies to everything a scenario leads to: models, GPUs, clusters and
// the files they name, schedules, lengths.
void read_only_within(const std::vector<std::filesystem::path>& folders);

// Returns the folders of read_only_within(), for processes that this one starts; empty if there is
// no restriction.
std::vector<std::filesystem::path> readable_folders();

// Throws an Error if the file lies outside the folders from which files may be read. It does not
// check that the file exists.
void check_readable(const std::filesystem::path& file);
void check_readable(const Field& field, const std::filesystem::path& file);  // named by a value

}  // namespace pipewright::config
