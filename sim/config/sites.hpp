#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/config/keys.hpp"
#include "sim/config/text/fields.hpp"

namespace pipewright::config {

// Training over several sites with an outer loop, for 'pipewright sites' (DiLoCo, arXiv 2311.08105;
// Streaming DiLoCo, arXiv 2501.18512). Each site trains a replica as the scenario says. Every few
// iterations, the sites average the changes of their weights.
struct Sites {
  // Data type of the weight changes that sites exchange. Streaming DiLoCo uses fp4.
  enum class Precision : std::uint8_t { fp32, bf16, fp8, fp4 };

  Located<std::uint32_t> count;  // number of sites
  double bandwidth = 0;          // bytes/s of a site's connection, each way
  double latency = 0;            // seconds of an exchange in addition to its transfer
  std::uint32_t every = 100;     // iterations between two exchanges of the same weights
  std::uint32_t fragments = 1;   // number of parts of the weights, which are exchanged in turn
  std::uint32_t overlap = 0;     // iterations for which training may go on during an exchange
  Precision precision = Precision::bf16;

  double element_bytes() const {
    constexpr std::array bytes{4.0, 2.0, 1.0, 0.5};
    return bytes[static_cast<std::size_t>(precision)];
  }
};
inline constexpr std::array<std::string_view, 4> site_precisions{"fp32", "bf16", "fp8", "fp4"};

Sites read_sites(const Field& field);
std::vector<KeyRow> sites_keys();

}  // namespace pipewright::config
