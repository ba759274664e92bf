#include <algorithm>
#include <string>
#include <string_view>

#include "sim/jobs/nemo/nemo.hpp"
#include "sim/jobs/request/draft.hpp"

namespace pipewright::jobs::nemo {
namespace {

// Returns whether an entry is a section `peft`, or in such a section.
bool is_of_adapters(const Named& entry) {
  return (entry.path + ".").starts_with("peft.") ||
         (entry.path + ".").find(".peft.") != std::string::npos;
}

bool states_no(const Named& entry) { return entry.values.empty() || says_no(entry.values.front()); }

}  // namespace

void check_no_adapters(std::span<const Named> named) {
  const Named* adapters = nullptr;
  for (const Named& entry : named) {
    if (!is_of_adapters(entry)) continue;
    // NeMo's sections have the numbers of all kinds of adapters; the scheme chooses among them.
    const bool is_choice = entry.path.ends_with("peft") || entry.path.ends_with(".peft_scheme");
    if (is_choice && states_no(entry)) return;
    if (adapters == nullptr || is_choice) adapters = &entry;
  }
  if (adapters == nullptr) return;
  throw refusal(
      Setting{.values = adapters->values, .written = adapters->written, .origin = adapters->origin},
      adapters_are_not_modelled)
      .suggest("remove the section peft to predict the training of all weights instead");
}

}  // namespace pipewright::jobs::nemo
