#include "sim/workload/batch/batch.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <queue>
#include <set>
#include <span>
#include <utility>

#include "sim/base/mix.hpp"
#include "sim/workload/batch/context_groups.hpp"
#include "sim/workload/batch/document_lengths.hpp"
#include "sim/workload/batch/packing.hpp"
#include "sim/workload/batch/random.hpp"

namespace pipewright::workload {
namespace {

using config::Lengths;
using DocumentTokens = std::vector<std::uint32_t>;  // tokens of documents

TokenCounts part_of(const TokenCounts& counts, double parts) {
  return {.tokens = counts.tokens / parts, .squares = counts.squares / parts};
}

// Draws documents and distributes them over microbatches of `microbatch_size` samples, one
// iteration at a time.
class Dealer {
 public:
  Dealer(const Lengths& lengths, std::uint32_t sequence, std::uint32_t microbatch_size)
      : lengths_(lengths),
        sequence_(sequence),
        size_(microbatch_size),
        documents_(lengths, sequence) {}

  // Returns the microbatches of the next iteration in the order of Megatron-LM's sampler: the first
  // microbatch of each replica, then the second of each, and so on.
  std::vector<Microbatch> next() {
    if (!lengths_.cuts_documents()) return of_whole_documents();
    if (lengths_.balance == Lengths::Balance::context_parallel) return shared();
    return lengths_.balance == Lengths::Balance::none ? packed() : pack_evenly();
  }

 private:
  std::size_t count() const { return std::size_t{lengths_.replicas} * lengths_.microbatches; }

  static void put(std::uint32_t tokens, Microbatch& microbatch) {
    microbatch.computed.add(tokens);
    microbatch.real.add(tokens);
    microbatch.documents.push_back(tokens);
  }

  // Returns the tokens of the next piece of a document, at most `limit`: of the rest of the
  // document that was cut last or, if nothing is left of it, of a new document.
  std::uint32_t take(std::uint32_t limit) {
    if (left_ == 0) left_ = documents_.next();
    const std::uint32_t tokens = std::min(left_, limit);
    left_ -= tokens;
    return tokens;
  }

  std::vector<Microbatch> packed() {
    std::vector<Microbatch> microbatches(count());
    for (Microbatch& microbatch : microbatches)
      for (std::uint32_t sample = 0; sample < size_; ++sample)
        for (std::uint32_t room = sequence_; room > 0;) {
          const std::uint32_t tokens = take(room);
          put(tokens, microbatch);
          room -= tokens;
        }
    return microbatches;
  }

  // Shares the documents of an iteration among the ranks of dp x cp. Each microbatch of a replica
  // stands for an equal part of all groups of documents.
  std::vector<Microbatch> shared() {
    DocumentTokens tokens;
    for (const Microbatch& microbatch : packed())
      tokens.insert(tokens.end(), microbatch.documents.begin(), microbatch.documents.end());
    std::vector<SharedDocuments> groups;
    for (const ContextGroup& group :
         context_groups(tokens, lengths_.replicas * lengths_.cp, lengths_.tokens_per_rank.value()))
      groups.push_back(shared_documents(group, tokens));
    Microbatch microbatch;
    for (const std::uint32_t document : tokens) microbatch.real.add(document);
    microbatch.real = part_of(microbatch.real, static_cast<double>(count()));
    microbatch.computed = microbatch.real;
    microbatch.groups = std::make_shared<const std::vector<SharedDocuments>>(std::move(groups));
    return std::vector<Microbatch>(count(), microbatch);
  }

  static SharedDocuments shared_documents(const ContextGroup& group, const DocumentTokens& tokens) {
    std::map<std::uint32_t, std::uint32_t> ranks;  // by the document
    for (const auto& documents : group)
      for (const std::uint32_t document : documents) ++ranks[document];
    SharedDocuments shared;
    for (const auto& documents : group) {
      auto& rank = shared.emplace_back();
      for (const std::uint32_t document : documents)
        rank.push_back({tokens[document], ranks[document]});
    }
    return shared;
  }

  // Packs documents, the longest first, so that all microbatches get similar sums of squared
  // lengths; a document for which that microbatch has no room goes to the one with the fewest
  // tokens.
  std::vector<Microbatch> pack_evenly() {
    std::vector<Microbatch> microbatches(count());
    const std::uint64_t capacity = std::uint64_t{size_} * sequence_;
    std::priority_queue<std::uint32_t> longest;
    for (std::uint64_t room = capacity * microbatches.size(); room > 0;) {
      const std::uint32_t tokens =
          take(static_cast<std::uint32_t>(std::min<std::uint64_t>(sequence_, room)));
      longest.push(tokens);
      room -= tokens;
    }
    using Load = std::pair<double, std::size_t>;
    std::set<Load> by_squares;
    std::set<Load> by_tokens;
    for (std::size_t i = 0; i < microbatches.size(); ++i) {
      by_squares.emplace(0, i);
      by_tokens.emplace(0, i);
    }
    while (!longest.empty()) {
      const std::uint32_t document = longest.top();
      longest.pop();
      std::size_t chosen = by_squares.begin()->second;
      if (microbatches[chosen].computed.tokens + document > static_cast<double>(capacity))
        chosen = by_tokens.begin()->second;
      Microbatch& microbatch = microbatches[chosen];
      by_squares.erase({microbatch.computed.squares, chosen});
      by_tokens.erase({microbatch.computed.tokens, chosen});
      const auto room = static_cast<std::uint32_t>(
          capacity - static_cast<std::uint64_t>(microbatch.computed.tokens));
      put(std::min(document, room), microbatch);
      if (document > room) longest.push(document - room);
      if (document >= room) continue;
      by_squares.emplace(microbatch.computed.squares, chosen);
      by_tokens.emplace(microbatch.computed.tokens, chosen);
    }
    return microbatches;
  }

  // Returns samples of whole documents: one each without packing.
  std::vector<Sample> draw_samples() {
    const std::size_t samples = count() * size_;
    if (lengths_.packed)
      return pack_data_set([&] { return documents_.next(); }, samples, sequence_, lengths_.packing,
                           lengths_.seed + iteration_++);
    std::vector<Sample> drawn;
    for (std::size_t i = 0; i < samples; ++i)
      drawn.push_back({std::min(documents_.next(), sequence_)});
    return drawn;
  }

  static std::uint32_t tokens_of(const Sample& sample) {
    return std::accumulate(sample.begin(), sample.end(), std::uint32_t{0});
  }

  // Makes microbatches of samples of whole documents. The last document of a sample is padded, so
  // that all samples of a microbatch are as long as its longest.
  std::vector<Microbatch> of_whole_documents() {
    std::vector<Sample> samples = draw_samples();
    const bool balanced = lengths_.balance == Lengths::Balance::length;
    if (balanced) std::ranges::stable_sort(samples, std::ranges::greater(), tokens_of);
    std::vector<Microbatch> microbatches;
    for (std::size_t i = 0; i < count(); ++i) {
      const std::span<const Sample> own(samples.data() + i * size_, size_);
      const std::uint32_t padded = lengths_.pad_to == Lengths::PadTo::sequence
                                       ? sequence_
                                       : tokens_of(*std::ranges::max_element(own, {}, tokens_of));
      Microbatch& microbatch = microbatches.emplace_back();
      for (const Sample& sample : own) {
        for (const std::uint32_t document : sample) microbatch.real.add(document);
        const std::uint32_t padding = padded - tokens_of(sample);
        for (std::size_t k = 0; k < sample.size(); ++k) {
          const std::uint32_t tokens = sample[k] + (k + 1 == sample.size() ? padding : 0);
          microbatch.computed.add(tokens);
          microbatch.documents.push_back(tokens);
        }
      }
    }
    return balanced ? deal_evenly(std::move(microbatches)) : microbatches;
  }

  // Assigns microbatches, sorted by descending tokens, to replicas: each goes to the replica that
  // has the fewest tokens so far and still lacks microbatches.
  std::vector<Microbatch> deal_evenly(std::vector<Microbatch> sorted) const {
    const std::uint32_t replicas = lengths_.replicas;
    std::vector<std::uint32_t> counts(replicas);
    using Load = std::pair<double, std::uint32_t>;
    std::priority_queue<Load, std::vector<Load>, std::greater<>> open;
    for (std::uint32_t replica = 0; replica < replicas; ++replica) open.emplace(0, replica);
    std::vector<Microbatch> microbatches(sorted.size());
    for (Microbatch& microbatch : sorted) {
      auto [tokens, replica] = open.top();
      open.pop();
      tokens += microbatch.computed.tokens;
      microbatches[std::size_t{counts[replica]++} * replicas + replica] = std::move(microbatch);
      if (counts[replica] < lengths_.microbatches) open.emplace(tokens, replica);
    }
    return microbatches;
  }

  const Lengths& lengths_;
  std::uint32_t sequence_;
  std::uint32_t size_;
  DocumentLengths documents_;
  std::uint32_t iteration_ = 0;
  std::uint32_t left_ = 0;  // tokens of the current document that are not dealt yet
};

// Returns the replicas in descending order of their work in an iteration.
std::vector<std::uint32_t> by_work(const std::vector<Microbatch>& iteration,
                                   std::uint32_t replicas) {
  std::vector<TokenCounts> work(replicas);
  for (std::size_t i = 0; i < iteration.size(); ++i) work[i % replicas] += iteration[i].computed;
  std::vector<std::uint32_t> order(replicas);
  for (std::uint32_t replica = 0; replica < replicas; ++replica) order[replica] = replica;
  std::ranges::stable_sort(order, [&](std::uint32_t left, std::uint32_t right) {
    return std::pair(work[left].tokens, work[left].squares) >
           std::pair(work[right].tokens, work[right].squares);
  });
  return order;
}

}  // namespace

Batch deal(const Lengths& lengths, std::uint32_t sequence, std::uint32_t microbatch_size) {
  Batch batch{.replicas = lengths.replicas,
              .microbatches = lengths.microbatches * lengths.iterations,
              .all_microbatches = {},
              .computed = {},
              .real = {}};
  batch.all_microbatches.resize(std::size_t{batch.replicas} * batch.microbatches);
  Dealer dealer(lengths, sequence, microbatch_size);
  for (std::uint32_t iteration = 0; iteration < lengths.iterations; ++iteration) {
    std::vector<Microbatch> dealt = dealer.next();
    const std::vector<std::uint32_t> order = by_work(dealt, batch.replicas);
    for (std::uint32_t replica = 0; replica < batch.replicas; ++replica)
      for (std::uint32_t i = 0; i < lengths.microbatches; ++i)
        batch.all_microbatches[std::size_t{replica} * batch.microbatches +
                               std::size_t{iteration} * lengths.microbatches + i] =
            std::move(dealt[std::size_t{i} * batch.replicas + order[replica]]);
  }
  for (const Microbatch& microbatch : batch.all_microbatches) {
    batch.computed += microbatch.computed;
    batch.real += microbatch.real;
    batch.documents += static_cast<double>(microbatch.documents.size());
  }
  const auto count = static_cast<double>(batch.all_microbatches.size());
  batch.computed = part_of(batch.computed, count);
  batch.real = part_of(batch.real, count);
  batch.documents /= count;
  return batch;
}

std::shared_ptr<const Batch> batch_of(const config::Training& training, std::uint32_t sequence) {
  return batch_of(*training.lengths, sequence, training.microbatch_size);
}

std::shared_ptr<const Batch> batch_of(const Lengths& lengths, std::uint32_t sequence,
                                      std::uint32_t microbatch_size) {
  struct CachedBatch {
    Lengths lengths;
    std::uint32_t sequence;
    std::uint32_t microbatch_size;
    std::shared_ptr<const Batch> batch;
  };
  thread_local std::vector<CachedBatch> cache;
  for (const CachedBatch& entry : cache)
    if (entry.lengths == lengths && entry.sequence == sequence &&
        entry.microbatch_size == microbatch_size)
      return entry.batch;
  constexpr std::size_t capacity = 8;
  if (cache.size() == capacity) cache.erase(cache.begin());
  cache.push_back({lengths, sequence, microbatch_size,
                   std::make_shared<const Batch>(deal(lengths, sequence, microbatch_size))});
  return cache.back().batch;
}

}  // namespace pipewright::workload
