#pragma once

#include <filesystem>
#include <string_view>

#include "analysis/measured/files/input_file.hpp"
#include "analysis/measured/logs/log_rows.hpp"

namespace pipewright::analysis {

// Returns true if the line is one that a supported training framework prints (see `input_formats`).
bool is_log_line(std::string_view line);

// Reads the lines that training programs print, with any prefixes of launchers. Throws
// trace::TraceError, also if no line has an iteration.
TrainingLog read_training_log(const std::filesystem::path& file, const ReadProgress& progress = {});

}  // namespace pipewright::analysis
