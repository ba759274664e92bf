#pragma once

#include "schedules/catalog.hpp"

// The generators: one file a family. Each states its rule and closed forms for p devices,
// m microbatches, v chunks, F and B the times of a whole device.
namespace pipewright::schedules {

Schedule gpipe(const Parameters& parameters);
Schedule one_f_one_b(const Parameters& parameters);
Schedule eager_one_f_one_b(const Parameters& parameters);
Schedule interleaved_one_f_one_b(const Parameters& parameters);
Schedule one_f_one_b_2bw(const Parameters& parameters);
Schedule eager_2bw(const Parameters& parameters);

}  // namespace pipewright::schedules
