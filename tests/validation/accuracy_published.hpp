#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "validation/accuracy.hpp"

// Reads published runs from the files of reference/2026b that share 34 columns.
namespace pipewright::accuracy {

// A row of such a file: its cell by the name of the column.
using Cells = std::map<std::string, std::string>;

// Parts of a scenario that the columns do not state in a fixed form.
struct Details {
  std::string stack;               // a name of platforms/stacks, or a map
  std::string node = {};           // a node kind of `pipewright platform make`; default: node_of
  std::string cluster = {};        // a platform file, in place of `node`
  std::string gpu = {};            // a name of platforms/gpus; default: gpu_of
  std::string model = {};          // default: model_of
  std::string parallel = {};       // "key: value" instead of those of parallel_of
  std::string schedule = {};       // default: the column `schedule`, with chunks of `vp`
  std::string recompute = {};      // a value of training.recompute; default: recompute_of
  std::string training = {};       // ", key: value" of training
  std::string communication = {};  // "key: value" of communication
  std::string more = {};           // further lines
  bool sequence_parallel = false;  // with tp > 1
};

// A table of published runs.
struct Source {
  std::string title;
  std::filesystem::path file;
  std::function<bool(const Cells&)> selects = {};  // rows of this table; default: all
  // The reason to leave a row out, which follows "3 rows"; empty: the row is used. Rows without the
  // figure are left out anyway.
  std::function<std::string(const Cells&)> hindrance = {};
  std::function<std::string(const Cells&)> scenario;
  std::function<double(const Cells&)> seconds = {};  // default: seconds_of
  // Tells rows with the same name_of apart: "eager".
  std::function<std::string(const Cells&)> remark = {};
  // How a run predicts the column `memory_gb`, of a table of peak memory in GiB instead of times.
  std::function<double(const Run&)> peak_memory = {};
  bool is_fitted = false;  // a parameter was fitted to all rows
};

// A table of iteration times in seconds, or of peak memory in GiB. It has no bars. A row that
// repeats another's scenario and figure is left out.
Table published_table(const Source& source);

// Returns whether the cell of a column contains a word.
bool has(const Cells& row, const std::string& column, std::string_view word);
// Returns the number at the start of a cell such as "1 (assumed)"; an empty cell is 1.
std::uint32_t count_of(const Cells& row, const std::string& column);

// Returns a name of platforms/models, or a map that the shape describes. Throws
// std::runtime_error for a shape with unknown parts.
std::string model_of(const Cells& row);
// Returns the kind of node that has the GPUs of a row with a NIC for each, or the empty string.
std::string node_of(const Cells& row);
// Returns the GPU where it is not that of node_of's node; else the empty string.
std::string gpu_of(const Cells& row);
// Returns a recipe of training.precision, or the empty string if there is none.
std::string precision_of(const Cells& row);
// Returns a value of training.recompute; what a source does not state is "none".
std::string recompute_of(const Cells& row);
// Returns the keys of `parallel` that the column `sharding` describes: "shard: 8".
std::string parallel_of(const Cells& row);
// Returns the seconds of a step, measured or from tokens per second; NaN without a time.
double seconds_of(const Cells& row);
// Returns a name such as "MPT-70b, 512 H100-80GB, batch 4096 x 2048, microbatch 8,
// recompute full".
std::string name_of(const Cells& row);

// Returns the scenario that a row and details describe, with a single replica simulated.
std::string scenario_of(const Cells& row, const Details& details);

}  // namespace pipewright::accuracy
