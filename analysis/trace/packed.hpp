#pragma once

#include <cstddef>
#include <span>

#include <nlohmann/json.hpp>

#include "analysis/trace/rows.hpp"

// A trace as one block of memory that another process maps and reads where it lies. Rows stand as
// the compiler lays them out, those with texts as texts of one length; numpy takes both as they
// are.
namespace pipewright::trace {

using Json = nlohmann::ordered_json;

// What is where in the block of a trace:
//   {"bytes": 4096, "info": {"schedule": "1f1b", ..}, "cluster": {"at": 0, "bytes": 0},
//    "tables": {"passes": {"at": 64, "rows": 2, "row_bytes": 64, "columns":
//      [{"name": "device", "type": "<u4", "at": 0}, ..]}, ..}}
// A column of kinds has their "names" as well, by code.
Json packing(const Trace& trace);

// Fills a block of so many bytes.
void pack(const Trace& trace, const Json& packing, std::span<char> block);

// Throws TraceError where the two do not belong together.
Trace unpack(const Json& packing, std::span<const char> block);

}  // namespace pipewright::trace
