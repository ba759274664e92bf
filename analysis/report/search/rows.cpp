#include "analysis/report/search/rows.hpp"

#include <fmt/format.h>

#include "analysis/report/text_table.hpp"

namespace pipewright::analysis {

std::vector<std::uint32_t> choices(const std::vector<SearchAxis>& axes, std::uint64_t candidate) {
  std::vector<std::uint32_t> digits(axes.size());
  for (std::size_t axis = axes.size(); axis-- > 0;) {
    digits[axis] = static_cast<std::uint32_t>(candidate % axes[axis].values.size());
    candidate /= axes[axis].values.size();
  }
  return digits;
}

const std::string& value_of(const SearchRun& run, const CandidateRow& row, std::size_t axis) {
  return run.axes[axis].values[choices(run.axes, row.candidate)[axis]];
}

std::vector<std::size_t> open_axes(const SearchRun& run) {
  std::vector<std::size_t> axes;
  for (std::size_t axis = 0; axis < run.axes.size(); ++axis)
    if (run.axes[axis].values.size() > 1) axes.push_back(axis);
  return axes;
}

std::string shard_name(const SearchRun& run) {
  return run.shard.count == 1 ? "" : fmt::format("shard {}/{}", run.shard.number, run.shard.count);
}

std::string candidate_name(const SearchRun& run, const CandidateRow& row) {
  const std::vector<std::uint32_t> digits = choices(run.axes, row.candidate);
  std::string text;
  for (const std::size_t axis : open_axes(run))
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", printable(run.axes[axis].name),
                        printable(run.axes[axis].values[digits[axis]]));
  return text.empty() ? "the only candidate" : text;
}

}  // namespace pipewright::analysis
