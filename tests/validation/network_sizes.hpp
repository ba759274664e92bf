#pragma once

#include <filesystem>

namespace pipewright::accuracy {

// Predicts the tables of machines with several nodes or racks by the library's files, and prints
// the errors of each table by ranges of sizes and their medians over all tables. With `rows`, also
// each row. Returns false if a median is above what was reached before.
bool print_errors_by_size(const std::filesystem::path& reference, bool rows);

}  // namespace pipewright::accuracy
