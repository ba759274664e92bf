#include "sim/jobs/request/launch_text.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/jobs/shell/quote.hpp"

namespace pipewright::jobs {

std::uint64_t gpus_of(const config::Scenario& scenario) {
  return static_cast<std::uint64_t>(scenario.parallel.gpus());
}

std::string words_of(const Setting& setting) {
  std::string text = flag_of(setting.name);
  for (const std::string& value : setting.values) text += " " + shell_word(value);
  return text;
}

std::string comment_text(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '\n')
      line += "\\n";
    else if ((code < 0x20U && c != '\t') || code == 0x7fU)
      line += fmt::format("\\x{:02x}", code);
    else
      line += c;
  }
  return line;
}

std::string heading(const LaunchInput& input, std::span<const std::string> differs) {
  std::string text =
      fmt::format("# {} on {} GPUs, for {}.\n", comment_text(input.scenario.model->value.name),
                  gpus_of(input.scenario), input.title);
  text +=
      "# Yours to add, as it changes no time: data, learning rate, base and scaling of rotary\n"
      "# positions, scores and biases of a router, checkpoints.\n";
  if (input.on_foreign_stack)
    text += fmt::format("# The prediction is for the stack {}.\n",
                        comment_text(input.scenario.training.stack.name));
  for (const std::string& sentence : differs)
    text += fmt::format("# not expressed: {}\n", comment_text(sentence));
  return text;
}

LaunchNodes launch_nodes(const config::Scenario& scenario, std::uint64_t gpus_per_node) {
  const std::uint64_t gpus = gpus_of(scenario);
  const std::uint64_t processes = std::min(gpus, std::max<std::uint64_t>(gpus_per_node, 1));
  return gpus % processes == 0 ? LaunchNodes{gpus / processes, processes} : LaunchNodes{gpus, 1};
}

}  // namespace pipewright::jobs
