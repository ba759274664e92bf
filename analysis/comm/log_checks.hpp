#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/comm/measurement.hpp"
#include "analysis/comm/read_log.hpp"

// What is checked of all logs' rows, whichever benchmark printed them.
namespace pipewright::analysis {

// A remark on times that fall while sizes grow, at the deepest fall. `rows` are those of one table,
// in its order.
void remark_falling_times(std::span<const Measurement> rows, std::vector<LogRemark>& remarks);

// What is so in one table of a file is so in a hundred: of equal remarks from `first` on only the
// first is left, which says so.
void merge_equal_remarks(std::vector<LogRemark>& remarks, std::size_t first);

// The operation that a file's name tells: "h100_all-reduce.log".
std::optional<Operation> operation_in_name(const std::string& file);

}  // namespace pipewright::analysis
