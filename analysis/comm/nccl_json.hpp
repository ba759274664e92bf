#pragma once

#include <filesystem>
#include <optional>

#include "analysis/comm/log_table.hpp"

namespace pipewright::analysis {

// What nccl-tests write with -J: one run, in one line. Without a value: the file is another one.
// Throws TraceError for such a file with values that cannot be.
std::optional<LoggedTable> read_nccl_json(const std::filesystem::path& file);

}  // namespace pipewright::analysis
