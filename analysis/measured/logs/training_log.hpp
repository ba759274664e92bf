#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "analysis/measured/files/input_file.hpp"
#include "analysis/measured/logs/log_rows.hpp"

namespace pipewright::analysis {

// Returns true if the line is one that a supported training framework prints (see `input_formats`).
bool is_log_line(std::string_view line);

// Returns true if the text at the beginning of a file, which has the form of an object of JSON or
// Python, is output of Hugging Face's Trainer.
bool is_trainer_output(std::string_view beginning);

// Lists the texts by which lines of logs are recognised, one per line, with the programs that print
// them.
std::string log_marks_text();

// Widest terminal, in columns, whose wrapped lines are joined.
inline constexpr std::size_t widest_terminal = 250;

// Reads the lines that training programs print, with any prefixes of launchers. If lines were
// wrapped at the width of a terminal, they are joined. Throws trace::TraceError, also if no line
// has an iteration.
TrainingLog read_training_log(const std::filesystem::path& file, const ReadProgress& progress = {});

}  // namespace pipewright::analysis
