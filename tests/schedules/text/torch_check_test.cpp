#include "schedules/text/torch_check.hpp"

#include <catch2/catch.hpp>

#include "schedules/families/catalog.hpp"
#include "schedules/text/torch_csv.hpp"
#include "schedules/text/torch_lowering.hpp"

using namespace pipewright::schedules;

namespace {

std::string fault_of(const std::string& text) {
  const TorchFile file = read_torch_csv(text, "mine.csv");
  try {
    check_pair_order(file.rows, file.schedule.routes, "mine.csv");
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("receives in a different order from the sends of their pair are reported", "[torch]") {
  CHECK(fault_of("0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B1,0B1,0RECV_B0,0B0\n"
                 "1RECV_F0,1F0,1RECV_F1,1F1,1B0,1SEND_B0,1B1,1SEND_B1\n") ==
        "mine.csv:1:5: row 1 (rank 0), cell 5: 0RECV_B1 is receive 1 from rank 1, and send 1 of "
        "rank 1 to this rank is 1SEND_B0 (2:6: row 2 (rank 1), cell 6); NCCL matches them by order "
        "alone, so tensors would be swapped; right would be 0RECV_B0 here, or 1SEND_B1 there");
}

TEST_CASE("a fused pair counts as one cell", "[torch]") {
  CHECK_THAT(fault_of("0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,(0F2;0B0)OVERLAP_F_B,0SEND_F2,0RECV_B2,"
                      "0B2,0RECV_B1,0B1\n"
                      "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1,1RECV_F2,1F2,1B2,"
                      "1SEND_B2\n"),
             Catch::StartsWith("mine.csv:1:8: row 1 (rank 0), cell 8: 0RECV_B2 is receive 2 from "
                               "rank 1"));
}

TEST_CASE("the order of receives from different ranks is free", "[torch]") {
  CHECK(fault_of("0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
                 "1RECV_B0,1RECV_F0,1F0,1SEND_F0,1RECV_B1,1RECV_F1,1F1,1SEND_F1,1B0,1SEND_B0,1B1,"
                 "1SEND_B1\n"
                 "2RECV_F0,2F0,2B0,2SEND_B0,2RECV_F1,2F1,2B1,2SEND_B1\n")
            .empty());
}

TEST_CASE("receives posted at the send always match, receives before the pass may not", "[torch]") {
  std::size_t swapped = 0;
  for (const Entry& entry : catalog()) {
    const Schedule schedule = make_schedule(entry.name, {.devices = 4, .microbatches = 8});
    if (schedule.weight_versions > 1 || schedule.routes.count() > 1 || schedule.slices > 1 ||
        !schedule.recomputed.empty() || schedule.braids)
      continue;
    CAPTURE(entry.name);
    CHECK(!first_swap(lower(schedule, Receives::at_send), schedule.routes));
    const TorchRows late = lower(schedule, Receives::before_pass);
    const auto swap = first_swap(late, schedule.routes);
    if (!swap) continue;
    ++swapped;
    CHECK(late[swap->sender][swap->send_index] == swap->send);
    CHECK(late[swap->receiver][swap->receive_index] == swap->receive);
    CHECK(counterpart(swap->send) != swap->receive);
  }
  CHECK(swapped > 0);
  // With one chunk per rank, a rank uses the tensors from another rank in the order in which they
  // were sent.
  const Schedule plain = make_schedule("1f1b", {.devices = 4, .microbatches = 8});
  CHECK(!first_swap(lower(plain, Receives::before_pass), plain.routes));
}
