#include "sim/search/messages.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analysis/report/search/row_json.hpp"

namespace pipewright::search {

// Defines the conversion of ClusterFacts to and from JSON.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ClusterFacts, name, gpus, gpus_per_node, gpu, memory)

namespace {

using nlohmann::json;

// Writes a JSON value on one line. Bytes that are not valid UTF-8, which file names may contain,
// are replaced.
std::string dump_line(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

template <class Read>
auto parse_message(std::string_view line, const char* noun, Read&& from) {
  try {
    return from(json::parse(line));
  } catch (const json::exception& error) {
    throw std::runtime_error(fmt::format("not a valid {} of a search: {}", noun, error.what()));
  }
}

// Returns the position after the closing brace of the JSON object at the beginning of the text.
// Braces in strings do not count.
std::size_t end_of_object(std::string_view text) {
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && --depth == 0) {
      return i + 1;
    }
  }
  return text.size();
}

}  // namespace

std::string to_line(const Handshake& handshake) {
  json line{{"sweep", handshake.sweep}, {"facts", nullptr}};
  if (handshake.facts) line["facts"] = *handshake.facts;
  return dump_line(line);
}

std::string to_line(const HandshakeReply& reply) {
  if (!reply.error.empty()) return dump_line({{"error", reply.error}});
  if (reply.facts) return dump_line({{"facts", *reply.facts}});
  return dump_line({{"ready", true}});
}

Handshake read_handshake(std::string_view line) {
  return parse_message(line, "handshake", [](const json& value) {
    Handshake handshake{.sweep = value.at("sweep"), .facts = {}};
    if (!value.at("facts").is_null())
      handshake.facts = value.at("facts").get<std::vector<ClusterFacts>>();
    return handshake;
  });
}

HandshakeReply read_handshake_reply(std::string_view line) {
  return parse_message(line, "reply to a handshake", [](const json& value) {
    HandshakeReply reply;
    if (value.contains("error"))
      reply.error = value.at("error");
    else if (value.contains("facts"))
      reply.facts = value.at("facts").get<std::vector<ClusterFacts>>();
    else if (!value.at("ready").get<bool>())
      throw std::runtime_error(
          "not a valid reply to a handshake of a search: it has neither ready, facts nor an error");
    return reply;
  });
}

std::string to_line(const Task& task) {
  return json{{"id", task.id},
              {"do", task.kind == Task::Kind::assess ? "assess" : "simulate"},
              {"basis", static_cast<int>(task.basis)},
              {"candidates", task.candidates}}
      .dump();
}

// Writes the rows of an answer in the same form as in a journal.
std::string to_line(const Answer& answer) {
  std::string line = fmt::format("{{\"id\":{},\"rows\":[", answer.id);
  for (const analysis::CandidateRow& row : answer.rows) {
    if (line.back() != '[') line += ',';
    line += analysis::to_json_line(row);
  }
  return line += "]}";
}

Task read_task(std::string_view line) {
  return parse_message(line, "task", [](const json& value) -> Task {
    return {.id = value.at("id"),
            .kind = value.at("do") == "assess" ? Task::Kind::assess : Task::Kind::simulate,
            .basis = static_cast<analysis::Basis>(value.at("basis").get<int>()),
            .candidates = value.at("candidates")};
  });
}

// Parses an answer. A coordinator reads thousands of answers a second, so the line is first split
// into its rows, and every row is parsed only once.
Answer read_answer(std::string_view line) {
  constexpr std::string_view rows_begin = ",\"rows\":[";
  const std::size_t rows = line.find(rows_begin);
  if (rows == std::string_view::npos || !line.ends_with("]}"))
    throw std::runtime_error("not a valid answer of a search");
  Answer answer = parse_message(fmt::format("{}}}", line.substr(0, rows)), "answer",
                                [](const json& value) -> Answer {
                                  return {value.at("id"), {}};
                                });
  line.remove_prefix(rows + rows_begin.size());
  line.remove_suffix(2);
  while (!line.empty()) {
    const std::size_t end = end_of_object(line);
    answer.rows.push_back(analysis::row_of_json(line.substr(0, end)));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return answer;
}

}  // namespace pipewright::search
