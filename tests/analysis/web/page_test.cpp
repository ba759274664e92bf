#include "analysis/web/page.hpp"

#include <map>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "analysis/report/summary_report.hpp"
#include "analysis/trace/error.hpp"
#include "analysis/web/html_file.hpp"
#include "tests/analysis/report/picture/one_f_one_b_trace.hpp"
#include "tests/analysis/trace/samples.hpp"
#include "tests/analysis/web/full_trace.hpp"
#include "tests/analysis/web/table_decoding.hpp"
#include "tests/analysis/web/unpacking.hpp"

namespace pipewright::analysis {
namespace {

using pipewright::test::bytes_of;
using pipewright::test::ScratchFolder;
using test::full_trace;
using test::one_f_one_b_trace;

// Returns the content of the script element with this id.
std::string element(const std::string& page, const std::string& id) {
  const std::size_t name = page.find("id=\"" + id + "\">");
  REQUIRE(name != std::string::npos);
  const std::size_t begin = page.find('>', name) + 1;
  return page.substr(begin, page.find("</script>", begin) - begin);
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

std::string page_of(const std::vector<trace::Trace>& runs) {
  const ScratchFolder folder;
  write_page(runs, folder / "page.html");
  CHECK(folder.entries() == 1);
  return bytes_of(folder / "page.html");
}

}  // namespace

TEST_CASE("a page holds the rows and the summary of each run") {
  const std::vector<trace::Trace> runs{one_f_one_b_trace({.hop_s = 0}),
                                       one_f_one_b_trace({.devices = 2, .microbatches = 3})};
  const std::string page = page_of(runs);
  const auto data = nlohmann::json::parse(element(page, "data"));
  REQUIRE(data["runs"].size() == 2);
  CHECK(data["runs"][0]["hosts"][3] == "node-0-gpu-3");
  CHECK(data["tick_digits"] == 12);  // 33 ms are 3.3e10 ticks
  CHECK(data["runs"][0]["makespan"] == 33'000'000'000);
  CHECK(data["runs"][0]["summary"]["bubble_ratio"].get<double>() == Approx(3.0 / 11));

  std::map<std::string, std::string> bytes;
  for (const auto& table : data["tables"]) {
    const auto name = table["name"].get<std::string>();
    bytes[name] = test::gunzip(test::from_base64(element(page, name + "-1")));
  }
  const auto tables = test::decode(data["tables"], bytes);
  CHECK(tables.at("passes").first.size() == 3);  // two devices and the end
  CHECK(tables.at("passes").columns.at("end").size() == runs[1].passes.size());
}

TEST_CASE("runs on a page have distinct names") {
  std::vector<trace::Trace> runs{one_f_one_b_trace({}), one_f_one_b_trace({.microbatches = 16}),
                                 one_f_one_b_trace({})};
  runs[2].run.schedule = "interleaved-1f1b";
  runs[2].run.chunks = 4;
  const auto data = nlohmann::json::parse(element(page_of(runs), "data"));
  CHECK(data["runs"][0]["name"] == "1f1b, 8 microbatches");
  CHECK(data["runs"][1]["name"] == "1f1b, 16 microbatches");
  CHECK(data["runs"][2]["name"] == "interleaved-1f1b x4");
}

TEST_CASE("a page holds the figures of the JSON summary") {
  const std::vector<trace::Trace> runs{full_trace(), one_f_one_b_trace({.devices = 2})};
  std::vector<Summary> summaries;
  for (const trace::Trace& run : runs) summaries.push_back(summarize(run));
  const auto figures = nlohmann::json::parse(json_list(summaries));
  const auto data = nlohmann::json::parse(element(page_of(runs), "data"));
  for (std::size_t i = 0; i < runs.size(); ++i) {
    nlohmann::json shown = data["runs"][i]["summary"];
    const bool sends = !runs[i].transfers.empty();
    CHECK(shown["p2p_bytes"].is_null() != sends);
    if (sends) CHECK(shown["p2p_bytes"] == 24 * (64 << 20));  // three hops of 8 microbatches
    shown.erase("p2p_bytes");
    CHECK(shown == figures[i]);
  }
}

TEST_CASE("a page holds the traffic of each link over the whole run") {
  const auto data = nlohmann::json::parse(element(page_of({full_trace()}), "data"));
  const auto& links = data["runs"][0]["links"];
  REQUIRE(links.size() == 3);
  CHECK(links[1]["name"] == "node-0-nic-0_UP");
  CHECK(links[1]["alike"] == 8);
  // In the busiest interval of the link, activations use 0.1 + 6 * 0.05 of its bandwidth, gradients
  // 0.25, and the reduction 0.2.
  CHECK(links[0]["peak_use"].get<double>() == Approx(0.85));
  CHECK(links[2]["peak_use"].is_null());
  CHECK(links[2]["bytes"] == nlohmann::json({0, 1000 * 1000, 0, 0, 0, 0}));
  CHECK(data["traffic"].size() == trace::traffic_classes);
  const auto& enumerations = data["enumerations"];
  CHECK(enumerations["traffic"].size() == trace::traffic_classes);
  CHECK(enumerations["collectives"].size() == trace::collective_kinds);
  CHECK(enumerations["idle_causes"].back() == "other");
  CHECK(enumerations["critical_parts"].back() == "other");
  CHECK(data["categories"].size() == trace::memory_categories);
}

TEST_CASE("a run without passes has a page without an explanation") {
  trace::Trace run;
  run.devices.resize(1);
  const auto data = nlohmann::json::parse(element(page_of({run, full_trace()}), "data"));
  CHECK(data["runs"][0]["why"].is_null());
  const auto& why = data["runs"][1]["why"];
  CHECK(why["makespan_s"] == data["runs"][1]["summary"]["makespan_s"]);
  CHECK(why["devices"].size() == 4);
}

TEST_CASE("a page is deterministic and self-contained") {
  const std::string page = page_of({one_f_one_b_trace({})});
  CHECK(page == page_of({one_f_one_b_trace({})}));
  CHECK(count(page, " src=") == 0);
  CHECK(count(page, "<link") == count(page, "<link rel=\"icon\" href=\"data:,\">"));
  CHECK_THAT(page, Catch::Contains("uPlot (v1.6.32)"));
  CHECK_THAT(page, !Catch::Contains("{{"));
}

TEST_CASE("names in a trace cannot become part of the page") {
  trace::Trace run = one_f_one_b_trace({});
  const std::string attack = "</script><script>alert(1)</script><!--";
  run.devices[1].host = attack;
  run.run.schedule = attack + "\xff";
  run.run.scenario = attack;
  run.run.network = attack;
  const std::string page = page_of({run});
  CHECK_THAT(page, !Catch::Contains("<script>alert"));
  CHECK(count(page, "</script>") == count(page_of({one_f_one_b_trace({})}), "</script>"));
  const auto data = nlohmann::json::parse(element(page, "data"));
  CHECK(data["runs"][0]["hosts"][1] == attack);
  CHECK(data["runs"][0]["name"] == attack + "\uFFFD");
}

TEST_CASE("ticks leave eleven digits for the longest run") {
  CHECK(tick_digits(0.033) == 12);
  CHECK(tick_digits(1.0) == 10);
  CHECK(tick_digits(1234.5) == 7);
  CHECK(tick_digits(0) == 0);
}

TEST_CASE("a failed write names the page and the reason and keeps existing files") {
  const ScratchFolder folder;
  const std::vector<trace::Trace> runs{one_f_one_b_trace({})};
  CHECK_THROWS_WITH(write_page(runs, folder / "none/page.html"),
                    Catch::Contains("none/page.html: cannot write: folder"));
  std::filesystem::create_directory(folder / "page.html");
  CHECK_THROWS_AS(write_page(runs, folder / "page.html"), trace::TraceError);
  CHECK(folder.entries() == 1);
}

TEST_CASE("the assets are part of the program") {
  CHECK(asset("uPlot.iife.min.js").size() > 50'000);
  CHECK_THAT(std::string(asset("head.html")), Catch::StartsWith("<!DOCTYPE html>"));
  CHECK(asset("nothing").empty());
}

}  // namespace pipewright::analysis
