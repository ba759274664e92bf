#include "sim/cli/trace/calibrate.hpp"

#include <fmt/format.h>

#include "analysis/measured/kernel_profile.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/progress.hpp"
#include "sim/cli/trace/measured.hpp"
#include "sim/config/scenario.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/evaluation/calibration.hpp"

namespace pipewright::cli {
namespace {

std::vector<analysis::KernelProfile> read_kernel_profiles(
    const std::vector<std::filesystem::path>& files) {
  ProgressBar bar("reading", true);
  std::vector<analysis::KernelProfile> profiles;
  for (const std::filesystem::path& file : files)
    profiles.push_back(analysis::read_kernel_profile(file, [&](double share) {
      if (bar.is_due()) bar.draw(share, file.string());
    }));
  return profiles;
}

}  // namespace

std::string calibrate(const std::vector<std::filesystem::path>& files,
                      const std::string& scenario_file) {
  const config::Scenario scenario = config::read_scenario(config::read_yaml_file(scenario_file));
  if (!scenario.model)
    throw UsageError(fmt::format("{}: --calibrate needs a scenario with a model", scenario_file))
        .suggest("replace its pass times by the key 'model'");
  const evaluation::Calibration calibration =
      evaluation::calibrate(read_kernel_profiles(files), scenario,
                            {.measured = analysis::printable(measured_name(files)),
                             .scenario = analysis::printable(scenario_file)});
  fmt::print("{}", calibration.report);
  return calibration.gpu_file;
}

}  // namespace pipewright::cli
