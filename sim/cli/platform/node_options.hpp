#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/cli/options.hpp"

// Options shared by the `platform` commands that write files.
namespace pipewright::cli {

// Command-line option, such as --nvlink, that overrides a key of a node file.
struct NodeOption {
  std::string_view option;
  std::string_view key;
  std::string_view word;
  std::string_view help;
};
inline constexpr std::array node_options{
    NodeOption{"gpu", "gpu", "NAME", "GPU type: a name of platforms/gpus, or a file"},
    NodeOption{"gpus-per-node", "gpus", "N", "GPUs per node, that is, per NVLink domain (8)"},
    NodeOption{
        "wiring", "wiring", "WIRING",
        "wiring of the GPUs: nvswitch, mesh, cube_mesh, twin_mesh, pairs or pcie (nvswitch)"},
    NodeOption{
        "nvlink", "link_bandwidth", "RATE",
        "payload bandwidth of a GPU's link (in a mesh: of each link) in one direction: '370 GB/s'"},
    NodeOption{"nics", "nics", "N", "NICs per node (one per GPU)"},
    NodeOption{"nic", "nic_bandwidth", "RATE",
               "payload bandwidth of a NIC in one direction: '47 GB/s'"},
};
void add_node_options(po::options_description& options);

// YAML trees of the named node kinds with the options applied or, without names, of a node that
// only options describe. Throws UsageError.
std::vector<std::pair<std::string, config::Value>> node_trees(const po::variables_map& options,
                                                              const std::vector<std::string>& kinds,
                                                              const std::string& verb);

// Command line that reproduces the output, without the -o option.
std::string command_of(const std::string& verb, const Arguments& arguments);

}  // namespace pipewright::cli
