#pragma once

#include <filesystem>
#include <string>

#include "analysis/commlogs/pair_matrix.hpp"
#include "analysis/report/picture/pictures.hpp"

namespace pipewright::analysis {

struct HeatMapWords {
  std::string title;
  std::string details;  // beside it, in fainter ink
};

// Two fields, a row for each sender and a column for each receiver: what bandwidth messages of so
// many bytes reach (0: endless ones), and the latency, each in colours by ColourScale. Of more than
// 512 GPUs each node is one row, and of more nodes than that some at equal distances. The matrix is
// whole. Like draw_timeline in all else.
void draw_heat_map(const PairMatrix& matrix, std::uint64_t message, const HeatMapWords& words,
                   const std::filesystem::path& file, PictureKind kind);

}  // namespace pipewright::analysis
