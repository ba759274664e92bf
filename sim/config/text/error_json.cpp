#include "sim/config/text/error_json.hpp"

#include <nlohmann/json.hpp>

namespace pipewright::config {

nlohmann::ordered_json error_to_json(const StructuredError& error) {
  nlohmann::ordered_json json{{"found", error.found()}};
  if (const Origin& place = error.location(); place.line > 0) {
    json["file"] = place.source;
    json["line"] = place.line;
    if (place.column > 0) json["column"] = place.column;
  } else if (!place.source.empty()) {
    json["source"] = place.source;
  }
  if (!error.key().empty()) json["key"] = error.key();
  if (!error.allowed().empty()) json["allowed"] = error.allowed();
  if (!error.suggestion().empty()) json["suggestion"] = error.suggestion();
  if (error.suggests_name()) json["suggests_name"] = true;
  return json;
}

}  // namespace pipewright::config
