#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/search/rows.hpp"

// What a coordinator and its workers say to each other: one line of JSON each.
namespace pipewright::search {

struct Task {
  enum class Kind : std::uint8_t { assess, simulate };
  std::uint64_t id = 0;
  Kind kind = Kind::assess;
  std::vector<std::uint64_t> candidates;  // of one layout or more; to simulate: one
};

struct Answer {
  std::uint64_t id = 0;                      // of the task
  std::vector<analysis::CandidateRow> rows;  // one for each of its candidates
};

std::string to_line(const Task& task);
std::string to_line(const Answer& answer);
Task read_task(std::string_view line);      // throws std::runtime_error
Answer read_answer(std::string_view line);  // likewise

}  // namespace pipewright::search
