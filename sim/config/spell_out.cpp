#include "sim/config/spell_out.hpp"

#include <filesystem>
#include <string>
#include <utility>

#include "sim/config/library.hpp"

namespace pipewright::config {
namespace {

// A schedule that is a plain name becomes a map with that name.
void spell_out_schedule(Value& schedule) {
  if (schedule.kind != Value::Kind::text) return;
  Value map;
  map.origin = schedule.origin;
  map.entries.push_back({"name", schedule.origin, std::move(schedule)});
  schedule = std::move(map);
}

}  // namespace

void spell_out_file(Value& named, std::string_view key) {
  if (named.kind != Value::Kind::text) return;
  Value map = library_map({named, std::string(key)}, key == "model" ? "models" : "gpus", {});
  if (find(map, "name") == nullptr)
    map.entries.insert(
        map.entries.begin(),
        {"name", named.origin,
         make_text(std::filesystem::path(named.text).stem().string(), named.origin)});
  map.origin = named.origin;
  named = std::move(map);
}

void spell_out(Value& whole, std::string_view key) {
  const bool file = key == "model" || key == "gpu";
  if (!file && key != "schedule") return;
  for (Value& item : whole.items) spell_out(item, key);
  if (file)
    spell_out_file(whole, key);
  else
    spell_out_schedule(whole);
}

}  // namespace pipewright::config
