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

using Properties = std::vector<std::pair<std::string, std::string>>;  // id, value

// A platform file's text with these properties of its outermost zone: values of those that it has
// are replaced, the others come first in the zone, below a comment, if it has lines. All else stays
// as it is, byte for byte. Throws cluster::Error for a text that is no platform file.
std::string with_properties(const std::string& text, const Properties& properties,
                            std::span<const std::string> comment);

// A platform file's text with these records (sim/cluster/record.hpp) and none of those that it has.
std::string with_records(const std::string& text, std::span<const cluster::Record> records);

// A platform file's text with the fitted parameters, and where they come from: as a comment, and as
// a property `fitted-from` that names the logs. `made_by` is the program and its version.
std::string fitted_platform(const std::string& text, const analysis::FitReport& report,
                            const std::string& made_by);

// What both are made with: where things stand in the text of a platform file that was loaded
// before, so that it can be edited and otherwise stay as it is.
struct PropertyPlace {
  std::string id;
  std::size_t value_begin = 0;  // between the quotes
  std::size_t value_end = 0;
  std::size_t begin = 0;  // the '<' of its tag
  std::size_t end = 0;    // behind the element
};
struct ZonePlace {
  std::string name;                       // of the element: "zone"
  std::size_t begin = 0;                  // its '<'
  std::size_t inside = 0;                 // behind the '>' of its start tag
  bool is_empty = false;                  // <zone .../>
  std::vector<PropertyPlace> properties;  // its own
};

// The outermost zone. Throws cluster::Error if there is none.
ZonePlace find_outermost_zone(std::string_view text);

// For the value of an attribute; and for a comment, which must not have two dashes in a row.
std::string escape_attribute(std::string_view text);
std::string escape_comment(std::string_view text);

}  // namespace pipewright::comm
