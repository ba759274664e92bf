#pragma once

#include <string>
#include <vector>

#include <boost/program_options.hpp>

#include "sim/cli/commands.hpp"

namespace pipewright::cli {

namespace po = boost::program_options;

// Parses a command line; words without an option go to the option called `positional`. A negative
// number is a value, so that it is refused as one. Throws UsageError.
po::variables_map parse(const Arguments& arguments, const po::options_description& options,
                        const std::string& positional);

// The values of an option that takes several; none if it was not given.
std::vector<std::string> values(const po::variables_map& given, const std::string& option);

// An option's help as text.
std::string describe(const po::options_description& options);

}  // namespace pipewright::cli
