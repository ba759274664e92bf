#pragma once

#include <string>
#include <utility>
#include <vector>

#include <simgrid/s4u.hpp>
#include <simgrid/version.h>

// Everything that differs between SimGrid 3.32 and 4.x stands here.
namespace pipewright::cluster {

namespace sg4 = simgrid::s4u;

// The process's one SimGrid engine, configured for flow-level GPU fabrics: plain bandwidth sharing
// (CM02) without the TCP terms that SimGrid fits to Ethernet clusters by default.
sg4::Engine& engine();
// Whether it has a platform. SimGrid loads a file only as the first; zones of ours may follow.
bool has_platform();
// Whether it had none until now, when the caller makes one.
bool begin_platform();

template <class Body>
sg4::ActorPtr add_actor(sg4::Host* host, const std::string& name, Body&& body) {
#if SIMGRID_VERSION >= 40100
  return host->add_actor(name, std::forward<Body>(body));
#elif SIMGRID_VERSION >= 40000
  return sg4::Engine::get_instance()->add_actor(name, host, std::forward<Body>(body));
#else
  return sg4::Actor::create(name, host, std::forward<Body>(body));
#endif
}

// Hosts and links of a zone's inner side, kernel::routing::NetZoneImpl.
template <class Zone>
sg4::Host* add_host(Zone& zone, const std::string& name, double speed) {
#if SIMGRID_VERSION >= 40000
  return zone.add_host(name, std::vector<double>{speed});
#else
  return zone.create_host(name, std::vector<double>{speed});
#endif
}
template <class Zone>
sg4::Link* add_link(Zone& zone, const std::string& name, double bandwidth) {
#if SIMGRID_VERSION >= 40000
  return zone.add_link(name, std::vector<double>{bandwidth});
#else
  return zone.create_link(name, std::vector<double>{bandwidth});
#endif
}
// The platform's first zone; 3.32 takes it as the root by itself.
template <class Zone>
void make_top(sg4::Engine& engine, Zone& zone) {
#if SIMGRID_VERSION >= 40000
  zone.set_parent(engine.get_netzone_root()->get_impl());
#else
  (void)engine;
  (void)zone;
#endif
}

// A platform of one host and no links.
inline void create_single_host(sg4::Engine& engine, const std::string& name) {
#if SIMGRID_VERSION >= 40000
  engine.get_netzone_root()->add_host(name, 1e9)->seal();
  engine.get_netzone_root()->seal();
#else
  (void)engine;
  sg4::NetZone* zone = sg4::create_full_zone("root");
  zone->create_host(name, 1e9)->seal();
  zone->seal();
#endif
}

// The configuration key was renamed in 3.34; the old name stays an alias through 4.1.
inline constexpr const char* precision_key = "surf/precision";

}  // namespace pipewright::cluster
