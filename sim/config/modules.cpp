#include "sim/config/modules.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/config/model.hpp"
#include "sim/config/vision.hpp"

namespace pipewright::config {
namespace {

// Reads the encoder of a model that is named, or a map of the encoder's own keys.
Model::Vision read_encoder(const Field& field) {
  if (field.value.kind == Value::Kind::map && !is_config(field.value)) return read_vision(field);
  const Model model = read_model(field);
  if (!model.vision)
    throw Error(field.value.origin,
                fmt::format("{} is {}, whose file has no encoder of images (vision)", field.name,
                            model.name),
                field.name)
        .allow("a model with vision, or a map such as {layers: 27, hidden: 1152, heads: 16}");
  return *model.vision;
}

// Largest numbers of patches of an image and of images of a sample, far above any real ones. They
// keep the time to count them within range.
constexpr std::uint32_t max_patches = 1U << 24U;
constexpr std::uint32_t max_images = 1U << 10U;

std::uint32_t read_patch_count(const Field& field) {
  const std::uint32_t patches = read_count(field, "784");
  if (patches > max_patches)
    throw wrong(field, fmt::format("a whole number of at most {} patches", max_patches));
  return patches;
}

std::uint32_t read_images(const Field& field) {
  const std::uint32_t images = read_count(field, "2");
  if (images > max_images)
    throw wrong(field, fmt::format("a whole number of at most {} images", max_images));
  return images;
}

// Reads the patches of an image: a number, a list, or a distribution as that of document lengths.
// No documents: 0 patches.
Lengths read_patches(const Field& field) {
  if (field.value.kind == Value::Kind::text && field.value.text == "0") return {};
  if (field.value.kind == Value::Kind::map) return read_unpacked_lengths(field);
  Lengths patches;
  for (const Field& item :
       items(field, "a number of patches, a list such as [784, 1024], or {mean, p95}"))
    patches.documents.push_back(read_patch_count(item));
  patches.packed = false;
  return patches;
}

constexpr std::string_view no_part = "none";
constexpr std::array<std::string_view, 3> frozen_names{no_part, vision_part_names[0],
                                                       vision_part_names[1]};

VisionParts read_parts(const Field& field) {
  VisionParts parts;
  for (const Field& item : items(field, "encoder, projector, or [encoder, projector]")) {
    if (item.value.kind == Value::Kind::text && item.value.text == no_part &&
        field.value.kind == Value::Kind::text)
      return parts;
    parts.set(read_choice(item, vision_part_names));
  }
  return parts;
}

VisionPlacement read_vision_placement(const Field& field) {
  const auto placement = static_cast<VisionPlacement>(read_choice(field, vision_placement_names));
  if (placement == VisionPlacement::bubbles)
    throw Error(field.value.origin,
                fmt::format("{} is bubbles, which is not modelled: an encoder in the bubbles of "
                            "all devices (Optimus, arXiv 2408.03505) would take less time than "
                            "one in the first stage",
                            field.name),
                field.name)
        .allow("first_stage or own_ranks");
  return placement;
}

constexpr std::array vision_parallel_table{
    Key<VisionParallel>{{.name = "tp",
                         .help = "tensor-parallel ranks of the encoder: parallel.tp, or 1 for "
                                 "ranks that all compute it whole",
                         .default_value = "parallel.tp"},
                        count<&VisionParallel::tp, "1">},
    Key<VisionParallel>{{.name = "cp",
                         .help = "context-parallel ranks that share the images of a microbatch: "
                                 "parallel.cp, or 1 for ranks that all compute all images",
                         .default_value = "1"},
                        count<&VisionParallel::cp, "1">},
};

constexpr std::array vision_module_table{
    Key<VisionModule>{
        {.name = "model",
         .help = "encoder of images: a map, or a model whose encoder it is",
         .default_value = "the encoder of the model"},
        into<&VisionModule::model, read_encoder>({ValueType::library, false, {}, vision_keys})},
    Key<VisionModule>{
        {.name = "images", .help = "number of images in a sample", .default_value = "1"},
        into<&VisionModule::images, read_images>({ValueType::count})},
    Key<VisionModule>{{.name = "tokens",
                       .alias = "patches",
                       .help = "patches of an image: a number, a list that is repeated, or a "
                               "distribution of lengths; 0: no images, and no encoder",
                       .unit = "patches",
                       .required = true},
                      into<&VisionModule::patches, read_patches>(
                          {ValueType::count, true, {}, unpacked_lengths_keys})},
    Key<VisionModule>{{.name = "frozen",
                       .help = "parts that are not trained",
                       .default_value = "none; with training.lora both"},
                      into<&VisionModule::frozen, read_parts>(
                          {ValueType::choice, true, frozen_names, nullptr, vision_part_names})},
    Key<VisionModule>{{.name = "adapters",
                       .help = "add the adapters of training.lora to the encoder's layers, too",
                       .default_value = "false"},
                      flag<&VisionModule::adapters>},
    Key<VisionModule>{{.name = "recompute",
                       .help = "recomputation in the encoder's layers, as training.recompute",
                       .default_value = "training.recompute"},
                      into<&VisionModule::recompute, read_recompute>(
                          {ValueType::choice, false, recompute_names, recompute_keys})},
    Key<VisionModule>{{.name = "parallel", .help = "parallel sizes of the encoder: tp and cp"},
                      map_of<&VisionModule::parallel, vision_parallel_table>},
    Key<VisionModule>{{.name = "placement",
                       .help = "place of the encoder: the first stage, beside its layers, or a "
                               "pipeline device before the first layer",
                       .default_value = "first_stage"},
                      into<&VisionModule::placement, read_vision_placement>(
                          {ValueType::choice, false, vision_placement_names, nullptr})},
};

VisionModule read_vision_module(const Field& field) {
  VisionModule vision = read_map<vision_module_table>(field);
  vision.origin = field.value.origin;
  return vision;
}

constexpr std::array modules_table{
    Key<Modules>{
        {.name = "vision", .help = "encoder of images: its images, training and place"},
        section<&Modules::vision, read_vision_module, [] { return rows_of(vision_module_table); }>},
};

}  // namespace

Modules read_modules(const Field& field) {
  Modules modules = read_map<modules_table>(field);
  if (modules.vision && !modules.vision->has_images()) modules.vision.reset();
  return modules;
}

std::vector<KeyRow> modules_keys() { return rows_of(modules_table); }

std::string images_text(const VisionModule& vision) {
  const std::string patches = vision.is_constant()
                                  ? fmt::format("{}", vision.patches.documents.front())
                                  : to_string(vision.patches);
  return fmt::format("{} {} a sample, {} patches", vision.images,
                     vision.images == 1 ? "image" : "images", patches);
}

std::string frozen_text(const VisionParts& frozen) {
  if (frozen.none()) return "all of it trained";
  if (frozen.all()) return "all of it frozen";
  return fmt::format("{} frozen", vision_part_names[frozen.test(0) ? 0 : 1]);
}

}  // namespace pipewright::config
