#pragma once

#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/cluster/platform/platform.hpp"
#include "sim/cluster/platform/platform_file.hpp"
#include "sim/cluster/platform/torus_grid.hpp"
#include "sim/cluster/route.hpp"
#include "sim/config/communication.hpp"

namespace pipewright::cluster {

struct InSimgrid;

// Place of a GPU in a torus: the torus, numbered as in the platform file, and the corner, which is
// the GPU's own or the one that the NICs of its node are connected to.
struct TorusPosition {
  std::uint32_t torus = 0;
  std::uint32_t corner = 0;

  bool operator==(const TorusPosition&) const = default;
};

// A loaded platform, which owns its hosts and links.
class Network {
 public:
  // Equivalence class of GPUs: GPUs with the same number reach all other GPUs over the same links,
  // except for a link of their own at their end.
  struct Equivalence {
    std::uint64_t number = 0;
    bool has_own_link = false;

    bool operator==(const Equivalence&) const = default;
  };
  // Missing route, as an error message and a line of the platform file.
  struct MissingRoute {
    int line = 0;  // line of the zone without the route
    std::string message;
  };

  Network() = default;
  Network(const Network&) = delete;  // routes and callers point to its hosts and links
  Network& operator=(const Network&) = delete;
  virtual ~Network() = default;
  // Finds a route. Sets its source, destination, links, and the latency that it has in addition to
  // that of its links. Returns false if there is no route.
  virtual bool find(const Host* source, const Host* destination, Condition condition,
                    Route& route) const = 0;
  // Equivalence class of a GPU by its routes to other nodes (`across`) or inside its own node.
  virtual Equivalence equivalence(const Host* gpu, bool across) const = 0;
  // Says why there is no route from source to destination, if the network can tell.
  virtual std::optional<MissingRoute> explain_missing(const Host* /*source*/,
                                                      const Host* /*destination*/) const {
    return std::nullopt;
  }

  // Called after links have failed, recovered or changed their rates. A network that finds routes
  // itself avoids failed links and loads slow ones less.
  virtual void faults_changed(const std::vector<Link*>& /*affected*/) {
    has_failed_links = std::ranges::any_of(links, &Link::failed);
    constexpr double rounding = 1e-9;  // relative error of a rate that was changed and restored
    has_faults = has_failed_links || std::ranges::any_of(links, [](const Link& link) {
                   return std::abs(link.rate_left - 1) > rounding;
                 });
  }
  // Links that fail together with a host, switch or zone; empty if the name is unknown.
  virtual std::vector<Link*> links_at(const std::string& /*name*/) { return {}; }

  virtual std::vector<std::string> switches() const { return {}; }
  virtual void set_multipath(const config::Multipath& /*now*/) {}
  virtual bool has_divided_routes() const { return false; }
  // Place of a GPU in a torus, if it has one; and the torus of that number.
  virtual std::optional<TorusPosition> torus_position(const Host* /*gpu*/) const {
    return std::nullopt;
  }
  virtual TorusGrid torus(std::uint32_t /*torus*/) const { return {}; }
  // SimGrid's hosts and links, if SimGrid has loaded the platform; otherwise null.
  virtual const InSimgrid* in_simgrid() const { return nullptr; }

  // Appends the links of the route from source to destination, each as often as the route lists it.
  void append_links(const Host* source, const Host* destination,
                    std::vector<const Link*>& between) const;
  // Adds two hosts, with consecutive numbers, and connects them by these links.
  std::pair<Host*, Host*> add_ends(const std::vector<const Link*>& between);
  const std::deque<Host>& ends() const { return ends_; }  // hosts that add_ends() added
  void truncate_ends(std::size_t count);                  // keeps the first `count` of them

  // Updates every link's pointer to the model of its class. Call it after the model has changed.
  void bind_models() {
    for (Link& link : links)
      link.models = {&model.of(link.link_class), &expected.of(link.link_class)};
  }

  std::vector<Host> hosts;  // by number
  std::vector<Link> links;  // by number
  std::vector<Host*> gpus;  // in natural order
  bool has_failed_links = false;
  bool has_faults = false;  // failed links, or links whose rates were changed
  config::Multipath multipath;
  MessageModel model;
  MessageModel expected;  // equal to `model` unless NCCL expects other numbers
  bool has_tuning_model = false;
  bool file_has_expected = false;  // the platform file has `expected.` properties

 private:
  virtual void append_platform_links(const Host* source, const Host* destination,
                                     std::vector<const Link*>& between) const = 0;

  std::deque<Host> ends_;  // their numbers follow those of `hosts`
  std::vector<std::vector<const Link*>> between_ends_;
};

// Makes a network from a platform that was read without SimGrid; it finds routes itself.
std::shared_ptr<Network> make_network(const PlatformFile& file, Platform platform,
                                      const config::Multipath& multipath);
// Loads any platform file with SimGrid, which then finds the routes. Only one file can be loaded
// per process, and none once a simulation has started (std::logic_error).
std::shared_ptr<Network> load_with_simgrid(const PlatformFile& file);

// Reads the message model from the outermost zone and applies it to the links. Throws Error with
// the line of the property.
void read_model(const PlatformFile& file, Network& network);

// Reads the memory capacity of GPUs. Throws Error, with the line of the GPU, if the property is not
// a size.
void read_host_properties(const PlatformFile& file, Network& network);

}  // namespace pipewright::cluster
