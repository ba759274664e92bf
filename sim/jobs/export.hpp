#pragma once

#include <string>
#include <vector>

#include "sim/config/scenario.hpp"
#include "sim/jobs/job.hpp"

namespace pipewright::jobs {

// What starts a scenario with a framework.
struct Launch {
  std::string text;       // a script, overrides, TOML or JSON, with the differences as comments
  std::string extension;  // ".sh", of a file for it
  std::vector<std::string> differs;  // what the framework cannot say, in sentences
  std::string csv_for;  // the schedule that the text reads from a CSV beside it; empty: none
};

// `gpus_per_node` is for what starts processes. Throws Error for a scenario without a model.
Launch export_job(const config::Scenario& scenario, Framework framework,
                  std::uint64_t gpus_per_node = 8);

}  // namespace pipewright::jobs
