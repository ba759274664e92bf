#include "sim/workload/batch/batch.hpp"

#include <algorithm>
#include <cmath>
#include <queue>
#include <set>
#include <utility>

#include "sim/workload/batch/random.hpp"

namespace pipewright::workload {
namespace {

using config::Lengths;
using Pieces = std::vector<std::uint32_t>;  // tokens of documents, or of what is left of them

// The lengths of documents, one after the other.
class Documents {
 public:
  explicit Documents(const Lengths& lengths, std::uint32_t sequence)
      : lengths_(lengths), most_(lengths.longest.value_or(sequence)) {
    if (lengths.mean && lengths.p95) {
      deviation_ = config::lognormal_deviation(*lengths.mean, *lengths.p95);
      middle_ = std::log(*lengths.mean) - deviation_ * deviation_ / 2;
    }
    double sum = 0;
    for (const Lengths::Bin& bin : lengths.histogram) sums_.push_back(sum += bin.weight);
  }

  std::uint32_t next() {
    const std::uint64_t place = count_++;
    if (!lengths_.documents.empty()) return lengths_.documents[place % lengths_.documents.size()];
    const std::uint64_t bits = mix(mix(lengths_.seed) ^ place);
    if (!sums_.empty()) {
      const double wanted = uniform(bits) * sums_.back();
      const auto bin = std::ranges::upper_bound(sums_, wanted) - sums_.begin();
      return lengths_.histogram[std::min<std::size_t>(bin, sums_.size() - 1)].tokens;
    }
    const double least = lengths_.shortest.value_or(1);
    if (!lengths_.mean)
      return static_cast<std::uint32_t>(least + uniform(bits) * (most_ - least + 1));
    const double drawn = std::exp(middle_ + deviation_ * normal(bits));
    return static_cast<std::uint32_t>(
        std::llround(std::clamp(drawn, least, std::max<double>(least, most_))));
  }

 private:
  const Lengths& lengths_;
  std::uint32_t most_;
  double middle_ = 0;
  double deviation_ = 0;
  std::vector<double> sums_;
  std::uint64_t count_ = 0;
};

// One iteration's samples, `microbatch_size` of them a microbatch.
class Dealer {
 public:
  Dealer(const Lengths& lengths, std::uint32_t sequence, std::uint32_t microbatch_size)
      : lengths_(lengths),
        sequence_(sequence),
        size_(microbatch_size),
        documents_(lengths, sequence) {}

  // Of the iteration: by microbatch in the order of the sampler, microbatch by microbatch of all
  // replicas.
  std::vector<Microbatch> next() {
    if (lengths_.packed)
      return lengths_.balance == Lengths::Balance::none ? packed() : packed_evenly();
    return one_each();
  }

 private:
  std::size_t count() const { return std::size_t{lengths_.replicas} * lengths_.microbatches; }

  static void put(std::uint32_t tokens, Microbatch& microbatch) {
    microbatch.computed.add(tokens);
    microbatch.real.add(tokens);
    microbatch.documents.push_back(tokens);
  }

  // The rest of a document that was cut before, or the next one.
  std::uint32_t take(std::uint32_t most) {
    if (left_ == 0) left_ = documents_.next();
    const std::uint32_t tokens = std::min(left_, most);
    left_ -= tokens;
    return tokens;
  }

  std::vector<Microbatch> packed() {
    std::vector<Microbatch> all(count());
    for (Microbatch& microbatch : all)
      for (std::uint32_t sample = 0; sample < size_; ++sample)
        for (std::uint32_t room = sequence_; room > 0;) {
          const std::uint32_t tokens = take(room);
          put(tokens, microbatch);
          room -= tokens;
        }
    return all;
  }

  // Microbatches by their squares, and by their tokens, but for those that are full.
  std::vector<Microbatch> packed_evenly() {
    std::vector<Microbatch> all(count());
    const std::uint64_t capacity = std::uint64_t{size_} * sequence_;
    std::priority_queue<std::uint32_t> longest;
    for (std::uint64_t room = capacity * all.size(); room > 0;) {
      const std::uint32_t tokens =
          take(static_cast<std::uint32_t>(std::min<std::uint64_t>(sequence_, room)));
      longest.push(tokens);
      room -= tokens;
    }
    using Place = std::pair<double, std::size_t>;
    std::set<Place> by_squares;
    std::set<Place> by_tokens;
    for (std::size_t i = 0; i < all.size(); ++i) {
      by_squares.emplace(0, i);
      by_tokens.emplace(0, i);
    }
    while (!longest.empty()) {
      const std::uint32_t document = longest.top();
      longest.pop();
      std::size_t to = by_squares.begin()->second;
      if (all[to].computed.tokens + document > static_cast<double>(capacity))
        to = by_tokens.begin()->second;
      Microbatch& microbatch = all[to];
      by_squares.erase({microbatch.computed.squares, to});
      by_tokens.erase({microbatch.computed.tokens, to});
      const auto room = static_cast<std::uint32_t>(
          capacity - static_cast<std::uint64_t>(microbatch.computed.tokens));
      put(std::min(document, room), microbatch);
      if (document > room) longest.push(document - room);
      if (document >= room) continue;
      by_squares.emplace(microbatch.computed.squares, to);
      by_tokens.emplace(microbatch.computed.tokens, to);
    }
    return all;
  }

  // Samples of one document, which may be cut.
  std::vector<Microbatch> one_each() {
    Pieces samples;
    for (std::size_t i = 0; i < count() * size_; ++i)
      samples.push_back(std::min(documents_.next(), sequence_));
    const bool even = lengths_.balance == Lengths::Balance::length;
    if (even) std::ranges::sort(samples, std::ranges::greater());
    std::vector<Microbatch> all;
    for (std::size_t i = 0; i < count(); ++i) {
      const auto first = samples.begin() + static_cast<std::ptrdiff_t>(i * size_);
      const auto last = first + size_;
      const std::uint32_t padded =
          lengths_.pad_to == Lengths::PadTo::sequence ? sequence_ : *std::max_element(first, last);
      Microbatch& microbatch = all.emplace_back();
      for (auto one = first; one != last; ++one) {
        microbatch.computed.add(padded);
        microbatch.real.add(*one);
        microbatch.documents.push_back(padded);
      }
    }
    return even ? dealt_evenly(std::move(all)) : all;
  }

  // Falling tokens: each to the replica that has fewest so far, and as many as the others.
  std::vector<Microbatch> dealt_evenly(std::vector<Microbatch> falling) const {
    const std::uint32_t replicas = lengths_.replicas;
    std::vector<std::uint32_t> counts(replicas);
    using Place = std::pair<double, std::uint32_t>;
    std::priority_queue<Place, std::vector<Place>, std::greater<>> open;
    for (std::uint32_t replica = 0; replica < replicas; ++replica) open.emplace(0, replica);
    std::vector<Microbatch> all(falling.size());
    for (Microbatch& microbatch : falling) {
      auto [tokens, replica] = open.top();
      open.pop();
      tokens += microbatch.computed.tokens;
      all[std::size_t{counts[replica]++} * replicas + replica] = std::move(microbatch);
      if (counts[replica] < lengths_.microbatches) open.emplace(tokens, replica);
    }
    return all;
  }

  const Lengths& lengths_;
  std::uint32_t sequence_;
  std::uint32_t size_;
  Documents documents_;
  std::uint32_t left_ = 0;  // of the last document
};

// Replicas by their work, that with most first.
std::vector<std::uint32_t> by_work(const std::vector<Microbatch>& iteration,
                                   std::uint32_t replicas) {
  std::vector<TokenCounts> work(replicas);
  for (std::size_t i = 0; i < iteration.size(); ++i) work[i % replicas] += iteration[i].computed;
  std::vector<std::uint32_t> order(replicas);
  for (std::uint32_t replica = 0; replica < replicas; ++replica) order[replica] = replica;
  std::ranges::stable_sort(order, [&](std::uint32_t one, std::uint32_t other) {
    return std::pair(work[one].tokens, work[one].squares) >
           std::pair(work[other].tokens, work[other].squares);
  });
  return order;
}

TokenCounts part_of(const TokenCounts& counts, double parts) {
  return {.tokens = counts.tokens / parts, .squares = counts.squares / parts};
}

}  // namespace

Batch deal(const Lengths& lengths, std::uint32_t sequence, std::uint32_t microbatch_size) {
  Batch batch{.replicas = lengths.replicas,
              .microbatches = lengths.microbatches * lengths.iterations,
              .all = {},
              .computed = {},
              .real = {}};
  batch.all.resize(std::size_t{batch.replicas} * batch.microbatches);
  Dealer dealer(lengths, sequence, microbatch_size);
  for (std::uint32_t iteration = 0; iteration < lengths.iterations; ++iteration) {
    std::vector<Microbatch> dealt = dealer.next();
    const std::vector<std::uint32_t> order = by_work(dealt, batch.replicas);
    for (std::uint32_t replica = 0; replica < batch.replicas; ++replica)
      for (std::uint32_t i = 0; i < lengths.microbatches; ++i)
        batch.all[std::size_t{replica} * batch.microbatches +
                  std::size_t{iteration} * lengths.microbatches + i] =
            std::move(dealt[std::size_t{i} * batch.replicas + order[replica]]);
  }
  for (const Microbatch& microbatch : batch.all) {
    batch.computed += microbatch.computed;
    batch.real += microbatch.real;
  }
  const auto all = static_cast<double>(batch.all.size());
  batch.computed = part_of(batch.computed, all);
  batch.real = part_of(batch.real, all);
  return batch;
}

std::shared_ptr<const Batch> batch_of(const config::Training& training, std::uint32_t sequence) {
  struct Known {
    Lengths lengths;
    std::uint32_t sequence;
    std::uint32_t microbatch_size;
    std::shared_ptr<const Batch> batch;
  };
  thread_local std::vector<Known> known;
  const Lengths& lengths = *training.lengths;
  for (const Known& one : known)
    if (one.lengths == lengths && one.sequence == sequence &&
        one.microbatch_size == training.microbatch_size)
      return one.batch;
  constexpr std::size_t kept = 8;
  if (known.size() == kept) known.erase(known.begin());
  known.push_back(
      {lengths, sequence, training.microbatch_size,
       std::make_shared<const Batch>(deal(lengths, sequence, training.microbatch_size))});
  return known.back().batch;
}

}  // namespace pipewright::workload
