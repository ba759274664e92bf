#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/launch_plan.hpp"
#include "sim/config/scenario.hpp"
#include "sim/jobs/request/difference.hpp"
#include "sim/jobs/request/request.hpp"

namespace pipewright::jobs {

// Input from which a framework's launch is written.
struct LaunchInput {
  const config::Scenario& scenario;  // has a model
  std::string_view title;            // title of the framework
  std::string_view stack;            // stack of the framework's jobs
  bool on_foreign_stack = false;     // the scenario's stack is of other software
  const config::LaunchPlan& plan;
};

// Script or configuration that starts a scenario with a framework.
struct Launch {
  std::string text;                 // script, overrides or TOML; comments name the differences
  std::string extension;            // extension of a file with the text: ".sh"
  std::vector<Difference> differs;  // what the framework cannot express
  std::string refused;              // why the framework refuses the job; empty if it starts
  // Name and text of a second file to which the text refers (PyTorch's schedule.csv,
  // ds_config.json); empty if there is none.
  std::string beside_name;
  std::string beside;
};

// Differences from the scenario of a job that is read from a launch.
struct Unexpressed {
  std::vector<Difference> differs;
  std::string refused;  // why the framework refuses the job; empty if it starts
};

// Comment at the top of a launch: the model, the GPUs, the stack if it does not follow from the
// launch, why the framework refuses the job if it does, and which differences from the scenario
// remain.
std::string heading(const LaunchInput& input, const Launch& launch);

// A sentence on why the framework refuses the job: by the rules of the stack that the launch runs
// on, which say what to do, or else as reading the launch fails. Empty if the job starts.
std::string refusal_of(const LaunchInput& input, const std::string& of_reader);

// Lines of a shell script before its command: the SLURM directive that gives the job as many hosts
// of each NVLink domain as the prediction uses, and the environment that kernels of dispatchers
// need to know the domain.
std::string environment_lines(const LaunchInput& input);

// Differences in the placement of the ranks, which the launch does not express.
std::vector<Difference> placement_differences(const LaunchInput& input);

// Facts about the prediction in the heading of a launch, which the framework's settings do not
// contain.
struct Stated {
  std::string stack;   // empty if there is no such line
  std::string domain;  // GPUs of each NVLink domain; empty if there is no such line
};
Stated stated_in(std::string_view text);

// Text for one line of a comment. Control characters are escaped, so that the text cannot leave the
// comment.
std::string comment_text(std::string_view text);

// Formats a flag and its values as words of a shell command.
std::string words_of(const Setting& setting);

// Number of nodes of a launch, and of processes on each node.
struct LaunchNodes {
  std::uint64_t nodes = 1;
  std::uint64_t processes = 1;  // processes of one node
};
// Divides the job's GPUs into hosts of the plan with equally many processes, as few hosts as
// possible. A job that uses fewer GPUs of each NVLink domain than a host has starts that many.
LaunchNodes launch_nodes(const config::Scenario& scenario, const config::LaunchPlan& plan);

// Number of GPUs of the whole job.
std::uint64_t gpus_of(const config::Scenario& scenario);

}  // namespace pipewright::jobs
