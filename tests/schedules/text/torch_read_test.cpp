#include <catch2/catch.hpp>

#include "schedules/text/torch_csv.hpp"

using namespace pipewright::schedules;

namespace {

Schedule read(const std::string& text) { return read_torch_csv(text, "mine.csv").schedule; }

std::string error_of(const std::string& text, bool legacy = false) {
  try {
    read_torch_csv(text, "mine.csv", legacy);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::vector<Pass> passes(const Schedule& schedule, std::uint32_t device) {
  std::vector<Pass> result;
  for (PassCursor at(schedule.programs[device]); !at.done(); at.next()) result.push_back(at.pass());
  return result;
}

const std::string two_ranks = "0F0,0B0\n1F0,1B0\n";

}  // namespace

TEST_CASE("a schedule file determines ranks, stages, chunks and microbatches", "[torch]") {
  const Schedule schedule = read(
      "0F0,3F0,3I0,3W0,0B0\n"
      "1F0,2F0,2B0,1B0\n");
  CHECK(schedule.name == "mine");
  CHECK(schedule.devices == 2);
  CHECK(schedule.chunks == 2);
  CHECK(schedule.microbatches == 1);
  CHECK(schedule.routes.device(2, 0) == 1);
  CHECK(schedule.routes.device(3, 0) == 0);
  CHECK(passes(schedule, 0)[3] == Pass{PassKind::weight_grad, 3, 0});
}

TEST_CASE("cells are read as Python's csv reads them", "[torch]") {
  const std::string plain = to_torch_csv(read("0F0,0F1,0B0,0B1\n"));
  CHECK(plain == "0F0,0F1,0B0,0B1\r\n");
  CHECK(to_torch_csv(read("0F0,0F1,0B0,0B1")) == plain);
  CHECK(to_torch_csv(read("0F0,0F1,0B0,0B1\r\n")) == plain);
  CHECK(to_torch_csv(read(",0F0, ,\"0F1\",\t0B0 ,,\"\",0B1,")) == plain);
  CHECK(to_torch_csv(read("00F0,0F01,0B0,0B1")) == plain);
}

TEST_CASE("a pair in parentheses is a fused pair", "[torch]") {
  const Schedule schedule = read("0F0,1F0,(0F1;1B0)OVERLAP_F_B,(1F1;0I0)OVERLAP_F_B,1B1,0B1,0W0");
  const auto row = passes(schedule, 0);
  CHECK(row[2] == Pass{PassKind::forward, 0, 1, true});
  CHECK(row[3] == Pass{PassKind::backward, 1, 0});
  CHECK(row[4].fused);
  CHECK_FALSE(row[6].fused);
}

TEST_CASE("files of 2024 call the input gradient B and the full backward BW", "[torch]") {
  const std::string text = "0F0,0F1,0B0,0BW1,0W0\n";
  CHECK(to_torch_csv(read_torch_csv(text, "old.csv", true).schedule) == "0F0,0F1,0I0,0B1,0W0\r\n");
  CHECK_THAT(error_of(text), Catch::StartsWith("mine.csv:1:4: row 1 (rank 0), cell 4: '0BW1'") &&
                                 Catch::Contains("--legacy"));
  CHECK_THAT(error_of("0F0,0I0,0W0", true), Catch::Contains("there is no I in a legacy file"));
  CHECK_THAT(error_of("0F0,0B0,0W0"), Catch::Contains("--legacy"));
}

TEST_CASE("an invalid cell is rejected with its row and column", "[torch]") {
  const auto fault = [](const std::string& cell) {
    const std::string message = error_of("0F0,0B0\n1F0," + cell + "\n");
    CHECK_THAT(message, Catch::StartsWith("mine.csv:2:2: row 2 (rank 1), cell 2: "));
    return message;
  };
  CHECK_THAT(fault("1X0"), Catch::Contains("there is no type 'X'"));
  CHECK_THAT(fault("B0"), Catch::Contains("a stage number is missing"));
  CHECK_THAT(fault("1B"), Catch::Contains("a microbatch number is missing"));
  CHECK_THAT(fault("-1B0"), Catch::Contains("a stage number is missing"));
  CHECK_THAT(fault("1B0x"), Catch::Contains("unexpected 'x'"));
  CHECK_THAT(fault("1 B0"), Catch::Contains("there is no type ' B'"));
  CHECK_THAT(fault("1UNSHARD0"), Catch::Contains("takes no microbatch"));
  CHECK_THAT(fault("65535B0"), Catch::Contains("stage '65535' is too large; 65535"));
  CHECK_THAT(fault("1B99999999999999999999"),
             Catch::Contains("'99999999999999999999' is too large"));
  CHECK_THAT(fault("1B2147483648"), Catch::Contains("is too large; 2147483648"));
  CHECK_THAT(fault("(1F0;1B0"), Catch::Contains("looks like (0F7;7B3)OVERLAP_F_B"));
  CHECK_THAT(fault("(1F0;0B0)BATCH_P2P"), Catch::Contains("looks like (0F7;7B3)OVERLAP_F_B"));
  CHECK_THAT(fault("(1F0)OVERLAP_F_B"), Catch::Contains("an overlap has two actions"));
  CHECK_THAT(fault("(1F0;0B0;1F1)OVERLAP_F_B"), Catch::Contains("an overlap has two actions"));
  CHECK_THAT(fault("(1B0;1F1)OVERLAP_F_B"), Catch::Contains("a forward and then a backward"));
  CHECK_THAT(fault("(1F0;1B0)OVERLAP_F_B"), Catch::Contains("the end of its own forward"));
  CHECK_THAT(fault("\"1B0"), Catch::Contains("the quote is not closed"));
  CHECK_THAT(fault("\"1B0\"x"), Catch::Contains("follows the closing quote"));
  CHECK_THAT(fault(std::string("\x00\x1b\xff", 3)), Catch::Contains("'\\x00\\x1b\\xff'"));
  CHECK_THAT(fault(std::string(1000, '(')), Catch::Contains("(((...'"));
}

TEST_CASE("an incomplete schedule is rejected with the position of the fault", "[torch]") {
  CHECK(error_of(two_ranks) == "no error");
  CHECK_THAT(error_of("0F0,0F0,0B0\n1F0,1B0\n"),
             Catch::StartsWith("mine.csv:1:2:") && Catch::Contains("0F0 comes twice"));
  CHECK_THAT(error_of("0B0,0F0\n1F0,1B0\n"),
             Catch::StartsWith("mine.csv:1:1:") && Catch::Contains("0B0 comes before its forward"));
  CHECK_THAT(error_of("0F0,0I0,0B0\n1F0,1B0\n"),
             Catch::StartsWith("mine.csv:1:3:") &&
                 Catch::Contains("comes after a backward of the same microbatch"));
  CHECK_THAT(error_of("0F0,0I0\n1F0,1B0\n"),
             Catch::StartsWith("mine.csv:1:2:") && Catch::Contains("stage 0, whose W is missing"));
  CHECK_THAT(error_of("0F0,0B0\n1F0\n"),
             Catch::StartsWith("mine.csv:2:1:") && Catch::Contains("B, or I and W, is missing"));
  CHECK_THAT(error_of("0F1,0B1\n1F0,1B0\n"),
             Catch::StartsWith("mine.csv:1:1:") && Catch::Contains("there is no microbatch 1"));
  CHECK_THAT(error_of("0F0,0B0,0F1,0B1\n1F0,1B0\n"),
             Catch::StartsWith("mine.csv:2: row 2 (rank 1) runs 1 microbatches on stage 1"));
}

TEST_CASE("every stage is on one rank and all ranks have the same number of stages", "[torch]") {
  CHECK_THAT(error_of(""), Catch::StartsWith("mine.csv: the file is empty"));
  CHECK_THAT(error_of("\xef\xbb\xbf" + two_ranks), Catch::Contains("byte-order mark"));
  CHECK_THAT(error_of(two_ranks + "\n"), Catch::StartsWith("mine.csv:3: row 3 (rank 2) has no"));
  CHECK_THAT(error_of("0F0,0B0\n2F0,2B0\n"), Catch::Contains("stage 1 is on no rank"));
  CHECK_THAT(error_of("0F0,0B0\n0F1,0B1\n"),
             Catch::StartsWith("mine.csv:2:1:") &&
                 Catch::Contains("stage 0, which is on rank 0 already (row 1)"));
  CHECK_THAT(error_of("0F0,0B0\n1F0,2F0,2B0,1B0\n"),
             Catch::StartsWith("mine.csv:2: row 2 (rank 1) has 2 stages and row 1 has 1"));
}

TEST_CASE("transfers must match the passes", "[torch]") {
  const std::string first = "0F0,0SEND_F0,0RECV_B0,0B0\n";
  const std::string second = "1RECV_F0,1F0,1B0,1SEND_B0\n";
  const TorchFile file = read_torch_csv(first + second, "mine.csv");
  CHECK(file.form == TorchForm::compute_comms);
  CHECK(file.rows[0][2] == TorchAction{TorchOp::recv_b, 0, 0});
  CHECK(passes(file.schedule, 0).size() == 2);
  const auto fault = [](const std::string& text) { return error_of(text); };
  CHECK_THAT(fault("0F0,,0SEND_F0,0RECV_B0,0B0\n" + second),
             Catch::StartsWith("mine.csv:1:2:") && Catch::Contains("row 1, cell 3 communicates"));
  CHECK_THAT(fault("0SEND_F0,0F0,0RECV_B0,0B0\n" + second),
             Catch::Contains("comes before the pass that makes"));
  CHECK_THAT(fault("0F0,0SEND_F0,0SEND_F0,0RECV_B0,0B0\n" + second), Catch::Contains("twice"));
  CHECK_THAT(fault("0F0,0SEND_F0,0B0\n" + second), Catch::Contains("0RECV_B0 is missing before"));
  CHECK_THAT(fault("0F0,0RECV_B0,0B0\n" + second), Catch::Contains("0SEND_F0 is missing after"));
  CHECK_THAT(fault("0F0,0SEND_F0,0RECV_B0,0B0,0SEND_B0\n" + second),
             Catch::Contains("there is no stage before it"));
  CHECK_THAT(fault("0F0,0SEND_F0,0RECV_B1,0RECV_B0,0B0\n" + second),
             Catch::Contains("there are 1 microbatches"));
  CHECK_THAT(fault("0F0,1UNSHARD,0SEND_F0,0RECV_B0,0B0\n" + second),
             Catch::Contains("stage 1 is not on this rank"));
  CHECK_THAT(fault("0F0,0SEND_F0,1F0,1B0,0B0\n"), Catch::Contains("is on the same rank"));
}
