#include "sim/cli/job/fitting_clusters.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/cluster/platform/platform.hpp"
#include "sim/cluster/platform/platform_file.hpp"
#include "sim/config/text/library.hpp"

namespace pipewright::cli {
namespace {

struct Named {
  std::string name;
  std::string gpu;  // of most hosts
  std::uint64_t gpus = 0;
};

// A library's file that cannot be read is nobody's offer; commands that name it say why.
std::optional<Named> look_at(const std::string& name) try {
  const cluster::PlatformFile file =
      cluster::read_platform_file(config::library_file("clusters", name, ".xml"));
  const std::optional<cluster::Platform> platform = cluster::read_platform(file);
  if (!platform) return std::nullopt;
  std::map<std::string, std::uint64_t> kinds;
  for (const cluster::Platform::Host& host : platform->hosts) {
    if (host.properties == cluster::nothing) continue;
    for (const auto& [key, value] : platform->properties[host.properties])
      if (key == "gpu") ++kinds[value];
  }
  Named found{.name = name};
  std::uint64_t most = 0;
  for (const auto& [gpu, count] : kinds) {
    found.gpus += count;
    if (count > most) found.gpu = gpu;
    most = std::max(most, count);
  }
  return found;
} catch (const std::exception&) {
  return std::nullopt;
}

std::uint64_t number_at(const config::Value& tree, std::string_view section, std::string_view key) {
  const config::Value* value = section.empty() ? &tree : config::find(tree, section);
  if (value == nullptr || value->kind != config::Value::Kind::map) return 1;
  value = config::find(*value, key);
  if (value == nullptr) return 1;
  std::uint64_t number = 1;
  std::from_chars(value->text.data(), value->text.data() + value->text.size(), number);
  return std::max<std::uint64_t>(number, 1);
}

}  // namespace

std::uint64_t gpus_of(const config::Value& tree) {
  double gpus = 1;
  for (const char* const key : {"tp", "cp", "pp", "dp"})
    gpus *= static_cast<double>(number_at(tree, "parallel", key));
  gpus *= static_cast<double>(number_at(tree, "", "devices"));
  constexpr double most = 1e15;
  return static_cast<std::uint64_t>(std::min(gpus, most));
}

std::string fitting_clusters(const std::string& gpu, std::uint64_t gpus) {
  std::vector<Named> fitting;
  for (const std::string& name : config::library_names("clusters", ".xml")) {
    std::optional<Named> one = look_at(name);
    if (one && one->gpus >= gpus && one->gpu.starts_with(gpu)) fitting.push_back(std::move(*one));
  }
  std::ranges::sort(fitting, [](const Named& a, const Named& b) {
    return std::pair(a.gpus, a.name) < std::pair(b.gpus, b.name);
  });
  std::vector<std::string> words;
  for (const Named& one : fitting)
    words.push_back(fmt::format("{} ({} {})", one.name, one.gpus, one.gpu));
  const std::string wanted = fmt::format("{} {}", gpus, gpu.empty() ? "GPUs" : gpu);
  if (!words.empty())
    return fmt::format("of those that have {}: {}", wanted, fmt::join(words, ", "));
  return fmt::format(
      "of your own: none of the library has {}; 'pipewright platform make --node dgx-h100 --nodes "
      "{} -o mine.xml' makes one",
      wanted, (gpus + 7) / 8);
}

}  // namespace pipewright::cli
