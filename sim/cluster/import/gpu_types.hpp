#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace pipewright::cluster {

// Properties of a GPU type of platforms/gpus that are the same in all nodes. The bandwidth of a
// link is payload in one direction: the value in platforms/nodes divided by the number of links
// (370 GB/s over 18 NVLinks of an H100), so that imported nodes are comparable with these files.
struct GpuType {
  std::string_view name;
  int sm = 0;  // compute capability x 10; selects the first type with it if the file has no device
  std::array<std::string_view, 3> devices;  // PCI device identifiers
  std::uint32_t nvlink = 0;                 // NVLink generation; 0 if it has none
  int links = 0;
  double link_bandwidth = 0;  // bytes/s of each link
  double nic_bandwidth = 0;   // bytes/s of a NIC in the vendor's systems
  // launch latency of a collective in seconds, see platforms/nodes; 0 for the default of the NVLink
  // generation
  double launch = 0;
  double sharp = 0;  // fraction of the links' bandwidth that reductions in NVSwitches reach
  bool is_xgmi = false;
};
std::span<const GpuType> gpu_types();

}  // namespace pipewright::cluster
