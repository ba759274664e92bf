#include "sim/cluster/route.hpp"

#include <fmt/format.h>

#include "sim/cluster/simgrid.hpp"
#include "sim/config/text/units.hpp"

namespace pipewright::cluster {

bool is_shared(const Link* link) {
  return link->get_sharing_policy() != sg4::Link::SharingPolicy::FATPIPE;
}

std::string name_of(const Host* host) { return host->get_cname(); }

std::string gpu_of(const Host* host) {
  const char* text = host->get_property("gpu");
  return text == nullptr ? "" : text;
}

std::uint64_t memory_of(const Host* host) {
  const char* text = host->get_property("memory");
  if (text == nullptr) return 0;
  return config::parse_size(text, fmt::format("host '{}': property memory", name_of(host)),
                            "a GPU's memory");
}

}  // namespace pipewright::cluster
