#pragma once

#include <array>
#include <span>

#include "sim/jobs/request/draft.hpp"
#include "sim/jobs/request/flags.hpp"

// Parts of a model that a job does not train: its language model, its encoder of images, and the
// projector between the two. Each framework has other names for the same settings, which its reader
// renames to those below.
namespace pipewright::jobs {

// Sets training.frozen and modules.vision.frozen. A job does not state how many patches its images
// have, so that modules.vision.tokens is 0: the samples are text alone until a user sets it.
void read_frozen(Draft& draft);

inline constexpr std::array frozen_flags{
    Flag{.name = "freeze_language_model", .key = "training.frozen", .read = read_frozen},
    Flag{.name = "freeze_vision_model", .key = "modules.vision.frozen", .read = read_frozen},
    Flag{.name = "freeze_vision_projection", .key = "modules.vision.frozen", .read = read_frozen},
};

// A framework's name of such a setting, and its name above.
struct FrozenName {
  std::string_view name, frozen;
};
// Renames the settings of a request that have one of these names. If it has at least one, adds the
// settings of `frozen_by_default` that it leaves out, as frozen.
void rename_frozen(std::span<const FrozenName> names,
                   std::span<const std::string_view> frozen_by_default, Request& request);

}  // namespace pipewright::jobs
