#include "analysis/trace/evidence_json.hpp"

#include <nlohmann/json.hpp>

#include "analysis/trace/tables.hpp"

namespace pipewright::trace {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* error_field = "expected_error";

}  // namespace

Json expected_error_json(const ExpectedError& error) {
  if (error == ExpectedError{}) return nullptr;
  Json json;
  for (const auto& field : error_reals) json[field.name] = error.*field.member;
  json["basis"] = error.basis;
  json["rows"] = error.rows;
  return json;
}

void add_evidence(Json& object, const Evidence& evidence) {
  object[error_field] = expected_error_json(evidence.expected_error);
  object[assumed_field] = evidence.keys;
  object[assumed_gpu_field] = evidence.gpu;
}

Evidence read_evidence(const Json& object) {
  Evidence evidence{.gpu = object.at(assumed_gpu_field).get<std::string>(),
                    .keys = object.at(assumed_field).get<std::vector<std::string>>()};
  const Json& error = object.at(error_field);
  if (error.is_null()) return evidence;
  ExpectedError& expected = evidence.expected_error;
  for (const auto& field : error_reals) error.at(field.name).get_to(expected.*field.member);
  error.at("basis").get_to(expected.basis);
  error.at("rows").get_to(expected.rows);
  return evidence;
}

}  // namespace pipewright::trace
