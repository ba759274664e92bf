#include "sim/cluster/places.hpp"

#include <algorithm>
#include <string_view>

#include <pugixml.hpp>

#include "sim/cluster/names.hpp"

namespace pipewright::cluster {
namespace {

// Whether a number alone stands between prefix and suffix.
bool is_made(std::string_view name, std::string_view prefix, std::string_view suffix) {
  if (name.size() <= prefix.size() + suffix.size()) return false;
  if (!name.starts_with(prefix) || !name.ends_with(suffix)) return false;
  name.remove_prefix(prefix.size());
  name.remove_suffix(suffix.size());
  return name.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

Places::Places(const Cluster& cluster) : Places(PlatformFile(cluster.name(), cluster.text())) {}

Places::Places(const PlatformFile& file) {
  struct Walker final : pugi::xml_tree_walker {
    bool for_each(pugi::xml_node& node) override {
      const std::string_view tag = node.name();
      const auto text = [&](const char* name) { return node.attribute(name).value(); };
      const int line = file->line_of(node.offset_debug());
      if (tag == "host") places->hosts_.emplace(text("id"), line);
      if (tag == "link" || tag == "backbone") places->links_.emplace(text("id"), line);
      if (tag == "cluster")
        places->clusters_.push_back(
            {text("prefix"), text("suffix"), text("id") + std::string("_"), line});
      return true;
    }
    const PlatformFile* file = nullptr;
    Places* places = nullptr;
  };
  Walker walker;
  walker.file = &file;
  walker.places = this;
  const_cast<pugi::xml_document&>(file.document()).traverse(walker);
}

int Places::line_of_host(const std::string& name) const {
  if (const auto found = hosts_.find(name); found != hosts_.end()) return found->second;
  for (const Made& made : clusters_)
    if (is_made(name, made.prefix, made.suffix)) return made.line;
  return 0;
}

int Places::line_of_link(const std::string& name) const {
  const std::string cable = without_direction(name);
  for (const std::string& key : {name, cable})
    if (const auto found = links_.find(key); found != links_.end()) return found->second;
  for (const Made& made : clusters_)
    if (name.starts_with(made.links)) return made.line;
  return 0;
}

}  // namespace pipewright::cluster
