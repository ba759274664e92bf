#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

// Number formats of matrix products.
namespace pipewright::config {

// fp8: E4M3 or E5M2 with one scale per tensor. fp8_row: E4M3 with one scale in fp32 per row, or per
// column for the other products of a tensor (torchao's recipe rowwise, torchao/float8/config.py).
// fp8_block: one scale in fp32 per 1 x 128 or 128 x 128 elements, as in DeepSeek-V3 (arXiv
// 2412.19437, section 3.3). mxfp8: one scale in 8 bits per 32 elements (OCP Microscaling formats
// 1.0). nvfp4: one scale in 8 bits per 16 elements (arXiv
// 2509.25149). mxfp4: one scale in 8 bits per 32 elements. tf32: products of fp32 numbers whose
// inputs are rounded to 19 bits on the way. Every type is also a training recipe.
enum class DataType : std::uint8_t {
  bf16,
  fp16,
  fp8,
  fp8_row,
  fp8_block,
  mxfp8,
  nvfp4,
  mxfp4,
  tf32,
  fp32,
};

inline constexpr std::array<std::string_view, 10> data_types{
    "bf16", "fp16", "fp8", "fp8-row", "fp8-block", "mxfp8", "nvfp4", "mxfp4", "tf32", "fp32"};

constexpr std::string_view name_of(DataType type) {
  return data_types[static_cast<std::size_t>(type)];
}

// Bytes of an element of a tensor, including its share of the tensor's scales.
constexpr double element_bytes(DataType type) {
  switch (type) {
    case DataType::bf16:
    case DataType::fp16:
      return 2;
    case DataType::fp8:
    case DataType::fp8_row:  // rows have thousands of elements
      return 1;
    case DataType::fp8_block:
      return 1 + 4.0 / 128;
    case DataType::mxfp8:
      return 1 + 1.0 / 32;
    case DataType::nvfp4:
      return 0.5 + 1.0 / 16;
    case DataType::mxfp4:
      return 0.5 + 1.0 / 32;
    case DataType::tf32:
    case DataType::fp32:
      break;
  }
  return 4;
}

// Returns whether a recipe keeps all tensors in 32 bits.
constexpr bool has_32_bits(DataType recipe) {
  return recipe == DataType::tf32 || recipe == DataType::fp32;
}

// Returns whether tensors must be cast to this type and scaled before a matrix product.
constexpr bool is_scaled(DataType type) {
  return type != DataType::bf16 && type != DataType::fp16 && !has_32_bits(type);
}

// Bytes of a weight or of an element of an activation in a recipe, except for copies in a scaled
// type.
constexpr double value_bytes(DataType recipe) { return has_32_bits(recipe) ? 4 : 2; }

// Returns whether tensors of this type are cast once, to copies that all products read, instead of
// anew for each product. Weights with a scale per row or column are cast in every pass, and inputs
// are saved unscaled (torchao/float8/float8_linear.py, matmul_with_hp_or_float8_args).
constexpr bool keeps_casts(DataType type) { return is_scaled(type) && type != DataType::fp8_row; }

// Bytes of an element of a product's input as it is saved for the gradient of the weights.
constexpr double saved_bytes(DataType type) {
  return type == DataType::fp8_row ? 2 : element_bytes(type);
}

}  // namespace pipewright::config
