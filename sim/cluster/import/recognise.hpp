#pragma once

#include <cstdint>

#include "sim/cluster/import/source_text.hpp"

namespace pipewright::cluster {

enum class SourceKind : std::uint8_t {
  nccl_topology,
  smi_matrix,
  ibnetdiscover,
  slurm_conf,
  slurm_yaml,
};

// What a file is by what it holds, whatever it is called. Throws Error, which says what there is.
SourceKind recognise(const SourceText& source);

// Of a node, or else of a fabric.
inline bool is_of_node(SourceKind kind) {
  return kind == SourceKind::nccl_topology || kind == SourceKind::smi_matrix;
}

}  // namespace pipewright::cluster
