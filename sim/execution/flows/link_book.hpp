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

// Sums over time, in pieces of equal length, of many accounts that grow while a run goes on whose
// length nobody knows. Pieces double their length when time runs past them, and when all accounts
// together would take too much memory; a sum is never lost.
class TimeBins {
 public:
  struct Cell {
    double bytes = 0;
    double flows = 0;   // flow seconds
    double waited = 0;  // flow seconds

    Cell& operator+=(const Cell& other) {
      bytes += other.bytes;
      flows += other.flows;
      waited += other.waited;
      return *this;
    }
  };

  // At most `bins` an account, and `cells` altogether as long as that leaves each a few.
  explicit TimeBins(std::size_t bins = 512, std::size_t cells = std::size_t{1} << 21U)
      : bins_(bins), most_cells_(cells) {}

  std::size_t open();  // an account; numbered from 0
  // Spreads `sum` evenly over [start, end], seconds from 0 on.
  void add(std::size_t account, double start, double end, const Cell& sum);

  std::size_t size() const { return accounts_.size(); }
  double width() const { return width_; }  // seconds of a piece
  // Piece by piece up to the last with something in it.
  const std::vector<Cell>& cells(std::size_t account) const { return accounts_[account]; }
  std::vector<Cell>& cells(std::size_t account) { return accounts_[account]; }

 private:
  void double_width();
  Cell& cell(std::size_t account, std::size_t bin);

  std::size_t bins_;
  std::size_t most_cells_;
  double width_ = 1e-6;
  std::vector<std::vector<Cell>> accounts_;
};

// A flow between the ends of a route.
struct Transfer {
  const cluster::Host* source = nullptr;  // a GPU, or its NIC's port
  const cluster::Host* destination = nullptr;
  std::uint64_t bytes = 0;
};

// What flows do to the links that they share with others, over time and by class of traffic. Links
// that cannot be shared (FATPIPE) are left out: each flow has all of them.
class LinkBook {
 public:
  using Link = cluster::Link;
  // Of each class of traffic; 0: none yet.
  using Accounts = std::array<std::size_t, trace::traffic_classes>;

  // The cluster outlives this.
  explicit LinkBook(const cluster::Cluster& cluster);

  // Between two ends: the shared links, each with how often the flow counts on it, or
  // which part of it goes there.
  struct FlowPath {
    std::vector<std::pair<std::size_t, double>> links;  // by number, in order of first mention
    double bandwidth = 0;                               // bytes/s, of one flow alone
    bool is_own = false;                                // and not of other jobs alone
    Accounts waits{};
  };

  // A flow that has ended; seconds from the start of the run.
  void add(const Transfer& flow, trace::TrafficClass traffic, double start, double end);
  // One of another job, of which links that the job uses as well are in use.
  void add_other(const Transfer& flow, double start, double end);
  const FlowPath& path(const Transfer& flow) { return own_path(flow); }

  std::size_t size() const { return links_.size(); }
  const Link* link(std::size_t number) const { return links_[number].link; }
  double bandwidth(std::size_t number) const { return links_[number].bandwidth; }
  double width() const { return bins_.width(); }  // seconds of a piece of time
  double end() const { return end_; }             // of the last flow
  // What a class of traffic did to a link, piece by piece; null: nothing.
  const std::vector<TimeBins::Cell>* use(std::size_t link, trace::TrafficClass traffic) const;
  // What other jobs did to it, piece by piece; null: nothing.
  const std::vector<TimeBins::Cell>* use_by_others(std::size_t link) const;
  // Whether the job has ways over a link, and not others alone.
  bool is_own(std::size_t link) const { return links_[link].is_own; }
  // What all of the job's traffic did to a link in a piece of the time.
  TimeBins::Cell sum(std::size_t link, double from, double to) const;
  // Once after the last flow: counts what flows waited at the link of their way that had most of
  // its bandwidth in use at the time, or at each that had. A flow gets less than all of its
  // narrowest link only where some link of its way is used up.
  void settle();

 private:
  struct OfLink {
    const Link* link;
    double bandwidth;
    Accounts accounts{};
    std::size_t others = 0;  // the account of other jobs
    bool is_own = false;
  };
  FlowPath& find_path(const Transfer& flow);
  FlowPath& own_path(const Transfer& flow);
  std::size_t number_of(const Link* link);
  std::size_t account(Accounts& accounts, trace::TrafficClass traffic);
  double use_of(std::size_t link, std::size_t bin) const;  // seconds of its whole bandwidth

  const cluster::Cluster& cluster_;
  TimeBins bins_;
  double end_ = 0;
  std::vector<OfLink> links_;
  std::unordered_map<const Link*, std::size_t> numbers_;
  // By source and destination; elements of such maps stay where they are.
  std::unordered_map<const cluster::Host*, std::unordered_map<const cluster::Host*, FlowPath>>
      paths_;
  std::vector<const FlowPath*> in_order_;  // of their first flows
};

// Where the flows of a channel or a collective are written down; nowhere without a book.
struct LinkAccount {
  // The books of jobs that run beside the one.
  struct Other {
    LinkBook* book;
    double epoch;
  };
  LinkBook* book = nullptr;
  trace::TrafficClass traffic = trace::TrafficClass::activation;
  double epoch = 0;  // SimGrid's clock at the start of the run, seconds
  const std::vector<Other>* others = nullptr;

  void add(const Transfer& flow, double start, double end) const {  // by SimGrid's clock
    if (book != nullptr) book->add(flow, traffic, start - epoch, end - epoch);
    if (others == nullptr) return;
    for (const Other& other : *others)
      other.book->add_other(flow, start - other.epoch, end - other.epoch);
  }
};

}  // namespace pipewright::execution
