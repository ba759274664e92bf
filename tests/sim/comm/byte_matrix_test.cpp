#include "sim/comm/byte_matrix.hpp"

#include <catch2/catch.hpp>

#include "tests/sim/config/support.hpp"

using namespace pipewright;
using comm::ByteMatrix;

namespace {

ByteMatrix read(const std::string& text, const std::string& name = "m.csv") {
  const config::test::Folder folder;
  return comm::read_byte_matrix(folder.write(name, text));
}

// Returns the error message of reading a matrix with this text, without the directory.
std::string fault(const std::string& text, const std::string& name = "m.csv") {
  try {
    read(text, name);
  } catch (const config::Error& error) {
    const std::string message = error.what();
    return message.substr(message.find(name));
  }
  return "";
}

}  // namespace

TEST_CASE("a byte matrix can be read from CSV and JSON", "[byte_matrix]") {
  for (const ByteMatrix& matrix : {read("\xef\xbb\xbf# bytes\r\n1, 20,0\r\n\r\n3e1,0,5\r\n0,0,0"),
                                   read("[[1, 20, 0],\n [3e1, 0, 5],\n [0, 0, 0]]\n", "m.json")}) {
    CHECK(matrix.ranks == 3);
    CHECK(matrix.bytes == std::vector<std::uint64_t>{1, 20, 0, 30, 0, 5, 0, 0, 0});
    CHECK(matrix.max_row_bytes() == 35);
    CHECK(matrix.parts()[1] == Approx(20.0 / 35));
  }
}

TEST_CASE("the busiest rank sends or receives the most bytes, without the diagonal",
          "[byte_matrix]") {
  auto busiest = comm::busiest_rank(read("900,1,2\n3,0,4\n0,7,0\n"));
  CHECK(busiest.rank == 1);  // receives 8
  CHECK_FALSE(busiest.sends);
  CHECK(busiest.share == Approx(8.0 / 903));
  CHECK(busiest.over_mean == Approx(8 / (17.0 / 3)));
  busiest = comm::busiest_rank(read("5,5\n5,5\n"));
  CHECK(busiest.rank == 0);
  CHECK(busiest.sends);
  CHECK(busiest.share == Approx(0.5));
  CHECK(busiest.over_mean == Approx(1));
}

TEST_CASE("an invalid byte matrix is rejected with the location", "[byte_matrix]") {
  CHECK(fault("0,1\n1,0,2\n") == "m.csv:2: 3 cells in this row, but 2 in the first");
  CHECK(fault("0,1\n1\n") == "m.csv:2: 1 cell in this row, but 2 in the first");
  CHECK(fault("0,1,2\n1,0,2\n") ==
        "m.csv:2: 2 rows of 3 cells; each rank needs a row, with a cell for every rank");
  CHECK_THAT(fault("# x\n0,-1\n1,0\n"),
             Catch::StartsWith("m.csv:2: cell 2 is -1; allowed: 0 bytes or more"));
  CHECK_THAT(fault("0,1\nfour,0\n"),
             Catch::StartsWith("m.csv:2: cell 1 is the text 'four'; allowed: a number of bytes"));
  CHECK_THAT(fault("0,1\n,0\n"), Catch::Contains("m.csv:2: cell 1") && Catch::Contains("allowed"));
  CHECK_THAT(fault("0,nan\n1,0\n"), Catch::Contains("allowed: a number of bytes"));
  CHECK_THAT(fault("0,0.5\n1,0\n"), Catch::EndsWith("allowed: whole bytes"));
  CHECK_THAT(fault("0,2e15\n1,0\n"), Catch::EndsWith("allowed: up to 1024 TiB"));
  CHECK_THAT(fault("0,1e999\n1,0\n"), Catch::EndsWith("allowed: up to 1024 TiB"));
  CHECK(fault("1e15,1e15\n1,0\n") == "m.csv:1: this row exceeds the limit of 1024 TiB");
  CHECK(fault("5,0\n0,5\n") ==
        "m.csv:2: all cells are 0; at least one rank must send bytes to another rank");
  CHECK(fault("5\n") == "m.csv:1: 1 rank; at least 2 are needed");
  CHECK_THAT(fault("# nothing\n"), Catch::StartsWith("m.csv:1: no rows"));
  CHECK(fault("[[0, 1],\n [1]]\n", "m.json") ==
        "m.json:2:2: 1 cell in this row, but 2 in the first");
  CHECK_THAT(fault("[[0, 1],\n [-1, 0]]\n", "m.json"),
             Catch::StartsWith("m.json:2:3: cell 1 is -1"));
  CHECK_THAT(fault("[[0, 1],\n [[1], 0]]\n", "m.json"),
             Catch::StartsWith("m.json:2:3: found a list; allowed: a number of bytes"));
  CHECK_THAT(fault("{a: 1}\n", "m.json"), Catch::Contains("allowed: a list of rows"));
  CHECK_THROWS_WITH(comm::read_byte_matrix("missing.csv"), "missing.csv: cannot be read");
}

TEST_CASE("a matrix of too many ranks is rejected before it is complete", "[byte_matrix]") {
  std::string row = "0";
  for (int i = 0; i < 2048; ++i) row += ",0";
  CHECK(fault(row + "\n") == "m.csv:1: the row has more than 2048 cells");
  std::string rows;
  for (int i = 0; i < 2049; ++i) rows += "0\n";
  CHECK(fault(rows) == "m.csv:2049: more than 2048 rows");
}
