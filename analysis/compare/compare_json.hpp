#pragma once

#include <span>
#include <string>

#include <nlohmann/json.hpp>

#include "analysis/compare/condition.hpp"
#include "analysis/compare/metric.hpp"
#include "analysis/compare/pass_times.hpp"

// Parts that the JSON texts of comparisons share.
namespace pipewright::analysis {

using Json = nlohmann::ordered_json;

Json metrics_json(const Metrics& metrics);  // by name; null where unknown
// {"makespan_s": {"difference": .., "change": ..}, ..} of those known in both.
Json differences_json(const Metrics& base, const Metrics& run);
Json judgements_json(std::span<const Judgement> judgements);
void add_pass(Json& json, const PassKey& pass);  // stage, kind, microbatch, iteration
// Ends with a newline; bytes that are no UTF-8 become U+FFFD.
std::string text_of(const Json& json);

}  // namespace pipewright::analysis
