#include "sim/cluster/empty_zone.hpp"

#include <algorithm>
#include <vector>

#include <pugixml.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <strings.h>

#include "sim/cluster/simgrid.hpp"

namespace pipewright::cluster {

EmptyZones::EmptyZones(const PlatformFile& file) {
  struct Walker final : pugi::xml_tree_walker {
    bool for_each(pugi::xml_node& node) override {
      if (strcasecmp(node.attribute("routing").value(), "None") == 0)
        names.insert(node.attribute("id").value());
      return true;
    }
    std::set<std::string> names;
  };
  Walker walker;
  const_cast<pugi::xml_document&>(file.document()).traverse(walker);
  names_ = std::move(walker.names);
}

bool EmptyZones::are_between(const Host* a, const Host* b) const {
  if (names_.empty()) return false;
  using Zone = simgrid::kernel::routing::NetZoneImpl;
  std::vector<const Zone*> around_a;
  for (const Zone* zone = a->get_englobing_zone()->get_impl(); zone != nullptr;
       zone = zone->get_parent())
    around_a.push_back(zone);
  for (const Zone* zone = b->get_englobing_zone()->get_impl(); zone != nullptr;
       zone = zone->get_parent())
    if (std::ranges::find(around_a, zone) != around_a.end())
      return names_.contains(zone->get_name());
  return false;
}

}  // namespace pipewright::cluster
