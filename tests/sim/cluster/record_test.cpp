#include "sim/cluster/record.hpp"

#include <catch2/catch.hpp>

#include "sim/cluster/platform/platform_file.hpp"
#include "support/program.hpp"

using namespace pipewright;
using cluster::parse_record;
using cluster::Record;

namespace {

const std::string line =
    "all-reduce; 2 to 8 ranks; 1 node; 512 B to 8 GiB; 44 rows; median 4.1 %; p90 9.8 %; held out; "
    "a paper, table 3; its logs";

std::string with(const std::string& old_text, const std::string& new_text) {
  std::string changed = line;
  return changed.replace(changed.find(old_text), old_text.size(), new_text);
}

}  // namespace

TEST_CASE("a record contains the operation, its ranges, the errors and the source", "[record]") {
  const Record record = parse_record(line);
  CHECK(record.operation == "all-reduce");
  CHECK(record.min_ranks == 2);
  CHECK(record.max_ranks == 8);
  CHECK(record.min_nodes == 1);
  CHECK(record.max_nodes == 1);
  CHECK(record.min_bytes == 512);
  CHECK(record.max_bytes == 8ULL << 30U);
  CHECK(record.rows == 44);
  CHECK(record.median == Approx(0.041));
  CHECK(record.p90 == Approx(0.098));
  CHECK(record.held_out);
  CHECK(record.source == "a paper, table 3; its logs");
}

TEST_CASE("a record is written as it is read", "[record]") {
  for (const std::string& text :
       {line, with("held out", "fitted"), with("2 to 8 ranks", "16 ranks"),
        with("1 node", "2 to 12 nodes"), with("512 B to 8 GiB", "1000 B"),
        with("p90 9.8", "p90 1444.0"), with("44 rows", "1 row")})
    CHECK(to_string(parse_record(text)) == text);
}

TEST_CASE("a record covers what lies inside all of its ranges", "[record]") {
  const std::vector<Record> records{parse_record(line),
                                    parse_record(with("1 node", "2 to 4 nodes"))};
  constexpr std::uint64_t gib = 1ULL << 30U;
  CHECK(covers(records, "all-reduce", 2, 1, 512));
  CHECK(covers(records, "all-reduce", 8, 1, 8 * gib));
  CHECK(covers(records, "all-reduce", 8, 3, gib));
  CHECK_FALSE(covers(records, "all-gather", 8, 1, gib));
  CHECK_FALSE(covers(records, "all-reduce", 9, 1, gib));
  CHECK_FALSE(covers(records, "all-reduce", 8, 5, gib));
  CHECK_FALSE(covers(records, "all-reduce", 8, 1, 511));
  CHECK_FALSE(covers(records, "all-reduce", 8, 1, 8 * gib + 1));
  CHECK_FALSE(covers(std::vector<Record>{}, "all-reduce", 8, 1, gib));
}

TEST_CASE("an invalid record is rejected with the wrong part and the expected text", "[record]") {
  const auto check_rejected = [](const std::string& text, const std::string& words) {
    CHECK_THROWS_WITH(parse_record(text), Catch::Contains(words));
  };
  check_rejected("all-reduce; 2 ranks", "has 2 parts separated by semicolons instead of 9");
  check_rejected(with("all-reduce", "All reduce"), "'All reduce' in place of an operation");
  check_rejected(with("2 to 8 ranks", "8 to 2 ranks"), "in place of a range of ranks");
  check_rejected(with("2 to 8 ranks", "-2 to 8 ranks"), "in place of a range of ranks");
  check_rejected(with("1 node", "0 nodes"), "in place of a range of nodes");
  check_rejected(with("8 GiB", "8 Gibbons"), "in place of a range of sizes");
  check_rejected(with("512 B to 8 GiB", "8 GiB to 512 B"), "in place of a range of sizes");
  check_rejected(with("44 rows", "many rows"), "in place of a number of rows");
  check_rejected(with("median 4.1 %", "median 4.1"), "in place of a median error");
  check_rejected(with("p90 9.8 %", "p90 nan %"), "in place of a 90th percentile");
  check_rejected(with("held out", "held in"), "in place of 'held out' or 'fitted'");
}

TEST_CASE("records are read from the outermost zone, and errors have their line", "[record]") {
  const tests::CommandFolder place;
  const auto read = [&](const std::string& value) {
    place.write("a.xml",
                "<platform version=\"4.1\">\n<zone id=\"a\" routing=\"Full\">\n"
                "<prop id=\"record.1\" value=\"" +
                    value +
                    "\"/>\n"
                    "<prop id=\"recorded\" value=\"x\"/>\n"
                    "<host id=\"h\" speed=\"1f\"/></zone></platform>");
    return read_records(cluster::read_platform_file(place.folder() / "a.xml"));
  };
  CHECK(read(line) == std::vector{parse_record(line)});
  CHECK_THROWS_WITH(read(with("8 ranks", "8 wanks")),
                    Catch::Contains("a.xml:3: property 'record.1': the record has '2 to 8 wanks'"));
}
