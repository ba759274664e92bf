#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/cluster/platform_file.hpp"

namespace pipewright::cluster {

// Where hosts and links stand in a cluster's file, by name; those that a <cluster> makes stand
// where it does.
class Places {
 public:
  explicit Places(const PlatformFile& file);
  explicit Places(const Cluster& cluster);

  int line_of_host(const std::string& name) const;  // 0 if unknown
  int line_of_link(const std::string& name) const;

 private:
  struct Made {
    std::string prefix;
    std::string suffix;
    std::string links;  // what their names begin with
    int line;
  };
  std::unordered_map<std::string, int> hosts_;
  std::unordered_map<std::string, int> links_;
  std::vector<Made> clusters_;
};

}  // namespace pipewright::cluster
