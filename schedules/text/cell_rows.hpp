#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedules/pass.hpp"
#include "schedules/routes.hpp"

namespace pipewright::schedules {

// Rows of cells, one a device, as text: labels in cells of equal width, dots where nothing runs.
class CellRows {
 public:
  CellRows(std::uint32_t devices, std::uint32_t microbatches, bool chunks);

  // In order of cells on each device. A label runs into the following cells of its pass.
  void add(std::uint32_t device, std::int64_t cell, std::int64_t cells, const std::string& label);

  // "F3b", "F3b+B1a" of a fused pair
  std::string label(const Routes& routes, const Pass& pass) const;
  std::string label(const Routes& routes, const Pass& pass, const Pass& fused) const;

  // Rows of more than so many characters go on below, by cells; 0: never. With `ruler` > 0, every
  // so many-th cell has its number above the rows.
  std::string text(std::size_t columns = 0, std::int64_t ruler = 0) const;

 private:
  void idle_to(std::string& row, std::int64_t cell) const;

  std::size_t width_;  // of a cell, in characters
  bool chunks_;        // told apart by letters
  std::int64_t end_ = 0;
  std::vector<std::string> rows_;
};

}  // namespace pipewright::schedules
