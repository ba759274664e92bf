#include "validation/network_rows.hpp"

#include <array>
#include <stdexcept>

#include <fmt/format.h>

#include "support/reference.hpp"

namespace pipewright::accuracy {

std::span<const MeasuredNetwork> measured_networks() {
  static constexpr std::array<MeasuredNetwork, 3> networks{{
      {"A100 intra-node", "a100-nvlink", "dgx-a100", 1},
      {"2 nodes x 8 A100-SXM4-40GB, OCI RoCE cluster network", "a100-roce", "a100-roce", 2},
      {"2 x p5.48xlarge (8 H100, EFA 3200 Gb/s per node)", "p5-efa", "p5-efa", 2},
  }};
  return networks;
}

std::vector<analysis::Measurement> network_rows(const std::filesystem::path& csv,
                                                const MeasuredNetwork& network) {
  std::vector<analysis::Measurement> rows;
  int line = 1;
  for (const auto& cells : tests::read_csv(csv)) {
    ++line;
    if (cells.at("hardware") != network.hardware || cells.at("time_us").empty()) continue;
    const auto operation = analysis::parse_operation(cells.at("collective"));
    const double seconds = std::stod(cells.at("time_us")) / 1e6;
    if (!operation || !(seconds > 0))
      throw std::runtime_error(fmt::format("{}:{}: no row of a collective", csv.string(), line));
    rows.push_back({.operation = *operation,
                    .ranks = static_cast<std::uint32_t>(std::stoul(cells.at("ranks"))),
                    .nodes = network.nodes,
                    .bytes = std::stoull(cells.at("size_bytes")),
                    .seconds = seconds,
                    .in_place = false,
                    .type = "",
                    .file = csv.string(),
                    .line = line});
  }
  return rows;
}

}  // namespace pipewright::accuracy
