#pragma once

#include <filesystem>
#include <vector>

#include "sim/config/text/fields.hpp"

// Where scenarios come from others than the user of this process, they name files of some folders
// alone.
namespace pipewright::config {

// From here on this process reads for scenarios only what lies in these folders, with links
// followed: the project's, which messages name, and those of the library. Whatever a scenario leads
// to is held to it: models, GPUs, clusters and what they name, schedules, lengths.
void read_only_within(const std::vector<std::filesystem::path>& folders);

// Throws an Error for a file, or a name of none, that may not be read. Says nothing of whether it
// is there.
void check_readable(const std::filesystem::path& file);
void check_readable(const Field& field, const std::filesystem::path& file);  // that it names

}  // namespace pipewright::config
