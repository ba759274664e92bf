#pragma once

#include <span>

#include "analysis/compare/condition.hpp"
#include "analysis/compare/metric.hpp"
#include "analysis/compare/pass_times.hpp"
#include "analysis/report_table.hpp"

// Parts that the files of comparisons share.
namespace pipewright::analysis {

Json metrics_json(const Metrics& metrics);  // by name; null where unknown
// {"makespan_s": {"difference": .., "change": ..}, ..} of those known in both.
Json differences_json(const Metrics& base, const Metrics& run);
Json judgements_json(std::span<const Judgement> judgements);
ReportColumns<PassKey> pass_columns();  // stage, kind, microbatch, iteration

}  // namespace pipewright::analysis
