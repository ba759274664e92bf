#include "sim/jobs/request/launch_text.hpp"

#include <fmt/format.h>

#include "sim/jobs/request/draft.hpp"

namespace pipewright::jobs {

std::uint64_t gpus_of(const config::Scenario& scenario) {
  return static_cast<std::uint64_t>(scenario.parallel.gpus());
}

std::string quoted(const std::string& value) {
  const bool plain = value.find_first_of(" |*()[]'\"$&;<>") == std::string::npos;
  return plain ? value : fmt::format("'{}'", value);
}

std::string words_of(const Setting& setting) {
  std::string text = flag_of(setting.name);
  for (const std::string& value : setting.values) text += " " + quoted(value);
  return text;
}

std::string heading(const config::Scenario& scenario, Framework framework,
                    const std::vector<std::string>& differs) {
  std::string text = fmt::format("# {} on {} GPUs, for {}.\n", scenario.model->value.name,
                                 gpus_of(scenario), title_of(framework));
  text +=
      "# Yours to add, as it changes no time: data, learning rate, base and scaling of rotary\n"
      "# positions, scores and biases of a router, checkpoints.\n";
  for (const std::string& one : differs) text += fmt::format("# not expressed: {}\n", one);
  return text;
}

}  // namespace pipewright::jobs
