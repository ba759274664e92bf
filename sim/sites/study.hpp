#pragma once

#include "analysis/report/sites/sites_report.hpp"
#include "sim/config/scenario.hpp"
#include "sim/config/sites.hpp"

namespace pipewright::sites {

// Returns the section `sites` of a scenario. Throws config::Error if it has none.
config::Sites sites_of(const config::Scenario& scenario);

// Simulates an iteration of one site in a child process, and then rounds of the outer loop, with
// the bandwidth of the scenario and with other ones. Throws config::Error for a scenario without a
// model.
analysis::SitesReport study(const config::Scenario& scenario, const config::Sites& sites);

}  // namespace pipewright::sites
