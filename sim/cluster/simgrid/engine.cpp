#include "sim/cluster/simgrid/engine.hpp"

#include <csignal>
#include <utility>

#include <xbt/log.h>

namespace pipewright::cluster {
namespace {

bool platform_exists = false;

}  // namespace

sg4::Engine& engine() {
  // The engine is never destroyed, because a second engine in the same process would start at the
  // clock of the first.
  static sg4::Engine* const instance = [] {
    struct sigaction interrupt {};  // the program's handler, which the engine replaces
    sigaction(SIGINT, nullptr, &interrupt);
    xbt_log_control_set("xbt_cfg.thres:warning");
    sg4::Engine::set_config("debug/clean-atexit:no");  // no cleanup is needed at exit
    // the constructor that takes argc and argv would handle --help itself
    auto* created = new sg4::Engine("pipewright");
    sigaction(SIGINT, &interrupt, nullptr);
    xbt_log_control_set("s4u_comm.thres:critical");  // silences transfers that an interrupt ends
    // silences SimGrid's warning about durations shorter than its precision
    xbt_log_control_set("s4u_actor.thres:critical");
    xbt_log_control_set("ker_engine.app:file:/dev/null");  // pipewright reports deadlocks itself
    sg4::Engine::set_config("network/model:CM02");
    sg4::Engine::set_config("network/crosstraffic:no");
    // disables the TCP window, by which latency limits a flow's rate
    sg4::Engine::set_config("network/TCP-gamma:1e30");
    sg4::Engine::set_config(std::string(precision_key) + ":1e-12");
    return created;
  }();
  return *instance;
}

bool has_platform() { return platform_exists; }
bool begin_platform() { return !std::exchange(platform_exists, true); }

}  // namespace pipewright::cluster
