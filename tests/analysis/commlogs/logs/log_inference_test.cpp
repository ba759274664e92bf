#include <catch2/catch.hpp>

#include "tests/analysis/commlogs/logs/logs.hpp"

namespace pipewright::analysis {

using namespace pipewright::test;

TEST_CASE("the number of ranks of a run without a list follows from its rates") {
  for (const std::uint32_t ranks : {2U, 3U, 4U, 6U, 8U, 12U, 16U, 24U, 72U}) {
    CAPTURE(ranks);
    const double factor = bus_factor(Operation::all_reduce, ranks);
    std::string text = "all_reduce_perf -b 8\n" + nccl_header;
    for (std::uint64_t bytes = 1 << 20; bytes <= 1 << 30; bytes *= 4)
      text += nccl_row(bytes, 20 + static_cast<double>(bytes) / 2e5, factor);
    const MeasurementLog log = read_text(text);
    REQUIRE(log.rows.size() == 12);
    CHECK(log.rows[0].ranks == ranks);
    CHECK(log.rows[0].nodes == 0);
  }
}

TEST_CASE("if rates fit several numbers of ranks, the only multiple of 8 is used") {
  std::string text = "all_reduce_perf -b 8\n" + nccl_header;
  text += nccl_row(1 << 30, 20000, bus_factor(Operation::all_reduce, 128));
  CHECK(read_text(text).rows.at(0).ranks == 128);
  const std::string slow =  // 0.10 and 0.20 GB/s fit any number from 14 on.
      "all_reduce_perf -b 8\n" + nccl_header + nccl_row(1 << 20, 10000, 1.99);
  CHECK(log_error(slow).find("2: the log does not give the number of ranks") == 0);
  CHECK(read_text(slow, {.ranks = 256}).rows.at(0).ranks == 256);
}

TEST_CASE("the number of ranks follows from size and count if the operation has parts") {
  const std::string text =
      "all_gather_perf -b 8\n" + nccl_header + nccl_row(1536, 20, 11.0 / 12, 12);
  const MeasurementLog log = read_text(text);
  CHECK(log.rows.at(0).ranks == 12);
  CHECK(remarked(log, 2, "12 ranks, inferred from the table's rates or counts"));
}

TEST_CASE("ranks and nodes follow from NCCL's lines or the command if no list gives them") {
  const std::string table = nccl_header + nccl_row(1024, 20, 1.94);
  MeasurementLog log = read_text(
      "all_reduce_perf -b 8\nh:1:2 [0] NCCL INFO comm 0x1 rank 3 nRanks 32 nNodes 4\n" + table);
  CHECK(log.rows.at(0).ranks == 32);
  CHECK(log.rows.at(0).nodes == 4);
  log = read_text("srun -N 4 --ntasks-per-node=8 ./build/all_reduce_perf -b 8\n" + table);
  CHECK(log.rows.at(0).ranks == 32);
  CHECK(log.rows.at(0).nodes == 4);
  CHECK(remarked(log, 2, "32 ranks, from the command"));
}

TEST_CASE("the operation of an unnamed program follows from columns and rates if only one fits") {
  const auto operation = [](const std::string& header, const std::string& row) {
    return read_text(nccl_ranks(8) + header + row).rows.at(0).operation;
  };
  CHECK(operation(nccl_header, nccl_row(1 << 20, 50, 1.75)) == Operation::all_reduce);
  CHECK(operation("# size count type redop root time algbw busbw error\n",
                  "1048576 32768 float sum -1 50.00 20.97 18.35 0\n") == Operation::reduce_scatter);
  CHECK(operation("# size count type root time algbw busbw error\n",
                  "1048576 262144 float 0 50.00 20.97 20.97 0\n") == Operation::broadcast);
  CHECK(operation("# size count type redop time algbw busbw error time algbw busbw error\n",
                  "1048576 32768 float 50.00 20.97 18.35 0 50.00 20.97 18.35 N/A\n") ==
        Operation::all_to_all);
}

TEST_CASE("a root identifies a reduce but does not distinguish gather from scatter", "[logs]") {
  const std::string header_text = nccl_ranks(8) + nccl_header;
  CHECK(read_text(header_text +
                  "1048576 262144 float sum 0 50.00 20.97 20.97 0 50.00 20.97 20.97 0\n")
            .rows.at(0)
            .operation == Operation::reduce);
  const std::string parts =
      header_text + "1048576 32768 float none 0 50.00 20.97 18.35 0 50.00 20.97 18.35 0\n";
  CHECK(log_error(parts).find("its numbers allow gather, scatter") != std::string::npos);
  CHECK(read_text(parts, {}, "h100_scatter_perf.log").rows.at(0).operation == Operation::scatter);
  CHECK(read_text(parts, {.operation = Operation::gather}).rows.at(0).operation ==
        Operation::gather);
}

TEST_CASE("checked in-place results distinguish all-gather from all-to-all") {
  const std::string row = "1048576 32768 float none -1 50.00 20.97 18.35 0 50.00 20.97 18.35 ";
  const std::string header_text = nccl_ranks(8) + nccl_header;
  CHECK(read_text(header_text + row + "0\n").rows.at(0).operation == Operation::all_gather);
  CHECK(read_text(header_text + row + "N/A\n").rows.at(0).operation == Operation::all_to_all);
  const std::string unchecked =
      "1048576 32768 float none -1 50.00 20.97 18.35 N/A 50.00 20.97 18.35 N/A\n";
  CHECK(log_error(header_text + unchecked).find("its numbers allow all-gather, all-to-all") !=
        std::string::npos);
  CHECK(read_text(header_text + unchecked, {.operation = Operation::all_to_all})
            .rows.at(0)
            .operation == Operation::all_to_all);
  CHECK(read_text(header_text + unchecked, {}, "h100-all-gather.log").rows.at(0).operation ==
        Operation::all_gather);
}

TEST_CASE("programs that a script names before its output get their tables in order") {
  const std::string script = "+ ./all_gather_perf -b 8\n+ ./all_reduce_perf -b 8\n";
  const std::string gathered =
      "1048576 32768 float none -1 50.00 20.97 18.35 N/A 50.00 20.97 18.35 N/A\n";
  const MeasurementLog log =
      read_text(script + nccl_ranks(8) + nccl_header + gathered + "# Avg bus bandwidth : 1\n" +
                nccl_ranks(8) + nccl_header + nccl_row(1 << 20, 50, 1.75));
  REQUIRE(log.rows.size() == 4);
  CHECK(log.rows[0].operation == Operation::all_gather);
  CHECK(log.rows[2].operation == Operation::all_reduce);
  CHECK(remarked(log, 12, "several programs are named"));
}

TEST_CASE("a program that is only mentioned, for example by a linker, does not name the table") {
  const std::string text =
      "Linking all_gather.o > ../build/all_gather_perf\n"
      "Linking all_reduce.o > ../build/all_reduce_perf\n"
      "$ ./build/sendrecv_perf -g 2\n" +
      nccl_ranks(2) + nccl_header + nccl_row(1 << 20, 50, 1);
  CHECK(read_text(text).rows.at(0).operation == Operation::send_recv);
}

TEST_CASE("a log that contradicts itself gets a remark, and the numbers decide") {
  const MeasurementLog log =
      read_text("# Collective test starting: all_reduce_perf\n" + nccl_ranks(4) + nccl_header +
                nccl_row(1 << 30, 9000, 1.875));
  CHECK(log.rows.at(0).ranks == 16);
  CHECK(remarked(log, 7, "lists 4 ranks, but rates and counts are those of 16"));
}

TEST_CASE("a named program that the numbers exclude is ignored") {
  const MeasurementLog log = read_text("$ ./all_gather_perf -g 8\n" + nccl_ranks(8) + nccl_header +
                                       nccl_row(1 << 20, 50, 1.75));
  CHECK(log.rows.at(0).operation == Operation::all_reduce);
  CHECK(remarked(log, 11, "the log names all_gather_perf, but"));
}

TEST_CASE("hints that the numbers exclude are ignored") {
  const std::string text = all_reduce_of_8 + nccl_row(1 << 20, 50, 1.75);
  const MeasurementLog log =
      read_text(text, {.operation = Operation::all_gather, .ranks = 16, .nodes = 4});
  CHECK(log.rows.at(0).operation == Operation::all_reduce);
  CHECK(log.rows.at(0).ranks == 8);
  CHECK(log.rows.at(0).nodes == 4);
  CHECK(remarked(log, 11, "do not match all-gather"));
  CHECK(remarked(log, 11, "do not match 16 ranks"));
}

TEST_CASE("groups that run at the same time are counted separately") {
  std::string text = "# all_reduce_perf -b 8\n# nThread 1 nGpus 1 minBytes 8 maxBytes 8\n";
  for (int rank = 0; rank < 8; ++rank)
    text += fmt::format("#  Rank {} Group {} Pid 1 on host{} device {} [0x01] GPU\n", rank,
                        rank % 2, rank / 4, rank % 4);
  const MeasurementLog log = read_text(text + nccl_header + nccl_row(1 << 20, 50, 1.5));
  CHECK(log.rows.at(0).ranks == 4);
  CHECK(log.rows.at(0).nodes == 2);
  CHECK(remarked(log, 11, "groups of ranks ran at the same time"));
}

}  // namespace pipewright::analysis
