#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/cluster/platform/platform.hpp"
#include "sim/cluster/platform/platform_file.hpp"
#include "sim/cluster/route.hpp"
#include "sim/config/communication.hpp"

namespace pipewright::cluster {

struct InSimgrid;

// What a loaded platform knows of its hosts and links, which it owns.
class Network {
 public:
  // GPUs of one number reach all others alike: over the same links, but perhaps for one of their
  // own at their end.
  struct Alike {
    std::uint64_t number = 0;
    bool has_own_link = false;

    bool operator==(const Alike&) const = default;
  };
  // Where a route ends before it has begun.
  struct Gap {
    int line = 0;  // of the zone that lacks it
    std::string what;
  };

  Network() = default;
  Network(const Network&) = delete;  // others point to its hosts and links
  Network& operator=(const Network&) = delete;
  virtual ~Network() = default;
  // Sets source, destination, links, and what latency there is beside theirs. False if there is no
  // way.
  virtual bool find(const Host* source, const Host* destination, Route& route) const = 0;
  // As seen from other nodes, or from the GPU's own.
  virtual Alike alike(const Host* gpu, bool across) const = 0;
  // Why there is no way, of a network that knows.
  virtual std::optional<Gap> gap(const Host* /*source*/, const Host* /*destination*/) const {
    return std::nullopt;
  }

  // Has links fail, or work again. A network that finds routes itself goes round failed ones.
  virtual void fail(const std::vector<Link*>& which, bool failed) {
    for (Link* link : which) link->failed = failed;
    has_failed_links = std::ranges::any_of(links, &Link::failed);
  }
  // Those that go down with a host, a switch or a zone of this name; none if there is none.
  virtual std::vector<Link*> links_at(const std::string& /*name*/) { return {}; }

  virtual std::vector<std::string> switches() const { return {}; }
  virtual void set_multipath(const config::Multipath& /*now*/) {}
  virtual bool has_divided_ways() const { return false; }
  // Of a platform that SimGrid has loaded, where it has hosts and links.
  virtual const InSimgrid* in_simgrid() const { return nullptr; }

  // The links between the ends of a route, each as often as it stands there.
  void append_links(const Host* source, const Host* destination,
                    std::vector<const Link*>& between) const;
  // Two hosts, one after the other, and these links between them.
  std::pair<Host*, Host*> add_ends(const std::vector<const Link*>& between);
  const std::deque<Host>& ends() const { return ends_; }  // all of these
  void drop_ends(std::size_t left);                       // but for the first

  // Has each link know the model of its class, after the model has changed.
  void find_models() {
    for (Link& link : links)
      link.models = {&model.of(link.link_class), &expected.of(link.link_class)};
  }

  std::vector<Host> hosts;  // by their numbers
  std::vector<Link> links;  // likewise
  std::vector<Host*> gpus;  // in natural order
  bool has_failed_links = false;
  config::Multipath multipath;
  MessageModel model;
  MessageModel expected;  // if others than those of the model
  bool has_tuning_model = false;
  bool says_expected = false;  // the file does

 private:
  virtual void append_own_links(const Host* source, const Host* destination,
                                std::vector<const Link*>& between) const = 0;

  std::deque<Host> ends_;  // their numbers follow the hosts'
  std::vector<std::vector<const Link*>> between_ends_;
};

// Finds routes itself.
std::shared_ptr<Network> make_network(const PlatformFile& file, Platform platform,
                                      const config::Multipath& multipath);
// Has SimGrid load a file, whatever is in it, and asks it for routes. It loads one in a process,
// and none once a simulation has begun (std::logic_error).
std::shared_ptr<Network> load_with_simgrid(const PlatformFile& file);

// Reads what the outermost zone says of messages, and has the links follow it. Throws Error with
// the property's line.
void read_model(const PlatformFile& file, Network& network);

// Reads how much memory GPUs have. Throws Error, with the line of a GPU whose memory is no size.
void read_memory(const PlatformFile& file, Network& network);

}  // namespace pipewright::cluster
