#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/keys.hpp"
#include "sim/config/text/fields.hpp"

namespace pipewright::config {

// How a real cluster strays from the ideal one.
struct Variation {
  // Of a pass's time around its mean, with `jitter` as the standard deviation over the mean.
  enum class Distribution : std::uint8_t { normal, lognormal, uniform };

  // A device whose passes take `factor` times as long, in one replica or in all of them.
  struct Straggler {
    std::uint32_t device = 0;
    std::optional<std::uint32_t> replica;
    double factor = 1;
    Origin origin;
  };
  // A link of the platform file with a part of its bandwidth; 0: it has failed.
  struct SlowLink {
    std::string link;
    double factor = 1;
    Origin origin;
  };

  // The links of a class have so many times their bandwidth.
  struct Bandwidth {
    static constexpr std::string_view all = "all";  // classes
    std::string link_class;
    double factor = 1;
    Origin origin;
  };

  double jitter = 0;
  Distribution distribution = Distribution::normal;
  std::uint32_t seed = 1;
  std::vector<Straggler> stragglers;
  std::vector<SlowLink> links;
  std::vector<Bandwidth> bandwidth;
  double latency = 1;  // all ways take so many times as long before the first byte

  bool is_random() const { return jitter > 0; }
};

Variation read_variation(const Field& field);
std::vector<KeyRow> variation_keys();

}  // namespace pipewright::config
