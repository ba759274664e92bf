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

inline const cluster::Finding* finding(const cluster::Findings& findings, const std::string& what) {
  for (const cluster::Finding& one : findings)
    if (one.what == what) return &one;
  return nullptr;
}

// What it says against the text, from the line's number on; empty: nothing.
inline std::string fault_of(const std::function<void()>& reading) {
  try {
    reading();
  } catch (const cluster::Error& error) {
    const std::string what = error.what();
    return what.starts_with("a.txt:") ? what.substr(6) : what;
  }
  return "";
}

}  // namespace pipewright::tests
