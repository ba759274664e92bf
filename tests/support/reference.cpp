#include "support/reference.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "support/paths.hpp"

namespace pipewright::tests {
namespace {

std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> result(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      result.emplace_back();
    else if (c != '\r')
      result.back() += c;
  }
  return result;
}

}  // namespace

std::filesystem::path reference_folder() {
  const char* const folder = std::getenv("PIPEWRIGHT_REFERENCE");
  return folder != nullptr ? folder : PIPEWRIGHT_ROOT "/../shared/reference";
}

std::vector<std::map<std::string, std::string>> read_csv(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::vector<std::map<std::string, std::string>> rows;
  std::vector<std::string> names;
  for (std::string line; std::getline(stream, line);) {
    const auto values = cells(line);
    if (names.empty()) {
      names = values;
      continue;
    }
    auto& row = rows.emplace_back();
    for (std::size_t i = 0; i < std::min(names.size(), values.size()); ++i)
      row[names[i]] = values[i];
  }
  return rows;
}

}  // namespace pipewright::tests
