#include "sim/workload/batch/packing.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "sim/base/mix.hpp"

namespace pipewright::workload {
namespace {

// Room in each of a number of samples, as a tree of maxima that finds the first with enough.
class RoomTree {
 public:
  RoomTree(std::size_t samples, std::uint32_t capacity)
      : leaves_(std::bit_ceil(std::max<std::size_t>(samples, 1))), rooms_(2 * leaves_, capacity) {}

  // Takes `tokens` from the first sample that has as much room. There is always one.
  std::size_t take(std::uint32_t tokens) {
    std::size_t node = 1;
    while (node < leaves_) node = rooms_[2 * node] >= tokens ? 2 * node : 2 * node + 1;
    const std::size_t sample = node - leaves_;
    rooms_[node] -= tokens;
    while ((node /= 2) > 0) rooms_[node] = std::max(rooms_[2 * node], rooms_[2 * node + 1]);
    return sample;
  }

 private:
  std::size_t leaves_;
  std::vector<std::uint32_t> rooms_;
};

// Puts items into a random order that depends on the seed alone (Fisher and Yates).
template <class Item>
void shuffle(std::vector<Item>& items, std::uint64_t seed) {
  for (std::size_t left = items.size(); left > 1; --left) {
    seed = base::mix(seed);
    std::swap(items[left - 1], items[seed % left]);
  }
}

}  // namespace

std::vector<Sample> first_fit(const std::vector<std::uint32_t>& documents, std::uint32_t capacity) {
  // One sample for each document is always enough.
  RoomTree rooms(documents.size(), capacity);
  std::vector<Sample> samples;
  for (const std::uint32_t tokens : documents) {
    const std::size_t chosen = rooms.take(tokens);
    if (chosen >= samples.size()) samples.resize(chosen + 1);
    samples[chosen].push_back(tokens);
  }
  return samples;
}

std::vector<Sample> pack_data_set(const std::function<std::uint32_t()>& draw, std::size_t count,
                                  std::uint32_t capacity, config::Lengths::Packing packing,
                                  std::uint32_t seed) {
  constexpr std::size_t least_samples = 1000;
  const std::uint64_t least_tokens = std::uint64_t{std::max(count, least_samples)} * capacity;
  // Documents with more tokens than the samples can hold need at least so many samples.
  std::vector<std::uint32_t> documents;
  for (std::uint64_t tokens = 0; tokens < least_tokens; tokens += documents.back())
    documents.push_back(std::min(draw(), capacity));
  if (packing == config::Lengths::Packing::first_fit_decreasing)
    std::ranges::sort(documents, std::ranges::greater());
  else
    shuffle(documents, seed);
  std::vector<Sample> samples = first_fit(documents, capacity);
  shuffle(samples, base::mix(seed));
  samples.resize(count);
  return samples;
}

}  // namespace pipewright::workload
