#include "sim/comm/matrix.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace pipewright::comm {
namespace {

using analysis::PairClass;
using cluster::Cluster;
using cluster::Route;

// Groups pairs of GPUs into classes whose routes have equal bandwidth, latency and classes of
// links.
class PairClasses {
 public:
  PairClasses(const Paths& paths, analysis::PairMatrix& matrix) : paths_(paths), matrix_(matrix) {
    std::unordered_map<std::uint32_t, std::uint32_t> next_index;
    for (const std::uint32_t node : matrix.nodes) local_index_.push_back(next_index[node]++);
  }

  std::uint32_t add(std::uint32_t sender, std::uint32_t receiver, const Route& route) {
    // Rounds values before they are compared: sums of the same latencies in a different order can
    // differ in the last digits.
    const auto rounded = [](double value, double unit) {
      return std::isfinite(value) ? std::llround(value / unit) : -1;
    };
    const Key key{matrix_.nodes[sender] == matrix_.nodes[receiver],
                  local_index_[sender] == local_index_[receiver], rounded(route.bandwidth, 1),
                  rounded(route.latency, 1e-13), sequence(route)};
    const auto [entry, is_new] = number_of_.try_emplace(key, 0);
    if (is_new) {
      entry->second = static_cast<std::uint32_t>(matrix_.classes.size());
      matrix_.classes.push_back({.where = {},
                                 .links = links_text(std::get<4>(key)),
                                 .bandwidth = route.bandwidth,
                                 .latency = route.latency,
                                 .sender = cluster::name_of(paths_.hosts()[sender]),
                                 .receiver = cluster::name_of(paths_.hosts()[receiver])});
    }
    ++matrix_.classes[entry->second].pairs;
    return entry->second;
  }

  // Sorts the classes and names their positions ("in a node", "same rail", ..). Merges classes that
  // differ only in whether the GPUs have the same index within their nodes.
  void finish();

 private:
  // (same node, same index within their nodes, bandwidth, latency, classes of links)
  using Key = std::tuple<bool, bool, long long, long long, std::vector<std::uint32_t>>;

  // Returns the numbers of a route's link classes, each once, in path order.
  std::vector<std::uint32_t> sequence(const Route& route) {
    std::vector<std::uint32_t> numbers;
    for (const cluster::Link* link : route.links) {
      const auto [entry, is_new] = class_number_.try_emplace(link, 0);
      if (is_new) {
        const std::string& name = paths_.cluster().link_class(link);
        const auto class_name = std::ranges::find(class_names_, name);
        entry->second = static_cast<std::uint32_t>(class_name - class_names_.begin());
        if (class_name == class_names_.end()) class_names_.push_back(name);
      }
      if (std::ranges::find(numbers, entry->second) == numbers.end())
        numbers.push_back(entry->second);
    }
    return numbers;
  }
  std::string links_text(const std::vector<std::uint32_t>& numbers) const {
    std::vector<std::string_view> names;
    for (const std::uint32_t number : numbers) names.push_back(class_names_[number]);
    return names.empty() ? "no link" : fmt::format("{}", fmt::join(names, " + "));
  }

  const Paths& paths_;
  analysis::PairMatrix& matrix_;
  std::vector<std::uint32_t> local_index_;  // index of each GPU within its node
  std::map<Key, std::uint32_t> number_of_;
  std::unordered_map<const cluster::Link*, std::uint32_t> class_number_;
  std::vector<std::string> class_names_;
};

void PairClasses::finish() {
  std::vector<std::uint32_t> merged_into(matrix_.classes.size());
  std::iota(merged_into.begin(), merged_into.end(), 0U);
  for (const auto& [key, number] : number_of_) {
    Key counterpart_key = key;
    std::get<1>(counterpart_key) = !std::get<1>(key);
    const auto counterpart = number_of_.find(counterpart_key);
    PairClass& pair_class = matrix_.classes[number];
    if (std::get<0>(key)) {
      pair_class.where = "in a node";
    } else if (counterpart == number_of_.end()) {
      pair_class.where = std::get<1>(key) ? "same rail" : "other rail";
    } else {
      pair_class.where = "between nodes";
      merged_into[number] = std::min(number, counterpart->second);
    }
  }
  // The name "same rail" is meaningless if all GPUs have the same index within their nodes.
  if (std::ranges::none_of(matrix_.classes, [](auto& pair_class) {
        return pair_class.where == "other rail" || pair_class.where == "between nodes";
      }))
    for (PairClass& pair_class : matrix_.classes)
      if (pair_class.where == "same rail") pair_class.where = "between nodes";

  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < merged_into.size(); ++i) {
    if (merged_into[i] == i)
      order.push_back(i);
    else
      matrix_.classes[merged_into[i]].pairs += matrix_.classes[i].pairs;
  }
  std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) {
    const PairClass& lhs = matrix_.classes[a];
    const PairClass& rhs = matrix_.classes[b];
    return lhs.bandwidth != rhs.bandwidth ? lhs.bandwidth > rhs.bandwidth
                                          : lhs.latency < rhs.latency;
  });
  std::vector<PairClass> sorted;
  std::vector<std::uint32_t> entry(merged_into.size());
  for (const std::uint32_t i : order) {
    entry[i] = static_cast<std::uint32_t>(sorted.size());
    sorted.push_back(std::move(matrix_.classes[i]));
  }
  matrix_.classes = std::move(sorted);
  for (std::uint32_t& number : matrix_.class_of)
    if (number != analysis::PairMatrix::itself) number = entry[merged_into[number]];
}

// Counts for each link the GPUs that can send or receive over it. Pairs must be added sender by
// sender.
class UseCounter {
 public:
  explicit UseCounter(const Paths& paths)
      : half_(paths.size() / 2),
        use_(paths.links().size()),
        last_sender_(use_.size(), paths.size()),
        receives_(use_.size(), std::vector<bool>(paths.size())) {}

  void add(std::uint32_t sender, std::uint32_t receiver, const FlowPath& path) {
    const bool across = sender < half_ && receiver >= half_ && receiver < 2 * half_;
    for (const std::uint32_t link : path.links) {
      LinkUse& use = use_[link];
      if (last_sender_[link] != sender) ++use.senders;
      last_sender_[link] = sender;
      if (!receives_[link][receiver]) ++use.receivers;
      receives_[link][receiver] = true;
      const auto crossings = std::ranges::count(path.links, link);
      use.crossings = std::max(use.crossings, static_cast<std::uint32_t>(crossings));
      use.across += across ? 1 : 0;
    }
  }
  std::vector<LinkUse> take() { return std::move(use_); }

 private:
  std::uint32_t half_;
  std::vector<LinkUse> use_;
  std::vector<std::uint32_t> last_sender_;
  std::vector<std::vector<bool>> receives_;
};

}  // namespace

Pairs analyze_pairs(const Paths& paths, const std::function<void(double)>& progress) {
  Pairs pairs;
  analysis::PairMatrix& matrix = pairs.matrix;
  const std::uint32_t n = paths.size();
  for (const cluster::Host* host : paths.hosts()) {
    matrix.names.push_back(cluster::name_of(host));
    matrix.nodes.push_back(paths.cluster().node_of(host));
  }
  const bool is_complete = std::uint64_t{n} * n <= max_complete_pairs;
  const std::uint64_t shifts =
      is_complete ? n - 1 : std::max<std::uint64_t>(max_complete_pairs / n, 1);
  if (is_complete) matrix.class_of.assign(std::size_t{n} * n, analysis::PairMatrix::itself);
  PairClasses classes(paths, matrix);
  UseCounter use(paths);
  FlowPath path;
  for (std::uint32_t sender = 0; sender < n; ++sender) {
    for (std::uint64_t i = 0; i < shifts; ++i) {
      const auto shift = 1 + i * (n - 1) / shifts;
      const auto receiver = static_cast<std::uint32_t>((sender + shift) % n);
      const Route route = paths.route(sender, receiver);
      const std::uint32_t number = classes.add(sender, receiver, route);
      if (!is_complete) continue;
      matrix.class_of[std::size_t{sender} * n + receiver] = number;
      paths.resolve(route, path);
      use.add(sender, receiver, path);
    }
    if (progress) progress(static_cast<double>(sender + 1) / n);
  }
  classes.finish();
  matrix.pairs = shifts * n;
  if (is_complete) pairs.use = use.take();
  return pairs;
}

}  // namespace pipewright::comm
