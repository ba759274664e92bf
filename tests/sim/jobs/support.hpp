#pragma once

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/config/scenario.hpp"
#include "sim/jobs/job.hpp"
#include "support/paths.hpp"
#include "support/program.hpp"

namespace pipewright::tests {

inline std::string job_file(const std::string& name) {
  return std::string(PIPEWRIGHT_TEST_DATA) + "/jobs/" + name;
}

inline jobs::Job import_files(const std::vector<std::string>& names, jobs::JobWords words = {}) {
  std::vector<std::string> files;
  for (const std::string& name : names) files.push_back(job_file(name));
  return jobs::import_job(files, words);
}

inline config::Scenario scenario_of(const jobs::Job& job) {
  return config::read_scenario(job.tree);
}

// Imports a job whose only file has this text.
inline jobs::Job import_text(const std::string& name, const std::string& text) {
  const CommandFolder place;
  place.write(name, text);
  const std::vector<std::string> files{(place.folder() / name).string()};
  return jobs::import_job(files);
}

inline bool has_note(const std::vector<jobs::Note>& notes, const std::string& text) {
  for (const jobs::Note& note : notes)
    if (fmt::format("{}: {}", note.text, note.why).find(text) != std::string::npos) return true;
  return false;
}

}  // namespace pipewright::tests
