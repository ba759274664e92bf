#include "analysis/web/comm/bench_page.hpp"

#include <catch2/catch.hpp>

#include "tests/analysis/commlogs/page_text.hpp"
#include "tests/analysis/trace/samples.hpp"

namespace pipewright::analysis {

using test::count;

namespace {

BenchReport report() {
  BenchReport report{.cluster = "dgx", .operation = Operation::gather, .nodes = 1};
  report.gpus = {"a", "b", "c", "d"};
  report.node_of = {0, 0, 0, 0};
  for (std::uint64_t bytes = 1024; bytes <= 1U << 30U; bytes *= 4)
    report.rows.push_back({bytes, 1e-5 + static_cast<double>(bytes) / 1e11, 1e-5, "direct, LL"});
  return report;
}

std::string page(const BenchReport& report) {
  const test::ScratchFolder folder;
  write_bench_page(folder / "page.html", report);
  return test::bytes_of(folder / "page.html");
}

}  // namespace

TEST_CASE("a bench page has both curves in two widths, and the table", "[comm][page]") {
  const std::string html = page(report());
  CHECK(html == page(report()));
  CHECK(count(html, "\"data:image/svg+xml;base64,") == 4);
  CHECK(count(html, "http://") + count(html, "https://") == 0);
  CHECK(count(html, "{{") == 0);
  CHECK_THAT(html, Catch::Contains("<h1>dgx: gather over 4 ranks on 1 node</h1>"));
  CHECK(count(html, "<td class=\"text\">direct, LL</td>") == report().rows.size());
}

TEST_CASE("the page of a single size has a table, no curves, and no markup from names",
          "[comm][page]") {
  BenchReport single = report();
  single.rows.resize(1);
  single.assumed = 50e9;
  single.matrix = "<b>.csv";
  single.busiest = BusiestRank{.rank = 2, .sends = false, .share = 1.5, .over_mean = 2};
  single.gpus[2] = "<script>alert(1)</script>";
  const std::string html = page(single);
  CHECK(count(html, "data:image/svg+xml") == 0);
  CHECK(count(html, "\xef\xbf\xbd") == 0);
  CHECK(count(html, "<script>alert") == 0);
  CHECK_THAT(html, Catch::Contains("gather of &lt;b&gt;.csv over 4 ranks"));
  CHECK_THAT(html, Catch::Contains("receives 150.0 % of the size from other ranks"));
}

}  // namespace pipewright::analysis
