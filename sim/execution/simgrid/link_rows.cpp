#include "sim/execution/simgrid/link_rows.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <unordered_map>

namespace pipewright::execution {
namespace {

using trace::TrafficClass;

// Maximum number of links whose use is reported over time.
constexpr std::size_t max_detailed_links = 64;

constexpr std::array traffic_classes{TrafficClass::activation,       TrafficClass::gradient,
                                     TrafficClass::reduce_gradients, TrafficClass::gather_weights,
                                     TrafficClass::tie_embeddings,   TrafficClass::in_passes};

// Link that limits traffic which starts at once, and the seconds that this traffic takes.
struct BusiestLink {
  std::size_t link = 0;  // number in the link book
  bool has_link = false;
  double seconds = 0;
};

class LinkReport {
 public:
  LinkReport(const Job& job, Wiring& wiring, LinkBook& book, trace::Sink& sink)
      : job_(job), wiring_(wiring), book_(book), sink_(sink) {}

  void paths(const ReplicaGroups& replica_groups);
  void links();

 private:
  BusiestLink uncontended(const Wiring::TransferPlans& transfer_plans) const;
  BusiestLink uncontended(const std::vector<CollectiveOp>& ops) const;
  void add_path(TrafficClass traffic, std::uint32_t source, std::uint32_t destination,
                std::uint32_t stage, const BusiestLink& busiest);
  // Fraction of a link's bandwidth that was used, on average over the run, including by other jobs.
  double share(std::size_t link) const;
  void use(std::size_t link, std::uint32_t row, bool in_detail) const;

  const Job& job_;
  Wiring& wiring_;
  LinkBook& book_;
  trace::Sink& sink_;
  std::vector<std::pair<trace::PathRow, BusiestLink>> paths_;
};

// Returns the time of plans that start at once on an idle cluster; the steps of each plan run one
// after the other. The link with the most bytes relative to its bandwidth determines the duration
// of a step.
BusiestLink LinkReport::uncontended(const Wiring::TransferPlans& transfer_plans) const {
  BusiestLink result;
  double longest = -1;
  std::size_t steps = 0;
  for (const auto& transfer_plan : transfer_plans)
    steps = std::max(steps, transfer_plan->steps.size());
  for (std::size_t index = 0; index < steps; ++index) {
    std::map<std::size_t, double> loads;  // seconds, by link
    double seconds = 0;
    double latency = 0;
    for (const auto& transfer_plan : transfer_plans) {
      if (index >= transfer_plan->steps.size()) continue;
      latency = std::max(latency, transfer_plan->steps[index].latency);
      for (const Transfer& flow : transfer_plan->steps[index].transfers) {
        const LinkBook::FlowPath& path = book_.path(flow);
        const auto bytes = static_cast<double>(flow.bytes);
        seconds = std::max(seconds, bytes / path.bandwidth);
        for (const auto& [link, times] : path.links)
          loads[link] += bytes * times / book_.bandwidth(link);
      }
    }
    for (const auto& [link, load] : loads) {
      seconds = std::max(seconds, load);
      if (load <= longest) continue;
      longest = load;
      result.link = link;
      result.has_link = true;
    }
    result.seconds += seconds + latency;
  }
  return result;
}

BusiestLink LinkReport::uncontended(const std::vector<CollectiveOp>& ops) const {
  BusiestLink result;
  double longest = -1;
  for (const CollectiveOp& op : ops) {
    const BusiestLink busiest = uncontended(wiring_.transfer_plans(op));
    result.seconds += busiest.seconds;
    if (!busiest.has_link || busiest.seconds <= longest) continue;
    longest = busiest.seconds;
    result.link = busiest.link;
    result.has_link = true;
  }
  return result;
}

void LinkReport::add_path(TrafficClass traffic, std::uint32_t source, std::uint32_t destination,
                          std::uint32_t stage, const BusiestLink& busiest) {
  paths_.push_back({{.traffic = traffic,
                     .source = source,
                     .destination = destination,
                     .stage = stage,
                     .alone = busiest.seconds},
                    busiest});
}

void LinkReport::paths(const ReplicaGroups& replica_groups) {
  const schedules::Routes& routes = job_.schedule.routes;
  std::set<std::pair<std::uint32_t, std::uint32_t>> hops[2];  // of activations and of gradients
  for (std::uint32_t route = 0; route < routes.count(); ++route)
    for (std::uint32_t stage = 0; stage + 1 < routes.stages(); ++stage) {
      const std::uint32_t a = routes.device(stage, route);
      const std::uint32_t b = routes.device(stage + 1, route);
      if (a == b) continue;
      hops[0].insert({a, b});
      hops[1].insert({b, a});
    }
  for (const TrafficClass traffic : {TrafficClass::activation, TrafficClass::gradient})
    for (const auto& [a, b] : hops[static_cast<std::size_t>(traffic)])
      add_path(traffic, a, b, 0, uncontended(wiring_.hop({job_.reported_replica, a}, b)));

  for (std::uint32_t stage = 0; stage < job_.costs.traffic.size(); ++stage) {
    if (!replica_groups.has(stage)) continue;
    const BusiestLink reduce = uncontended(replica_groups.gradients(stage));
    for (const std::uint32_t device : replica_groups.holders(stage))
      add_path(TrafficClass::reduce_gradients, device, device, stage, reduce);
    if (job_.conditions.zero == 0) continue;
    const BusiestLink gather = uncontended(replica_groups.weights(stage));
    for (const std::uint32_t device : replica_groups.holders(stage))
      add_path(TrafficClass::gather_weights, device, device, stage, gather);
  }
  if (replica_groups.embedding_bytes() == 0) return;
  const BusiestLink tie = uncontended(replica_groups.embeddings(job_.reported_replica));
  for (std::uint32_t device = 0; device < job_.schedule.devices; ++device)
    if (replica_groups.ties_embeddings(device))
      add_path(TrafficClass::tie_embeddings, device, device,
               device == routes.device(0, 0) ? 0 : routes.stages() - 1, tie);
}

double LinkReport::share(std::size_t link) const {
  double bytes = 0;
  const auto add = [&](const std::vector<TimeBins::Cell>* cells) {
    if (cells == nullptr) return;
    for (const TimeBins::Cell& cell : *cells) bytes += cell.bytes;
  };
  for (const TrafficClass traffic : traffic_classes) add(book_.use(link, traffic));
  add(book_.use_by_other_jobs(link));
  return book_.end() > 0 ? bytes / book_.bandwidth(link) / book_.end() : 0;
}

void LinkReport::use(std::size_t link, std::uint32_t row, bool in_detail) const {
  for (const TrafficClass traffic : traffic_classes) {
    const auto* const cells = book_.use(link, traffic);
    if (cells == nullptr) continue;
    double before = 0;  // bytes are rounded so that their sum stays exact
    double sum = 0;
    TimeBins::Cell sum_of_bins;
    for (std::size_t bin = 0; bin < cells->size(); ++bin) {
      const TimeBins::Cell& cell = (*cells)[bin];
      sum_of_bins += cell;
      before = sum;
      sum += cell.bytes;
      const auto bytes = static_cast<std::uint64_t>(std::llround(sum)) -
                         static_cast<std::uint64_t>(std::llround(before));
      if (!in_detail || (bytes == 0 && cell.flows <= 0)) continue;
      sink_.link_use({.link = row,
                      .traffic = traffic,
                      .start = book_.width() * static_cast<double>(bin),
                      .end = book_.width() * static_cast<double>(bin + 1),
                      .bytes = bytes,
                      .flows = cell.flows,
                      .waited = cell.waited});
    }
    if (in_detail) continue;
    sink_.link_use({.link = row,
                    .traffic = traffic,
                    .start = 0,
                    .end = book_.end(),
                    .bytes = static_cast<std::uint64_t>(std::llround(sum_of_bins.bytes)),
                    .flows = sum_of_bins.flows,
                    .waited = sum_of_bins.waited});
  }
}

void LinkReport::links() {
  book_.settle();
  std::vector<std::size_t> order;
  for (std::size_t link = 0; link < book_.size(); ++link)
    if (book_.is_own(link)) order.push_back(link);
  std::vector<double> shares;
  for (std::size_t link = 0; link < book_.size(); ++link) shares.push_back(share(link));
  // Unused links come last; links with equal use are in the order of the cluster.
  std::unordered_map<const cluster::Link*, std::size_t> position;
  for (const cluster::Link* link : job_.cluster.links()) position.emplace(link, position.size());
  std::ranges::sort(order, {}, [&](std::size_t link) {
    constexpr double digits = 1e9;  // resolution, coarser than the rounding of sums
    return std::pair(-std::llround(shares[link] * digits), position[book_.link(link)]);
  });
  std::vector<std::uint32_t> rows(book_.size());
  for (std::uint32_t row = 0; row < order.size(); ++row) {
    const cluster::Link* const link = book_.link(order[row]);
    rows[order[row]] = row;
    sink_.link({.link = row,
                .name = cluster::Cluster::link_name(link),
                .link_class = job_.cluster.link_class(link),
                .alike = wiring_.represents(link),
                .bandwidth = book_.bandwidth(order[row])});
  }
  for (std::uint32_t row = 0; row < order.size(); ++row)
    use(order[row], row, row < max_detailed_links);
  for (auto& [path, busiest] : paths_) {
    if (busiest.has_link) path.link = rows[busiest.link];
    sink_.path(path);
  }
}

}  // namespace

void report_links(const Job& job, const ReplicaGroups& replica_groups, Wiring& wiring,
                  LinkBook& book, trace::Sink& sink) {
  LinkReport report(job, wiring, book, sink);
  report.paths(replica_groups);
  report.links();
}

}  // namespace pipewright::execution
