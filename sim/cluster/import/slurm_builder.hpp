#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sim/cluster/import/fabric_parts.hpp"

namespace pipewright::cluster {

// Puts a fabric together from a switch or a block after the other.
class SlurmBuilder {
 public:
  explicit SlurmBuilder(SourceText source) { parts_.source = std::move(source); }

  const SourceText& source() const { return parts_.source; }
  [[noreturn]] void fail(int line, const std::string& what) const {
    parts_.source.fail(line, what);
  }

  // With what is below it: switches or nodes, as hostlists; one of them is empty.
  void add_switch(int line, const std::string& name, std::string_view children,
                  std::string_view nodes);

  void add_block(int line, const std::string& name, std::string_view nodes);
  FabricParts finish();

 private:
  struct Below {
    std::uint32_t above;
    std::string name;
    int line;
  };

  std::vector<std::string> expanded(int line, std::string_view text) const;
  std::vector<std::string> expanded_or_none(int line, std::string_view text) const;

  std::size_t host_at(int line, const std::string& name);

  void join_switches();

  // Slurm runs no job across switches without one above; here they are joined, as blocks are.
  void join_tops();

  // A leaf for each block.
  void add_leaves();

  static constexpr std::uint32_t none = ~std::uint32_t{0};
  FabricParts parts_;
  std::unordered_map<std::string, std::uint32_t> switch_of_;
  std::unordered_map<std::string, std::size_t> host_of_;
  std::unordered_map<std::string, std::uint32_t> domain_of_;
  std::vector<Below> below_;
  std::vector<std::uint32_t> tops_;
};

}  // namespace pipewright::cluster
