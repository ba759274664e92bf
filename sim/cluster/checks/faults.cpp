#include "sim/cluster/checks/faults.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pugixml.hpp>

#include "sim/cluster/platform/names.hpp"
#include "sim/cluster/platform/platform_file.hpp"
#include "sim/config/gpu.hpp"
#include "sim/config/text/library.hpp"

namespace pipewright::cluster {
namespace {

constexpr double least_speed = 1e12;                // FLOP/s
constexpr std::uint64_t least_memory = 1ULL << 30;  // bytes

// The GPUs' peaks by the library, FLOP/s; those of types that it does not know have none.
class Library {
 public:
  Library() : names_(config::library_names("gpus", ".yaml")) {}

  const std::vector<std::string>& names() const { return names_; }
  std::optional<double> peak(const std::string& type) {
    const auto [place, is_new] = peaks_.try_emplace(type);
    if (is_new) try {
        place->second = config::find_gpu(type).flops;
      } catch (const config::Error&) {  // no such type
      }
    return place->second;
  }

 private:
  std::vector<std::string> names_;
  std::map<std::string, std::optional<double>> peaks_;
};

class GpuSearch {
 public:
  GpuSearch(const Cluster& cluster, const SourceLines& lines, std::vector<Fault>& faults)
      : cluster_(cluster), lines_(lines), faults_(faults) {}

  void run() {
    tell([](const Host* host) { return gpu_of(host).empty(); },
         [](const Host*) {
           return "has no property gpu; its type, as in <prop id=\"gpu\" value=\"h100-sxm\"/>";
         });
    tell([&](const Host* host) { return !gpu_of(host).empty() && !library_.peak(gpu_of(host)); },
         [&](const Host* host) {
           return fmt::format("is of type '{}', which the library does not know; it knows {}",
                              gpu_of(host), fmt::join(library_.names(), ", "));
         });
    tell([](const Host* host) { return !host->memory_text; },
         [](const Host*) {
           return "has no property memory; as in <prop id=\"memory\" value=\"80GiB\"/>";
         });
    tell([](const Host* host) { return host->memory_text && memory_of(host) < least_memory; },
         [](const Host* host) {
           return fmt::format("has a memory of {}, which is no GPU's; as in 80GiB",
                              *host->memory_text);
         });
    tell([](const Host* host) { return host->speed < least_speed; },
         [](const Host*) {
           return "has a speed below 1 TFLOP/s, which is no GPU's; as in speed=\"989Tf\"";
         });
    tell([&](const Host* host) { return is_odd(host); },
         [&](const Host* host) {
           const double peak = *library_.peak(gpu_of(host));
           return fmt::format(
               "has a speed of {:g} TFLOP/s, but the peak of {} is {:g}; "
               "speed=\"{:g}Tf\"",
               host->speed / 1e12, gpu_of(host), peak / 1e12, peak / 1e12);
         });
  }

 private:
  // Makers' figures for the same GPU differ by its power limit, but not twofold.
  bool is_odd(const Host* host) {
    const auto peak = library_.peak(gpu_of(host));
    const double speed = host->speed;
    return peak && speed >= least_speed && (speed > 2 * *peak || speed < *peak / 2);
  }

  template <class Test, class What>
  void tell(Test test, What what) {
    const auto& gpus = cluster_.gpus();
    const auto first = std::find_if(gpus.begin(), gpus.end(), test);
    if (first == gpus.end()) return;
    const auto count = static_cast<std::uint64_t>(std::count_if(first, gpus.end(), test));
    faults_.push_back(
        {lines_.line_of_host(name_of(*first)),
         fmt::format("GPU '{}'{} {}", name_of(*first), and_more(count), what(*first))});
  }

  const Cluster& cluster_;
  const SourceLines& lines_;
  std::vector<Fault>& faults_;
  Library library_;
};

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
                .bandwidth = cluster.bandwidth_of(link),
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
  LinkSearch(const SourceLines& lines, std::vector<Fault>& faults)
      : lines_(lines), faults_(faults) {}

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
    faults_.push_back({lines_.line_of_link(first->name),
                       fmt::format("link '{}'{} {}", without_direction(first->name),
                                   and_more(count), what(*first))});
  }

  const SourceLines& lines_;
  std::vector<Fault>& faults_;
};

void find_link_faults(const Cluster& cluster, const SourceLines& lines, const LinkUses& uses,
                      std::vector<Fault>& faults) {
  LinkSearch search(lines, faults);
  for (const auto& [kind, cables] : kinds_of(cluster, uses)) search.look_at(kind.first, cables);
  const auto shared = [](const auto& entry) { return is_shared(entry.first); };
  if (uses.size() > 1 && std::none_of(uses.begin(), uses.end(), shared))
    faults.push_back({0,
                      "all links are FATPIPE, so that no flow slows another; links that are "
                      "shared say sharing_policy=\"SPLITDUPLEX\""});
}

// Where SimGrid finds the routes, or others are shorter, what links could carry is lost. Links of a
// class that carries nothing are of no such way: those to a network, of a node that is alone.
void find_unused_links(const Cluster& cluster, const SourceLines& lines, const LinkUses& uses,
                       std::vector<Fault>& faults) {
  std::set<std::string> used;
  std::set<std::string> used_classes;
  for (const auto& [link, use] : uses) {
    used.insert(std::string(without_direction(Cluster::link_name(link))));
    used_classes.insert(cluster.link_class(link));
  }
  std::set<std::string> unused;
  double bandwidth = 0;
  for (const Link* link : cluster.links()) {
    const std::string name(without_direction(Cluster::link_name(link)));
    if (used.contains(name) || !used_classes.contains(cluster.link_class(link))) continue;
    if (unused.insert(name).second) bandwidth += cluster.bandwidth_of(link);
  }
  if (unused.empty()) return;
  faults.push_back(
      {lines.line_of_link(*unused.begin()),
       fmt::format("link '{}'{} is on no route, {:.4g} GB/s in all; traffic is divided among ways "
                   "of as few links and as little latency in zones of routing Floyd or Dijkstra",
                   *unused.begin(), and_more(unused.size()), bandwidth / 1e9)});
}

// Of a property that stands twice, one is not taken.
void find_property_faults(const PlatformFile& file, std::vector<Fault>& faults) {
  Fault first;
  std::uint64_t count = 0;
  file.for_each_element([&](const pugi::xml_node& node, int /*depth*/) {
    std::set<std::string> names;
    for (const pugi::xml_node& property : node.children("prop")) {
      const std::string name = property.attribute("id").value();
      if (names.insert(name).second || ++count > 1) continue;
      first = {file.line_of(property.offset_debug()),
               fmt::format("property '{}' stands twice in {} '{}'", name, node.name(),
                           node.attribute("id").value())};
    }
  });
  if (count == 0) return;
  first.what += fmt::format("{}; one of them is not taken", and_more(count));
  faults.push_back(std::move(first));
}

}  // namespace

std::string and_more(std::uint64_t count) {
  return count > 1 ? fmt::format(" (and {} more)", count - 1) : "";
}

FaultReport find_faults(const Cluster& cluster) {
  const PlatformFile file(cluster.name(), cluster.text());
  const SourceLines lines(file);
  FaultReport report;
  GpuSearch(cluster, lines, report.faults).run();
  const std::size_t of_gpus = report.faults.size();
  const LinkUses uses = find_route_faults(cluster, lines, report);
  const bool knows_all_routes = report.faults.size() == of_gpus && !report.is_sampled;
  if (knows_all_routes) find_unused_links(cluster, lines, uses, report.faults);
  find_link_faults(cluster, lines, uses, report.faults);
  find_property_faults(file, report.faults);
  std::ranges::stable_sort(report.faults, {}, &Fault::line);
  return report;
}

}  // namespace pipewright::cluster
