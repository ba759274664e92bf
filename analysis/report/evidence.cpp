#include "analysis/report/evidence.hpp"

#include <algorithm>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/report/text_table.hpp"

namespace pipewright::analysis {
namespace {

constexpr std::size_t line_width = 100;

// Returns one element for each GPU's file. It lists, in order of appearance, the keys that any of
// the runs uses and that are assumed.
std::vector<trace::Evidence> assumed_by_file(const std::vector<trace::Evidence>& runs) {
  std::vector<trace::Evidence> files;
  for (const trace::Evidence& run : runs) {
    if (run.keys.empty()) continue;
    auto file = std::ranges::find(files, run.gpu, &trace::Evidence::gpu);
    if (file == files.end()) file = files.insert(files.end(), {run.gpu, {}, {}});
    for (const std::string& key : run.keys)
      if (std::ranges::find(file->keys, key) == file->keys.end()) file->keys.push_back(key);
  }
  return files;
}

}  // namespace

std::string expected_error_text(const trace::ExpectedError& error) {
  if (error.rows == 0) return "";
  return fmt::format("expected error {:+.0f} .. {:+.0f} % ({:.0f} % of {} measured runs: {})",
                     100 * error.low, 100 * error.high, 100 * error.nominal, error.rows,
                     printable(error.basis));
}

std::string expected_error_lines(const std::vector<trace::Evidence>& runs) {
  std::vector<std::string> lines;
  for (const trace::Evidence& run : runs)
    if (std::string line = expected_error_text(run.expected_error);
        !line.empty() && std::ranges::find(lines, line) == lines.end())
      lines.push_back(std::move(line));
  std::string text;
  for (const std::string& line : lines)
    text += fmt::format("{}\n", fmt::join(folded(line, line_width, line_width - 2), "\n  "));
  return text;
}

std::string assumed_lines(const std::vector<trace::Evidence>& runs) {
  std::string text;
  for (const trace::Evidence& file : assumed_by_file(runs))
    text += fmt::format(assumed_words, printable(file.gpu),
                        printable(fmt::format("{}", fmt::join(file.keys, ", ")))) +
            '\n';
  return text;
}

std::string evidence_lines(const std::vector<trace::Evidence>& runs) {
  return expected_error_lines(runs) + assumed_lines(runs);
}

}  // namespace pipewright::analysis
