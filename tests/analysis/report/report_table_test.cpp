#include "analysis/report/report_table.hpp"

#include <stdexcept>

#include <catch2/catch.hpp>

using namespace pipewright::analysis;

namespace {

struct Link {
  std::string name;
  double bandwidth = 0;
  std::optional<double> latency;
  Range load;  // a ratio
  unsigned flows = 0;
};

struct Hop {
  int number = 0;
  Link link;
};

const std::vector<Link> links{{"nvl,0", 450e9, 1.25e-6, {0.25, 0.5}, 3},
                              {"a\tb", 25e9, std::nullopt, {0, 0}, 0}};

ReportColumns<Link> link_columns() {
  return {{"link", {"link"}, Quantity::name(), &Link::name},
          {"bandwidth_bytes_per_s", {"band-", "width"}, Quantity::rate(), &Link::bandwidth},
          {"latency_s", {"latency"}, Quantity::seconds(3), &Link::latency},
          table_only<Link>({"load", {"load"}, Quantity::percent(0), &Link::load}),
          optional<Link>({"flows", {"flows"}, Quantity::count(), &Link::flows}),
          {"is_slow", [](const Link& link) { return link.flows == 0 ? Json(true) : no_field(); }}};
}

}  // namespace

TEST_CASE("each column of a table has one scale, and its unit below the heading", "[report]") {
  CHECK(table_text(link_columns(), links) ==
        "       band-\n"
        "       width  latency    load\n"
        "link     G/s       us       %  flows\n"
        "nvl,0    450     1.25  25..50      3\n"
        "a\\tb      25        -       0      0\n");
}

TEST_CASE("figures of marked rows have a ~ in tables only, unless they are unknown", "[report]") {
  ReportColumns<Link> columns;
  for (const ReportColumn<Link>& column : picked(link_columns(), {"latency_s", "load"}))
    columns.push_back(marked(column, [](const Link& link) { return link.flows == 0; }));
  const std::vector<Link> rows{links[0], links[1], {"c", 1e9, 2e-6, {0.5, 1}, 0}};
  CHECK(table_text(columns, rows) ==
        "latency      load\n"
        "     us         %\n"
        "   1.25    25..50\n"
        "      -        ~0\n"
        "  ~2.00  ~50..100\n");
  CHECK(csv_text(columns, rows) == "latency_s\n1.25e-06\n\n2e-06\n");
  const std::vector<Hop> hops{{7, rows[2]}};
  CHECK(table_text(of_part<Hop>(columns, &Hop::link), hops) ==
        "latency      load\n"
        "     us         %\n"
        "  ~2.00  ~50..100\n");
}

TEST_CASE("an optional column is omitted if it is empty", "[report]") {
  const std::vector<Link> idle{links[1]};
  CHECK(table_text(picked(link_columns(), {"link", "flows"}), idle) ==
        "link\n"
        "a\\tb\n");
}

TEST_CASE("JSON and CSV have the file columns in order", "[report]") {
  CHECK(
      json_rows(link_columns(), links).dump() ==
      R"([{"link":"nvl,0","bandwidth_bytes_per_s":450000000000.0,"latency_s":1.25e-06,"flows":3},)"
      R"({"link":"a\tb","bandwidth_bytes_per_s":25000000000.0,"latency_s":null,"flows":0,)"
      R"("is_slow":true}])");
  CHECK(csv_text(picked(link_columns(), {"flows", "link", "latency_s"}), links) ==
        "flows,link,latency_s\n"
        "3,\"nvl,0\",1.25e-06\n"
        "0,a\tb,\n");
}

TEST_CASE("columns of a part become columns of the row that contains it", "[report]") {
  const std::vector<Hop> hops{{7, links[0]}};
  ReportColumns<Hop> columns{{"hop", {"hop"}, Quantity::count(), &Hop::number}};
  for (const auto& column : of_part<Hop>(picked(link_columns(), {"link", "load"}), &Hop::link))
    columns.push_back(column);
  CHECK(csv_text(columns, hops) == "hop,link\n7,\"nvl,0\"\n");
  CHECK(table_text(columns, hops) ==
        "              load\n"
        "hop  link        %\n"
        "  7  nvl,0  25..50\n");
  CHECK_THROWS_AS(picked(columns, {"hop", "latency"}), std::logic_error);
}

TEST_CASE("a JSON document is valid UTF-8 for any names", "[report]") {
  CHECK(json_document({{"a\xff", 1}}) == "{\n  \"a\xEF\xBF\xBD\": 1\n}\n");
}
