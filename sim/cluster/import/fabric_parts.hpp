#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/cluster/import/source_text.hpp"

namespace pipewright::cluster {

// Switches, cables and hosts as listed in a file, before hosts get a node kind. Rates are nominal,
// in bytes/s per direction; 0 if unknown.
struct FabricParts {
  struct Switch {
    std::string name;
    int line = 0;
    bool is_leaf = false;  // has hosts, whether selected or not
  };
  struct Cable {  // a single cable between two switches
    std::uint32_t below = 0;
    std::uint32_t above = 0;
    double rate = 0;
    int line = 0;
    double port_rate = 0;  // that the ports at both ends have; 0 if unknown
  };
  // Port of a host's NIC on a switch, or all NICs of a host if the file does not list them.
  struct Port {
    std::string device;  // "mlx5_3"
    std::uint32_t switch_index = 0;
    double rate = 0;
    int line = 0;
  };
  struct Host {
    std::string name;
    std::vector<Port> ports;
    int line = 0;
    std::uint32_t domain = 0;  // index in `domains`, if there are any
  };
  struct Domain {  // hosts that are joined by NVLink
    std::string name;
    int line = 0;
  };

  SourceText source;
  std::vector<Switch> switches;
  std::vector<Cable> cables;
  std::vector<Host> hosts;
  std::vector<Domain> domains;
  // true if the file lists every NIC and cable; otherwise a host has a single entry for all NICs
  bool has_port_rates = false;
  Findings findings;
};

// Readers of fabric files. They throw Error with the line of a fault.
FabricParts read_ibnetdiscover(SourceText source);
FabricParts read_slurm_conf(SourceText source);
// Reads the topology with this name, or else the cluster's default one.
FabricParts read_slurm_yaml(SourceText source, const std::string& topology);

}  // namespace pipewright::cluster
