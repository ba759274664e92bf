#include "analysis/measured/chrome_events.hpp"

#include <catch2/catch.hpp>
#include <zlib.h>

#include "analysis/trace/error.hpp"
#include "tests/analysis/trace/samples.hpp"

using namespace pipewright;
using analysis::ChromeEvent;

namespace {

struct ReadResult {
  std::vector<ChromeEvent> events;
  analysis::ChromeHeader header;
  std::string error;
};

ReadResult read_file(const std::filesystem::path& file) {
  ReadResult result;
  try {
    result.header = analysis::read_chrome_events(
        file, [&](const ChromeEvent& event, const auto&) { result.events.push_back(event); });
  } catch (const trace::TraceError& error) {
    result.error = error.what();
  }
  return result;
}

ReadResult read_text(const std::string& text) {
  const test::ScratchFolder folder;
  test::write_bytes(folder / "t.json", text);
  return read_file(folder / "t.json");
}

std::string gzipped(const std::string& text) {
  const test::ScratchFolder folder;
  const gzFile file = gzopen((folder / "t.gz").c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  return test::bytes_of(folder / "t.gz");
}

}  // namespace

TEST_CASE("events are read from an object and from a bare array", "[import]") {
  const std::string events =
      R"([{"name":"a","cat":"c","ph":"X","pid":1,"tid":"s","ts":2.5,"dur":1,)"
      R"("args":{"name":"inner","ts":9,"list":[{"name":"x"}]}},{"name":"b"}])";
  for (const std::string& text :
       {events, R"({"schemaVersion":1,"traceEvents":)" + events + R"(,"more":[{"name":"no"}]})"}) {
    const ReadResult result = read_text(text);
    CAPTURE(text, result.error);
    REQUIRE(result.events.size() == 2);
    const ChromeEvent& first = result.events[0];
    CHECK(first.name == "a");
    CHECK(first.category == "c");
    CHECK(first.phase == "X");
    CHECK(first.process == "1");
    CHECK(first.thread == "s");
    CHECK(first.start == 2.5);
    CHECK(first.duration == 1);
    CHECK_FALSE(result.events[1].start.has_value());
  }
}

TEST_CASE("the header gives rank and base time", "[import]") {
  const ReadResult result = read_text(
      R"({"distributedInfo":{"backend":"nccl","rank":12,"pg":[{"rank":3}]},"traceEvents":[],)"
      R"("baseTimeNanoseconds":1752000000000000001})");
  CHECK(result.error.empty());
  CHECK(result.header.rank == 12);
  CHECK(result.header.base_ns == 1752000000000000001);
  CHECK_THAT(read_text(R"({"distributedInfo":{"rank":-1},"traceEvents":[]})").error,
             Catch::Contains("rank is -1"));
}

TEST_CASE("packed files are read like plain ones", "[import]") {
  const std::string text = R"({"traceEvents":[{"name":"a","ph":"X","ts":1,"dur":1}]})";
  CHECK(read_text(gzipped(text)).events.size() == 1);
  const std::string half = gzipped(text + std::string(100000, ' ') + "\n");
  CHECK_THAT(read_text(half.substr(0, half.size() - 20)).error, Catch::Contains("cut short"));
}

TEST_CASE("the error of invalid JSON gives its place", "[import]") {
  CHECK_THAT(read_text("{\"traceEvents\":[\n{\"name\":\"a\",\n").error, Catch::Contains("line 3"));
  CHECK_THAT(read_text("{\"traceEvents\":[\n{\"ts\":NaN}]}").error,
             Catch::Contains("line 2") && Catch::Contains("NaN"));
  CHECK_THAT(read_text("{\"traceEvents\":[{\"ts\":Infinity}]}").error, Catch::Contains("Infinity"));
  CHECK_THAT(read_text("").error, Catch::Contains("not valid JSON"));
  CHECK_THAT(read_text("{\"traceEvents\":[{\"name\":\"\xff\"}]}").error, Catch::Contains("UTF-8"));
  CHECK_THAT(read_text("{\"other\":[]}").error, Catch::Contains("traceEvents"));
  CHECK_THAT(read_text("{\"traceEvents\":7}").error, Catch::Contains("traceEvents"));
  CHECK_THAT(read_file("/nowhere/t.json").error, Catch::Contains("cannot open"));
  CHECK_THAT(read_file("/tmp").error, Catch::Contains("is a folder"));
}

TEST_CASE("hostile JSON is refused or ignored", "[import]") {
  CHECK_THAT(read_text(std::string(1'000'000, '[')).error, Catch::Contains("256 deep"));
  std::string objects;
  for (int i = 0; i < 1000; ++i) objects += "{\"a\":";
  CHECK_THAT(read_text(objects).error, Catch::Contains("256 deep"));
  // A field whose value has the wrong type is ignored, but not its event.
  const ReadResult result =
      read_text(R"([{"name":7,"ts":"1","dur":[],"pid":null,"cat":{"a":1}}, 3, "x", [1]])");
  CHECK(result.error.empty());
  REQUIRE(result.events.size() == 1);
  CHECK(result.events[0].name.empty());
  CHECK_FALSE(result.events[0].start.has_value());
  const ReadResult escaped = read_text("[{\"name\":\"\\u001b[31m\"}");
  CHECK(escaped.error.find('\x1b') == std::string::npos);
}

TEST_CASE("progress gives the share of the file", "[import]") {
  const test::ScratchFolder folder;
  test::write_bytes(folder / "t.json", "[" + std::string(3'000'000, ' ') + "]");
  std::vector<double> shares;
  analysis::read_chrome_events(
      folder / "t.json", [](const ChromeEvent&, const auto&) {},
      [&](double share) { shares.push_back(share); });
  REQUIRE(shares.size() > 3);
  CHECK(std::is_sorted(shares.begin(), shares.end()));
  CHECK(shares.back() == 1);
}
