#include "sim/workload/batch/context_groups.hpp"

#include <algorithm>
#include <bit>
#include <deque>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "sim/config/text/error.hpp"

namespace pipewright::workload {
namespace {

constexpr double slack = 0.05;         // of the largest work of a rank
constexpr double bucket_excess = 1.1;  // over the mean work of a bucket

// Ranks that share their documents.
struct Team {
  std::uint32_t first = 0;
  std::uint32_t size = 1;

  std::uint32_t end() const { return first + size; }
};

// Documents of one rank, and their work.
struct Load {
  std::vector<std::uint32_t> documents;
  double work = 0;
};

std::uint32_t ceil_divide(std::uint32_t a, std::uint32_t b) { return (a - 1) / b + 1; }

using Buckets = std::deque<std::deque<std::uint32_t>>;  // numbers of documents

class GroupMaker {
 public:
  GroupMaker(const std::vector<std::uint32_t>& tokens, std::uint32_t ranks,
             std::uint32_t tokens_per_rank)
      : tokens_(tokens), ranks_(ranks), tokens_per_rank_(tokens_per_rank) {}

  // Makes the next group of `documents`, which it replaces by those that are left.
  ContextGroup next(std::vector<std::uint32_t>& documents) {
    loads_.assign(ranks_, {});
    teams_.clear();
    used_ranks_ = 0;
    Buckets buckets = buckets_of(documents);
    place(buckets);
    documents.clear();
    for (const auto& bucket : buckets)
      documents.insert(documents.end(), bucket.begin(), bucket.end());
    trim(documents);
    while (std::ranges::any_of(loads_, [](const Load& load) { return load.documents.empty(); }))
      widen_a_team();
    ContextGroup group;
    for (Load& load : loads_) group.push_back(std::move(load.documents));
    return group;
  }

 private:
  std::uint32_t ranks_of(std::uint32_t document) const {
    return ranks_of_document(tokens_[document], tokens_per_rank_);
  }
  double work_of(std::uint32_t document, std::uint32_t ranks) const {
    return static_cast<double>(tokens_[document]) * tokens_[document] / ranks;
  }
  double work_of(std::uint32_t document) const { return work_of(document, ranks_of(document)); }

  // Cuts the documents, which are sorted, into as many parts of similar work as they have numbers
  // of ranks.
  Buckets buckets_of(const std::vector<std::uint32_t>& documents) const {
    std::set<std::uint32_t> sizes;
    double work = 0;
    for (const std::uint32_t document : documents) {
      sizes.insert(ranks_of(document));
      work += work_of(document);
    }
    const double target = work / static_cast<double>(sizes.size());
    auto open = static_cast<std::int64_t>(sizes.size());
    Buckets buckets;
    std::deque<std::uint32_t> current;
    double current_work = 0;
    for (std::size_t i = 0; i < documents.size(); ++i) {
      const double added = work_of(documents[i]);
      const bool is_short = static_cast<std::int64_t>(documents.size() - i) <=
                            open - static_cast<std::int64_t>(buckets.size());
      if (!current.empty() && (current_work + added > target * bucket_excess || is_short)) {
        buckets.push_back(std::exchange(current, {}));
        current_work = 0;
        --open;
      }
      current.push_back(documents[i]);
      current_work += added;
    }
    if (!current.empty()) buckets.push_back(std::move(current));
    return buckets;
  }

  // Returns the first bucket whose next document has a team of its size, or enough free ranks.
  Buckets::iterator next_bucket(Buckets& buckets) const {
    return std::ranges::find_if(buckets, [&](const std::deque<std::uint32_t>& bucket) {
      if (bucket.empty()) return false;
      const std::uint32_t size = ranks_of(bucket.front());
      return ranks_ - used_ranks_ >= size ||
             std::ranges::find(teams_, size, &Team::size) != teams_.end();
    });
  }

  // Returns a new team of free ranks, or the team of this size with the least work.
  Team team_for(std::uint32_t size) {
    if (ranks_ - used_ranks_ >= size) {
      teams_.push_back({used_ranks_, size});
      used_ranks_ += size;
      return teams_.back();
    }
    std::optional<Team> best;
    for (const Team& team : teams_)
      if (team.size == size && (!best || loads_[team.first].work < loads_[best->first].work))
        best = team;
    return *best;
  }

  bool is_balanced() const {
    const auto [least, most] = std::ranges::minmax_element(loads_, {}, &Load::work);
    return most->work - least->work <= slack * most->work;
  }

  void place(Buckets& buckets) {
    std::optional<std::uint32_t> first_size;
    bool checks_balance = false;
    while (!buckets.empty()) {
      const auto bucket = next_bucket(buckets);
      if (bucket == buckets.end()) return;
      const std::uint32_t document = bucket->front();
      const std::uint32_t size = ranks_of(document);
      if (!first_size) first_size = size;
      const Team team = team_for(size);
      for (std::uint32_t rank = team.first; rank < team.end(); ++rank) {
        loads_[rank].documents.push_back(document);
        loads_[rank].work += work_of(document);
      }
      bucket->pop_front();
      while (!buckets.empty() && buckets.front().empty()) buckets.pop_front();
      checks_balance = checks_balance || size < *first_size;
      if (checks_balance && !buckets.empty() && is_balanced()) return;
    }
  }

  // Puts the last document of the ranks with the most work back, as long as this reduces the
  // difference between ranks.
  void trim(std::vector<std::uint32_t>& documents) {
    while (true) {
      const auto [least, most] = std::ranges::minmax(loads_, {}, &Load::work);
      if (least.work == 0 || is_balanced()) return;
      const auto fullest = static_cast<std::uint32_t>(
          std::ranges::max_element(loads_, {}, &Load::work) - loads_.begin());
      if (loads_[fullest].documents.size() <= 1) return;
      const std::uint32_t document = loads_[fullest].documents.back();
      const Team& team = *std::ranges::find_if(teams_, [&](const Team& candidate) {
        return candidate.first <= fullest && fullest < candidate.end();
      });
      std::vector<double> works;
      for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
        const bool is_member = team.first <= rank && rank < team.end();
        works.push_back(loads_[rank].work - (is_member ? work_of(document) : 0));
      }
      const auto [smallest, largest] = std::ranges::minmax(works);
      if (largest - smallest >= most.work - least.work) return;
      for (std::uint32_t rank = team.first; rank < team.end(); ++rank) {
        loads_[rank].documents.pop_back();
        loads_[rank].work = works[rank];
      }
      documents.push_back(document);
    }
  }

  // Doubles the first of the smallest teams. The teams behind it move to higher ranks, up to the
  // first rank without documents.
  void widen_a_team() {
    const auto smallest = std::ranges::min_element(teams_, {}, &Team::size);
    const std::uint32_t size = std::min(2 * smallest->size, ranks_);
    const std::uint32_t added = size - smallest->size;
    if (used_ranks_ + added > ranks_)
      throw config::Error(
          fmt::format("training.lengths.balance is context_parallel, and {} of the {} ranks of dp "
                      "x cp have no document: too few to double a group of {}",
                      ranks_ - used_ranks_, ranks_, smallest->size))
          .suggest("give a larger training.lengths.tokens_per_rank, or more documents");
    const Load widened = loads_[smallest->first];
    std::vector<Load> moved(loads_.begin() + smallest->end(), loads_.begin() + used_ranks_);
    std::ranges::move(moved, loads_.begin() + smallest->end() + added);
    for (std::uint32_t rank = smallest->first; rank < smallest->end() + added; ++rank)
      loads_[rank] = {widened.documents, work_of(widened.documents.front(), size)};
    for (auto team = smallest + 1; team != teams_.end(); ++team) team->first += added;
    smallest->size = size;
    used_ranks_ += added;
  }

  const std::vector<std::uint32_t>& tokens_;
  std::uint32_t ranks_;
  std::uint32_t tokens_per_rank_;
  std::vector<Load> loads_;  // by rank
  std::vector<Team> teams_;  // by rank, from rank 0 without gaps
  std::uint32_t used_ranks_ = 0;
};

}  // namespace

std::uint32_t ranks_of_document(std::uint32_t tokens, std::uint32_t tokens_per_rank) {
  return std::bit_ceil(ceil_divide(tokens, tokens_per_rank));
}

std::vector<ContextGroup> context_groups(const std::vector<std::uint32_t>& tokens,
                                         std::uint32_t ranks, std::uint32_t tokens_per_rank) {
  std::vector<std::uint32_t> documents(tokens.size());
  std::iota(documents.begin(), documents.end(), 0);
  std::ranges::stable_sort(documents, std::ranges::greater(),
                           [&](std::uint32_t document) { return tokens[document]; });
  if (!documents.empty())
    if (const std::uint32_t needed = ranks_of_document(tokens[documents.front()], tokens_per_rank);
        needed > ranks)
      throw config::Error(
          fmt::format("a document of {} tokens needs {} ranks by training.lengths.tokens_per_rank, "
                      "but dp x cp is {}",
                      tokens[documents.front()], needed, ranks))
          .suggest(fmt::format("give at least {} tokens",
                               ceil_divide(tokens[documents.front()], std::bit_floor(ranks))));
  std::vector<ContextGroup> groups;
  GroupMaker maker(tokens, ranks, tokens_per_rank);
  while (!documents.empty()) groups.push_back(maker.next(documents));
  return groups;
}

}  // namespace pipewright::workload
