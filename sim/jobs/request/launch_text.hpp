#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/schedule.hpp"
#include "sim/config/scenario.hpp"
#include "sim/jobs/request/request.hpp"

namespace pipewright::jobs {

// Input of a framework's writer.
struct LaunchInput {
  const config::Scenario& scenario;  // has a model
  std::string_view title;            // title of the framework
  // Order of the passes, if it is known.
  const schedules::Schedule* planned = nullptr;
  std::uint64_t gpus_per_node = 8;
};

// Text that starts a scenario with a framework.
struct Launch {
  std::string text;                  // script, overrides or TOML; comments name the differences
  std::string extension;             // extension of a file with the text: ".sh"
  std::vector<std::string> differs;  // what the framework cannot express, in sentences
  // File that the text refers to (PyTorch's schedule.csv, ds_config.json); empty if there is none.
  std::string beside_name;
  std::string beside;
};

// First lines of a launch: comments with the model, the GPUs, and what is not expressed.
std::string heading(const LaunchInput& input, std::span<const std::string> differs);

// One line of a comment: control characters are escaped, so that the text cannot leave the comment.
std::string comment_text(std::string_view text);

// A flag and its values as words of a shell.
std::string words_of(const Setting& setting);

// Nodes of a launch, and processes of each node.
struct LaunchNodes {
  std::uint64_t nodes = 1;
  std::uint64_t processes = 1;  // of one node
};
// Full nodes of `gpus_per_node`, or one GPU a node where the GPUs do not fill the nodes.
LaunchNodes launch_nodes(const config::Scenario& scenario, std::uint64_t gpus_per_node);

// GPUs of the whole job.
std::uint64_t gpus_of(const config::Scenario& scenario);

}  // namespace pipewright::jobs
