#pragma once

#include <optional>

#include "analysis/measured/memory/pickle.hpp"
#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

// What a block was allocated for, by the category that PyTorch's memory profiler gave the entry of
// a snapshot, or by the functions that it was allocated in; empty where neither tells.
std::optional<trace::MemoryCategory> allocation_kind(const Pickle& pickle,
                                                     const PickleValue& entry);

}  // namespace pipewright::analysis
