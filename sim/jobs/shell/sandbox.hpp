#pragma once

#include <string>
#include <utility>
#include <vector>

namespace pipewright::jobs {

// Script that runs in the sandbox.
struct SandboxRun {
  std::string text;     // a script of bash
  std::string start;    // what each shell runs before its script
  std::string folder;   // absolute path of the working folder
  std::string visible;  // absolute path of the folder that the script can read
  std::vector<std::pair<std::string, std::string>> variables;  // all of the environment
  // Programs that are replaced by a script, which has access to the folder /records alone.
  std::vector<std::string> replaced;
  std::string replacement;
};

struct SandboxResult {
  std::vector<std::pair<std::string, std::string>> records;  // files of /records, by name
  bool timed_out = false;
};

// Runs bash in namespaces of its own: without network, with a file system that holds bash, a few
// harmless tools and the working folder, all of it read-only except for an empty /tmp and for a
// layer above the working folder that is thrown away, with limits of time, memory and file sizes.
// Throws config::Error if the system does not allow such namespaces.
SandboxResult run_in_sandbox(const SandboxRun& run);

}  // namespace pipewright::jobs
