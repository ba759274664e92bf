#include "sim/config/placement.hpp"

#include <array>
#include <string_view>

namespace pipewright::config {
namespace {

constexpr std::array table{
    Key<Placement>{
        {.name = "domain",
         .help = "GPUs to use of each NVLink domain; else the most that keep groups whole"},
        count<&Placement::domain, "64">},
};

}  // namespace

Placement read_placement(const Field& field) {
  if (field.value.kind == Value::Kind::map) return read_map<table>(field);
  constexpr std::string_view allowed =
      "a list of host names, one per GPU, or {domain: 64}, GPUs to use of each NVLink domain";
  Placement placement;
  for (const Field& item : items(field, allowed))
    placement.hosts.push_back({read_text(item, "a host name of the cluster"), item.value.origin});
  return placement;
}

std::vector<KeyRow> placement_keys() { return rows_of(table); }

}  // namespace pipewright::config
