#pragma once

#include <filesystem>

#include "sim/cli/commands.hpp"

namespace pipewright::mpi {

// What pipewright-mpi takes before the command.
struct Options {
  bool help = false;
  std::filesystem::path worker;  // the program that serves a search
  double silence_s = 15;         // after which a rank is lost
  cli::Arguments search;         // what `pipewright search` takes
};

Options read_options(const cli::Arguments& words);  // throws cli::UsageError
void print_help();

}  // namespace pipewright::mpi
