#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <simgrid/s4u/Host.hpp>

#include "sim/cluster/fault_search.hpp"
#include "sim/config/gpu.hpp"
#include "sim/config/library.hpp"

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
    if (is_new && std::ranges::find(names_, type) != names_.end())
      place->second = config::find_gpu(type).flops;
    return place->second;
  }

 private:
  std::vector<std::string> names_;
  std::map<std::string, std::optional<double>> peaks_;
};

class GpuSearch {
 public:
  GpuSearch(const Cluster& cluster, const Places& places, std::vector<Fault>& faults)
      : cluster_(cluster), places_(places), faults_(faults) {}

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
    tell([](const Host* host) { return host->get_property("memory") == nullptr; },
         [](const Host*) {
           return "has no property memory; as in <prop id=\"memory\" value=\"80GiB\"/>";
         });
    tell(
        [](const Host* host) {
          return host->get_property("memory") != nullptr && memory_of(host) < least_memory;
        },
        [](const Host* host) {
          return fmt::format("has a memory of {}, which is no GPU's; as in 80GiB",
                             host->get_property("memory"));
        });
    tell([](const Host* host) { return host->get_speed() < least_speed; },
         [](const Host*) {
           return "has a speed below 1 TFLOP/s, which is no GPU's; as in speed=\"989Tf\"";
         });
    tell([&](const Host* host) { return is_odd(host); },
         [&](const Host* host) {
           const double peak = *library_.peak(gpu_of(host));
           return fmt::format(
               "has a speed of {:g} TFLOP/s, but the peak of {} is {:g}; "
               "speed=\"{:g}Tf\"",
               host->get_speed() / 1e12, gpu_of(host), peak / 1e12, peak / 1e12);
         });
  }

 private:
  // Makers' figures for the same GPU differ by its power limit, but not twofold.
  bool is_odd(const Host* host) {
    const auto peak = library_.peak(gpu_of(host));
    const double speed = host->get_speed();
    return peak && speed >= least_speed && (speed > 2 * *peak || speed < *peak / 2);
  }

  template <class Test, class What>
  void tell(Test test, What what) {
    const auto& gpus = cluster_.gpus();
    const auto first = std::find_if(gpus.begin(), gpus.end(), test);
    if (first == gpus.end()) return;
    const auto count = static_cast<std::uint64_t>(std::count_if(first, gpus.end(), test));
    faults_.push_back(
        {places_.line_of_host(name_of(*first)),
         fmt::format("GPU '{}'{} {}", name_of(*first), and_more(count), what(*first))});
  }

  const Cluster& cluster_;
  const Places& places_;
  std::vector<Fault>& faults_;
  Library library_;
};

}  // namespace

void find_gpu_faults(const Cluster& cluster, const Places& places, std::vector<Fault>& faults) {
  GpuSearch(cluster, places, faults).run();
}

}  // namespace pipewright::cluster
