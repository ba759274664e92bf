#include "sim/search/space/open_values.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sim/config/text/value.hpp"
#include "sim/search/space/alternatives.hpp"
#include "sim/search/space/range.hpp"

namespace pipewright::search {
namespace {

using config::Entry;
using config::Error;
using config::Value;

class Search {
 public:
  std::vector<OpenPlace> places;

  void enter(const Value& map, const std::string& prefix) {
    for (std::size_t i = 0; i < map.entries.size(); ++i) {
      path_.push_back(i);
      const Entry& entry = map.entries[i];
      look(entry.value, canonical_key(prefix.empty() ? entry.key : prefix + "." + entry.key));
      path_.pop_back();
    }
  }

 private:
  void look(const Value& value, const std::string& key) {
    const bool list_is_value = takes_list(key);
    const bool choice = is_any_of(value);
    const bool list = value.kind == Value::Kind::list && !list_is_value;
    const bool text = value.kind == Value::Kind::text && !list_is_value;
    if (value.kind == Value::Kind::text && value.text == "auto") {
      places.push_back({key, path_, value.origin, true, {}});
    } else if (choice || list || (text && is_range(value.text)) || is_whole(key)) {
      OpenPlace place{key, path_, value.origin, false, {}};
      place.values = alternatives(value, key);
      if (!is_whole(key)) refuse_auto(place.values, key);
      places.push_back(std::move(place));
    } else if (value.kind == Value::Kind::map) {
      enter(value, key);
    } else if (value.kind == Value::Kind::list) {
      for (std::size_t i = 0; i < value.items.size(); ++i) {
        path_.push_back(i);
        if (value.items[i].kind == Value::Kind::map) look(value.items[i], key);
        path_.pop_back();
      }
    }
  }

  static void refuse_auto(const std::vector<Value>& values, const std::string& key) {
    for (const Value& value : values) {
      if (value.kind == Value::Kind::text && value.text == "auto")
        throw Error(locate(value.origin, fmt::format("{} is auto among other values; auto stands "
                                                     "alone, and means all that can be",
                                                     key)));
      refuse_auto(value.items, key);
      for (const Entry& entry : value.entries) refuse_auto({entry.value}, key + "." + entry.key);
    }
  }

  std::vector<std::size_t> path_;
};

}  // namespace

std::vector<OpenPlace> open_places(const Value& scenario) {
  Search search;
  search.enter(scenario, "");
  return std::move(search.places);
}

}  // namespace pipewright::search
