#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/keys.hpp"
#include "sim/config/lengths.hpp"
#include "sim/config/model_shape.hpp"
#include "sim/config/recompute.hpp"
#include "sim/config/text/fields.hpp"

// Modules that a model has beside its language model.
namespace pipewright::config {

// Parts of an encoder of images that training can leave as they are: the layers with the patch
// embedding, and the projector.
enum class VisionPart : std::uint8_t { encoder, projector };
inline constexpr std::array<std::string_view, 2> vision_part_names{"encoder", "projector"};
using VisionParts = std::bitset<vision_part_names.size()>;

// Place of an encoder of images: the first stage of the pipeline beside its layers, a pipeline
// device before the first layer, or the bubbles of all devices (Optimus, arXiv 2408.03505), which
// is not modelled.
enum class VisionPlacement : std::uint8_t { first_stage, own_ranks, bubbles };
inline constexpr std::array<std::string_view, 3> vision_placement_names{"first_stage", "own_ranks",
                                                                        "bubbles"};

// Parallel sizes of an encoder of images: those of the language model, or 1, with which every rank
// computes the whole encoder or all images.
struct VisionParallel {
  std::optional<Located<std::uint32_t>> tp;  // default: parallel.tp
  Located<std::uint32_t> cp{1, {}};          // ranks of cp that share the images of a microbatch
};

// Images of the samples, and the training of their encoder.
struct VisionModule {
  std::optional<Model::Vision> model;  // default: the encoder of the model
  std::uint32_t images = 1;            // per sample
  // Patches of an image, as lengths of documents that are not packed. Also says how the images are
  // distributed over microbatches, which is copied from other keys of the scenario.
  Lengths patches;
  std::optional<VisionParts> frozen;   // default: both parts with adapters, else none
  bool adapters = false;               // training.lora adds adapters to the layers
  std::optional<Recompute> recompute;  // default: training.recompute
  VisionParallel parallel;
  VisionPlacement placement = VisionPlacement::first_stage;
  Origin origin;

  // Returns whether images have any patches.
  bool has_images() const {
    return patches.file || !patches.documents.empty() || patches.mean || patches.longest;
  }
  // Returns whether all images have the same number of patches.
  bool is_constant() const { return patches.documents.size() == 1; }
};

struct Modules {
  std::optional<VisionModule> vision;  // none if an image has 0 patches
};

Modules read_modules(const Field& field);
std::vector<KeyRow> modules_keys();

// Describe the images, "2 images a sample, 784 patches", and what of their encoder is frozen,
// "encoder frozen" or "all of it trained".
std::string images_text(const VisionModule& vision);
std::string frozen_text(const VisionParts& frozen);

}  // namespace pipewright::config
