#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "schedules/schedule.hpp"

namespace pipewright::schedules {

// Where a cell stands. Both are counted from 1 in messages and from 0 here: a row is a line of the
// file and the row of a rank, a column is a cell of it.
struct TorchPlace {
  std::uint32_t row = 0;
  std::uint32_t column = 0;
};

// "file.csv:2:5: row 2 (rank 1), cell 5: message"
Error located(const std::string& file, TorchPlace place, std::string_view message);

// Hands on every cell of a CSV text as Python's csv module reads it (excel dialect: commas, quotes
// where a cell starts with one, LF or CRLF), stripped of blanks. An empty line is one empty cell.
// Throws Error, located, where the text is no such CSV.
void visit_cells(std::string_view text, const std::string& file,
                 const std::function<void(TorchPlace, std::string_view)>& visit);

}  // namespace pipewright::schedules
