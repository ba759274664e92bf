#pragma once

#include <cstdint>

#include "sim/config/model.hpp"
#include "sim/config/parallel.hpp"
#include "sim/config/training.hpp"

namespace pipewright::workload {

// What of a microbatch, and of each layer, one GPU has after the cuts of a layout.
struct Sizes {
  double samples = 1;
  double sequence = 0;       // tokens of a sample
  double queries = 0;        // of them on this GPU: sequence / cp
  double tokens = 0;         // of the microbatch where ranks of tp work on all of each other's
  double spread_tokens = 0;  // in norms, dropouts and residuals: with sequence parallelism over tp
  std::uint32_t tp = 1;
  std::uint32_t cp = 1;
  std::uint32_t ep = 1;
  bool sequence_parallel = false;
  std::uint64_t vocabulary = 0;  // padded, over all ranks of tp
};

Sizes sizes_of(const config::Model& model, const config::Training& training,
               const config::Parallel& parallel);

// The vocabulary padded so that each rank of tp has as much of it, a multiple of `multiple`.
std::uint64_t padded_vocabulary(std::uint32_t vocabulary, std::uint32_t multiple, std::uint32_t tp);

}  // namespace pipewright::workload
