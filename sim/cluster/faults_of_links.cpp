#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "sim/cluster/fault_search.hpp"
#include "sim/cluster/names.hpp"
#include "sim/cluster/sharing.hpp"

namespace pipewright::cluster {
namespace {

constexpr double least_bandwidth = 0.1e9;  // bytes/s
constexpr double most_latency = 1e-3;      // seconds
constexpr double most_unlike = 2;          // times that of the others

struct Cable {
  const Link* link = nullptr;
  std::string name;
  double bandwidth = 0;
  double latency = 0;
  double share = 0;  // of the bandwidth, for each GPU below it; 0 if unknown
};
// Links that should be alike: those of a class, on the way out of the same type of GPU.
using Kinds = std::map<std::pair<std::string, std::string>, std::vector<Cable>>;

Kinds kinds_of(const Cluster& cluster, const LinkUses& uses) {
  // The way up and the way down are one cable; which of them leads out of GPUs, routes know.
  std::map<std::string, const LinkUse*> use_of;
  for (const auto& [link, use] : uses) {
    const LinkUse*& known = use_of[without_direction(Cluster::link_name(link))];
    if (known == nullptr || known->gpus < use.gpus) known = &use;
  }
  Kinds kinds;
  for (const Link* link : cluster.links()) {
    Cable cable{.link = link,
                .name = Cluster::link_name(link),
                .bandwidth = Cluster::bandwidth_of(link),
                .latency = cluster.latency_of(link)};
    if (cable.name.ends_with("_DOWN")) continue;
    const auto use = use_of.find(without_direction(cable.name));
    const bool known = use != use_of.end() && use->second->gpus > 0;
    if (known) cable.share = cable.bandwidth / static_cast<double>(use->second->gpus);
    kinds[{cluster.link_class(link), known ? use->second->gpu : ""}].push_back(std::move(cable));
  }
  return kinds;
}

double usual(const std::vector<Cable>& cables, double Cable::*number) {
  std::vector<double> numbers;
  for (const Cable& cable : cables)
    if (cable.*number > 0) numbers.push_back(cable.*number);
  if (numbers.empty()) return 0;
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

bool is_unlike(double number, double others) {
  return number > most_unlike * others || number * most_unlike < others;
}

class LinkSearch {
 public:
  LinkSearch(const Places& places, std::vector<Fault>& faults) : places_(places), faults_(faults) {}

  void look_at(const std::string& link_class, const std::vector<Cable>& cables) {
    tell(
        cables, [](const Cable& one) { return one.bandwidth < least_bandwidth; },
        [](const Cable& one) {
          return fmt::format(
              "carries {:.3g} MB/s, less than any link of GPUs; bandwidth=\"50GBps\" "
              "is in bytes/s, \"400Gbps\" in bits/s",
              one.bandwidth / 1e6);
        });
    tell(
        cables, [](const Cable& one) { return one.latency > most_latency; },
        [](const Cable& one) {
          return fmt::format("takes {:.4g} ms, more than any link of GPUs; as in latency=\"2us\"",
                             one.latency * 1e3);
        });
    const double bandwidth = usual(cables, &Cable::bandwidth);
    const double share = usual(cables, &Cable::share);
    tell(
        cables,
        [&](const Cable& one) {
          return one.bandwidth >= least_bandwidth && is_unlike(one.bandwidth, bandwidth) &&
                 (one.share == 0 || is_unlike(one.share, share));
        },
        [&](const Cable& one) {
          return fmt::format("has {:.4g} GB/s, where links of class '{}' have {:.4g}",
                             one.bandwidth / 1e9, link_class, bandwidth / 1e9);
        });
    // Where some have a latency, none is meant to be without.
    const double latency = usual(cables, &Cable::latency);
    tell(
        cables,
        [&](const Cable& one) {
          return one.latency <= most_latency && is_unlike(one.latency, latency);
        },
        [&](const Cable& one) {
          return fmt::format("has a latency of {:.3g} us, where links of class '{}' have {:.3g}",
                             one.latency * 1e6, link_class, latency * 1e6);
        });
  }

 private:
  template <class Test, class What>
  void tell(const std::vector<Cable>& cables, Test test, What what) {
    const auto first = std::find_if(cables.begin(), cables.end(), test);
    if (first == cables.end()) return;
    const auto count = static_cast<std::uint64_t>(std::count_if(first, cables.end(), test));
    faults_.push_back({places_.line_of_link(first->name),
                       fmt::format("link '{}'{} {}", without_direction(first->name),
                                   and_more(count), what(*first))});
  }

  const Places& places_;
  std::vector<Fault>& faults_;
};

}  // namespace

void find_link_faults(const Cluster& cluster, const Places& places, const LinkUses& uses,
                      std::vector<Fault>& faults) {
  LinkSearch search(places, faults);
  for (const auto& [kind, cables] : kinds_of(cluster, uses)) search.look_at(kind.first, cables);
  const auto shared = [](const auto& entry) { return is_shared(entry.first); };
  if (uses.size() > 1 && std::none_of(uses.begin(), uses.end(), shared))
    faults.push_back({0,
                      "all links are FATPIPE, so that no flow slows another; links that are "
                      "shared say sharing_policy=\"SPLITDUPLEX\""});
}

}  // namespace pipewright::cluster
