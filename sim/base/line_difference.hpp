#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace pipewright::base {

// A line in which two texts differ. A line that a text lacks has no value.
struct LineDifference {
  std::size_t number = 0;  // from 1
  std::optional<std::string_view> left;
  std::optional<std::string_view> right;
};

enum class Indentation : bool { ignored, compared };

// Returns the first line in which two texts differ, or nothing if they are equal. If indentation is
// ignored, lines are compared and returned without their leading spaces. The result points into the
// texts.
std::optional<LineDifference> first_difference(std::string_view left, std::string_view right,
                                               Indentation indentation = Indentation::compared);

}  // namespace pipewright::base
