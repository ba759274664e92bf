#include <algorithm>
#include <string>
#include <string_view>

#include "sim/jobs/nemo/nemo.hpp"
#include "sim/jobs/request/draft.hpp"

namespace pipewright::jobs::nemo {
namespace {

// Returns whether a dotted name is that of a section, or of an entry in it.
bool is_in(std::string_view path, std::string_view section) {
  return path == section ||
         (path.starts_with(section) && path.substr(section.size()).starts_with('.'));
}

bool is_of_adapters(const Named& entry) {
  return is_in(entry.path, "peft") || is_in(entry.path, "model.peft");
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
