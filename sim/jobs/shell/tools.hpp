#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Tools that compute a text from their arguments and input alone, such as basename and seq.
namespace pipewright::jobs {

struct ToolOutput {
  std::string text;
  bool success = true;
};

// Runs a tool; `words` begins with its name. None if the tool is not followed, or if it depends on
// something unknown. `input` is none if the tool reads a terminal or a file.
std::optional<ToolOutput> run_tool(const std::vector<std::string>& words,
                                   const std::optional<std::string>& input);

// Text that printf writes; none for a format that is not followed.
std::optional<std::string> formatted(const std::vector<std::string>& words);

// Tools of numbers: seq, expr, bc, and awk with nothing but BEGIN.
std::optional<ToolOutput> run_number_tool(const std::vector<std::string>& words,
                                          const std::optional<std::string>& input);

}  // namespace pipewright::jobs
