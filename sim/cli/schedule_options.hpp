#pragma once

#include "sim/cli/options.hpp"
#include "sim/config/text/value.hpp"

// Options that select the schedules of a scenario, for every command that simulates it.
namespace pipewright::cli {

// Adds --schedule, the parameters of schedules such as --chunks, and --legacy.
void add_schedule_options(po::options_description& options);

// Applies --schedule, which replaces the scenario's schedules, and parameters such as --chunks.
// With several schedules, a parameter is set only for those that take it. A single schedule always
// gets it, and reports an error if it does not take it. scenario_tree() calls it as `adjust`.
void set_schedules(config::Value& root, const po::variables_map& flags);

// Tree of the scenario after the options of the command line, --schedule among them, are applied.
config::Value scheduled_tree(const po::variables_map& flags);

}  // namespace pipewright::cli
