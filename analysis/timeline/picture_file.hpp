#pragma once

#include <filesystem>
#include <string>

namespace pipewright::analysis {

// The file appears under its name once it is whole; one that cannot be written is a TraceError.
void write_picture(const std::filesystem::path& file, const std::string& bytes);

}  // namespace pipewright::analysis
