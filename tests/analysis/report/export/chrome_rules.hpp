#pragma once

#include <string>
#include <vector>

namespace pipewright::test {

// Returns the violations of the trace-event format, or of the rules of viewers, in a JSON file.
// Each phase has mandatory fields, processes and threads have names before their events, slices of
// a thread nest, arrows have both ends, which lie inside slices, and counters are numbers.
std::vector<std::string> broken_rules(const std::string& json);

}  // namespace pipewright::test
