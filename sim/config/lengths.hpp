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

// How many tokens documents have, and how they get into microbatches.
struct Lengths {
  enum class Balance : std::uint8_t { none, length };
  enum class PadTo : std::uint8_t { longest, sequence };
  // So many documents, or a weight of them, of one length.
  struct Bin {
    std::uint32_t tokens = 0;
    double weight = 1;

    bool operator==(const Bin&) const = default;
  };

  // One of three ways to say it: documents in their order, which begins anew at its end; a
  // histogram to draw from; or a distribution, lognormal with mean and 95th percentile, uniform
  // without these. What is drawn is cut to shortest and longest.
  std::optional<std::filesystem::path> file;  // of one of the first two
  std::vector<std::uint32_t> documents;
  std::vector<Bin> histogram;
  std::optional<double> mean;
  std::optional<double> p95;
  std::optional<std::uint32_t> shortest;
  std::optional<std::uint32_t> longest;

  bool packed = true;  // documents fill samples of training.sequence, none attends to another
  Balance balance = Balance::none;
  PadTo pad_to = PadTo::longest;  // where a sample is one document

  // Settled by the rest of a scenario.
  std::uint32_t replicas = 1;
  std::uint32_t microbatches = 1;  // of a replica in an iteration
  std::uint32_t iterations = 1;
  std::uint32_t seed = 1;

  bool operator==(const Lengths&) const = default;
};

// Of ln(length) of the lognormal distribution with this mean and 95th percentile.
double lognormal_deviation(double mean, double p95);

// "lognormal 1200 to 4000 (mean and p95), packed by length", without commas.
std::string to_string(const Lengths& lengths);

Lengths read_lengths(const Field& field);
std::vector<KeyRow> lengths_keys();

}  // namespace pipewright::config
