#include "sim/cluster/simgrid/engine.hpp"

#include <csignal>
#include <utility>

#include <xbt/log.h>

namespace pipewright::cluster {
namespace {

bool has_one = false;

}  // namespace

sg4::Engine& engine() {
  // Never destroyed: a second engine in the same process would start at this one's clock.
  static sg4::Engine* const instance = [] {
    struct sigaction interrupt {};  // the program's, in place of which the engine sets its own
    sigaction(SIGINT, nullptr, &interrupt);
    xbt_log_control_set("xbt_cfg.thres:warning");
    sg4::Engine::set_config("debug/clean-atexit:no");  // nothing is left to do then
    auto* made = new sg4::Engine("pipewright");        // not (argc, argv), which eats --help
    sigaction(SIGINT, &interrupt, nullptr);
    xbt_log_control_set("s4u_comm.thres:critical");        // of transfers that an interrupt ends
    xbt_log_control_set("s4u_actor.thres:critical");       // of passes shorter than its precision
    xbt_log_control_set("ker_engine.app:file:/dev/null");  // deadlocks are told in our words
    sg4::Engine::set_config("network/model:CM02");
    sg4::Engine::set_config("network/crosstraffic:no");
    sg4::Engine::set_config("network/TCP-gamma:1e30");  // no window: latency does not cap a flow
    sg4::Engine::set_config(std::string(precision_key) + ":1e-12");
    return made;
  }();
  return *instance;
}

bool has_platform() { return has_one; }
bool begin_platform() { return !std::exchange(has_one, true); }

}  // namespace pipewright::cluster
