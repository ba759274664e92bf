#include "sim/jobs/request/torchao.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace pipewright::jobs {

std::string float8_recipe(Draft& draft, const Setting* recipe) {
  if (recipe == nullptr || recipe->values.empty() || is_off(recipe->values.front())) return "fp8";
  const std::string& name = recipe->values.front();
  if (name == "rowwise_with_gw_hp")
    draft.not_modelled(*recipe, Changes::time, "weight gradients would be computed in bf16");
  else if (name != "rowwise" && !name.starts_with("tensorwise"))
    draft.not_understood(*recipe, "only tensorwise and rowwise are read");
  return name.starts_with("rowwise") ? "fp8-row" : "fp8";
}

void read_filter(Draft& draft, const Setting& filter, std::span<const LinearNames> names,
                 const std::string& type) {
  std::vector<std::string> unused;
  for (const std::string& part : filter.values)
    if (!is_off(part) && part.find("router") == std::string::npos) unused.push_back(part);
  const auto matches = [&](std::string_view name) {
    bool is_match = false;
    for (const std::string& part : filter.values)
      if (!is_off(part) && name.find(part) != std::string_view::npos) {
        std::erase(unused, part);
        is_match = true;
      }
    return is_match;
  };
  for (const LinearNames& linear : names) {
    std::size_t count = 0;
    std::size_t filtered = 0;
    for (const std::string_view name : linear.names)
      if (!name.empty()) {
        ++count;
        if (matches(name)) ++filtered;
      }
    const std::string_view module =
        config::precision_modules[static_cast<std::size_t>(linear.module)];
    const std::string key = fmt::format("training.precision.{}", module);
    const bool is_head = linear.module == config::PrecisionModule::head;
    if (filtered > 0 && filtered < count)
      draft.not_understood(filter, fmt::format("it names only a part of the products {}", module));
    else if (is_head && filtered == 0)
      draft.set(key, type, filter);
    else if (!is_head && filtered > 0)
      draft.set(key, "bf16", filter);
  }
  if (!unused.empty())
    draft.not_understood(filter, fmt::format("{} is not read", fmt::join(unused, ", ")));
}

}  // namespace pipewright::jobs
