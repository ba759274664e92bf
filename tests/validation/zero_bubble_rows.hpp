#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace pipewright::tests {

// Qi et al. 2024 (Zero Bubble Pipeline Parallelism, arXiv 2401.10241): the bubble rates that table
// 5 prints, from the pass and hop times that table 9 prints, in ms, and the models of table 3.
struct ZeroBubbleRow {
  const char* model;
  std::uint32_t devices, microbatches;
  double forward, input_grad, weight_grad, hop;
  double one_f_one_b, zb_h1, zb_h2, zb_1p, zb_2p;  // bubble rates

  double busy() const { return microbatches * (forward + input_grad + weight_grad); }
};

inline constexpr std::array<ZeroBubbleRow, 12> zero_bubble_rows{{
    {"1.5B", 8, 24, 18.522, 18.086, 9.337, 0.601, 0.2431, 0.1585, 0.1083, 0.1585, 0.0433},
    {"1.5B", 8, 32, 18.513, 18.086, 9.331, 0.626, 0.1985, 0.1242, 0.0837, 0.1242, 0.0039},
    {"1.5B", 8, 64, 18.546, 18.097, 9.321, 0.762, 0.1240, 0.0674, 0.0444, 0.0674, 0.0026},
    {"6.2B", 8, 24, 29.718, 29.444, 19.927, 0.527, 0.2347, 0.1323, 0.0698, 0.1323, 0.0029},
    {"6.2B", 8, 32, 29.802, 29.428, 19.530, 0.577, 0.1898, 0.1045, 0.0559, 0.1045, 0.0022},
    {"6.2B", 8, 64, 29.935, 29.621, 19.388, 0.535, 0.1091, 0.0554, 0.0294, 0.0554, 0.0010},
    {"14.6B", 16, 48, 11.347, 11.248, 8.132, 0.377, 0.2552, 0.1397, 0.0672, 0.1397, 0.0066},
    {"14.6B", 16, 64, 11.307, 11.254, 8.101, 0.379, 0.2082, 0.1088, 0.0516, 0.1088, 0.0054},
    {"14.6B", 16, 128, 11.325, 11.308, 8.109, 0.378, 0.1251, 0.0576, 0.0266, 0.0576, 0.0028},
    {"28.3B", 32, 96, 10.419, 10.207, 7.715, 0.408, 0.2646, 0.1421, 0.0641, 0.1421, 0.0038},
    {"28.3B", 32, 128, 10.408, 10.204, 7.703, 0.408, 0.2168, 0.1106, 0.0490, 0.1106, 0.0029},
    {"28.3B", 32, 256, 10.402, 10.248, 7.698, 0.460, 0.1352, 0.0594, 0.0257, 0.0594, 0.0018},
}};

// The part of a layer's activations that I releases: of 34 h + 5 a s bytes a token, W needs 32 h.
inline double input_grad_releases(std::string_view model) {
  constexpr double sequence = 1024;
  const auto part = [](double hidden, double heads) {
    return 1 - 32 * hidden / (34 * hidden + 5 * heads * sequence);
  };
  if (model == "1.5B") return part(2304, 24);
  if (model == "6.2B") return part(4096, 32);
  if (model == "14.6B") return part(5120, 40);
  return part(6144, 48);
}

}  // namespace pipewright::tests
