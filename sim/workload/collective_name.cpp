#include "sim/workload/collective_name.hpp"

#include <array>

namespace pipewright::workload {

std::string_view name_of(Collective collective) {
  constexpr std::array<std::string_view, collective_kinds> names{
      "all-reduce",    "reduce-scatter", "all-gather", "all-to-all",
      "ring exchange", "broadcast",      "send-recv",  "pairwise"};
  return names[static_cast<std::size_t>(collective)];
}

}  // namespace pipewright::workload
