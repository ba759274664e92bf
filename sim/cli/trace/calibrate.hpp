#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace pipewright::cli {

// Compares the kernels of a measured run with the modelled kernels of its scenario and prints their
// ratio by kind of work. Returns the YAML of the scenario's GPU with a clock and a launch time that
// fit the measurement. Throws trace::TraceError, config::Error, UsageError.
std::string calibrate(const std::vector<std::filesystem::path>& files, const std::string& scenario);

}  // namespace pipewright::cli
