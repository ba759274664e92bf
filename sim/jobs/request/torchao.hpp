#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "sim/config/module_types.hpp"
#include "sim/jobs/request/draft.hpp"

// Settings of torchao's float8, which frameworks of PyTorch share.
namespace pipewright::jobs {

// Names that a framework gives the linear modules of a module of training.precision.
struct LinearNames {
  config::PrecisionModule module;
  std::array<std::string_view, 4> names;  // unused ones are empty
};

// Returns the recipe that a setting `recipe_name` chooses, "fp8" or "fp8-row". A null pointer means
// a scale per tensor.
std::string float8_recipe(Draft& draft, const Setting* recipe);

// Sets the types of the modules that a setting `filter_fqns` leaves in bf16: parts of names of
// linear modules, among those of `names`. Other modules have `type`, the head too, which otherwise
// no recipe scales.
void read_filter(Draft& draft, const Setting& filter, std::span<const LinearNames> names,
                 const std::string& type);

}  // namespace pipewright::jobs
