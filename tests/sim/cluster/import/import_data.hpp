#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "sim/cluster/import/fabric_file.hpp"
#include "sim/cluster/import/node_file.hpp"
#include "sim/cluster/platform/error.hpp"
#include "support/paths.hpp"

namespace pipewright::tests {

inline cluster::SourceText sample(const std::string& name) {
  cluster::SourceText source =
      cluster::read_source(std::filesystem::path(PIPEWRIGHT_TEST_DATA) / "import" / name);
  source.name = name;
  return source;
}

inline cluster::SourceText typed(std::string text) { return {"a.txt", std::move(text)}; }

inline const cluster::Finding* finding(const cluster::Findings& findings,
                                       const std::string& subject) {
  for (const cluster::Finding& finding : findings)
    if (finding.subject == subject) return &finding;
  return nullptr;
}

// Returns the error message of a reader without the file name, or an empty text if there is no
// error.
inline std::string fault_of(const std::function<void()>& reading) {
  try {
    reading();
  } catch (const cluster::Error& error) {
    const std::string message = error.what();
    return message.starts_with("a.txt:") ? message.substr(6) : message;
  }
  return "";
}

}  // namespace pipewright::tests
