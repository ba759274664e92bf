#include "sim/cluster/checks/faults.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "sim/cluster/platform/platform_file.hpp"

namespace pipewright::cluster {
namespace {

// Of a property that stands twice, one is not taken.
class Properties final : public pugi::xml_tree_walker {
 public:
  explicit Properties(const PlatformFile& file) : file_(file) {}

  void find(std::vector<Fault>& faults) {
    const_cast<pugi::xml_document&>(file_.document()).traverse(*this);
    if (count_ == 0) return;
    first_.what += fmt::format("{}; one of them is not taken", and_more(count_));
    faults.push_back(std::move(first_));
  }
  bool for_each(pugi::xml_node& node) override {
    std::set<std::string> names;
    for (const pugi::xml_node& property : node.children("prop")) {
      const std::string name = property.attribute("id").value();
      if (names.insert(name).second || ++count_ > 1) continue;
      first_ = {file_.line_of(property.offset_debug()),
                fmt::format("property '{}' stands twice in {} '{}'", name, node.name(),
                            node.attribute("id").value())};
    }
    return true;
  }

 private:
  const PlatformFile& file_;
  Fault first_;
  std::uint64_t count_ = 0;
};

}  // namespace

FaultReport find_faults(const Cluster& cluster) {
  const PlatformFile file(cluster.name(), cluster.text());
  const SourceLines lines(file);
  FaultReport report;
  find_gpu_faults(cluster, lines, report.faults);
  const LinkUses uses = find_route_faults(cluster, lines, report);
  find_link_faults(cluster, lines, uses, report.faults);
  Properties(file).find(report.faults);
  std::ranges::stable_sort(report.faults, {}, &Fault::line);
  return report;
}

}  // namespace pipewright::cluster
