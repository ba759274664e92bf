#include "sim/search/task.hpp"

#include <algorithm>
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

// Behind the brace that closes the one at the beginning; strings may have braces of their own.
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

// A coordinator reads thousands of these a second, so they are cut into rows before anything is
// parsed, and each is parsed once.
Answer read_answer(std::string_view line) {
  constexpr std::string_view to_rows = ",\"rows\":[";
  const std::size_t rows = line.find(to_rows);
  if (rows == std::string_view::npos || !line.ends_with("]}"))
    throw std::runtime_error("no answer of a search");
  Answer answer;
  try {
    answer.id = read(fmt::format("{}}}", line.substr(0, rows))).at("id");
  } catch (const json::exception& error) {
    throw std::runtime_error(fmt::format("no answer of a search: {}", error.what()));
  }
  line.remove_prefix(rows + to_rows.size());
  line.remove_suffix(2);
  while (!line.empty()) {
    const std::size_t end = end_of_object(line);
    answer.rows.push_back(analysis::row_of_json(line.substr(0, end)));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return answer;
}

}  // namespace pipewright::search
