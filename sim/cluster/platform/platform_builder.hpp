#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sim/cluster/platform/platform.hpp"
#include "sim/cluster/platform/platform_file.hpp"

namespace pipewright::cluster {

// Thrown at the first element that only SimGrid itself can read.
struct OnlySimgrid {};

// Assembles a platform from named elements. Throws Error with a position in the file for whatever
// SimGrid rejects: duplicate names, and routes between undefined elements.
class PlatformBuilder {
 public:
  explicit PlatformBuilder(const PlatformFile& file) : file_(file) {}

  struct LinkSpec {
    double bandwidth = 0;
    double latency = 0;
    bool fatpipe = false;
    bool duplex = false;
    std::string link_class;
  };
  struct HostSpec {
    double speed = 0;
    int cores = 1;
    Platform::Properties properties;
  };
  struct RouteSpec {
    std::string source;
    std::string destination;
    std::string source_gateway;  // empty for a route between hosts
    std::string destination_gateway;
    bool symmetrical = true;
    std::vector<std::pair<std::string, char>> links;  // name and direction: U(p), D(own) or N(one)
  };

  Index add_zone(std::ptrdiff_t at, const std::string& name, Platform::Routing routing,
                 Index parent);
  void add_host(std::ptrdiff_t at, const std::string& name, Index zone, const HostSpec& spec);
  void add_router(std::ptrdiff_t at, const std::string& name, Index zone);
  void add_link(std::ptrdiff_t at, const std::string& name, const LinkSpec& spec);
  void add_route(std::ptrdiff_t at, Index zone, const RouteSpec& spec);
  // Hosts of a <cluster> and their links, named as SimGrid names them: around a switch, or in a
  // torus.
  struct ClusterSpec {
    std::string name;
    std::vector<std::pair<std::string, int>> hosts;  // name and number
    std::string router;
    std::vector<Index> sides;
    HostSpec host;
    LinkSpec link;
  };
  void add_star(std::ptrdiff_t at, Index parent, const ClusterSpec& spec);
  void add_torus(std::ptrdiff_t at, Index parent, const ClusterSpec& spec);

  Platform finish();

 private:
  struct NamedLink {
    Index link;
    bool duplex;  // the name covers both directions
  };
  Index begin_cluster(std::ptrdiff_t at, Platform::Routing routing, Index parent,
                      const ClusterSpec& spec);
  void push_link(std::ptrdiff_t at, const std::string& name, const LinkSpec& spec);
  Index add_vertex(std::ptrdiff_t at, const std::string& name, Index zone);
  Index find_vertex(std::ptrdiff_t at, const std::string& name, std::string_view role) const;
  Index find_end(std::ptrdiff_t at, Index zone, const std::string& name, bool is_zone) const;
  Index find_gateway(std::ptrdiff_t at, Index end, const std::string& name) const;
  void insert_route(std::ptrdiff_t at, Index zone, Index source, Index destination,
                    Platform::Route&& route);
  Index properties_of(const HostSpec& spec);
  bool root_tree(const Platform::Zone& zone);
  void prepare_paths();

  const PlatformFile& file_;
  Platform platform_;
  std::unordered_map<std::string, Index> vertex_of_;
  std::unordered_map<std::string, NamedLink> link_of_;
};

}  // namespace pipewright::cluster
