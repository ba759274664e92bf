#include "validation/network_rows.hpp"

#include <array>
#include <stdexcept>

#include <fmt/format.h>

#include "sim/config/text/library.hpp"
#include "support/reference.hpp"

namespace pipewright::accuracy {

std::span<const MeasuredNetwork> measured_networks() {
  // The first three do not say their version of NCCL. 2.18 is of the time of the last two of them.
  static constexpr std::string_view old = "nccl_curves.csv";
  static constexpr std::array<MeasuredNetwork, 10> networks{{
      {"A100 intra-node", "a100-nvlink", "dgx-a100", 1, 18, old},
      {"2 nodes x 8 A100-SXM4-40GB, OCI RoCE cluster network", "a100-roce", "a100-roce", 2, 18,
       old},
      {"2 x p5.48xlarge (8 H100, EFA 3200 Gb/s per node)", "p5-efa", "p5-efa", 2, 18, old},
      {"NVIDIA A100-SXM4-80GB", "a100", "dgx-a100", 1, 27, one_domain_file},
      {"NVIDIA H100 80GB HBM3", "h100", "dgx-h100", 1, 29, one_domain_file},
      {"NVIDIA H200", "h200", "dgx-h200", 1, 29, one_domain_file},
      {"NVIDIA B200", "b200", "dgx-b200", 1, 29, one_domain_file},
      {"NVIDIA B300 SXM6 AC", "b300", "dgx-b300", 1, 29, one_domain_file},
      {"NVIDIA GB200", "gb200", "gb200-nvl72", 1, 29, one_domain_file},
      {"NVIDIA GB300", "gb300", "gb300-nvl72", 1, 29, one_domain_file},
  }};
  return networks;
}

cluster::Cluster load(const MeasuredNetwork& network) {
  const std::string name(network.cluster);
  cluster::Cluster cluster =
      cluster::Cluster::load(config::library_file("clusters", name, ".xml"), name);
  cluster.set_nccl(network.nccl);
  return cluster;
}

std::vector<analysis::Measurement> network_rows(const std::filesystem::path& reference,
                                                const MeasuredNetwork& network) {
  const std::filesystem::path csv = reference / network.file;
  const bool one_domain = network.file == one_domain_file;
  const char* const hardware = one_domain ? "device" : "hardware";
  const char* const collective = one_domain ? "op" : "collective";
  const char* const ranks = one_domain ? "gpus" : "ranks";
  std::vector<analysis::Measurement> rows;
  int line = 1;
  for (const auto& cells : tests::read_csv(csv)) {
    ++line;
    if (cells.at(hardware) != network.hardware || cells.at("time_us").empty()) continue;
    const std::string& name = cells.at(collective);
    const auto operation = analysis::parse_operation(name == "alltoall" ? "all_to_all" : name);
    const double seconds = std::stod(cells.at("time_us")) / 1e6;
    if (!operation || !(seconds > 0))
      throw std::runtime_error(fmt::format("{}:{}: no row of a collective", csv.string(), line));
    rows.push_back({.operation = *operation,
                    .ranks = static_cast<std::uint32_t>(std::stoul(cells.at(ranks))),
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
