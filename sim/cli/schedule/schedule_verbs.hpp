#pragma once

#include "sim/cli/commands.hpp"

namespace pipewright::cli {

int show_schedule(const Arguments& arguments);      // pipewright schedule show
int check_schedule(const Arguments& arguments);     // pipewright schedule check
int explain_schedule(const Arguments& arguments);   // pipewright schedule explain
int list_schedules(const Arguments& arguments);     // pipewright schedule list
int search_schedule(const Arguments& arguments);    // pipewright schedule search
int frontier_schedule(const Arguments& arguments);  // pipewright schedule frontier

}  // namespace pipewright::cli
