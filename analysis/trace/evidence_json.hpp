#pragma once

#include <nlohmann/json_fwd.hpp>

#include "analysis/trace/rows.hpp"

// Evidence of a run as JSON, for messages between processes and for page data: `assumed`,
// `assumed_gpu`, and `expected_error`, which is null if no error is known.
namespace pipewright::trace {

// Returns the members of an expected error by name; null if no error is known.
nlohmann::ordered_json expected_error_json(const ExpectedError& error);
// Adds the members to an object.
void add_evidence(nlohmann::ordered_json& object, const Evidence& evidence);
// Reads the members of an object. Throws nlohmann::json::exception if one is missing or of another
// type.
Evidence read_evidence(const nlohmann::ordered_json& object);

}  // namespace pipewright::trace
