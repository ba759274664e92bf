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

// Recognizes the kind of a file by its content, regardless of its name. Throws Error that lists the
// kinds.
SourceKind recognise(const SourceText& source);

// Returns whether the file describes a node; otherwise it describes a fabric.
inline bool is_node_source(SourceKind kind) {
  return kind == SourceKind::nccl_topology || kind == SourceKind::smi_matrix;
}

}  // namespace pipewright::cluster
