#pragma once

#include <cstdint>
#include <vector>

#include "sim/workload/shape/partition.hpp"
#include "sim/workload/shape/shape.hpp"

// Weight matrices that an optimizer like Muon updates as a whole, one by one.
namespace pipewright::workload {

// Weight matrix of a layer as one GPU stores it: `rows` outputs of `columns` inputs. Q, K and V are
// one matrix, and so are the gate and the input of an MLP.
struct Matrix {
  // Dimension of the whole matrix that the ranks of tp, or those that share an expert, divide.
  enum class Cut : std::uint8_t { none, rows, columns };

  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::uint32_t count = 1;  // equal matrices, such as those of experts
  Cut cut = Cut::none;
  bool is_expert = false;
  // Rows of the matrices that are stored as this one: of queries, keys and values. Empty: one.
  std::vector<std::uint64_t> fused;
  bool has_gate = false;  // rows of the gate and of the input, half of them each

  std::uint64_t elements() const { return rows * columns; }
  bool operator==(const Matrix&) const = default;
};

// Returns the trained matrices of a layer, of a multi-token prediction module, and of all layers of
// a stage, with those of adapters, in the order in which Megatron-LM defines them, in which the
// output projection comes before Q, K and V.
std::vector<Matrix> layer_matrices(const ModelSetting& setting, LayerKind kind);
std::vector<Matrix> mtp_matrices(const ModelSetting& setting);
std::vector<Matrix> stage_matrices(const ModelSetting& setting, const StageParts& stage);

}  // namespace pipewright::workload
