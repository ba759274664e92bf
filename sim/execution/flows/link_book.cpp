#include "sim/execution/flows/link_book.hpp"

#include <algorithm>
#include <limits>

namespace pipewright::execution {

using trace::TrafficClass;

std::size_t TimeBins::open() {
  constexpr std::size_t min_bins = 16;
  accounts_.emplace_back();
  if (accounts_.size() * bins_ > max_cells_ && bins_ > min_bins) {
    double_width();
    bins_ /= 2;
  }
  return accounts_.size() - 1;
}

void TimeBins::double_width() {
  width_ *= 2;
  for (std::vector<Cell>& cells : accounts_) {
    for (std::size_t i = 0; i < cells.size(); ++i)
      if (i % 2 == 0)
        cells[i / 2] = cells[i];
      else
        cells[i / 2] += cells[i];
    cells.resize((cells.size() + 1) / 2);
  }
}

TimeBins::Cell& TimeBins::cell(std::size_t account, std::size_t bin) {
  std::vector<Cell>& cells = accounts_[account];
  if (cells.size() <= bin) cells.resize(bin + 1);
  return cells[bin];
}

void TimeBins::add(std::size_t account, double start, double end, const Cell& sum) {
  while (end >= width_ * static_cast<double>(bins_)) double_width();
  const auto first = static_cast<std::size_t>(start / width_);
  const auto last = static_cast<std::size_t>(end / width_);
  if (first >= last) {
    cell(account, last) += sum;
    return;
  }
  for (std::size_t bin = first; bin <= last; ++bin) {
    const double from = std::max(start, width_ * static_cast<double>(bin));
    const double to = std::min(end, width_ * static_cast<double>(bin + 1));
    const double share = std::max(0.0, to - from) / (end - start);
    cell(account, bin) += {sum.bytes * share, sum.flows * share, sum.waited * share};
  }
}

LinkBook::LinkBook(const cluster::Cluster& cluster) : cluster_(cluster) {
  bins_.open();  // account 0 means none
}

std::size_t LinkBook::number_of(const Link* link) {
  const auto [it, is_new] = numbers_.emplace(link, links_.size());
  if (is_new) links_.push_back({.link = link, .bandwidth = cluster_.bandwidth_of(link)});
  return it->second;
}

std::size_t LinkBook::account(Accounts& accounts, TrafficClass traffic) {
  std::size_t& number = accounts[static_cast<std::size_t>(traffic)];
  if (number == 0) number = bins_.open();
  return number;
}

LinkBook::FlowPath& LinkBook::find_path(const Transfer& flow) {
  const auto [it, is_new] = paths_[flow.source].try_emplace(flow.destination);
  FlowPath& path = it->second;
  if (!is_new) return path;
  paths_in_order_.push_back(&path);
  path.bandwidth = std::numeric_limits<double>::infinity();
  for (const Link* link : cluster_.links_between(flow.source, flow.destination)) {
    path.bandwidth = std::min(path.bandwidth, cluster::Cluster::capacity_of(link));
    if (!cluster::is_shared(link)) continue;
    const std::size_t number = number_of(link);
    const auto entry =
        std::ranges::find(path.links, number, &std::pair<std::size_t, double>::first);
    if (entry == path.links.end())
      path.links.emplace_back(number, 1.0 / cluster_.parts_of(link));
    else
      entry->second += 1.0 / cluster_.parts_of(link);
  }
  return path;
}

LinkBook::FlowPath& LinkBook::own_path(const Transfer& flow) {
  FlowPath& path = find_path(flow);
  if (!path.is_own)
    for (const auto& [link, times] : path.links) links_[link].is_own = true;
  path.is_own = true;
  return path;
}

// Only the part of a flow after this job's start counts, in proportion to time.
void LinkBook::add_from_other_job(const Transfer& flow, double start, double end) {
  if (end <= 0) return;
  const double from = std::max(0.0, start);
  const double share = end > start ? (end - from) / (end - start) : 1;
  end_ = std::max(end_, end);
  for (const auto& [link, times] : find_path(flow).links) {
    std::size_t& account = links_[link].other_jobs;
    if (account == 0) account = bins_.open();
    bins_.add(
        account, from, end,
        {.bytes = static_cast<double>(flow.bytes) * times * share, .flows = (end - from) * times});
  }
}

void LinkBook::add(const Transfer& flow, TrafficClass traffic, double start, double end) {
  FlowPath& path = own_path(flow);
  start = std::max(0.0, start);
  end = std::max(start, end);
  end_ = std::max(end_, end);
  const auto bytes = static_cast<double>(flow.bytes);
  for (const auto& [link, times] : path.links)
    bins_.add(account(links_[link].accounts, traffic), start, end,
              {.bytes = bytes * times, .flows = (end - start) * times});
  const double waited = end - start - bytes / path.bandwidth;
  constexpr double rounding = 1e-9;
  if (waited > rounding * (end - start) && !path.links.empty())
    bins_.add(account(path.waits, traffic), start, end, {.waited = waited});
}

double LinkBook::busy_seconds(std::size_t link, std::size_t bin) const {
  const auto bytes = [&](std::size_t account, std::size_t index) {
    return account != 0 && index < bins_.cells(account).size() ? bins_.cells(account)[index].bytes
                                                               : 0;
  };
  double sum = 0;
  for (const std::size_t account : links_[link].accounts) sum += bytes(account, bin);
  return (sum + bytes(links_[link].other_jobs, bin)) / links_[link].bandwidth;
}

TimeBins::Cell LinkBook::sum(std::size_t link, double from, double to) const {
  TimeBins::Cell total;
  for (const std::size_t account : links_[link].accounts) {
    if (account == 0) continue;
    const std::vector<TimeBins::Cell>& cells = bins_.cells(account);
    for (std::size_t bin = 0; bin < cells.size(); ++bin) {
      const double start = bins_.width() * static_cast<double>(bin);
      const double part =
          (std::min(to, start + bins_.width()) - std::max(from, start)) / bins_.width();
      if (part <= 0) continue;
      const TimeBins::Cell& cell = cells[bin];
      total += {cell.bytes * part, cell.flows * part, cell.waited * part};
    }
  }
  return total;
}

const std::vector<TimeBins::Cell>* LinkBook::use(std::size_t link, TrafficClass traffic) const {
  const std::size_t account = links_[link].accounts[static_cast<std::size_t>(traffic)];
  return account == 0 ? nullptr : &bins_.cells(account);
}

const std::vector<TimeBins::Cell>* LinkBook::use_by_other_jobs(std::size_t link) const {
  const std::size_t account = links_[link].other_jobs;
  return account == 0 ? nullptr : &bins_.cells(account);
}

void LinkBook::settle() {
  for (const FlowPath* path : paths_in_order_)
    for (std::size_t traffic = 0; traffic < path->waits.size(); ++traffic) {
      if (path->waits[traffic] == 0) continue;
      const std::vector<TimeBins::Cell>& waits = bins_.cells(path->waits[traffic]);
      for (std::size_t bin = 0; bin < waits.size(); ++bin) {
        if (waits[bin].waited <= 0) continue;
        double highest = 0;
        for (const auto& [link, times] : path->links)
          highest = std::max(highest, busy_seconds(link, bin));
        constexpr double tie_tolerance = 1 - 1e-6;
        for (const auto& [link, times] : path->links)
          if (busy_seconds(link, bin) >= tie_tolerance * highest)
            bins_.cells(links_[link].accounts[traffic])[bin].waited += waits[bin].waited * times;
      }
    }
}

}  // namespace pipewright::execution
