#include "sim/search/handshake.hpp"

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

std::string to_line(const Handshake& handshake) {
  json line{{"sweep", handshake.sweep}, {"facts", nullptr}};
  if (handshake.facts) line["facts"] = to_json(*handshake.facts);
  return dump(line);
}

std::string to_line(const HandshakeReply& reply) {
  if (!reply.error.empty()) return dump({{"error", reply.error}});
  if (reply.facts) return dump({{"facts", to_json(*reply.facts)}});
  return dump({{"ready", true}});
}

Handshake read_handshake(std::string_view line) {
  return read(line, "handshake", [](const json& value) {
    Handshake handshake{.sweep = value.at("sweep"), .facts = {}};
    if (!value.at("facts").is_null()) handshake.facts = facts_of(value.at("facts"));
    return handshake;
  });
}

HandshakeReply read_handshake_reply(std::string_view line) {
  return read(line, "reply to a handshake", [](const json& value) {
    HandshakeReply reply;
    if (value.contains("error"))
      reply.error = value.at("error");
    else if (value.contains("facts"))
      reply.facts = facts_of(value.at("facts"));
    else if (!value.at("ready").get<bool>())
      throw std::runtime_error(
          "no reply to a handshake of a search: neither ready, facts nor an error");
    return reply;
  });
}

}  // namespace pipewright::search
