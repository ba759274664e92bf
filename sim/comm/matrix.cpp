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

// Puts pairs into classes.
class Classes {
 public:
  Classes(const Paths& paths, analysis::PairMatrix& matrix) : paths_(paths), matrix_(matrix) {
    std::unordered_map<std::uint32_t, std::uint32_t> seats;
    for (const std::uint32_t node : matrix.nodes) seat_.push_back(seats[node]++);
  }

  std::uint32_t add(std::uint32_t sender, std::uint32_t receiver, const Route& route) {
    // Sums of the same latencies in another order differ in their last digits.
    const auto rounded = [](double value, double unit) {
      return std::isfinite(value) ? std::llround(value / unit) : -1;
    };
    const Key key{matrix_.nodes[sender] == matrix_.nodes[receiver],
                  seat_[sender] == seat_[receiver], rounded(route.bandwidth, 1),
                  rounded(route.latency, 1e-13), sequence(route)};
    const auto [place, is_new] = number_of_.try_emplace(key, 0);
    if (is_new) {
      place->second = static_cast<std::uint32_t>(matrix_.classes.size());
      matrix_.classes.push_back({.where = {},
                                 .links = links_text(std::get<4>(key)),
                                 .bandwidth = route.bandwidth,
                                 .latency = route.latency,
                                 .sender = cluster::name_of(paths_.hosts()[sender]),
                                 .receiver = cluster::name_of(paths_.hosts()[receiver])});
    }
    ++matrix_.classes[place->second].pairs;
    return place->second;
  }

  // Names and sorts the classes; those that differ only in the place of GPUs in their nodes become
  // one.
  void finish();

 private:
  // In a node, same place in their nodes, bandwidth, latency, classes of links.
  using Key = std::tuple<bool, bool, long long, long long, std::vector<std::uint32_t>>;

  // Each class of links once, in the order of the way.
  std::vector<std::uint32_t> sequence(const Route& route) {
    std::vector<std::uint32_t> numbers;
    for (const cluster::Link* link : route.links) {
      const auto [known, is_new] = class_number_.try_emplace(link, 0);
      if (is_new) {
        const std::string& name = paths_.cluster().link_class(link);
        const auto place = std::ranges::find(class_names_, name);
        known->second = static_cast<std::uint32_t>(place - class_names_.begin());
        if (place == class_names_.end()) class_names_.push_back(name);
      }
      if (std::ranges::find(numbers, known->second) == numbers.end())
        numbers.push_back(known->second);
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
  std::vector<std::uint32_t> seat_;  // of each GPU in its node
  std::map<Key, std::uint32_t> number_of_;
  std::unordered_map<const cluster::Link*, std::uint32_t> class_number_;
  std::vector<std::string> class_names_;
};

void Classes::finish() {
  std::vector<std::uint32_t> becomes(matrix_.classes.size());
  std::iota(becomes.begin(), becomes.end(), 0U);
  for (const auto& [key, number] : number_of_) {
    Key twin = key;
    std::get<1>(twin) = !std::get<1>(key);
    const auto found = number_of_.find(twin);
    PairClass& one = matrix_.classes[number];
    if (std::get<0>(key)) {
      one.where = "in a node";
    } else if (found == number_of_.end()) {
      one.where = std::get<1>(key) ? "same rail" : "other rail";
    } else {
      one.where = "between nodes";
      becomes[number] = std::min(number, found->second);
    }
  }
  // Where all GPUs have the same place in their nodes, that says nothing.
  if (std::ranges::none_of(matrix_.classes, [](auto& one) {
        return one.where == "other rail" || one.where == "between nodes";
      }))
    for (PairClass& one : matrix_.classes)
      if (one.where == "same rail") one.where = "between nodes";

  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < becomes.size(); ++i) {
    if (becomes[i] == i)
      order.push_back(i);
    else
      matrix_.classes[becomes[i]].pairs += matrix_.classes[i].pairs;
  }
  std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) {
    const PairClass& one = matrix_.classes[a];
    const PairClass& other = matrix_.classes[b];
    return one.bandwidth != other.bandwidth ? one.bandwidth > other.bandwidth
                                            : one.latency < other.latency;
  });
  std::vector<PairClass> sorted;
  std::vector<std::uint32_t> place(becomes.size());
  for (const std::uint32_t i : order) {
    place[i] = static_cast<std::uint32_t>(sorted.size());
    sorted.push_back(std::move(matrix_.classes[i]));
  }
  matrix_.classes = std::move(sorted);
  for (std::uint32_t& number : matrix_.class_of)
    if (number != analysis::PairMatrix::itself) number = place[becomes[number]];
}

// Counts who uses each link, row by row.
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

Pairs look_at_pairs(const Paths& paths, const std::function<void(double)>& step) {
  Pairs found;
  analysis::PairMatrix& matrix = found.matrix;
  const std::uint32_t n = paths.size();
  for (const cluster::Host* host : paths.hosts()) {
    matrix.names.push_back(cluster::name_of(host));
    matrix.nodes.push_back(paths.cluster().node_of(host));
  }
  const bool whole = std::uint64_t{n} * n <= most_pairs;
  const std::uint64_t shifts = whole ? n - 1 : std::max<std::uint64_t>(most_pairs / n, 1);
  if (whole) matrix.class_of.assign(std::size_t{n} * n, analysis::PairMatrix::itself);
  Classes classes(paths, matrix);
  UseCounter use(paths);
  FlowPath path;
  for (std::uint32_t sender = 0; sender < n; ++sender) {
    for (std::uint64_t i = 0; i < shifts; ++i) {
      const auto shift = 1 + i * (n - 1) / shifts;
      const auto receiver = static_cast<std::uint32_t>((sender + shift) % n);
      const Route route = paths.route(sender, receiver);
      const std::uint32_t number = classes.add(sender, receiver, route);
      if (!whole) continue;
      matrix.class_of[std::size_t{sender} * n + receiver] = number;
      paths.find(route, path);
      use.add(sender, receiver, path);
    }
    if (step) step(static_cast<double>(sender + 1) / n);
  }
  classes.finish();
  matrix.pairs = shifts * n;
  if (whole) found.use = use.take();
  return found;
}

}  // namespace pipewright::comm
