#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sim/workload/batch/batch.hpp"
#include "sim/workload/shape/matrices.hpp"
#include "sim/workload/shape/shape.hpp"

// An encoder of images beside the language model, as a model of its own: its layers are those of a
// transformer whose tokens are patches, without a causal mask, and whose documents are images.
namespace pipewright::workload {

struct Encoder {
  config::Model model;        // the layers
  config::Training training;  // what is trained of the encoder, and how
  Sizes sizes;                // patches of a microbatch on one GPU
  config::Model::Vision shape;
  double merged = 0;             // tokens that a microbatch's patches become
  double merged_everywhere = 0;  // tokens of all ranks of cp that share the images
  std::uint64_t text_hidden = 0;
  bool trains_layers = false;  // the layers, or adapters of theirs, are trained
  bool trains_projector = false;

  ModelSetting setting() const { return {model, training, sizes}; }
  // Returns whether gradients flow into the encoder from the language model.
  bool has_backward() const { return trains_layers || trains_projector; }
};

// Patches of a mean microbatch: their number, and the length of equally long images with the same
// sums of patches and of squares.
struct Patches {
  double count = 0;
  double image = 0;
};
// Returns the images of all microbatches as documents of patches. Their tokens without padding,
// `real`, are what the encoder processes.
std::shared_ptr<const Batch> images_of(const config::VisionModule& vision,
                                       std::uint32_t microbatch_size);
Patches patches_of(const config::VisionModule& vision, std::uint32_t microbatch_size);

// Returns whether the microbatches of a training differ in their images.
bool has_uneven_images(const config::Training& training);

// Returns the encoder of a model whose training has images; empty if it has none. `setting` is that
// of the language model.
std::optional<Encoder> encoder_of(const ModelSetting& setting);

// Returns the matrix product that turns patches into hidden states. Every rank of tp computes all
// of it.
Linear patch_embedding(const Encoder& encoder);
// Returns the products of the projectors: an MLP, whose first matrix is cut by outputs and whose
// second by inputs, or a single matrix that each rank of tp has whole.
std::vector<Linear> projector_linears(const Encoder& encoder);

// Returns the parameters on one GPU of each part that runs at a time: the patch embedding, each
// layer, and the projectors.
std::vector<Parameters> encoder_parameters(const Encoder& encoder);
// Returns the number of weight tensors that are trained.
std::uint64_t encoder_tensors(const Encoder& encoder);
// Returns the trained weight matrices, for optimizers that update matrices.
std::vector<Matrix> encoder_matrices(const Encoder& encoder);

}  // namespace pipewright::workload
