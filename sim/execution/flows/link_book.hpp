#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/trace/rows.hpp"
#include "sim/cluster/cluster.hpp"

namespace pipewright::execution {

// Amounts over time, in many accounts, added up in bins of equal length, for a run of unknown
// duration. Bins double their length when time exceeds them, and when all accounts together would
// take too much memory. No amount is lost.
class TimeBins {
 public:
  struct Cell {
    double bytes = 0;
    double flows = 0;   // sum over flows of their seconds
    double waited = 0;  // sum over flows of the seconds that they waited

    Cell& operator+=(const Cell& rhs) {
      bytes += rhs.bytes;
      flows += rhs.flows;
      waited += rhs.waited;
      return *this;
    }
  };

  // `bins` limits the bins of an account; `cells` limits those of all accounts together, except
  // that each account keeps a minimum number of bins.
  explicit TimeBins(std::size_t bins = 512, std::size_t cells = std::size_t{1} << 21U)
      : bins_(bins), max_cells_(cells) {}

  std::size_t open();  // new account; numbered from 0
  // Distributes `sum` evenly over the bins from `start` to `end`, in seconds since time 0.
  void add(std::size_t account, double start, double end, const Cell& sum);

  std::size_t size() const { return accounts_.size(); }
  double width() const { return width_; }  // length of a bin in seconds
  // Amounts of an account in each bin, up to the last bin in use.
  const std::vector<Cell>& cells(std::size_t account) const { return accounts_[account]; }
  std::vector<Cell>& cells(std::size_t account) { return accounts_[account]; }

 private:
  void double_width();
  Cell& cell(std::size_t account, std::size_t bin);

  std::size_t bins_;
  std::size_t max_cells_;
  double width_ = 1e-6;
  std::vector<std::vector<Cell>> accounts_;
};

// A flow between the ends of a route.
struct Transfer {
  const cluster::Host* source = nullptr;  // a GPU, or its NIC's port
  const cluster::Host* destination = nullptr;
  std::uint64_t bytes = 0;
};

// Records the use of shared links over time, by class of traffic. FATPIPE links are left out, since
// each flow gets their whole bandwidth.
class LinkBook {
 public:
  using Link = cluster::Link;
  // Numbers of the accounts in TimeBins, by class of traffic; 0: no account yet.
  using Accounts = std::array<std::size_t, trace::traffic_classes>;

  // The cluster must outlive this object.
  explicit LinkBook(const cluster::Cluster& cluster);

  // Shared links on a flow's path, each with the number of times that the flow counts on it, or the
  // fraction of the flow that crosses it.
  struct FlowPath {
    std::vector<std::pair<std::size_t, double>> links;  // by number, in order of first appearance
    double bandwidth = 0;                               // bytes/s, of one flow alone
    // True if this job uses the path; false if only other jobs do.
    bool is_own = false;
    Accounts waits{};
  };

  // Adds a flow that has ended. Times are seconds since the start of the run.
  void add(const Transfer& flow, trace::TrafficClass traffic, double start, double end);
  // Adds a flow of a job that shares the network with this one.
  void add_from_other_job(const Transfer& flow, double start, double end);
  const FlowPath& path(const Transfer& flow) { return own_path(flow); }

  std::size_t size() const { return links_.size(); }
  const Link* link(std::size_t number) const { return links_[number].link; }
  double bandwidth(std::size_t number) const { return links_[number].bandwidth; }
  double width() const { return bins_.width(); }  // length of a bin in seconds
  double end() const { return end_; }             // end of the last flow, in seconds
  // Use of a link by one class of traffic, in each time bin; null: none.
  const std::vector<TimeBins::Cell>* use(std::size_t link, trace::TrafficClass traffic) const;
  // Use of a link by other jobs, in each time bin; null: none.
  const std::vector<TimeBins::Cell>* use_by_other_jobs(std::size_t link) const;
  // True if this job uses the link; false if only other jobs do.
  bool is_own(std::size_t link) const { return links_[link].is_own; }
  // Total use of a link by this job between two times, in seconds.
  TimeBins::Cell sum(std::size_t link, double from, double to) const;
  // Call once after the last flow. Attributes the waiting time of flows to the link of their path
  // with the highest use at the time, or to several links with equal use. A flow gets less than its
  // narrowest link's bandwidth only where some link of its path is fully used.
  void settle();

 private:
  struct LinkRecord {
    const Link* link;
    double bandwidth;
    Accounts accounts{};
    std::size_t other_jobs = 0;  // account of other jobs
    bool is_own = false;
  };
  FlowPath& find_path(const Transfer& flow);
  FlowPath& own_path(const Transfer& flow);
  std::size_t number_of(const Link* link);
  std::size_t account(Accounts& accounts, trace::TrafficClass traffic);
  // Seconds in which the flows of a time bin would occupy the link's whole bandwidth.
  double busy_seconds(std::size_t link, std::size_t bin) const;

  const cluster::Cluster& cluster_;
  TimeBins bins_;
  double end_ = 0;
  std::vector<LinkRecord> links_;
  std::unordered_map<const Link*, std::size_t> numbers_;
  // Paths by source and destination. References to their elements stay valid when paths are added.
  std::unordered_map<const cluster::Host*, std::unordered_map<const cluster::Host*, FlowPath>>
      paths_;
  std::vector<const FlowPath*> paths_in_order_;  // by first flow
};

// Destination for records of the flows of a channel or a collective: a book and a class of traffic.
// Without a book nothing is recorded.
struct LinkAccount {
  // Book of another job that runs at the same time.
  struct OtherJob {
    LinkBook* book;
    double epoch;
  };
  LinkBook* book = nullptr;
  trace::TrafficClass traffic = trace::TrafficClass::activation;
  double epoch = 0;  // SimGrid's clock at the start of the run, in seconds
  const std::vector<OtherJob>* other_jobs = nullptr;

  // Records a flow. Times are those of SimGrid's clock.
  void add(const Transfer& flow, double start, double end) const {
    if (book != nullptr) book->add(flow, traffic, start - epoch, end - epoch);
    if (other_jobs == nullptr) return;
    for (const OtherJob& job : *other_jobs)
      job.book->add_from_other_job(flow, start - job.epoch, end - job.epoch);
  }
};

}  // namespace pipewright::execution
