#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "analysis/commlogs/measurement.hpp"
#include "sim/cluster/cluster.hpp"

// Published curves of collectives, which are read in place.
namespace pipewright::accuracy {

// Hardware that curves are of, and the platform file that describes it.
struct MeasuredNetwork {
  std::string_view hardware;  // as the file calls it
  std::string_view name;      // of pictures and tables
  std::string_view cluster;   // of the library
  std::uint32_t nodes;        // nodes, or NVLink domains, that the ranks occupy
  std::uint32_t nccl;         // version of NCCL: 27 of 2.27
  std::string_view file;      // in the reference folder
  // Payload bandwidth of a NIC where the machine has other NICs than the library's file: "94 GB/s".
  std::string_view nic = {};
};
// Several operations, mostly on nodes of eight and in racks.
inline constexpr std::string_view one_domain_file = "2026/aic_nccl_one_nvlink_domain.csv";
// Several operations between nodes and between racks, with buffers in place and out of place.
inline constexpr std::string_view between_nodes_file = "2026b/nccl_between_nodes.csv";
// Curves in one NVLink domain, and all-reduces over two nodes.
std::span<const MeasuredNetwork> measured_networks();
// Tables of machines with several nodes or racks.
std::span<const MeasuredNetwork> networks_between_nodes();

// As the library has it, choosing as its version of NCCL does.
cluster::Cluster load(const MeasuredNetwork& network);

// The rows that say a time, in the order of the file below the reference folder. Throws
// std::runtime_error for one that cannot be.
std::vector<analysis::Measurement> network_rows(const std::filesystem::path& reference,
                                                const MeasuredNetwork& network);

}  // namespace pipewright::accuracy
