#pragma once

#include "schedules/catalog.hpp"

// The generators: one file a family. Each states its rule and closed forms for p devices,
// m microbatches, v chunks, F and B the times of a whole device.
namespace pipewright::schedules {

Schedule gpipe(const Parameters& parameters);
Schedule one_f_one_b(const Parameters& parameters);
Schedule eager_one_f_one_b(const Parameters& parameters);
Schedule interleaved_one_f_one_b(const Parameters& parameters);
Schedule interleaved_low_memory(const Parameters& parameters);
Schedule interleaved_zero_bubble(const Parameters& parameters);
Schedule grouped_interleaved(const Parameters& parameters);
Schedule looped_bfs(const Parameters& parameters);
Schedule seq_one_f_one_b(const Parameters& parameters);
Schedule one_f_one_b_2bw(const Parameters& parameters);
Schedule eager_2bw(const Parameters& parameters);
Schedule zb_h1(const Parameters& parameters);
Schedule zb_h2(const Parameters& parameters);
Schedule zb_1p(const Parameters& parameters);
Schedule zb_2p(const Parameters& parameters);
Schedule zb_v(const Parameters& parameters);
Schedule dualpipe(const Parameters& parameters);
Schedule dualpipe_v(const Parameters& parameters);

}  // namespace pipewright::schedules
