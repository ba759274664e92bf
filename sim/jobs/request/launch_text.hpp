#pragma once

#include <string>
#include <vector>

#include "sim/config/scenario.hpp"
#include "sim/jobs/request/request.hpp"

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

// The first lines of a launch: what it is of, and what it does not express.
std::string heading(const config::Scenario& scenario, Framework framework,
                    const std::vector<std::string>& differs);

// A flag and its values, quoted for a shell.
std::string words_of(const Setting& setting);

// A value as a shell takes it, in quotes where it must be.
std::string quoted(const std::string& value);

// GPUs of the whole job.
std::uint64_t gpus_of(const config::Scenario& scenario);

}  // namespace pipewright::jobs
