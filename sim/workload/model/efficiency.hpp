#pragma once

#include <cstdint>

#include "sim/config/gpu.hpp"

// How long a GPU takes for one kernel. A matrix product is cut into tiles of 128 x 256 of the
// result, of which each processor makes one at a time: the last wave of tiles takes as long as a
// full one, and starting a tile takes as long as `tile_fill` steps of its inner dimension. What
// moves more bytes than that hides is as slow as memory: matrix products whose result is large,
// and all that goes through a tensor once (norms, dropout, activation functions, softmax).
namespace pipewright::workload {

// Seconds of `count` products, rows x inner times inner x columns, at once; each element of the
// results moves `result_bytes` bytes.
double product_seconds(const config::Gpu& gpu, double rows, double columns, double inner,
                       double count = 1, double result_bytes = 2);

// Seconds of a kernel that does nothing but move bytes; 0 bytes are no kernel.
double memory_seconds(const config::Gpu& gpu, double bytes);

// Seconds of one of the small products of attention: `count` of them, at another efficiency.
double attention_product_seconds(const config::Gpu& gpu, double rows, double columns, double inner,
                                 double count, double bytes);

// Seconds of a fused attention kernel (arXiv 2307.08691), which moves next to nothing.
double flash_seconds(const config::Gpu& gpu, double flops);

}  // namespace pipewright::workload
