#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sim/cluster/import/fabric_parts.hpp"

namespace pipewright::cluster {

// Builds a fabric from switches and blocks, added one after the other.
class SlurmBuilder {
 public:
  explicit SlurmBuilder(SourceText source) { parts_.source = std::move(source); }

  const SourceText& source() const { return parts_.source; }
  [[noreturn]] void fail(int line, const Error& error) const { parts_.source.fail(line, error); }

  // Adds a switch with the switches or the nodes below it, as hostlists; exactly one of them is
  // empty, unless the file lists the nodes below all switches.
  void add_switch(int line, const std::string& name, std::string_view children,
                  std::string_view nodes, bool lists_all_nodes = false);

  void add_block(int line, const std::string& name, std::string_view nodes);
  FabricParts finish();

 private:
  struct ChildSwitch {
    std::uint32_t parent;
    std::string name;
    int line;
  };

  struct ListedNodes {
    std::uint32_t switch_index;
    std::vector<std::string> nodes;
    int line;
  };

  std::vector<std::string> expand(int line, std::string_view text) const;
  std::vector<std::string> expand_or_none(int line, std::string_view text) const;

  std::size_t host_at(int line, const std::string& name);

  void connect_switches();

  // Checks that nodes listed for a switch above leaves are on leaves below it.
  void check_listed_nodes() const;

  // Adds a switch above all top switches. Slurm runs no job across switches without a common
  // switch, but the fabric is connected here, like the leaves of blocks.
  void connect_tops();

  // Adds a leaf switch for each block.
  void add_leaves();

  static constexpr std::uint32_t none = ~std::uint32_t{0};
  FabricParts parts_;
  std::unordered_map<std::string, std::uint32_t> switch_of_;
  std::unordered_map<std::string, std::size_t> host_of_;
  std::unordered_map<std::string, std::uint32_t> domain_of_;
  std::vector<ChildSwitch> child_switches_;
  std::vector<ListedNodes> listed_nodes_;
  std::vector<std::uint32_t> above_;  // by switch: the switch above it, or none
  std::vector<std::uint32_t> tops_;
};

}  // namespace pipewright::cluster
