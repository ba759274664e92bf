#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/cluster/platform.hpp"
#include "sim/cluster/platform_file.hpp"

namespace pipewright::cluster {

// What a loaded platform knows of its hosts and links.
class Network {
 public:
  struct LinkInfo {
    double latency = 0;  // seconds, as the file says
    std::string link_class;
    bool failed = false;
    const ClassModel* model = nullptr;  // of its class
  };

  virtual ~Network() = default;
  // Sets source, destination, links, and what latency there is beside theirs; no links if there is
  // no way.
  virtual void find(const Host* source, const Host* destination, Route& route) const = 0;

  // Has each link know the model of its class, after the model has changed.
  void find_models() {
    for (auto& [link, info] : links) info.model = &model.of(info.link_class);
  }

  std::vector<Host*> gpus;  // in natural order
  std::unordered_map<const Host*, Index> node_of;
  std::unordered_map<const Link*, LinkInfo> links;
  NetworkModel model;
};

// Makes SimGrid's hosts and links, and finds routes itself.
std::shared_ptr<Network> make_network(const PlatformFile& file, Platform platform);
// Has SimGrid load a file, whatever is in it.
std::shared_ptr<Network> load_with_simgrid(const PlatformFile& file);

}  // namespace pipewright::cluster
