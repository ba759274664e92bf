#include "validation/network_rows.hpp"

#include <array>
#include <fstream>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>

#include "sim/base/temporary_folder.hpp"
#include "sim/cluster/make/make_platform.hpp"
#include "sim/config/text/library.hpp"
#include "sim/config/text/units.hpp"
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

std::span<const MeasuredNetwork> networks_between_nodes() {
  // Where a source does not tell the version of NCCL, the version of the library's files stands.
  static constexpr std::string_view file = between_nodes_file;
  static constexpr std::string_view old = "nccl_curves.csv";
  static constexpr std::array<MeasuredNetwork, 17> networks{{
      {"OCI GB200 NVL72, two racks of 16 trays of 4", "2 racks of 64 GB200", "gb200-nvl72", 2, 29,
       file, "94 GB/s"},
      {"OCI GB300 NVL72, two racks of 16 trays of 4, two NVLink domains", "2 racks of 64 GB300",
       "gb300-nvl72", 2, 28, file},
      {"GKE A4X Max, two trays in different NVLink domains", "2 trays of 4 GB300 in two racks",
       "gb300-nvl72", 2, 27, file},
      {"OCI GB300 NVL72, two trays of 4 in one NVLink domain", "8 GB300 of a rack", "gb300-nvl72",
       1, 28, file},
      {"OCI GB300 NVL72, one tray of 4", "4 GB300 of a rack", "gb300-nvl72", 1, 28, file},
      {"GKE a4, 1 GPU a pod", "2 nodes x 1 B200", "a4", 2, 26, file},
      {"GKE a4, one pod of 2 GPUs", "2 B200 of a node", "a4", 1, 26, file},
      {"GKE a3-ultra, 1 GPU a pod", "2 nodes x 1 H200", "a3-ultra", 2, 25, file},
      {"GKE a3-ultra, 1 GPU and 1 NIC a pod", "2 nodes x 1 H200 and 1 NIC", "a3-ultra", 2, 27,
       file},
      {"4 H100 of a node", "4 H100 of a node", "dgx-h100", 1, 30, file},
      {"2 x p5.48xlarge (8 H100, EFA 3200 Gb/s per node)", "2 nodes x 8 H100, EFA", "p5-efa", 2, 18,
       old},
      {"AWS with EFA; GPU type and NICs not told", "2 nodes x 8 GPUs, EFA", "p4d", 2, 27, file},
      {"OCI BM.GPU.B4.8", "2 nodes x 8 A100, NCCL 2.29", "a100-roce", 2, 29, file},
      {"2 nodes x 8 A100-SXM4-40GB, OCI RoCE cluster network", "2 nodes x 8 A100", "a100-roce", 2,
       18, old},
      {"8 MI355X a node", "2 nodes x 8 MI355X", "mi355x-roce", 2, 27, file},
      {"8 MI355X a node", "8 MI355X of a node", "mi355x-roce", 1, 27, file},
      {"8 MI308X a node", "2 nodes x 8 MI308X", "mi300x-roce", 2, 27, file},
  }};
  return networks;
}

namespace {

std::uint32_t number(const std::string& cell) {
  return static_cast<std::uint32_t>(std::stoul(cell));
}

// Platform file of the library's node kind with other NICs, of as many nodes as the library's file.
std::string with_other_nics(const MeasuredNetwork& network) {
  cluster::NodeKind kind = cluster::find_node_kind(std::string(network.cluster));
  kind.nic_bandwidth = config::parse_bandwidth(network.nic, "nic", "a bandwidth");
  cluster::PlatformRequest request;
  request.nodes = {{&kind, network.nodes}};
  return cluster::make_platform(request);
}

// Names of the columns of a reference file.
struct Columns {
  const char* hardware = "hardware";
  const char* operation = "collective";
  const char* ranks = "ranks";
  const char* bytes = "size_bytes";
};
Columns columns_of(const MeasuredNetwork& network) {
  if (network.file == one_domain_file) return {"device", "op", "gpus", "size_bytes"};
  if (network.file == between_nodes_file) return {"machine", "op", "gpus", "bytes"};
  return {};
}

// True for a row of the between-nodes file whose GPUs are on as many nodes as the network has. That
// file counts hosts; a host of a rack is a tray.
bool is_on_nodes(const MeasuredNetwork& network, std::uint32_t hosts) {
  const bool is_rack = network.cluster.ends_with("nvl72");
  return is_rack || hosts == network.nodes;
}

}  // namespace

cluster::Cluster load(const MeasuredNetwork& network) {
  const std::string name(network.cluster);
  std::filesystem::path file = config::library_file("clusters", name, ".xml");
  std::optional<base::TemporaryFolder> folder;
  if (!network.nic.empty()) {
    folder.emplace("pipewright-network-", "cannot make a folder");
    file = folder->path() / (name + ".xml");
    std::ofstream(file) << with_other_nics(network);
  }
  cluster::Cluster cluster = cluster::Cluster::load(file, name);
  if (cluster.nccl()) cluster.set_nccl(network.nccl);
  return cluster;
}

std::vector<analysis::Measurement> network_rows(const std::filesystem::path& reference,
                                                const MeasuredNetwork& network) {
  const std::filesystem::path csv = reference / network.file;
  const Columns columns = columns_of(network);
  std::vector<analysis::Measurement> rows;
  int line = 1;
  for (const auto& cells : tests::read_csv(csv)) {
    ++line;
    if (cells.at(columns.hardware) != network.hardware || cells.at("time_us").empty()) continue;
    const bool between_nodes = network.file == between_nodes_file;
    if (between_nodes && !is_on_nodes(network, number(cells.at("nodes")))) continue;
    const std::string& name = cells.at(columns.operation);
    const auto operation = analysis::parse_operation(name == "alltoall" ? "all_to_all" : name);
    const double seconds = std::stod(cells.at("time_us")) / 1e6;
    if (!operation || !(seconds > 0))
      throw std::runtime_error(fmt::format("{}:{}: no row of a collective", csv.string(), line));
    rows.push_back({.operation = *operation,
                    .ranks = number(cells.at(columns.ranks)),
                    .nodes = network.nodes,
                    .bytes = std::stoull(cells.at(columns.bytes)),
                    .seconds = seconds,
                    .in_place = between_nodes && cells.at("place") == "in",
                    .type = "",
                    .file = csv.string(),
                    .line = line});
  }
  return rows;
}

}  // namespace pipewright::accuracy
