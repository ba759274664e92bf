#include "sim/cluster/faults.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_set>

#include <fmt/format.h>
#include <simgrid/s4u/Host.hpp>
#include <simgrid/s4u/Link.hpp>

#include "sim/cluster/places.hpp"

namespace pipewright::cluster {
namespace {

// Who reaches whom: sets that are joined.
class Islands {
 public:
  explicit Islands(std::size_t count) : of_(count) { std::iota(of_.begin(), of_.end(), 0U); }
  std::size_t find(std::size_t i) {
    while (of_[i] != i) i = of_[i] = of_[of_[i]];
    return i;
  }
  void join(std::size_t a, std::size_t b) { of_[find(a)] = find(b); }

 private:
  std::vector<std::size_t> of_;
};

// "and 7 more": what a fault's first case says of the others.
std::string and_more(std::size_t count) {
  return count > 1 ? fmt::format(" (and {} more)", count - 1) : "";
}

class Search {
 public:
  explicit Search(const Cluster& cluster)
      : cluster_(cluster), places_(cluster), islands_(cluster.gpus().size()) {}

  std::vector<Fault> run() {
    look_at_gpus();
    look_at_pairs();
    tell_islands();
    tell_pairs();
    std::stable_sort(faults_.begin(), faults_.end(),
                     [](const Fault& a, const Fault& b) { return a.line < b.line; });
    return std::move(faults_);
  }

 private:
  void look_at_gpus() {
    tell_gpus("has no property gpu; its type, as in <prop id=\"gpu\" value=\"h100-sxm\"/>",
              [](const Host* host) { return gpu_of(host).empty(); });
    tell_gpus("has no property memory; as in <prop id=\"memory\" value=\"80GiB\"/>",
              [](const Host* host) { return memory_of(host) == 0; });
    tell_gpus("has a speed below 1 TFLOP/s, which is no GPU's; as in speed=\"989Tf\"",
              [](const Host* host) { return host->get_speed() < 1e12; });
  }
  template <class Test>
  void tell_gpus(std::string_view what, Test test) {
    const auto& gpus = cluster_.gpus();
    const auto first = std::find_if(gpus.begin(), gpus.end(), test);
    if (first == gpus.end()) return;
    const auto count = static_cast<std::size_t>(std::count_if(first, gpus.end(), test));
    faults_.push_back({places_.line_of_host(name_of(*first)),
                       fmt::format("GPU '{}'{} {}", name_of(*first), and_more(count), what)});
  }

  std::optional<Route> route(std::size_t a, std::size_t b) const {
    try {
      return cluster_.route(cluster_.gpus()[a], cluster_.gpus()[b]);
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  // Both ways between a and b.
  void look_at(std::size_t a, std::size_t b) {
    std::unordered_set<const Link*> there;
    for (const bool back : {false, true}) {
      const auto found = back ? route(b, a) : route(a, b);
      if (!found) {
        missing_.emplace_back(back ? b : a, back ? a : b);
        continue;
      }
      islands_.join(a, b);
      if (found->latency <= 0) timeless_.emplace_back(back ? b : a, back ? a : b);
      for (const Link* link : found->links) {
        if (!back) {
          there.insert(link);
        } else if (link->is_shared() && there.contains(link)) {
          half_duplex_.insert(Cluster::link_name(link));
        }
      }
    }
  }
  void look_at_pairs() {
    const std::size_t count = cluster_.gpus().size();
    constexpr std::size_t most_routes = 200'000;
    const std::size_t distances = count / 2;
    const std::size_t tried = std::clamp<std::size_t>(
        most_routes / 2 / std::max<std::size_t>(count, 1), 1, std::max<std::size_t>(distances, 1));
    std::set<std::size_t> far;  // always the neighbour, and the others spread
    for (std::size_t i = 0; i < tried; ++i) far.insert(1 + i * distances / tried);
    for (const std::size_t distance : far)
      for (std::size_t a = 0; a < (2 * distance == count ? distance : count); ++a)
        if (count > 1) look_at(a, (a + distance) % count);
  }

  void tell_islands() {
    std::map<std::size_t, std::vector<std::size_t>> members;
    for (std::size_t i = 0; i < cluster_.gpus().size(); ++i) members[islands_.find(i)].push_back(i);
    if (members.size() < 2) return;
    is_split_ = true;
    std::vector<std::vector<std::size_t>> islands;
    for (auto& [root, list] : members) islands.push_back(std::move(list));
    std::sort(islands.begin(), islands.end());
    const auto name = [&](std::size_t gpu) { return name_of(cluster_.gpus()[gpu]); };
    faults_.push_back(
        {places_.line_of_host(name(islands[1].front())),
         fmt::format("{} islands that no route joins: {} GPUs with '{}', {} with '{}'{}",
                     islands.size(), islands[0].size(), name(islands[0].front()), islands[1].size(),
                     name(islands[1].front()), and_more(islands.size() - 1))});
  }
  void tell_pairs() {
    const auto tell = [&](const auto& pairs, std::string_view what) {
      if (pairs.empty()) return;
      const std::string from = name_of(cluster_.gpus()[pairs.front().first]);
      const std::string to = name_of(cluster_.gpus()[pairs.front().second]);
      faults_.push_back({places_.line_of_host(from),
                         fmt::format("{} '{}' to '{}'{}", what, from, to, and_more(pairs.size()))});
    };
    if (!is_split_) tell(missing_, "no route leads from");
    tell(timeless_, "no latency on the route from");
    if (half_duplex_.empty()) return;
    const std::string& first = *half_duplex_.begin();
    faults_.push_back(
        {places_.line_of_link(first),
         fmt::format("link '{}'{} is half duplex: both directions share its bandwidth; a full "
                     "duplex one says sharing_policy=\"SPLITDUPLEX\"",
                     first, and_more(half_duplex_.size()))});
  }

  const Cluster& cluster_;
  Places places_;
  Islands islands_;
  bool is_split_ = false;
  std::vector<std::pair<std::size_t, std::size_t>> missing_;   // GPUs, from and to
  std::vector<std::pair<std::size_t, std::size_t>> timeless_;  // routes of latency 0
  std::set<std::string> half_duplex_;                          // links
  std::vector<Fault> faults_;
};

}  // namespace

std::vector<Fault> find_faults(const Cluster& cluster) { return Search(cluster).run(); }

}  // namespace pipewright::cluster
