#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>

#include "sim/cluster/platform/platform.hpp"
#include "sim/cluster/platform/platform_file.hpp"
#include "sim/cluster/route.hpp"
#include "sim/cluster/simgrid.hpp"
#include "sim/config/communication.hpp"

namespace pipewright::cluster {

// A zone of SimGrid whose routes are found by us rather than by one of its tables. SimGrid asks at
// the start of every flow.
class FlowZone final : public simgrid::kernel::routing::NetZoneImpl {
 public:
  // Appends the links between two hosts, which go by the order in which they were added, from 0.
  using Finder = std::function<void(unsigned long, unsigned long, std::vector<const sg4::Link*>&)>;

  FlowZone(const std::string& name, Finder finder);
  // Beside the platform's zones, not under them: its hosts reach each other, and it never closes.
  FlowZone(const std::string& name, const NetZoneImpl& models, Finder finder);

  sg4::Host* add_host(const std::string& name, double speed, int cores,
                      const std::unordered_map<std::string, std::string>& properties);

 private:
  using NetPoint = simgrid::kernel::routing::NetPoint;
  using Route = simgrid::kernel::routing::Route;
  void get_local_route(const NetPoint* source, const NetPoint* destination, Route* into,
                       double* latency) override;

  Finder finder_;
  std::vector<const sg4::Link*> links_;
};

// What a loaded platform knows of its hosts and links.
class Network {
 public:
  struct LinkInfo {
    double latency = 0;  // seconds, as the file says
    std::string link_class;
    bool failed = false;
    // Of a link of which flows take parts, as several ways are equally short: SimGrid's link has so
    // many times the bandwidth, and a flow that has some of the parts crosses it so often.
    std::uint32_t parts = 1;
    std::array<const ClassModel*, kinds_of_numbers> models{};  // of its class, by Numbers

    const ClassModel& model(Numbers numbers) const {
      return *models[static_cast<std::size_t>(numbers)];
    }
  };

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
  virtual void fail(const std::vector<const Link*>& which, bool failed) {
    for (const Link* link : which) links.at(link).failed = failed;
    has_failed_links =
        std::ranges::any_of(links, [](const auto& entry) { return entry.second.failed; });
  }
  // Those that go down with a host, a switch or a zone of this name; none if there is none.
  virtual std::vector<const Link*> links_at(const std::string& /*name*/) const { return {}; }

  virtual std::vector<std::string> switches() const { return {}; }
  virtual void set_multipath(const config::Multipath& /*now*/) {}
  virtual bool has_divided_ways() const { return false; }

  // Has each link know the model of its class, after the model has changed.
  void find_models() {
    for (auto& [link, info] : links)
      info.models = {&model.of(info.link_class), &expected.of(info.link_class)};
  }

  std::vector<Host*> gpus;  // in natural order
  std::unordered_map<const Host*, Index> node_of;
  std::unordered_map<const Link*, LinkInfo> links;
  bool has_failed_links = false;
  config::Multipath multipath;
  MessageModel model;
  MessageModel expected;  // if others than those of the model
  bool has_tuning_model = false;
  bool says_expected = false;  // the file does
};

// Makes SimGrid's hosts and links, and finds routes itself.
std::shared_ptr<Network> make_network(const PlatformFile& file, Platform platform,
                                      const config::Multipath& multipath);
// Has SimGrid load a file, whatever is in it.
std::shared_ptr<Network> load_with_simgrid(const PlatformFile& file);

// Reads what the outermost zone says of messages, and has the links follow it. Throws Error with
// the property's line.
void read_model(const PlatformFile& file, Network& network);

// Throws Error, with the line of a GPU whose memory is no size.
void check_memory(const PlatformFile& file, const Network& network);

}  // namespace pipewright::cluster
