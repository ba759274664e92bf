#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// Formats the results of `pipewright sites` as text and JSON.
namespace pipewright::analysis {

// Shares of the time in which sites train, by the bandwidth of their connections.
struct SitesUtilisation {
  double bandwidth = 0;        // bytes/s
  double every_iteration = 0;  // gradients of all weights are averaged in each iteration
  double whole = 0;            // the outer loop without fragments and overlap
  double loop = 0;             // as the scenario says
};

// Bandwidths in bytes/s that give a utilisation; 0: none does.
struct SitesBandwidth {
  double utilisation = 0;
  double every_iteration = 0;
  double whole = 0;
  double loop = 0;
};

struct SitesReport {
  std::string subject;  // "1f1b: llama-3-70b on h100-sxm, tp 8, pp 4"
  std::uint32_t sites = 2;
  std::uint32_t gpus = 1;  // of a site
  double bandwidth = 0;    // bytes/s of a site
  double latency_s = 0;
  std::uint32_t every = 1;
  std::uint32_t fragments = 1;
  std::uint32_t overlap = 0;
  std::string precision;
  double iteration_s = 0;
  double fragment_bytes = 0;
  double exchange_s = 0;  // of a fragment
  double round_s = 0;
  double utilisation = 0;
  double longest_wait_s = 0;
  double connection_busy = 0;
  std::optional<double> tokens_per_s;  // of all sites
  std::vector<SitesUtilisation> by_bandwidth;
  std::vector<SitesBandwidth> needed;
  std::vector<std::string> notes;
};

std::string sites_text(const SitesReport& report);  // for a terminal
std::string sites_json(const SitesReport& report);

}  // namespace pipewright::analysis
