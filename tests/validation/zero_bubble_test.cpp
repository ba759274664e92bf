#include <cmath>

#include <catch2/catch.hpp>

#include "schedules/catalog.hpp"
#include "support/timed.hpp"

using namespace pipewright;

// Qi et al. 2024 (Zero Bubble Pipeline Parallelism, arXiv 2401.10241): the bubble rates of 1F1B
// that table 5 prints, from the pass and hop times that table 9 prints, in ms.
TEST_CASE("1F1B's published bubble rates are met to their four digits", "[validation]") {
  struct Row {
    const char* model;
    std::uint32_t devices, microbatches;
    double forward, input_grad, weight_grad, hop;
    double bubble_rate;
  };
  for (const Row& row : {Row{"1.5B", 8, 24, 18.522, 18.086, 9.337, 0.601, 0.2431},
                         Row{"1.5B", 8, 32, 18.513, 18.086, 9.331, 0.626, 0.1985},
                         Row{"1.5B", 8, 64, 18.546, 18.097, 9.321, 0.762, 0.1240},
                         Row{"6.2B", 8, 24, 29.718, 29.444, 19.927, 0.527, 0.2347},
                         Row{"6.2B", 8, 32, 29.802, 29.428, 19.530, 0.577, 0.1898},
                         Row{"6.2B", 8, 64, 29.935, 29.621, 19.388, 0.535, 0.1091},
                         Row{"14.6B", 16, 48, 11.347, 11.248, 8.132, 0.377, 0.2552},
                         Row{"14.6B", 16, 64, 11.307, 11.254, 8.101, 0.379, 0.2082},
                         Row{"14.6B", 16, 128, 11.325, 11.308, 8.109, 0.378, 0.1251},
                         Row{"28.3B", 32, 96, 10.419, 10.207, 7.715, 0.408, 0.2646},
                         Row{"28.3B", 32, 128, 10.408, 10.204, 7.703, 0.408, 0.2168},
                         Row{"28.3B", 32, 256, 10.402, 10.248, 7.698, 0.460, 0.1352}}) {
    const auto schedule = schedules::make_schedule(
        "1f1b", {.devices = row.devices, .microbatches = row.microbatches});
    const auto times = tests::uniform_times(schedule, row.forward, row.input_grad, row.weight_grad);
    const double busy = row.microbatches * (row.forward + row.input_grad + row.weight_grad);
    const double rate = 1 - busy / tests::timed(schedule, times, row.hop).makespan;
    CAPTURE(row.model, row.microbatches);
    CHECK(std::abs(rate - row.bubble_rate) <= 0.5e-4 + 1e-9);
  }
}
