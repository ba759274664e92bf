#pragma once

#include <string>
#include <vector>

#include "schedules/schedule.hpp"
#include "sim/config/scenario.hpp"
#include "sim/jobs/job.hpp"
#include "sim/jobs/request.hpp"

namespace pipewright::jobs {

// What starts a scenario with a framework.
struct Launch {
  std::string text;       // a script, overrides, TOML or JSON, with the differences as comments
  std::string extension;  // ".sh", of a file for it
  std::vector<std::string> differs;  // what the framework cannot say, in sentences
  // A file that the text names: PyTorch's schedule.csv, ds_config.json; empty: none.
  std::string beside_name;
  std::string beside;
};

// `gpus_per_node` is for what starts processes, `planned` the order of passes where it is known.
// Throws Error for a scenario without a model.
Launch export_job(const config::Scenario& scenario, Framework framework,
                  const schedules::Schedule* planned = nullptr, std::uint64_t gpus_per_node = 8);

// The first lines of a launch: what it is of, and what it does not express.
std::string heading(const config::Scenario& scenario, Framework framework,
                    const std::vector<std::string>& differs);

// A flag and its values, quoted for a shell.
std::string words_of(const Setting& setting);

}  // namespace pipewright::jobs
