#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/cli/options.hpp"

// What the verbs of `platform` that write files share.
namespace pipewright::cli {

// What a node has otherwise than its kind, or a node of no kind: keys of its file.
struct NodeOption {
  std::string_view option;
  std::string_view key;
  std::string_view word;
  std::string_view help;
};
inline constexpr std::array node_options{
    NodeOption{"gpu", "gpu", "NAME", "its GPUs: of platforms/gpus, or a file"},
    NodeOption{"gpus-per-node", "gpus", "N", "how many, that links join: an NVLink domain (8)"},
    NodeOption{"wiring", "wiring", "WIRING",
               "of GPUs: nvswitch, mesh, cube_mesh, twin_mesh or pcie (nvswitch)"},
    NodeOption{"nvlink", "link_bandwidth", "RATE",
               "what payload reaches one way on a GPU's link, or in a mesh on each: '370 GB/s'"},
    NodeOption{"nics", "nics", "N", "NICs of a node (one for each GPU)"},
    NodeOption{"nic", "nic_bandwidth", "RATE", "what payload reaches one way on each: '47 GB/s'"},
};
void add_node_options(po::options_description& options);

// The trees of these kinds, or of the one that options describe alone. Throws UsageError.
std::vector<std::pair<std::string, config::Value>> node_trees(const po::variables_map& given,
                                                              const std::vector<std::string>& kinds,
                                                              const std::string& verb);

// The command as one could give it again, but without where its output went.
std::string command_of(const std::string& verb, const Arguments& arguments);

}  // namespace pipewright::cli
