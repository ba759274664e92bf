#pragma once

#include <cstddef>
#include <span>

#include <nlohmann/json.hpp>

#include "analysis/trace/rows.hpp"

// A trace as one block of memory that another process maps and reads in place. Rows have the
// compiler's layout, and those with texts have texts of fixed length; numpy reads both directly.
namespace pipewright::trace {

using Json = nlohmann::ordered_json;

// Describes the content of the block of a trace:
// {"bytes": 4096, "info": {"schedule": "1f1b", ..}, "cluster": {"at": 0, "bytes": 0},
// "tables": {"passes": {"at": 64, "rows": 2, "row_bytes": 64, "columns":
// [{"name": "device", "type": "<u4", "at": 0}, ..]}, ..}}
// A column with an enumeration also has the "names" of its values.
Json packing(const Trace& trace);

// Writes the trace into a block. `packing` is its description; the block must have the size that
// the description states.
void pack(const Trace& trace, const Json& packing, std::span<char> block);

// Reads a trace from a block and its description. Throws TraceError if they do not match.
Trace unpack(const Json& packing, std::span<const char> block);

}  // namespace pipewright::trace
