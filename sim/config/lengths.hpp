#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/keys.hpp"
#include "sim/config/text/fields.hpp"

namespace pipewright::config {

// Distribution of document lengths in tokens, and how documents are packed into microbatches.
struct Lengths {
  // `context_parallel`: a document is shared by as many ranks of dp x cp as its length needs.
  enum class Balance : std::uint8_t { none, length, context_parallel };
  // Packing of documents into samples: one after the other, cut where a sample ends, as in
  // Megatron-LM's pretraining; or whole, each in the first sample with room (first fit), as NeMo
  // and Megatron-Bridge pack the data of fine-tuning, in random order or the longest first.
  enum class Packing : std::uint8_t { cut, first_fit_shuffle, first_fit_decreasing };
  enum class PadTo : std::uint8_t { longest, sequence };
  // A bar of a histogram: a length, and the number or relative weight of documents with it.
  struct Bin {
    std::uint32_t tokens = 0;
    double weight = 1;

    bool operator==(const Bin&) const = default;
  };

  // Lengths come from one of these: a list of documents in order, repeated as needed; a histogram;
  // or a distribution, which is lognormal if it has a mean and a 95th percentile, and otherwise
  // uniform. Drawn lengths are clamped to [shortest, longest].
  std::optional<std::filesystem::path> file;  // contains documents or a histogram
  std::vector<std::uint32_t> documents;
  std::vector<Bin> histogram;
  std::optional<double> mean;
  std::optional<double> p95;
  std::optional<std::uint32_t> shortest;
  std::optional<std::uint32_t> longest;

  bool packed = true;  // documents fill samples, without attention between documents
  Packing packing = Packing::cut;
  Balance balance = Balance::none;
  std::optional<std::uint32_t> tokens_per_rank;  // for Balance::context_parallel
  PadTo pad_to = PadTo::longest;                 // used if a sample has whole documents

  // These members are copied from other keys of the scenario.
  std::uint32_t replicas = 1;
  std::uint32_t cp = 1;
  std::uint32_t microbatches = 1;  // per replica and iteration
  std::uint32_t iterations = 1;
  std::uint32_t seed = 1;

  bool cuts_documents() const { return packed && packing == Packing::cut; }

  bool operator==(const Lengths&) const = default;
};

// Returns the standard deviation of ln(length) for the lognormal distribution with this mean and
// 95th percentile.
double lognormal_deviation(double mean, double p95);

// Describes the lengths, without commas: "lognormal with mean 1200 and p95 4000 packed balanced by
// length".
std::string to_string(const Lengths& lengths);

Lengths read_lengths(const Field& field);
std::vector<KeyRow> lengths_keys();

// Read lengths of what is not packed, without the keys of packing.
Lengths read_unpacked_lengths(const Field& field);
std::vector<KeyRow> unpacked_lengths_keys();

}  // namespace pipewright::config
