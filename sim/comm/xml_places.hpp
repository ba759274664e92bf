#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace pipewright::comm {

// Where things stand in the text of a platform file that was loaded before, so that it can be
// edited and otherwise stay as it is.
struct PropertyPlace {
  std::string id;
  std::size_t value_begin = 0;  // between the quotes
  std::size_t value_end = 0;
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
