#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace pipewright::cluster {

// What a type of GPU of platforms/gpus has in common on all nodes. A link's bandwidth is what
// payload reaches in one direction: a GPU's of platforms/nodes over its number of links (370 GB/s
// over 18 NVLinks of an H100), so that what is imported compares with the files there.
struct GpuType {
  std::string_view name;
  int sm = 0;  // of a file that tells of no device the first type with it is taken
  std::array<std::string_view, 3> devices;  // PCI's
  std::uint32_t nvlink = 0;                 // generation; 0: it has none
  int links = 0;
  double link_bandwidth = 0;  // of each, bytes/s
  double nic_bandwidth = 0;   // of a NIC as its makers' boxes have it
  double launch = 0;          // seconds; see platforms/nodes; 0: its NVLinks' own
  double sharp = 0;           // part of the links that sums in NVSwitches reach
  bool is_xgmi = false;
};
std::span<const GpuType> gpu_types();

}  // namespace pipewright::cluster
