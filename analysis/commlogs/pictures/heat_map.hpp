#pragma once

#include <filesystem>
#include <string>

#include "analysis/commlogs/pair_matrix.hpp"
#include "analysis/report/picture/pictures.hpp"

namespace pipewright::analysis {

struct HeatMapWords {
  std::string title;
  std::string details;  // Text beside the title, in fainter ink.
};

// Draws two fields with a row per sender and a column per receiver: the bandwidth of messages of
// this size (0: endless messages), and the latency, coloured by ColourScale. Above 512 GPUs each
// row is a node; above 512 nodes, rows are a sample at equal distances. The matrix must be whole.
// Files have the guarantees of draw_timeline().
void draw_heat_map(const PairMatrix& matrix, std::uint64_t message, const HeatMapWords& words,
                   const std::filesystem::path& file, PictureKind kind);

}  // namespace pipewright::analysis
