#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/config/lengths.hpp"

namespace pipewright::workload {

// Tokens of the documents of a sample.
using Sample = std::vector<std::uint32_t>;

// Puts each document, in the given order, into the first sample with room for it, and begins a new
// sample where none has room (first fit). No document is longer than `capacity` tokens. Takes
// O(n log n) for n documents.
std::vector<Sample> first_fit(const std::vector<std::uint32_t>& documents, std::uint32_t capacity);

// Packs a data set into at least `count` samples of at most `capacity` tokens, as NeMo and
// Megatron-Bridge do before training (first_fit_shuffle, first_fit_decreasing), and returns `count`
// of the samples in the random order of training. Longer documents are cut to `capacity` tokens.
// `draw` returns the tokens of the next document of the data set, which has at least 1,000 samples,
// so that the few half-filled samples at its end have little weight.
std::vector<Sample> pack_data_set(const std::function<std::uint32_t()>& draw, std::size_t count,
                                  std::uint32_t capacity, config::Lengths::Packing packing,
                                  std::uint32_t seed);

}  // namespace pipewright::workload
