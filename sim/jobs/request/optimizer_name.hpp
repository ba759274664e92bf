#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sim/base/letters.hpp"
#include "sim/jobs/request/draft.hpp"

namespace pipewright::jobs {

// Returns the optimizer of a scenario (training.optimizer.name) that a framework names as a class
// or an option: "AdamW", "adamw_bnb_8bit", "torch.optim.Adafactor", "dion.Muon". Empty: another.
inline std::optional<std::string> optimizer_named(std::string_view name) {
  const std::string letters = base::letters_and_digits(name);
  const auto has = [&](std::string_view word) { return letters.find(word) != std::string::npos; };
  for (const std::string_view other :
       {"4bit", "fp8", "adamuon", "adaptivemuon", "normuon", "adamax", "adammini", "nadam", "radam",
        "sparseadam", "onebit", "zeroone"})
    if (has(other)) return std::nullopt;
  if (has("muon")) return "muon";
  if (has("adafactor")) return "adafactor";
  if (has("ademamix")) return has("8bit") ? std::nullopt : std::optional<std::string>("ademamix");
  if (has("adam")) return has("8bit") ? "adam_8bit" : "adam";
  return std::nullopt;
}

// Sets the optimizer by the value of a setting unless it is Adam, the default, or lists the setting
// as not modelled.
inline void read_optimizer_name(Draft& draft, const Setting& setting) {
  const std::optional<std::string> name = optimizer_named(draft.text(setting.name));
  if (name && *name != "adam") draft.set("training.optimizer.name", *name, setting);
  if (!name)
    draft.not_understood(setting, "Adam, 8-bit Adam, Muon, Adafactor and AdEMAMix are modelled");
}

}  // namespace pipewright::jobs
