#include "analysis/web/comm/compare_page.hpp"

#include <catch2/catch.hpp>

#include "tests/analysis/commlogs/compared.hpp"
#include "tests/analysis/commlogs/page_text.hpp"
#include "tests/analysis/trace/samples.hpp"

namespace pipewright::analysis {

using test::count;

namespace {

std::string page(const std::vector<ComparedRow>& rows, const std::string& cluster = "dgx",
                 std::vector<LogRemark> remarks = {}) {
  const test::ScratchFolder folder;
  const CompareReport report = compare_report(cluster, rows, 100e9, std::move(remarks));
  std::vector<DrawnCurve> curves;
  for (const CurveReport& curve : report.curves) curves.push_back({curve.curve, {}});
  write_compare_page(folder / "page.html", report, curves, {"title", cluster});
  return test::bytes_of(folder / "page.html");
}

}  // namespace

TEST_CASE("a comparison page has both pictures and all tables in one file", "[comm][page]") {
  const std::vector<ComparedRow> rows{test::compared(1024, 50, 40), test::compared(2048, 60, 61)};
  const std::string html = page(rows);
  CHECK(html == page(rows));
  CHECK(count(html, "src=\"data:image/svg+xml;base64,") == 2);
  CHECK(count(html, "http://") + count(html, "https://") == 0);
  CHECK(count(html, "{{") == 0);
  CHECK_THAT(html, Catch::Contains("<h1>Measured against dgx</h1>"));
  CHECK_THAT(html, Catch::Contains("<td>50.00</td><td>40.00</td><td>-20.0</td>"));
  CHECK_THAT(html, Catch::Contains("an assumed bus bandwidth of 100 GB/s"));
}

TEST_CASE("names from logs never become markup on the page", "[comm][page]") {
  std::vector<ComparedRow> rows{test::compared(1024, 50, 40), test::compared(1024, 50, 40)};
  rows[0].measured.file = "<img src=x onerror=alert(1)>&\".log";
  rows[0].method = "</details><script>alert(2)</script>";
  const std::string html =
      page(rows, "</h1><script>alert(3)</script>", {{"<b>", 4, "<script>alert(5)</script>"}});
  CHECK(count(html, "<img src=x") == 0);
  CHECK(count(html, "<script>alert") == 0);
  CHECK_THAT(html, Catch::Contains("&lt;img src=x onerror=alert(1)&gt;&amp;&quot;.log"));
  CHECK_THAT(html, Catch::Contains("<li>&lt;b&gt;:4: &lt;script&gt;alert(5)&lt;/script&gt;</li>"));
}

}  // namespace pipewright::analysis
