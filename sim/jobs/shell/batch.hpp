#pragma once

#include <string>
#include <string_view>

#include "sim/jobs/shell/words.hpp"

// Options of Slurm in the #SBATCH lines of a script.
namespace pipewright::jobs {

// Appends the words of the lines to Script::batch.
void read_batch_lines(std::string_view text, const std::string& name, Script& script);

// Sets the variables that Slurm derives from the options, unless they are set.
void set_batch_variables(Script& script);

}  // namespace pipewright::jobs
