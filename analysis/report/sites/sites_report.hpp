#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// Formats the results of `pipewright sites` as text and JSON.
namespace pipewright::analysis {

// Shares of the time in which sites train if their connections have this bandwidth.
struct SitesUtilisation {
  double bandwidth = 0;        // bytes/s
  double every_iteration = 0;  // sites average all gradients in each iteration
  double whole = 0;            // outer loop without fragments and overlap
  double loop = 0;             // outer loop of the scenario
};

// Least bandwidths in bytes/s that give a utilisation, by way of training as in SitesUtilisation;
// 0: no bandwidth gives it.
struct SitesBandwidth {
  double utilisation = 0;
  double every_iteration = 0;
  double whole = 0;
  double loop = 0;
};

struct SitesReport {
  std::string subject;  // "1f1b: llama-3-70b on h100-sxm, tp 8, pp 4"
  std::uint32_t sites = 2;
  std::uint32_t gpus = 1;  // GPUs per site
  double bandwidth = 0;    // bytes/s of a site's connection, each way
  double latency_s = 0;
  std::uint32_t every = 1;
  std::uint32_t fragments = 1;
  std::uint32_t overlap = 0;
  std::string precision;
  double iteration_s = 0;
  double fragment_bytes = 0;
  double exchange_s = 0;  // time of an exchange of one fragment
  double round_s = 0;
  double utilisation = 0;
  double longest_wait_s = 0;
  double connection_busy = 0;
  std::optional<double> tokens_per_s;  // tokens/s of all sites together
  std::vector<SitesUtilisation> by_bandwidth;
  std::vector<SitesBandwidth> needed;
  std::vector<std::string> notes;
};

std::string sites_text(const SitesReport& report);  // for a terminal
std::string sites_json(const SitesReport& report);

}  // namespace pipewright::analysis
