#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/schedule.hpp"
#include "sim/config/scenario.hpp"
#include "sim/jobs/request/request.hpp"

namespace pipewright::jobs {

// Input from which a framework's launch is written.
struct LaunchInput {
  const config::Scenario& scenario;  // has a model
  std::string_view title;            // title of the framework
  std::string_view stack;            // stack of the framework's jobs
  bool on_foreign_stack = false;     // the scenario's stack is of other software
  // Order of the passes, if it is known; else null.
  const schedules::Schedule* planned = nullptr;
  std::uint64_t gpus_per_node = 8;
};

// Script or configuration that starts a scenario with a framework.
struct Launch {
  std::string text;                  // script, overrides or TOML; comments name the differences
  std::string extension;             // extension of a file with the text: ".sh"
  std::vector<std::string> differs;  // what the framework cannot express, in sentences
  // Name and text of a second file to which the text refers (PyTorch's schedule.csv,
  // ds_config.json); empty if there is none.
  std::string beside_name;
  std::string beside;
};

// Comment at the top of a launch: the model, the GPUs, and which differences from the scenario
// remain.
std::string heading(const LaunchInput& input, std::span<const std::string> differs);

// Text for one line of a comment. Control characters are escaped, so that the text cannot leave the
// comment.
std::string comment_text(std::string_view text);

// Formats a flag and its values as words of a shell command.
std::string words_of(const Setting& setting);

// Number of nodes of a launch, and of processes on each node.
struct LaunchNodes {
  std::uint64_t nodes = 1;
  std::uint64_t processes = 1;  // of one node
};
// Divides the job's GPUs into nodes of `gpus_per_node`, or one smaller node. If they do not fill
// whole nodes, each node gets one GPU.
LaunchNodes launch_nodes(const config::Scenario& scenario, std::uint64_t gpus_per_node);

// Number of GPUs of the whole job.
std::uint64_t gpus_of(const config::Scenario& scenario);

}  // namespace pipewright::jobs
