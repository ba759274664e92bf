#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace pipewright::analysis {

// What a file holds, whatever it is called.
enum class FileKind {
  trace,           // of pipewright: HDF5
  chrome,          // JSON of trace events, maybe packed
  megatron_log,    // text with Megatron-LM's timers
  torch_schedule,  // CSV of actions such as 0F0
};

// Throws trace::TraceError, which says what there is, where it is none of these.
FileKind file_kind(const std::filesystem::path& file);

// "rank{rank}.json" names every file of its folder with a number there, in order of the numbers; a
// name without {rank} is itself. Throws trace::TraceError if there is none.
std::vector<std::filesystem::path> rank_files(const std::filesystem::path& name);

}  // namespace pipewright::analysis
