#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/cluster/import/source_text.hpp"

namespace pipewright::cluster {

// GPUs and NICs of a node as a file tells of them, and what joins them.
struct NodeParts {
  struct Gpu {
    std::string name;
    int line = 0;
    int sm = 0;                        // compute capability x 10; 0: not told
    std::string device;                // PCI's, "0x2330"; empty: not told
    int switch_links = 0;              // NVLinks to switches
    std::map<std::size_t, int> links;  // NVLinks to other GPUs, by their place
  };
  struct Nic {
    std::string name;
    int line = 0;
    double rate = 0;                // nominal, bytes/s; 0: not told
    std::string card;               // the same for ports of one card; empty: a card of its own
    std::vector<std::size_t> near;  // the GPUs on the nearest PCIe switch above it that has some
  };

  SourceText source;
  std::vector<Gpu> gpus;
  std::vector<Nic> nics;
  bool tells_links = false;  // there would be NVLinks if the GPUs had any
  bool sums_links = false;   // a link to each GPU behind a switch is all links to it
  double pcie = 0;           // of a GPU, nominal, bytes/s; 0: not told
};

NodeParts read_nccl_topology(SourceText source);
NodeParts read_smi_matrix(SourceText source);

}  // namespace pipewright::cluster
