#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/cluster/import/source_text.hpp"

namespace pipewright::cluster {

// GPUs and NICs of a node as listed in a file, and the links between them.
struct NodeParts {
  struct Gpu {
    std::string name;
    int line = 0;
    int sm = 0;                        // compute capability x 10; 0 if unknown
    std::string device;                // PCI device, "0x2330"; empty if unknown
    std::string gcn;                   // architecture of an AMD GPU, "gfx942"; empty if unknown
    int compute_units = 0;             // compute units of an AMD GPU; 0 if unknown
    int switch_links = 0;              // NVLinks to switches
    std::map<std::size_t, int> links;  // NVLinks to other GPUs, by index
  };
  struct Nic {
    std::string name;
    int line = 0;
    double rate = 0;        // nominal bytes/s; 0 if unknown
    std::string bad_speed;  // text of a rate that is impossible; empty if there is none
    std::string card;       // equal for ports of the same card; empty for a card of its own
    std::vector<std::size_t> near_gpus;  // GPUs below the nearest PCIe switch that has any
  };

  SourceText source;
  std::vector<Gpu> gpus;
  std::vector<Nic> nics;
  bool has_links = false;  // the file lists NVLinks, if the GPUs have any
  bool has_xgmi = false;   // the links are AMD's xGMI
  bool is_matrix = false;  // behind a switch, the count for every peer is the GPU's total
  double pcie = 0;         // nominal bytes/s of a GPU; 0 if unknown
};

NodeParts read_nccl_topology(SourceText source);
NodeParts read_smi_matrix(SourceText source);

}  // namespace pipewright::cluster
