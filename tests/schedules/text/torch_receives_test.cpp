#include "schedules/text/torch_receives.hpp"

#include <catch2/catch.hpp>

#include "schedules/families/catalog.hpp"
#include "schedules/text/torch_csv.hpp"
#include "schedules/text/torch_lowering.hpp"
#include "support/timed.hpp"

using namespace pipewright;
using namespace pipewright::schedules;

namespace {

// Times a schedule in which every stage takes 1 for F, I and W, and 2 for B.
ReceiveTiming time(const TorchFile& file, ReceiveQueue queue, double hop = 0) {
  const double chunks = file.schedule.chunks;
  return time_receives(file.rows, file.schedule,
                       tests::uniform_times(file.schedule, chunks, chunks, chunks), hop, queue);
}

// A schedule in which rank 0 posts the receive of microbatch 1's gradient first, although that of
// microbatch 0 arrives two passes earlier.
const std::string swapped =
    "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B1,0RECV_B0,0B0,0B1\n"
    "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n";

}  // namespace

TEST_CASE("a tensor that has arrived waits behind one that has not", "[torch]") {
  const TorchFile file = read_torch_csv(swapped, "mine.csv");
  // Rank 1 runs F0 from 1 to 2, B0 to 4, F1 to 5 and B1 to 7. Rank 0 has the gradient for B0 at 4,
  // but runs B0 only at 7, when that for B1 arrives.
  const ReceiveTiming best = time(file, ReceiveQueue::none);
  CHECK(best.makespan == 9);
  CHECK(best.waits.empty());
  const ReceiveTiming ordered = time(file, ReceiveQueue::of_rank);
  CHECK(ordered.makespan == 11);
  REQUIRE(ordered.waits.size() == 1);
  CHECK(ordered.waits[0].rank == 0);
  CHECK(ordered.waits[0].index == 6);
  CHECK(to_string(ordered.waits[0].action) == "0B0");
  CHECK(to_string(ordered.waits[0].behind) == "0RECV_B1");
  CHECK(ordered.waits[0].seconds == 3);
}

TEST_CASE("a late receive makes its pass wait for the transfer", "[torch]") {
  const TorchFile file = read_torch_csv(
      "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
      "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n",
      "mine.csv");
  // With 0.5 per hop, rank 1 runs F0 at 1.5 and B0 at 2.5. The input of F1 could arrive at 2.5, but
  // its receive is posted only at 4.5.
  const ReceiveTiming ordered = time(file, ReceiveQueue::of_rank, 0.5);
  REQUIRE(ordered.waits.size() == 1);
  CHECK(ordered.waits[0].rank == 1);
  CHECK(to_string(ordered.waits[0].behind) == "1RECV_F1");
  CHECK(ordered.waits[0].seconds == 0.5);
  CHECK(ordered.makespan == time(file, ReceiveQueue::none, 0.5).makespan + 0.5);
}

TEST_CASE("the order of receives from different ranks matters only with one queue per rank",
          "[torch]") {
  // Rank 1 posts the receive of microbatch 0's gradient first, although microbatch 1's activations
  // arrive earlier.
  const TorchFile file = read_torch_csv(
      "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
      "1RECV_F0,1F0,1SEND_F0,1RECV_B0,1RECV_F1,1F1,1SEND_F1,1B0,1SEND_B0,1RECV_B1,1B1,1SEND_B1\n"
      "2RECV_F0,2F0,2B0,2SEND_B0,2RECV_F1,2F1,2B1,2SEND_B1\n",
      "mine.csv");
  CHECK(time(file, ReceiveQueue::of_pair).waits.empty());
  const ReceiveTiming ordered = time(file, ReceiveQueue::of_rank);
  REQUIRE(ordered.waits.size() == 1);
  CHECK(to_string(ordered.waits[0].action) == "1F1");
  CHECK(to_string(ordered.waits[0].behind) == "1RECV_B0");
  CHECK(ordered.waits[0].seconds == 3);
}

TEST_CASE("an order of receives that senders cannot follow is a deadlock", "[torch]") {
  const TorchFile file = read_torch_csv(
      "0F0,0SEND_F0,0RECV_B1,0RECV_B0,0B0,0F1,0SEND_F1,0B1\n"
      "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n",
      "mine.csv");
  CHECK(time(file, ReceiveQueue::none).makespan > 0);
  try {
    time(file, ReceiveQueue::of_rank);
    FAIL("it ran");
  } catch (const ReceiveDeadlock& deadlock) {
    CHECK(deadlock.blocked().size() == 2);
    CHECK(std::string(deadlock.what()) ==
          "mine: deadlock: 2 of 2 ranks wait forever\n"
          "  rank 0 at action 5, 0B0, waits for 0RECV_B0, which is queued behind 0RECV_B1; rank 1 "
          "does not reach 1SEND_B1\n"
          "  rank 1 at action 6, 1F1, waits for 1RECV_F1; rank 0 does not reach 0SEND_F1");
  }
}

TEST_CASE("a pass before its input on the same rank is a deadlock", "[torch]") {
  const TorchFile file = read_torch_csv("0UNSHARD,1UNSHARD,1F0,0F0,1B0,0B0\n", "mine.csv");
  CHECK_THROWS_WITH(time(file, ReceiveQueue::of_rank),
                    Catch::EndsWith("rank 0 at action 3, 1F0, waits for a pass of its own that "
                                    "comes later"));
}

TEST_CASE("without receive queues the times are those of the timing engine", "[torch]") {
  for (const Entry& entry : catalog()) {
    const Schedule schedule = make_schedule(entry.name, {.devices = 4, .microbatches = 8});
    if (schedule.weight_versions > 1 || schedule.routes.count() > 1 || schedule.slices > 1 ||
        !schedule.recomputed.empty() || schedule.braids)
      continue;
    CAPTURE(entry.name);
    const PassTimes times = tests::uniform_times(schedule, 1, 1.5, 0.75);
    for (const double hop : {0.0, 0.25}) {
      const double makespan = tests::timed(schedule, times, hop).makespan;
      for (const Receives receives : {Receives::at_send, Receives::before_pass}) {
        const TorchRows rows = lower(schedule, receives);
        CHECK(time_receives(rows, schedule, times, hop, ReceiveQueue::none).makespan ==
              Approx(makespan).epsilon(1e-12));
        for (const ReceiveQueue queue : {ReceiveQueue::of_pair, ReceiveQueue::of_rank})
          CHECK(time_receives(rows, schedule, times, hop, queue).makespan >=
                makespan * (1 - 1e-12));
      }
      if (hop == 0) {
        const ReceiveTiming late = time_receives(lower(schedule, Receives::before_pass), schedule,
                                                 times, 0, ReceiveQueue::of_rank);
        CHECK(late.makespan == Approx(makespan).epsilon(1e-12));
        CHECK(late.waits.empty());
      }
    }
  }
}
