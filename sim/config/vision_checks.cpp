#include "sim/config/vision_checks.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace pipewright::config {
namespace {

// Returns the mean number of patches of an image if the scenario states it; 0: it is drawn.
double stated_patches(const Lengths& patches) {
  if (patches.documents.empty()) return patches.mean.value_or(0);
  double sum = 0;
  for (const std::uint32_t image : patches.documents) sum += image;
  return sum / static_cast<double>(patches.documents.size());
}

// Checks an encoder of images against the layout of the language model: its ranks are those of the
// language model, or all compute the same.
void check_vision_layout(const VisionModule& vision, const Parallel& parallel,
                         const Model::Vision& encoder) {
  const auto check_size = [&](std::string_view axis, const Located<std::uint32_t>& size,
                              const Located<std::uint32_t>& of_text) {
    if (size.value == 1 || size.value == of_text.value) return;
    throw Error(size.origin, fmt::format("modules.vision.parallel.{} is {}, and parallel.{} is {}",
                                         axis, size.value, axis, of_text.value))
        .allow(of_text.value == 1 ? "1" : fmt::format("1 or {}", of_text.value));
  };
  const Located<std::uint32_t> tp = vision.parallel.tp.value_or(parallel.tp);
  check_size("tp", tp, parallel.tp);
  check_size("cp", vision.parallel.cp, parallel.cp);
  if (vision.parallel.tp && !parallel.tp_by_device.empty() && tp.value > 1)
    throw Error(tp.origin, "modules.vision.parallel.tp is given with parallel.tp_by_device")
        .allow("1, or without the key the tp of the encoder's device");
  for (std::uint32_t device = 0; device < std::max<std::size_t>(1, parallel.tp_by_device.size());
       ++device) {
    const std::uint32_t ranks = vision.parallel.tp ? tp.value : parallel.tp_of(device);
    if (encoder.heads % ranks == 0 && encoder.ffn % ranks == 0 &&
        encoder.projector.ffn % ranks == 0)
      continue;
    throw Error(vision.parallel.tp ? tp.origin : vision.origin,
                fmt::format("{} ranks of tp do not divide the encoder of images ({} heads, ffn {}, "
                            "projector.ffn {})",
                            ranks, encoder.heads, encoder.ffn, encoder.projector.ffn))
        .suggest("set modules.vision.parallel.tp to 1, so that all ranks compute the same");
  }
}

}  // namespace

void set_vision(const VisionModule& vision, const Parallel& parallel, Model& model,
                Training& training) {
  if (vision.model) model.vision = vision.model;
  if (!model.vision)
    throw Error(vision.origin,
                fmt::format("modules.vision has no model, and {} has no encoder of images",
                            model.name.empty() ? "the model" : model.name))
        .suggest("give modules.vision.model, such as {layers: 27, hidden: 1152, heads: 16}");
  check_vision_layout(vision, parallel, *model.vision);
  const std::uint32_t sequence = training.sequence.value_or(model.sequence);
  const double tokens =
      vision.images * stated_patches(vision.patches) / model.vision->patches_per_token();
  if (tokens > sequence)
    throw Error(
        vision.origin,
        fmt::format("modules.vision has {} of {:.0f} tokens together, and a sample has {} "
                    "tokens",
                    vision.images == 1 ? "an image" : fmt::format("{} images", vision.images),
                    tokens, sequence))
        .suggest("give fewer images or patches, or a larger training.sequence");
  training.vision = vision;
}

}  // namespace pipewright::config
