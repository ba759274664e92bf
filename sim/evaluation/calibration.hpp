#pragma once

#include <string>
#include <vector>

#include "analysis/measured/kernel_profile.hpp"
#include "sim/config/scenario.hpp"

namespace pipewright::evaluation {

// Names of the measurement and the scenario, for the texts of a calibration.
struct CalibrationNames {
  std::string measured;
  std::string scenario;
};

struct Calibration {
  std::string report;    // ratios of measured to modelled times by kind of work, and notes
  std::string gpu_file;  // YAML of the GPU, with a clock that fits the measurement
};

// Compares the kernels of a measured run with the modelled kernels of a scenario that has a model.
// Throws config::Error, and std::runtime_error if the profiles do not match the scenario's devices.
Calibration calibrate(const std::vector<analysis::KernelProfile>& profiles,
                      const config::Scenario& scenario, const CalibrationNames& names);

}  // namespace pipewright::evaluation
