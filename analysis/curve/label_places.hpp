#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace pipewright::analysis {

struct Area {
  double left, top, right, bottom;
};

bool overlap(const Area& a, const Area& b);

// A dot to be named, by a text of this size.
struct Named {
  double x, y;
  double width, height;
};

// Where each name goes: beside its dot, or else farther and farther off, clear of all dots, of the
// names before it and of `obstacles`, within `page`. Without a value: there is no room.
std::vector<std::optional<Area>> place_labels(const std::vector<Named>& dots,
                                              const std::vector<Area>& obstacles, const Area& page);

}  // namespace pipewright::analysis
