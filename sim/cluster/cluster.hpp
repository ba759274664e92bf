#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

namespace simgrid::s4u {
class Host;
class Link;
}  // namespace simgrid::s4u

namespace pipewright::cluster {

using simgrid::s4u::Host;

// A platform file, or a use of one, that cannot work.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The way from one host to another when nothing else is on it.
struct Route {
  double latency = 0;                                          // seconds
  double bandwidth = std::numeric_limits<double>::infinity();  // bytes/s of its narrowest link

  double seconds(std::uint64_t bytes) const {
    return latency + static_cast<double>(bytes) / bandwidth;
  }
};

// The hosts and links that a run uses. SimGrid has one engine per process, so a process loads one
// platform file at the most, before any ideal network (std::logic_error otherwise).
//
// SimGrid shares a link in inverse proportion to the flows' latencies. GPUs' fabrics do not, so the
// links' latencies are kept here and set to 0 in SimGrid; who transfers pays Route::latency.
class Cluster {
 public:
  // No links: every hop takes `latency` seconds whatever its size, and nothing contends.
  static Cluster ideal(double latency);
  // Throws Error with the file's name, and its line where SimGrid tells it.
  static Cluster load(const std::filesystem::path& file);

  // A host for each device: the named ones, or the first in natural order of names (node-2 before
  // node-10). Each device needs its own.
  std::vector<Host*> place(const std::vector<std::string>& names, std::uint32_t devices) const;
  // Throws Error if the platform file knows no way.
  Route route(const Host* source, const Host* destination) const;

  bool is_ideal() const { return ideal_; }
  const std::string& name() const { return name_; }  // the file's, or "ideal network, 0.5 ms a hop"
  const std::string& text() const { return text_; }  // the file's content, empty if ideal

 private:
  Cluster() = default;

  bool ideal_ = true;
  double ideal_latency_ = 0;
  std::string name_;
  std::string text_;
  std::unordered_map<const simgrid::s4u::Link*, double> latencies_;  // as the file says, seconds
};

// What a host's name is called in outputs, and its GPU memory in bytes (property "memory", 0:
// unknown). Throws config::Error if the property is no size.
std::string name_of(const Host* host);
std::uint64_t memory_of(const Host* host);

std::string simgrid_version();  // "SimGrid 3.32"

}  // namespace pipewright::cluster
