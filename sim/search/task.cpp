#include "sim/search/task.hpp"

#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analysis/search/row_json.hpp"

namespace pipewright::search {
namespace {

using nlohmann::json;

json read(std::string_view line) {
  try {
    return json::parse(line);
  } catch (const json::exception& error) {
    throw std::runtime_error(fmt::format("no line of a search: {}", error.what()));
  }
}

}  // namespace

std::string to_line(const Task& task) {
  return json{{"id", task.id},
              {"do", task.kind == Task::Kind::assess ? "assess" : "simulate"},
              {"candidates", task.candidates}}
      .dump();
}

// Rows stand as they are in a journal.
std::string to_line(const Answer& answer) {
  std::string line = fmt::format("{{\"id\":{},\"rows\":[", answer.id);
  for (const analysis::CandidateRow& row : answer.rows) {
    if (line.back() != '[') line += ',';
    line += analysis::to_json_line(row);
  }
  return line += "]}";
}

Task read_task(std::string_view line) {
  const json value = read(line);
  try {
    return {.id = value.at("id"),
            .kind = value.at("do") == "assess" ? Task::Kind::assess : Task::Kind::simulate,
            .candidates = value.at("candidates")};
  } catch (const json::exception& error) {
    throw std::runtime_error(fmt::format("no task of a search: {}", error.what()));
  }
}

Answer read_answer(std::string_view line) {
  const json value = read(line);
  try {
    Answer answer{.id = value.at("id"), .rows = {}};
    for (const json& row : value.at("rows"))
      answer.rows.push_back(analysis::row_of_json(row.dump()));
    return answer;
  } catch (const json::exception& error) {
    throw std::runtime_error(fmt::format("no answer of a search: {}", error.what()));
  }
}

}  // namespace pipewright::search
