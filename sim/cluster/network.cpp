#include "sim/cluster/network.hpp"

#include <set>
#include <utility>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "sim/base/numbers.hpp"
#include "sim/cluster/platform/error.hpp"
#include "sim/config/text/units.hpp"
#include "sim/config/text/value.hpp"

namespace pipewright::cluster {

void Network::append_links(const Host* source, const Host* destination,
                           std::vector<const Link*>& between) const {
  if (source->number < hosts.size()) return append_platform_links(source, destination, between);
  const std::vector<const Link*>& added = between_ends_[(source->number - hosts.size()) / 2];
  between.insert(between.end(), added.begin(), added.end());
}

std::pair<Host*, Host*> Network::add_ends(const std::vector<const Link*>& between) {
  const auto add_end = [&](const char* role) {
    return &ends_.emplace_back(
        Host{.name = fmt::format("(flow {} {})", between_ends_.size(), role),
             .speed = 1,
             .number = static_cast<std::uint32_t>(hosts.size() + ends_.size())});
  };
  Host* const from = add_end("from");
  Host* const to = add_end("to");
  between_ends_.push_back(between);
  return {from, to};
}

void Network::truncate_ends(std::size_t count) {
  ends_.resize(count);
  between_ends_.resize(count / 2);
}

void read_model(const PlatformFile& file, Network& network) {
  std::set<std::string> names;
  for (const Link& link : network.links) names.insert(link.link_class);
  constexpr std::string_view prefix = "expected.";
  std::vector<std::pair<std::string, std::string>> properties;
  std::vector<std::pair<std::string, std::string>> expected;
  const std::vector<std::string> classes(names.begin(), names.end());
  for (const pugi::xml_node& zone : file.document().child("platform").children())
    for (const pugi::xml_node& node : zone.children("prop")) {
      std::string id = node.attribute("id").value();
      const bool is_expected = id.starts_with(prefix);
      if (is_expected) id.erase(0, prefix.size());
      (is_expected ? expected : properties).emplace_back(id, node.attribute("value").value());
      try {
        // Checking after every property makes the error point at the property that is wrong.
        network.model = read_message_model(properties, classes);
        read_message_model(expected, classes);
      } catch (const config::StructuredError& error) {
        file.fail(node.offset_debug(), Error(error));
      }
    }
  // A value that NCCL is not said to expect defaults to the actual value.
  properties.insert(properties.end(), expected.begin(), expected.end());
  network.expected = read_message_model(properties, classes);
  network.file_has_expected = network.has_tuning_model = !expected.empty();
  network.bind_models();
  for (Link& link : network.links) link.bandwidth *= link.model(Numbers::actual).efficiency;
}

void read_host_properties(const PlatformFile& file, Network& network) {
  for (Host* gpu : network.gpus) {
    const auto subject = [gpu](std::string_view property) {
      return fmt::format("host '{}': property {}", gpu->name, property);
    };
    try {
      if (gpu->memory_text)
        gpu->memory = config::parse_size(*gpu->memory_text, subject("memory"), "a GPU's memory");
      if (gpu->launch_factor_text)
        gpu->launch_factor = config::parse_positive_number(
            *gpu->launch_factor_text, subject("launch_factor"), "a factor of launch times");
      if (gpu->host_memory_text)
        gpu->host_memory_bandwidth =
            config::parse_bandwidth(*gpu->host_memory_text, subject("host_memory_bandwidth"),
                                    "a GPU's share of host memory's bandwidth");
      if (gpu->host_core_text)
        gpu->host_core_bandwidth =
            config::parse_bandwidth(*gpu->host_core_text, subject("host_core_bandwidth"),
                                    "the bandwidth that a core of the host reaches");
      if (gpu->host_gpus_text) {
        const auto count = base::parse_number<std::uint32_t>(*gpu->host_gpus_text);
        if (!count || *count == 0)
          throw config::Error(fmt::format("{}: '{}' is no number of GPUs", subject("host_gpus"),
                                          *gpu->host_gpus_text))
              .allow("a whole number above 0, such as 4");
        gpu->host_gpus = *count;
      }
    } catch (const config::Error& error) {
      throw Error(error).at(
          {.source = file.path().string(), .line = SourceLines(file).line_of_host(gpu->name)});
    }
  }
}

}  // namespace pipewright::cluster
