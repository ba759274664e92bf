#pragma once

#include <string>
#include <vector>

namespace pipewright::test {

// What breaks the rules of the trace-event format, or of viewers, in a JSON file of it: fields that
// a phase must have, names of processes and threads before their events, slices of a thread that
// cross instead of nesting, arrows without their other end or outside of slices, counters that are
// no numbers. Empty: nothing.
std::vector<std::string> broken_rules(const std::string& json);

}  // namespace pipewright::test
