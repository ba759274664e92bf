#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/keys.hpp"
#include "sim/config/text/fields.hpp"

namespace pipewright::config {

// Deviations of a real cluster from an ideal one: random times, slow devices, slow links.
struct Variation {
  // Distribution of a pass's time; `jitter` is its standard deviation relative to the mean.
  enum class Distribution : std::uint8_t { normal, lognormal, uniform };

  // A device whose passes take `factor` times as long, in a replica or in all replicas. Below 1,
  // the device is faster than the others.
  struct Straggler {
    std::uint32_t device = 0;
    std::optional<std::uint32_t> replica;
    double factor = 1;
    Origin origin;
  };
  // A link that keeps only the fraction `factor` of the bandwidth in the platform file; 0: it has
  // failed.
  struct SlowLink {
    std::string link;
    double factor = 1;
    Origin origin;
  };

  // Factor on the bandwidth of all links of a class.
  struct Bandwidth {
    static constexpr std::string_view all = "all";  // stands for every class
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
  double latency = 1;                        // factor on the latency of all routes
  std::optional<Located<double>> power_cap;  // watts of each GPU

  bool is_random() const { return jitter > 0; }
};

Variation read_variation(const Field& field);
std::vector<KeyRow> variation_keys();

}  // namespace pipewright::config
