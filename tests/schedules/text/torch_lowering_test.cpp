#include "schedules/text/torch_lowering.hpp"

#include <catch2/catch.hpp>

#include "schedules/families/catalog.hpp"
#include "schedules/text/torch_csv.hpp"
#include "schedules/text/torch_receives.hpp"

using namespace pipewright::schedules;

namespace {

Schedule read(const std::string& text) { return read_torch_csv(text, "mine.csv").schedule; }

std::string row_of(const std::vector<TorchAction>& row) {
  const std::string text = to_torch_csv(TorchRows{row});
  return text.substr(0, text.size() - 2);
}

std::vector<TorchAction> passes(const std::string& row) { return torch_passes(read(row)).front(); }

}  // namespace

TEST_CASE("receives can be posted when the sender sends", "[torch]") {
  const Schedule schedule = make_schedule("1f1b", {.devices = 2, .microbatches = 3});
  CHECK(to_torch_csv(lower(schedule, Receives::at_send)) ==
        "0UNSHARD,0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0F2,0SEND_F2,0RECV_B1,0B1,0RECV_B2,0B2,"
        "0REDUCE_GRAD,0RESHARD\r\n"
        "1UNSHARD,1RECV_F0,1F0,1RECV_F1,1B0,1SEND_B0,1F1,1RECV_F2,1B1,1SEND_B1,1F2,1B2,1SEND_B2,"
        "1REDUCE_GRAD,1RESHARD\r\n");
}

TEST_CASE("receives can be posted just before the pass that needs them", "[torch]") {
  const Schedule schedule = make_schedule("1f1b", {.devices = 2, .microbatches = 3});
  CHECK(to_torch_csv(lower(schedule, Receives::before_pass)) ==
        "0UNSHARD,0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0F2,0SEND_F2,0RECV_B1,0B1,0RECV_B2,0B2,"
        "0REDUCE_GRAD,0RESHARD\r\n"
        "1UNSHARD,1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1,1RECV_F2,1F2,1B2,1SEND_B2,"
        "1REDUCE_GRAD,1RESHARD\r\n");
}

TEST_CASE("with deferred receives the lower of two ranks receives first", "[torch]") {
  // Each of the two ranks has already posted a receive when it sends to the other.
  const TorchFile file = read_torch_csv(
      "0F0,0SEND_F0,0RECV_B0,0F1,0SEND_F1,0B0,0RECV_B1,0B1\n"
      "1RECV_F0,1F0,1RECV_F1,1B0,1SEND_B0,1F1,1B1,1SEND_B1\n",
      "mine.csv");
  CHECK(to_torch_csv(defer_receives(file.rows, file.schedule.routes)) ==
        "0F0,0SEND_F0,0F1,0RECV_B0,0SEND_F1,0B0,0RECV_B1,0B1\r\n"
        "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\r\n");
}

TEST_CASE("both receives of a fused pair precede it, and its sends follow it", "[torch]") {
  const Schedule schedule = read(
      "0F0,0F1,0F2,3F0,3B0,(3F1;0B0)OVERLAP_F_B,3B1,0B1,3F2,3B2,0B2\n"
      "1F0,2F0,1F1,2F1,(1F2;2B0)OVERLAP_F_B,1B0,2F2,2B1,1B1,2B2,1B2\n");
  const TorchRows rows = lower(schedule, Receives::before_pass);
  CHECK_THAT(row_of(rows[1]), Catch::Contains("1RECV_F2,2RECV_B0,(1F2;2B0)OVERLAP_F_B,1B0,"));
  CHECK_THAT(row_of(rows[0]), Catch::Contains("3RECV_F1,0RECV_B0,(3F1;0B0)OVERLAP_F_B,3B1,3SEND"));
}

TEST_CASE("the weights of the next three stages are held", "[torch]") {
  CHECK(row_of(add_unshard_reshard(passes("0F0,1F0,2F0,3F0,4F0,4B0,3B0,2B0,1B0,0B0"))) ==
        "0UNSHARD,1UNSHARD,2UNSHARD,0F0,0RESHARD,3UNSHARD,1F0,1RESHARD,4UNSHARD,2F0,3F0,4F0,4B0,"
        "4RESHARD,1UNSHARD,3B0,3RESHARD,0UNSHARD,2B0,2RESHARD,1B0,1RESHARD,0B0,0RESHARD");
}

TEST_CASE("the look-ahead includes both stages of a fused pair", "[torch]") {
  // From 0F0 on, the next passes belong to stages 0, 1, 2 and 3; those of stages 2 and 3 are a
  // fused pair.
  CHECK(row_of(add_unshard_reshard(passes("3F0,0F0,1F0,(2F0;3B0)OVERLAP_F_B,2B0,1B0,0B0"))) ==
        "3UNSHARD,0UNSHARD,1UNSHARD,3F0,2UNSHARD,0F0,0RESHARD,1F0,(2F0;3B0)OVERLAP_F_B,3RESHARD,"
        "0UNSHARD,2B0,2RESHARD,1B0,1RESHARD,0B0,0RESHARD");
}

TEST_CASE("the gradient of a stage is reduced after its last pass", "[torch]") {
  CHECK(row_of(add_reduce_grad(passes("0F0,0F1,0I0,0B1,0W0"), 2)) ==
        "0F0,0F1,0I0,0B1,0W0,0REDUCE_GRAD");
  CHECK(row_of(add_reduce_grad(passes("0F0,1F0,(0F1;1B0)OVERLAP_F_B,0B0,1F1,1B1,0B1"), 2)) ==
        "0F0,1F0,(0F1;1B0)OVERLAP_F_B,0B0,1F1,1B1,1REDUCE_GRAD,0B1,0REDUCE_GRAD");
}

TEST_CASE("lowering an order that can never run reports a deadlock", "[torch]") {
  const Schedule stuck = read("0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n");
  try {
    lower(stuck, Receives::at_send);
    FAIL("lowered");
  } catch (const ReceiveDeadlock& deadlock) {
    CHECK(deadlock.blocked().size() == 2);
    CHECK_THAT(deadlock.what(),
               Catch::EndsWith("deadlock: 2 of 2 ranks wait forever\n"
                               "  rank 0 at action 2, 0B0, waits for 0RECV_B0; rank 1 does not "
                               "reach 1SEND_B0\n"
                               "  rank 1 at action 2, 1F1, waits for 1RECV_F1; rank 0 does not "
                               "reach 0SEND_F1"));
  }
  // The error message names the pass of the fused pair that waits, here 0B0.
  CHECK_THROWS_WITH(
      lower(read("0F0,(0F1;0B0)OVERLAP_F_B,0B1\n1F0,1F1,1B0,1B1\n"), Receives::at_send),
      Catch::Contains("rank 0 at action 3, 0B0, waits for 0RECV_B0"));
}
