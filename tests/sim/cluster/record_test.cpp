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

std::string with(const std::string& what, const std::string& instead) {
  std::string changed = line;
  return changed.replace(changed.find(what), what.size(), instead);
}

}  // namespace

TEST_CASE("a record says what was tried, where, and how far predictions were off", "[record]") {
  const Record record = parse_record(line);
  CHECK(record.operation == "all-reduce");
  CHECK(record.least_ranks == 2);
  CHECK(record.most_ranks == 8);
  CHECK(record.least_nodes == 1);
  CHECK(record.most_nodes == 1);
  CHECK(record.least_bytes == 512);
  CHECK(record.most_bytes == 8ULL << 30U);
  CHECK(record.rows == 44);
  CHECK(record.median == Approx(0.041));
  CHECK(record.p90 == Approx(0.098));
  CHECK(record.held_out);
  CHECK(record.source == "a paper, table 3; its logs");
}

TEST_CASE("a record is written as it was read", "[record]") {
  for (const std::string& one : {line, with("held out", "fitted"), with("2 to 8 ranks", "16 ranks"),
                                 with("1 node", "2 to 12 nodes"), with("512 B to 8 GiB", "1000 B"),
                                 with("p90 9.8", "p90 1444.0"), with("44 rows", "1 row")})
    CHECK(to_string(parse_record(one)) == one);
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

TEST_CASE("a record that cannot be says which part of it, and what would be right", "[record]") {
  const auto refused = [](const std::string& text, const std::string& words) {
    CHECK_THROWS_WITH(parse_record(text), Catch::Contains(words));
  };
  refused("all-reduce; 2 ranks", "has 2 parts, apart by semicolons, where 9 belong");
  refused(with("all-reduce", "All reduce"), "'All reduce', which is no operation");
  refused(with("2 to 8 ranks", "8 to 2 ranks"), "no range of ranks");
  refused(with("2 to 8 ranks", "-2 to 8 ranks"), "no range of ranks");
  refused(with("1 node", "0 nodes"), "no range of nodes");
  refused(with("8 GiB", "8 Gibbons"), "no range of sizes");
  refused(with("512 B to 8 GiB", "8 GiB to 512 B"), "no range of sizes");
  refused(with("44 rows", "many rows"), "no number of rows");
  refused(with("median 4.1 %", "median 4.1"), "no median error");
  refused(with("p90 9.8 %", "p90 nan %"), "no 90th percentile");
  refused(with("held out", "held in"), "no 'held out' and no 'fitted'");
}

TEST_CASE("a file's records are those of its outermost zone, and faults have its line",
          "[record]") {
  const tests::Workplace place;
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
                    Catch::Contains("a.xml:3: property 'record.1': a record says '2 to 8 wanks'"));
}
