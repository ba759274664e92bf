#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "analysis/comm/measurement.hpp"

// Published curves of collectives, which are read in place: nccl_curves.csv.
namespace pipewright::accuracy {

// Hardware that curves are of, and the platform file that describes it.
struct MeasuredNetwork {
  std::string_view hardware;  // as the file calls it
  std::string_view name;      // of pictures
  std::string_view cluster;   // of the library
  std::uint32_t nodes;
};
std::span<const MeasuredNetwork> measured_networks();

// The rows that say a time, in the order of the file. Throws std::runtime_error for one that cannot
// be.
std::vector<analysis::Measurement> network_rows(const std::filesystem::path& csv,
                                                const MeasuredNetwork& network);

}  // namespace pipewright::accuracy
