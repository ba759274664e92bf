#include "schedules/families/families.hpp"
#include "schedules/families/groups.hpp"

namespace pipewright::schedules {
namespace {

constexpr std::uint32_t usual_chunks = 2;

}  // namespace

// Interleaved 1F1B (Narayanan et al. 2021, arXiv 2104.04473, section 2.2.2; Megatron-LM
// schedules.py). Bubble (p-1)(F+B)/v; in flight ((v-1)g + 2(p-1-r) + 1)/v on device r.
Schedule interleaved_one_f_one_b(const Parameters& parameters) {
  return in_groups("interleaved-1f1b", parameters, usual_chunks, [](const Place& place) {
    return Pace{.warmup = 2 * place.after + place.earlier_chunks};
  });
}

// The same bubble without latency, ((v-1)g + (p-1-r) + 1)/v in flight (Qi et al. 2024, arXiv
// 2405.15362): half the warm-up leaves a transfer nothing to hide behind.
Schedule interleaved_low_memory(const Parameters& parameters) {
  return in_groups("interleaved-low-memory", parameters, usual_chunks, [](const Place& place) {
    return Pace{.warmup = place.after + place.earlier_chunks};
  });
}

// PyTorch's ScheduleInterleavedZeroBubble: the low-memory warm-up with W on device r, r entries
// behind I. Bubble (p-1)F/v for F = I = W; ((v-1)g + p)/v in flight.
Schedule interleaved_zero_bubble(const Parameters& parameters) {
  return in_groups("interleaved-zb", parameters, usual_chunks, [](const Place& place) {
    return Pace{.warmup = place.after + place.earlier_chunks,
                .splits_backward = true,
                .weight_grad_lag = place.before};
  });
}

}  // namespace pipewright::schedules
