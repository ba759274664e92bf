#include "sim/cli/help/topics.hpp"

#include <array>

#include <fmt/format.h>

namespace pipewright::cli {

std::span<const Topic> topics() {
  static constexpr std::array table{
      Topic{"first-steps", "docs/first-steps.md"},
      Topic{"installation", "docs/installation.md"},
      Topic{"from-model-to-launch", "docs/from-model-to-launch.md"},
      Topic{"planning", "docs/planning.md"},
      Topic{"explore", "docs/explore.md"},
      Topic{"scenario", "docs/scenario.md"},
      Topic{"models", "docs/models.md"},
      Topic{"schedules", "docs/schedules.md"},
      Topic{"clusters", "docs/clusters.md"},
      Topic{"gpus", "docs/gpus.md"},
      Topic{"stacks", "docs/stacks.md"},
      Topic{"collectives", "docs/collectives.md"},
      Topic{"goodput", "docs/goodput.md"},
      Topic{"failures", "docs/failures.md"},
      Topic{"fine-tuning", "docs/fine-tuning.md"},
      Topic{"reinforcement-learning", "docs/reinforcement-learning.md"},
      Topic{"sites", "docs/sites.md"},
      Topic{"two-jobs", "docs/two-jobs.md"},
      Topic{"search", "docs/search.md"},
      Topic{"python", "docs/python.md"},
      Topic{"agents", "docs/agents.md"},
      Topic{"jobs", "docs/jobs.md"},
      Topic{"reading-a-run", "docs/reading-a-run.md"},
      Topic{"measured-runs", "docs/measured-runs.md"},
      Topic{"accuracy", "docs/accuracy.md"},
      Topic{"what-is-modelled", "docs/what-is-modelled.md"},
      Topic{"platforms", "platforms/README.md"},
      Topic{"metrics", "analysis/metrics.md"},
      Topic{"trace-format", "analysis/trace/format.md"},
      Topic{"results-format", "analysis/report/search/format.md"},
  };
  return table;
}

std::string question(std::string_view markdown) {
  const std::size_t title_end = markdown.find('\n');
  if (title_end == std::string_view::npos) return {};
  const std::size_t start = markdown.find_first_not_of('\n', title_end);
  if (start == std::string_view::npos) return {};
  return std::string(markdown.substr(start, markdown.find('\n', start) - start));
}

std::string link_name(std::string_view target) {
  if (target.starts_with("http")) return std::string(target);
  std::string_view path = target.substr(0, target.find('#'));
  if (path.empty()) return {};
  const bool from_above = path.starts_with("../");
  while (path.starts_with("../")) path.remove_prefix(3);
  const std::string below_a_folder = fmt::format("/{}", path);
  for (const Topic& topic : topics())
    if (topic.path == path || (!from_above && topic.path.ends_with(below_a_folder)))
      return fmt::format("help {}", topic.name);
  return std::string(path);
}

}  // namespace pipewright::cli
