#include "sim/cluster/checks/faults.hpp"

#include <algorithm>
#include <cmath>
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

constexpr double min_speed = 1e12;                // FLOP/s
constexpr std::uint64_t min_memory = 1ULL << 30;  // bytes

// Peak rates of the GPU types in the library, in FLOP/s; empty for unknown types.
class GpuLibrary {
 public:
  GpuLibrary() : names_(config::library_names("gpus", ".yaml")) {}

  const std::vector<std::string>& names() const { return names_; }
  std::optional<double> peak(const std::string& type) {
    const auto [entry, is_new] = peaks_.try_emplace(type);
    if (is_new) try {
        entry->second = config::find_gpu(type).flops;
      } catch (const config::Error&) {  // unknown type
      }
    return entry->second;
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
    report_first(
        [](const Host* host) { return gpu_of(host).empty(); },
        [](const Host*) {
          return "has no property gpu; add its type, such as <prop id=\"gpu\" value=\"h100-sxm\"/>";
        });
    report_first(
        [&](const Host* host) { return !gpu_of(host).empty() && !library_.peak(gpu_of(host)); },
        [&](const Host* host) {
          return fmt::format("has the unknown type '{}'; the library has {}", gpu_of(host),
                             fmt::join(library_.names(), ", "));
        });
    report_first(
        [](const Host* host) { return !host->memory_text; },
        [](const Host*) {
          return "has no property memory; add it, such as <prop id=\"memory\" value=\"80GiB\"/>";
        });
    report_first(
        [](const Host* host) { return host->memory_text && memory_of(host) < min_memory; },
        [](const Host* host) {
          return fmt::format(
              "has a memory of {}, which is too small for a GPU; expected a size such as 80GiB",
              *host->memory_text);
        });
    report_first([](const Host* host) { return host->speed < min_speed; },
                 [](const Host*) {
                   return "has a speed below 1 TFLOP/s, which is too low for a GPU; expected a "
                          "speed such as speed=\"989Tf\"";
                 });
    report_first([&](const Host* host) { return is_implausible(host); },
                 [&](const Host* host) {
                   const double peak = *library_.peak(gpu_of(host));
                   return fmt::format(
                       "has a speed of {:g} TFLOP/s, but the peak of {} is {:g}; "
                       "expected speed=\"{:g}Tf\"",
                       host->speed / 1e12, gpu_of(host), peak / 1e12, peak / 1e12);
                 });
  }

 private:
  // A speed is implausible if it differs from the library's peak by more than a factor of two.
  // Vendors' figures for the same GPU differ less, by its power limit.
  bool is_implausible(const Host* host) {
    const auto peak = library_.peak(gpu_of(host));
    const double speed = host->speed;
    return peak && speed >= min_speed && (speed > 2 * *peak || speed < *peak / 2);
  }

  template <class Test, class Describe>
  void report_first(Test test, Describe describe_fault) {
    const auto& gpus = cluster_.gpus();
    const auto first = std::find_if(gpus.begin(), gpus.end(), test);
    if (first == gpus.end()) return;
    const auto count = static_cast<std::uint64_t>(std::count_if(first, gpus.end(), test));
    faults_.push_back(
        {lines_.line_of_host(name_of(*first)),
         fmt::format("GPU '{}'{} {}", name_of(*first), and_more(count), describe_fault(*first))});
  }

  const Cluster& cluster_;
  const SourceLines& lines_;
  std::vector<Fault>& faults_;
  GpuLibrary library_;
};

constexpr double min_bandwidth = 0.1e9;  // bytes/s
constexpr double max_latency = 1e-3;     // seconds
constexpr double max_ratio = 2;          // factor between a link and the median of its kind

struct Cable {
  const Link* link = nullptr;
  std::string name;
  double bandwidth = 0;
  double latency = 0;
  double share = 0;  // bandwidth per GPU below the link; 0 if unknown
};
// Links that are expected to be alike, by their class and by the type of the GPUs that they lead
// away from.
using CableKinds = std::map<std::pair<std::string, std::string>, std::vector<Cable>>;

CableKinds cable_kinds(const Cluster& cluster, const LinkUses& uses) {
  // Both directions of a link are one cable; the routes tell which direction leads away from GPUs.
  std::map<std::string, const LinkUse*> use_of;
  for (const auto& [link, use] : uses) {
    const LinkUse*& use_entry = use_of[without_direction(Cluster::link_name(link))];
    if (use_entry == nullptr || use_entry->gpus < use.gpus) use_entry = &use;
  }
  CableKinds kinds;
  for (const Link* link : cluster.links()) {
    Cable cable{.link = link,
                .name = Cluster::link_name(link),
                .bandwidth = cluster.bandwidth_of(link),
                .latency = cluster.latency_of(link)};
    if (cable.name.ends_with("_DOWN")) continue;
    const auto use = use_of.find(without_direction(cable.name));
    const bool is_used = use != use_of.end() && use->second->gpus > 0;
    if (is_used) cable.share = cable.bandwidth / static_cast<double>(use->second->gpus);
    kinds[{cluster.link_class(link), is_used ? use->second->gpu : ""}].push_back(std::move(cable));
  }
  return kinds;
}

double median_of(const std::vector<Cable>& cables, double Cable::*number) {
  std::vector<double> numbers;
  for (const Cable& cable : cables)
    if (cable.*number > 0) numbers.push_back(cable.*number);
  if (numbers.empty()) return 0;
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

// Number that most of the cables have; 0 if no number is that of more than half of them.
double common_of(const std::vector<Cable>& cables, double Cable::*number) {
  std::map<double, std::size_t> counts;
  for (const Cable& cable : cables) ++counts[cable.*number];
  for (const auto& [value, count] : counts)
    if (2 * count > cables.size()) return value;
  return 0;
}

bool is_whole_multiple(double number, double part) {
  const double multiple = number / part;
  return part > 0 && std::abs(multiple - std::round(multiple)) < 1e-6;
}

// Classes of links that join two GPUs directly. Several links can join some of these pairs.
std::set<std::string> classes_between_gpus(const Cluster& cluster) {
  std::set<std::string> classes;
  const std::vector<Host*>& node = cluster.nodes().front();
  for (const Host* gpu : node) {
    if (gpu == node.front()) continue;
    const std::vector<const Link*> links = cluster.links_between(node.front(), gpu);
    if (links.size() == 1) classes.insert(cluster.link_class(links.front()));
  }
  return classes;
}

bool differs_strongly(double number, double median) {
  return number > max_ratio * median || number * max_ratio < median;
}

class LinkSearch {
 public:
  LinkSearch(const Cluster& cluster, const SourceLines& lines, std::vector<Fault>& faults)
      : lines_(lines), faults_(faults), classes_between_gpus_(classes_between_gpus(cluster)) {}

  void check_cables(const std::string& link_class, const std::vector<Cable>& cables) {
    report_first(
        cables, [](const Cable& cable) { return cable.bandwidth < min_bandwidth; },
        [](const Cable& cable) {
          return fmt::format(
              "has {:.3g} MB/s, which is too low for a GPU cluster; bandwidth=\"50GBps\" is in "
              "bytes/s, \"400Gbps\" in bits/s",
              cable.bandwidth / 1e6);
        });
    report_first(
        cables, [](const Cable& cable) { return cable.latency > max_latency; },
        [](const Cable& cable) {
          return fmt::format(
              "has a latency of {:.4g} ms, which is too high for a GPU cluster; expected a latency "
              "such as latency=\"2us\"",
              cable.latency * 1e3);
        });
    const double bandwidth = median_of(cables, &Cable::bandwidth);
    const double share = median_of(cables, &Cable::share);
    const auto is_odd = [&](const Cable& cable) {
      return cable.bandwidth >= min_bandwidth && differs_strongly(cable.bandwidth, bandwidth) &&
             (cable.share == 0 || differs_strongly(cable.share, share)) &&
             !is_of_parallel_links(link_class, cable, cables);
    };
    report_first(cables, is_odd, [&](const Cable& cable) {
      return fmt::format("has {:.4g} GB/s, but links of class '{}' have {:.4g}",
                         cable.bandwidth / 1e9, link_class, bandwidth / 1e9);
    });
    // Cables train to fewer lanes or a lower speed. Links below fewer GPUs may be slower.
    const double common = common_of(cables, &Cable::bandwidth);
    const double common_share = common_of(cables, &Cable::share);
    report_first(
        cables,
        [&](const Cable& cable) {
          return cable.bandwidth >= min_bandwidth && cable.bandwidth < common * (1 - tolerance) &&
                 (cable.share == 0 || cable.share < common_share * (1 - tolerance)) &&
                 !is_odd(cable) && !is_of_parallel_links(link_class, cable, cables);
        },
        [&](const Cable& cable) {
          return fmt::format(
              "has {:.4g} GB/s, but most links of class '{}' have {:.4g}; did a cable train to a "
              "lower rate?",
              cable.bandwidth / 1e9, link_class, common / 1e9);
        });
    // A link without latency is suspicious if most links of its kind have one.
    const double latency = median_of(cables, &Cable::latency);
    report_first(
        cables,
        [&](const Cable& cable) {
          return cable.latency <= max_latency && differs_strongly(cable.latency, latency);
        },
        [&](const Cable& cable) {
          return fmt::format("has a latency of {:.3g} us, but links of class '{}' have {:.3g}",
                             cable.latency * 1e6, link_class, latency * 1e6);
        });
  }

 private:
  static constexpr double tolerance = 0.02;

  // Returns whether the link between two GPUs can stand for several equal ones, of which other GPUs
  // have fewer or more.
  bool is_of_parallel_links(const std::string& link_class, const Cable& cable,
                            const std::vector<Cable>& cables) const {
    if (!classes_between_gpus_.contains(link_class)) return false;
    const double single = std::ranges::min_element(cables, {}, &Cable::bandwidth)->bandwidth;
    return is_whole_multiple(cable.bandwidth, single);
  }

  template <class Test, class Describe>
  void report_first(const std::vector<Cable>& cables, Test test, Describe describe_fault) {
    const auto first = std::find_if(cables.begin(), cables.end(), test);
    if (first == cables.end()) return;
    const auto count = static_cast<std::uint64_t>(std::count_if(first, cables.end(), test));
    faults_.push_back({lines_.line_of_link(first->name),
                       fmt::format("link '{}'{} {}", without_direction(first->name),
                                   and_more(count), describe_fault(*first))});
  }

  const SourceLines& lines_;
  std::vector<Fault>& faults_;
  std::set<std::string> classes_between_gpus_;
};

void find_link_faults(const Cluster& cluster, const SourceLines& lines, const LinkUses& uses,
                      std::vector<Fault>& faults) {
  LinkSearch search(cluster, lines, faults);
  for (const auto& [kind, cables] : cable_kinds(cluster, uses))
    search.check_cables(kind.first, cables);
  const auto is_shared_link = [](const auto& entry) { return is_shared(entry.first); };
  if (uses.size() > 1 && std::none_of(uses.begin(), uses.end(), is_shared_link))
    faults.push_back({0,
                      "all links are FATPIPE, so flows never share bandwidth; use "
                      "sharing_policy=\"SPLITDUPLEX\" for shared links"});
}

// Reports links that no route uses, whose capacity is lost because other routes are shorter or
// because SimGrid chooses a single path. Skips classes without any used link, such as the network
// links of a single node.
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
       fmt::format("link '{}'{} is on no route ({:.4g} GB/s in total); zones with routing Floyd or "
                   "Dijkstra use only the paths with the fewest links and the least latency",
                   *unused.begin(), and_more(unused.size()), bandwidth / 1e9)});
}

// Reports properties that an element has twice; only one of the values takes effect.
void find_property_faults(const PlatformFile& file, std::vector<Fault>& faults) {
  Fault first;
  std::uint64_t count = 0;
  file.for_each_element([&](const pugi::xml_node& node, int /*depth*/) {
    std::set<std::string> names;
    for (const pugi::xml_node& property : node.children("prop")) {
      const std::string name = property.attribute("id").value();
      if (names.insert(name).second || ++count > 1) continue;
      first = {file.line_of(property.offset_debug()),
               fmt::format("property '{}' is given twice in {} '{}'", name, node.name(),
                           node.attribute("id").value())};
    }
  });
  if (count == 0) return;
  first.message += fmt::format("{}; only one of them takes effect", and_more(count));
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
  const std::size_t gpu_faults = report.faults.size();
  const LinkUses uses = find_route_faults(cluster, lines, report);
  const bool knows_all_routes = report.faults.size() == gpu_faults && !report.is_sampled;
  if (knows_all_routes) find_unused_links(cluster, lines, uses, report.faults);
  find_link_faults(cluster, lines, uses, report.faults);
  find_property_faults(file, report.faults);
  std::ranges::stable_sort(report.faults, {}, &Fault::line);
  return report;
}

}  // namespace pipewright::cluster
