#include "schedules/families/families.hpp"
#include "schedules/families/groups.hpp"

namespace pipewright::schedules {

// ZB-H1 (Qi et al. 2024, arXiv 2401.10241, section 2.1): 1F1B with W on device r, r microbatches
// behind I. Bubble (p-1) max(F, I, F+I-W); in flight p.
Schedule zb_h1(const Parameters& parameters) {
  return in_groups("zb-h1", parameters, 1, [](const Place& place) {
    return Pace{.warmup = place.after, .splits_backward = true, .weight_grad_lag = place.before};
  });
}

// ZB-H2 (the same, section 2.2): twice the warm-up and twice the lag. With m >= 2p-1 the bubble
// between a device's first and last pass is (p-1) max(0, I-F, F+I-2W); in flight 2p-1.
Schedule zb_h2(const Parameters& parameters) {
  return in_groups("zb-h2", parameters, 1, [](const Place& place) {
    return Pace{
        .warmup = 2 * place.after, .splits_backward = true, .weight_grad_lag = 2 * place.before};
  });
}

}  // namespace pipewright::schedules
