#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/cluster/import/source_text.hpp"

namespace pipewright::cluster {

// Switches, cables and hosts as a file tells of them, before anybody asks what a host is. Rates are
// nominal, in bytes/s of one direction; 0: not told.
struct FabricParts {
  struct Switch {
    std::string name;
    int line = 0;
    bool is_leaf = false;  // hosts are on it, whichever of them count
  };
  struct Cable {  // one, between two switches
    std::uint32_t below = 0;
    std::uint32_t above = 0;
    double rate = 0;
    int line = 0;
  };
  // A port of a host's NIC on a switch; or all of the host's, where the file does not tell of NICs.
  struct Port {
    std::string device;  // "mlx5_3"
    std::uint32_t on = 0;
    double rate = 0;
    int line = 0;
  };
  struct Host {
    std::string name;
    std::vector<Port> ports;
    int line = 0;
    std::uint32_t domain = 0;  // of `domains`, if there are any
  };
  struct Domain {  // hosts that NVLink joins
    std::string name;
    int line = 0;
  };

  SourceText source;
  std::vector<Switch> switches;
  std::vector<Cable> cables;
  std::vector<Host> hosts;
  std::vector<Domain> domains;
  bool tells_ports = false;  // each NIC's and each cable's; else a host has one entry for all NICs
  Findings findings;
};

// Both read what `source` holds; Error with its line otherwise.
FabricParts read_ibnetdiscover(SourceText source);
FabricParts read_slurm_conf(SourceText source);
// Of the topologies in it the one of that name, or the cluster's default.
FabricParts read_slurm_yaml(SourceText source, const std::string& topology);

}  // namespace pipewright::cluster
