#include "sim/search/greeting.hpp"

#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace pipewright::search {
namespace {

using nlohmann::json;

json to_json(const std::vector<ClusterFacts>& facts) {
  json list = json::array();
  for (const ClusterFacts& of : facts)
    list.push_back({{"name", of.name},
                    {"gpus", of.gpus},
                    {"gpus_per_node", of.gpus_per_node},
                    {"gpu", of.gpu},
                    {"memory", of.memory}});
  return list;
}

std::vector<ClusterFacts> facts_of(const json& list) {
  std::vector<ClusterFacts> facts;
  for (const json& of : list)
    facts.push_back({.name = of.at("name"),
                     .gpus = of.at("gpus"),
                     .gpus_per_node = of.at("gpus_per_node"),
                     .gpu = of.at("gpu"),
                     .memory = of.at("memory")});
  return facts;
}

// Names out of files may be no UTF-8.
std::string dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

template <class Read>
auto read(std::string_view line, const char* noun, Read&& from) {
  try {
    return from(json::parse(line));
  } catch (const json::exception& error) {
    throw std::runtime_error(fmt::format("no {} of a search: {}", noun, error.what()));
  }
}

}  // namespace

std::string to_line(const Greeting& greeting) {
  json line{{"sweep", greeting.sweep}, {"facts", nullptr}};
  if (greeting.facts) line["facts"] = to_json(*greeting.facts);
  return dump(line);
}

std::string to_line(const Welcome& welcome) {
  if (!welcome.error.empty()) return dump({{"error", welcome.error}});
  if (welcome.facts) return dump({{"facts", to_json(*welcome.facts)}});
  return dump({{"ready", true}});
}

Greeting read_greeting(std::string_view line) {
  return read(line, "greeting", [](const json& value) {
    Greeting greeting{.sweep = value.at("sweep"), .facts = {}};
    if (!value.at("facts").is_null()) greeting.facts = facts_of(value.at("facts"));
    return greeting;
  });
}

Welcome read_welcome(std::string_view line) {
  return read(line, "welcome", [](const json& value) {
    Welcome welcome;
    if (value.contains("error"))
      welcome.error = value.at("error");
    else if (value.contains("facts"))
      welcome.facts = facts_of(value.at("facts"));
    else if (!value.at("ready").get<bool>())
      throw std::runtime_error("no welcome of a search: neither ready, facts nor an error");
    return welcome;
  });
}

}  // namespace pipewright::search
