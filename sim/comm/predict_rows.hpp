#pragma once

#include <functional>
#include <span>
#include <vector>

#include "analysis/comm/comparison.hpp"
#include "analysis/comm/pictures/curve_picture.hpp"
#include "sim/comm/prediction.hpp"

namespace pipewright::comm {

// What a benchmark did that printed a row. Throws cluster::Error, "FILE:LINE: what", if the cluster
// does not have its ranks or nodes.
BenchmarkRun run_of(const cluster::Cluster& cluster, const analysis::Measurement& row,
                    Algorithm algorithm = Algorithm::automatic);

// Hears how many rows of how many are done.
using RowsDone = std::function<void(std::size_t done, std::size_t of)>;

// A simulation for each row, in their order, and equal ones once; all are looked at first.
std::vector<analysis::ComparedRow> predict_rows(cluster::Cluster& cluster,
                                                std::span<const analysis::Measurement> rows,
                                                Algorithm algorithm = Algorithm::automatic,
                                                const RowsDone& done = {});

// By the formula, at eight sizes each doubling from the least to the largest of a curve.
std::vector<analysis::CurvePoint> predict_between(const cluster::Cluster& cluster,
                                                  const analysis::ComparedCurve& curve,
                                                  Algorithm algorithm = Algorithm::automatic);

}  // namespace pipewright::comm
