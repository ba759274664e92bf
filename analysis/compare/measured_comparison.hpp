#pragma once

#include <string>
#include <vector>

#include "analysis/compare/against_measured.hpp"
#include "analysis/compare/judgement.hpp"
#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

// A prediction beside what was measured, to be told.
struct MeasuredComparison {
  std::string predicted_name;
  std::string measured_name;
  trace::RunInfo predicted_run;
  trace::RunInfo measured_run;
  AgainstMeasured result;
  std::vector<std::string> notes;     // of the import
  std::vector<Judgement> judgements;  // of the measured run against the predicted one
};

std::string console_text(const MeasuredComparison& comparison);
std::string json_text(const MeasuredComparison& comparison);

}  // namespace pipewright::analysis
