#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace pipewright::cluster {

// Properties of a GPU type of platforms/gpus that are the same in all nodes. The bandwidth of a
// link is payload in one direction: the value in platforms/nodes divided by the number of links
// (370 GB/s over 18 NVLinks of an H100), so that imported nodes are comparable with these files.
struct GpuType {
  std::string_view name;
  int sm = 0;  // compute capability x 10; selects the first type with it if the file has no device
  std::array<std::string_view, 3> devices;  // PCI device identifiers
  std::uint32_t nvlink = 0;                 // NVLink generation; 0 if it has none
  int links = 0;              // links of each GPU in the vendor's systems; 0 if it has none there
  double link_bandwidth = 0;  // bytes/s of each link
  double nic_bandwidth = 0;   // bytes/s of a NIC in the vendor's systems
  // launch latency of a collective in seconds, see platforms/nodes; 0 for the default of the NVLink
  // generation
  double launch = 0;
  double sharp = 0;  // fraction of the links' bandwidth that reductions in NVSwitches reach
  bool is_xgmi = false;
  bool is_twin = false;  // two GPUs are the dies of a package, and nodes of 8 are a twin_mesh
};
std::span<const GpuType> gpu_types();

// GPU of AMD, as RCCL's topology describes it.
struct AmdGpu {
  std::string_view product;
  std::string_view type;  // name in platforms/gpus; empty if the library has no such file
  std::string_view gcn;   // architecture; empty if only the device has it
  int compute_units = 0;  // 0 for any
  std::array<std::string_view, 4> devices;  // PCI device identifiers
};
// GPUs with a device or, if the device is unknown, with an architecture and a number of compute
// units. Several GPUs can have the same architecture and number.
std::vector<const AmdGpu*> amd_gpus(std::string_view device, std::string_view gcn,
                                    int compute_units);

}  // namespace pipewright::cluster
