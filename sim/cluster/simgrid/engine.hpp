#pragma once

#include <string>
#include <utility>
#include <vector>

#include <simgrid/s4u.hpp>
#include <simgrid/version.h>
#if __has_include(<simgrid/simcall.hpp>)
#include <simgrid/simcall.hpp>
#else
#include <simgrid/simix.hpp>
#endif

// Hides the differences between the C++ interfaces of SimGrid 3.32 and 4.x.
namespace pipewright::cluster {

namespace sg4 = simgrid::s4u;

// Returns the only SimGrid engine of the process, configured for flow-level GPU fabrics: plain
// bandwidth sharing (CM02) without the TCP terms that SimGrid fits to Ethernet clusters by default.
sg4::Engine& engine();
// Returns whether SimGrid's engine already has a platform. SimGrid can load a file only as its
// first platform; after it, only zones that pipewright builds can be added.
bool has_platform();
// Records that the engine has a platform. Returns true if it had none before, in which case the
// caller must create the platform.
bool begin_platform();

// Runs code on SimGrid's main thread, so that no actor runs before the code has ended. An actor
// that calls SimGrid several times lets other actors run in between.
template <class Code>
void run_at_once(Code&& code) {
  simgrid::kernel::actor::simcall_answered(std::forward<Code>(code));
}

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

// Add a host or a link to the implementation object of a zone, kernel::routing::NetZoneImpl.
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
// Makes a zone the root of the platform; SimGrid 3.32 does so by itself for the first zone.
template <class Zone>
void make_top(sg4::Engine& engine, Zone& zone) {
#if SIMGRID_VERSION >= 40000
  zone.set_parent(engine.get_netzone_root()->get_impl());
#else
  (void)engine;
  (void)zone;
#endif
}

// Creates a platform with one host and no links.
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

// Blocks the actor until the flow has ended. A flow that has ended already costs no switch to
// SimGrid's kernel. Waiting for a single activity would start a timeout on the actor's host, which
// takes as long as a flow.
inline void wait_for_end(const sg4::CommPtr& flow) {
  if (flow->get_finish_time() >= 0) return;
#if SIMGRID_VERSION >= 33500
  flow->wait();
#else
  sg4::Activity::wait_any_for({flow}, -1);
#endif
}

// Key of SimGrid's precision setting: renamed in 3.34, but the old name stays valid through 4.1.
inline constexpr const char* precision_key = "surf/precision";

}  // namespace pipewright::cluster
