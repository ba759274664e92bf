#include "sim/config/placement.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

namespace pipewright::config {
namespace {

std::vector<Located<std::string>> read_gpu_types(const Field& field) {
  constexpr std::string_view allowed =
      "GPU types of the cluster, in the order of ranks, such as [h100-sxm, a100-80gb]";
  std::vector<Located<std::string>> types;
  for (const Field& item : items(field, allowed)) {
    const std::string& type = read_text(item, allowed);
    if (std::ranges::find(types, type, &Located<std::string>::value) != types.end())
      throw Error(item.value.origin, fmt::format("{} names {} twice", field.name, type))
          .allow("each type once");
    types.push_back({type, item.value.origin});
  }
  if (types.empty()) throw wrong(field, allowed);
  return types;
}

constexpr std::array placement_table{
    Key<Placement>{{.name = "domain",
                    .help = "number of GPUs to use in each NVLink domain; default: the most that "
                            "keep groups whole"},
                   count<&Placement::domain, "64">},
    Key<Placement>{{.name = "gpu_types",
                    .help = "list of the GPU types to use in a mixed cluster, in the order of "
                            "ranks and so of stages"},
                   into<&Placement::gpu_types, read_gpu_types>({ValueType::text, true})},
};

}  // namespace

Placement read_placement(const Field& field) {
  if (field.value.kind == Value::Kind::map) return read_map<placement_table>(field);
  constexpr std::string_view allowed =
      "a list of host names, one per GPU, or a map with the keys domain (number of GPUs to "
      "use in each NVLink domain) and gpu_types (GPU types in the order of ranks)";
  Placement placement;
  for (const Field& item : items(field, allowed))
    placement.hosts.push_back({read_text(item, "a host name of the cluster"), item.value.origin});
  return placement;
}

std::vector<KeyRow> placement_keys() { return rows_of(placement_table); }

}  // namespace pipewright::config
