#pragma once

#include <optional>

#include "analysis/measured/memory/pickle.hpp"
#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

// Returns the purpose of an allocation: the category that PyTorch's memory profiler gave the entry
// of a snapshot, otherwise the one that follows from the functions on its stack. No value if
// neither shows it.
std::optional<trace::MemoryCategory> allocation_kind(const Pickle& pickle,
                                                     const PickleValue& entry);

}  // namespace pipewright::analysis
