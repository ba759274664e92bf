#pragma once

#include "schedules/parameters.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/options.hpp"

namespace pipewright::cli {

int show_schedule(const Arguments& arguments);      // pipewright schedule show
int check_schedule(const Arguments& arguments);     // pipewright schedule check
int explain_schedule(const Arguments& arguments);   // pipewright schedule explain
int list_schedules(const Arguments& arguments);     // pipewright schedule list
int search_schedule(const Arguments& arguments);    // pipewright schedule search
int frontier_schedule(const Arguments& arguments);  // pipewright schedule frontier

// The options of what a user may choose about a schedule, --chunks and the like.
void add_choices(po::options_description& options);
void read_choices(const po::variables_map& given, schedules::Parameters& parameters);

}  // namespace pipewright::cli
