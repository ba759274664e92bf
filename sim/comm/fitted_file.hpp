#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/commlogs/reports/fit_report.hpp"
#include "sim/cluster/record.hpp"

namespace pipewright::comm {

using Properties = std::vector<std::pair<std::string, std::string>>;  // (id, value)

// Sets properties of the outermost zone in the text of a platform file: replaces existing values,
// and inserts new properties at the beginning of the zone, below the lines of `comment`, if any.
// The rest of the text stays unchanged byte for byte. Throws cluster::Error if the text is not a
// platform file.
std::string with_properties(const std::string& text, const Properties& properties,
                            std::span<const std::string> comment);

// Replaces all accuracy records (sim/cluster/record.hpp) in the text of a platform file.
std::string with_records(const std::string& text, std::span<const cluster::Record> records);

// Adds the fitted parameters and their origin to the text of a platform file: as a comment, and as
// a property `fitted-from` that names the logs. `made_by` is the program and its version.
std::string fitted_platform(const std::string& text, const analysis::FitReport& report,
                            const std::string& made_by);

// Byte offsets of a property in the text of a platform file, so that edits leave the rest
// unchanged.
struct PropertyRange {
  std::string id;
  std::size_t value_begin = 0;  // between the quotes
  std::size_t value_end = 0;
  std::size_t begin = 0;  // at the '<' of its tag
  std::size_t end = 0;    // behind the element
};
struct ZoneRange {
  std::string name;                       // element name: "zone"
  std::size_t begin = 0;                  // at the '<' of its start tag
  std::size_t content_begin = 0;          // behind the '>' of its start tag
  bool is_empty = false;                  // <zone .../>
  std::vector<PropertyRange> properties;  // properties of the zone itself
};

// Finds the byte offsets of the outermost zone. Throws cluster::Error if there is none.
ZoneRange find_outermost_zone(std::string_view text);

// Escapes a text for an attribute value, or for a comment, which may not contain two hyphens in a
// row.
std::string escape_attribute(std::string_view text);
std::string escape_comment(std::string_view text);

}  // namespace pipewright::comm
