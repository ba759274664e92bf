#pragma once

#include <filesystem>
#include <string>

#include "sim/cli/options.hpp"

namespace pipewright::cli {

int make_platform_file(const Arguments& arguments);  // pipewright platform make
int show_platform(const Arguments& arguments);       // pipewright platform show
int check_platform(const Arguments& arguments);      // pipewright platform check

// The one file that a verb is given: a path, or the name of a cluster of the library.
std::filesystem::path platform_path(const po::variables_map& given, const std::string& verb);

}  // namespace pipewright::cli
