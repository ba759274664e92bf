#include "sim/comm/fit.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "sim/cluster/make/make_platform.hpp"
#include "sim/comm/prediction.hpp"
#include "support/paths.hpp"
#include "support/program.hpp"

using namespace pipewright;
using analysis::FitReport;
using analysis::Measurement;
using analysis::Operation;
using cluster::Cluster;
using comm::HoldOut;

namespace {

using Numbers = std::map<std::string, double>;

Cluster library(const std::string& name) {
  return Cluster::load(PIPEWRIGHT_ROOT "/platforms/clusters/" + name + ".xml");
}

void set(Cluster& cluster, const Numbers& numbers) {
  for (const auto& [name, value] : numbers) cluster.set_parameter(name, value);
}

struct Curve {
  Operation operation;
  std::uint32_t ranks;
  std::uint32_t nodes;
};

// Returns measurements for 8 B to 1 GiB that agree exactly with the formula, as a benchmark would
// print them.
std::vector<Measurement> measure(const Cluster& cluster, const std::vector<Curve>& curves) {
  std::vector<Measurement> rows;
  for (const Curve& curve : curves) {
    const comm::Formula formula(
        comm::make_single_group(cluster, curve.operation, curve.ranks, curve.nodes));
    for (int power = 3; power <= 30; power += 1) {
      Measurement row{curve.operation, curve.ranks, curve.nodes};
      row.bytes = std::uint64_t{1} << power;
      row.seconds = formula.seconds(row.bytes);
      row.file = "a.log";
      row.line = static_cast<int>(rows.size()) + 1;
      rows.push_back(row);
    }
  }
  return rows;
}

FitReport fit_named(Cluster& cluster, const std::vector<Measurement>& rows,
                    const Numbers& numbers) {
  comm::FitOptions options;
  for (const auto& [name, value] : numbers) options.names.push_back(name);
  return comm::fit(cluster, rows, comm::held_out_rows(rows, HoldOut::odd), options);
}

Numbers fitted_numbers(const FitReport& report) {
  Numbers numbers;
  for (const auto& parameter : report.fitted) numbers[parameter.name] = parameter.value;
  return numbers;
}

void check_recovered(const FitReport& report, const Numbers& truth, double within) {
  const Numbers numbers = fitted_numbers(report);
  for (const auto& [name, value] : truth) {
    INFO(name);
    REQUIRE(numbers.contains(name));
    CHECK(numbers.at(name) == Approx(value).epsilon(within));
  }
}

// Makes measurements with the parameters `truth`, fits parameters to them that start wrong by a
// factor of 3, and checks that the fit finds `truth`.
void recover(Cluster& cluster, const Numbers& truth, const std::vector<Curve>& curves,
             const std::function<double(double)>& printed, double within) {
  set(cluster, truth);
  std::vector<Measurement> rows = measure(cluster, curves);
  for (Measurement& row : rows) row.seconds = printed(row.seconds);
  for (const double factor : {3.0, 1 / 3.0}) {
    Numbers wrong = truth;
    for (auto& [name, value] : wrong)
      value = std::min(value * factor, name.find("ll") != std::string::npos ? 0.99 : 3.0);
    set(cluster, wrong);
    check_recovered(fit_named(cluster, rows, truth), truth, within);
  }
}

double exactly(double seconds) { return seconds; }
// Rounds a time as nccl-tests prints it: in microseconds with two decimals, or fewer for long
// times.
double as_nccl_tests(double seconds) {
  const double us = seconds * 1e6;
  const double step = us < 1e4 ? 0.01 : us < 1e5 ? 0.1 : 1;
  return std::round(us / step) * step * 1e-6;
}
double four_digits(double seconds) { return std::stod(fmt::format("{:.3e}", seconds)); }

const std::vector<Curve> one_node{
    {Operation::all_reduce, 2, 1}, {Operation::all_reduce, 4, 1}, {Operation::all_reduce, 8, 1}};

}  // namespace

TEST_CASE("parameters of one node are recovered from its own predictions", "[fit]") {
  Cluster cluster = library("dgx-a100");
  const Numbers truth{{"collective.launch", 11e-6},
                      {"nvlink.latency", 2.3e-6},
                      {"nvlink.efficiency", 0.8},
                      {"nvlink.ll-latency", 0.2},
                      {"nvlink.ll-efficiency", 0.3}};
  recover(cluster, truth, one_node, exactly, 0.01);
}

TEST_CASE("parameters are recovered from times with the rounding of nccl-tests", "[fit]") {
  Cluster cluster = library("dgx-a100");
  const Numbers truth{
      {"collective.launch", 11e-6}, {"nvlink.latency", 2.3e-6}, {"nvlink.efficiency", 0.8}};
  recover(cluster, truth, one_node, as_nccl_tests, 0.01);
}

TEST_CASE("parameters are recovered from times with four digits", "[fit]") {
  const tests::CommandFolder place;
  const cluster::NodeKind node = cluster::find_node_kind(PIPEWRIGHT_TEST_DATA "/nodes/pcie.yaml");
  place.write("pcie.xml", cluster::make_platform({.nodes = {{&node, 1}}, .fabric = "leaf-spine"}));
  Cluster cluster = Cluster::load(place.folder() / "pcie.xml");
  const std::vector<std::string> classes = cluster.link_classes();
  REQUIRE(std::ranges::find(classes, "pcie") != classes.end());
  const Numbers truth{
      {"collective.launch", 9e-6}, {"pcie.latency", 4e-6}, {"pcie.efficiency", 0.7}};
  recover(cluster, truth, one_node, four_digits, 0.01);
}

TEST_CASE("parameters of several nodes are recovered from several operations", "[fit]") {
  Cluster cluster = library("dgx-a100");
  const Numbers truth{{"collective.launch", 15e-6},
                      {"nic.latency", 9e-6},
                      {"nic.efficiency", 0.75},
                      {"nvlink.latency", 1.2e-6}};
  recover(cluster, truth,
          {{Operation::all_reduce, 8, 1},
           {Operation::all_reduce, 16, 2},
           {Operation::all_gather, 16, 2},
           {Operation::send_recv, 16, 2}},
          exactly, 0.01);
}

TEST_CASE("a tenth of the rows can be wrong by a factor of 2", "[fit]") {
  Cluster cluster = library("dgx-a100");
  const Numbers truth{
      {"collective.launch", 11e-6}, {"nvlink.latency", 2.3e-6}, {"nvlink.efficiency", 0.8}};
  set(cluster, truth);
  std::vector<Measurement> rows = measure(cluster, one_node);
  std::vector<std::size_t> outliers;
  for (std::size_t i = 4; i < rows.size(); i += 10) {
    rows[i].seconds *= 2;
    outliers.push_back(i);
  }
  set(cluster, {{"collective.launch", 5e-6}, {"nvlink.latency", 1e-6}, {"nvlink.efficiency", 1}});
  const FitReport report = fit_named(cluster, rows, truth);
  check_recovered(report, truth, 0.05);
  CHECK(report.outliers == outliers);
}

TEST_CASE("a fit finds the parameters that differ from the file", "[fit]") {
  Cluster cluster = library("dgx-a100");
  const double launch = cluster.model().launch;
  set(cluster, {{"collective.launch", 40e-6}, {"nvlink.efficiency", 0.6}});
  const std::vector<Measurement> rows = measure(cluster, one_node);
  set(cluster, {{"collective.launch", launch}, {"nvlink.efficiency", 1}});
  const FitReport report = comm::fit(cluster, rows, comm::held_out_rows(rows, HoldOut::odd));
  check_recovered(report, {{"collective.launch", 40e-6}, {"nvlink.efficiency", 0.6}}, 0.01);
  CHECK(report.fitted.size() == 2);
  CHECK(errors_of(report.before, true).median > 0.2);
  CHECK(errors_of(report.after, true).largest < 0.01);
  CHECK(report.outliers.empty());
  // The fit also sets the fitted parameters in the cluster.
  const comm::Formula formula(comm::make_single_group(cluster, Operation::all_reduce, 8, 1));
  CHECK(formula.seconds(1 << 20) == report.after[2 * 28 + 17].predicted);
  CHECK(report.after[2 * 28 + 17].measured.bytes == 1 << 20);
}

TEST_CASE("a fit to exact predictions changes nothing", "[fit]") {
  Cluster cluster = library("dgx-a100");
  const std::vector<Measurement> rows = measure(cluster, one_node);
  const FitReport report = comm::fit(cluster, rows, comm::held_out_rows(rows, HoldOut::none));
  CHECK(report.fitted.empty());
  CHECK(errors_of(report.after, false).largest < 1e-9);
  CHECK(errors_of(report.after, true).rows == 0);
}

TEST_CASE("a fit reports parameters that its rows do not depend on", "[fit]") {
  Cluster cluster = library("dgx-a100");
  cluster.set_parameter("collective.launch", 30e-6);
  std::vector<Measurement> rows = measure(cluster, {{Operation::all_reduce, 8, 1}});
  std::erase_if(rows, [](const Measurement& row) { return row.bytes > 128; });
  cluster.set_parameter("collective.launch", 10e-6);
  const FitReport report = fit_named(cluster, rows, {{"collective.launch", 30e-6}});
  REQUIRE(report.fitted.size() == 1);
  const FitReport none = comm::fit(cluster, rows, comm::held_out_rows(rows, HoldOut::none));
  for (const auto& unchanged : none.kept) {
    CHECK(unchanged.name.find("nic.") == std::string::npos);  // not on any route
    if (unchanged.name == "nvlink.efficiency")
      CHECK(unchanged.why == analysis::KeptBecause::no_trace);
  }
}

TEST_CASE("all-to-alls that reach a quarter of the NICs are fitted by their own efficiency",
          "[fit]") {
  Cluster cluster = library("dgx-h100");
  set(cluster, {{"nic.direct-efficiency", 0.256}});
  std::vector<Measurement> rows = measure(cluster, {{Operation::all_to_all, 32, 4}});
  // Only the largest sizes, as some public tables have.
  std::erase_if(rows, [](const Measurement& row) { return row.bytes < 1U << 26U; });
  REQUIRE(rows.size() >= 2);
  set(cluster, {{"nic.direct-efficiency", 1}});
  const FitReport report = comm::fit(cluster, rows, comm::held_out_rows(rows, HoldOut::none));
  REQUIRE(report.fitted.size() == 1);
  CHECK(report.fitted.front().name == "nic.direct-efficiency");
  CHECK(report.fitted.front().value == Approx(0.256).epsilon(0.02));
}

TEST_CASE("send-recv between nodes does not change NVLink parameters", "[fit]") {
  Cluster cluster = library("dgx-a100");
  set(cluster, {{"nic.efficiency", 0.6}, {"nic.latency", 19e-6}});
  const double latency = 14.3e-6;
  std::vector<Measurement> rows = measure(cluster, {{Operation::send_recv, 16, 2}});
  set(cluster, {{"nic.efficiency", 1}, {"nic.latency", latency}});
  const FitReport report = comm::fit(cluster, rows, comm::held_out_rows(rows, HoldOut::none));
  CHECK_FALSE(report.fitted.empty());
  for (const auto& parameter : report.fitted) {
    INFO(parameter.name);
    CHECK_FALSE(parameter.name.starts_with("nvlink."));
  }
}

TEST_CASE("ratios stay between a tenth of their value and 1 unless they are requested", "[fit]") {
  Cluster cluster = library("dgx-a100");
  std::vector<Measurement> rows =
      measure(cluster, {{Operation::all_reduce, 16, 2}, {Operation::all_gather, 16, 2}});
  for (const double factor : {0.4, 40.0}) {
    std::vector<Measurement> scaled_rows = rows;
    for (Measurement& row : scaled_rows) row.seconds *= factor;
    const FitReport report =
        comm::fit(cluster, scaled_rows, comm::held_out_rows(scaled_rows, HoldOut::none));
    for (const auto& parameter : report.fitted) {
      INFO(parameter.name << " " << parameter.before << " " << parameter.value);
      if (parameter.unit == "ratio") CHECK(parameter.value <= 1);
      CHECK(parameter.value >= parameter.before / 10 * (1 - 1e-6));
      if (parameter.before > 0) CHECK(parameter.value <= parameter.before * 10 * (1 + 1e-6));
      cluster.set_parameter(parameter.name, parameter.before);
    }
  }
}

TEST_CASE("fits to parts of noisy rows predict the remaining rows better than the file", "[fit]") {
  Cluster cluster = library("dgx-a100");
  set(cluster, {{"collective.launch", 40e-6}, {"nvlink.efficiency", 0.6}});
  std::vector<Curve> curves = one_node;
  curves.push_back({Operation::all_gather, 8, 1});
  std::vector<Measurement> rows = measure(cluster, curves);
  double noise = 0.3;
  for (Measurement& row : rows) {  // at most 3 %, without bias
    noise = std::fmod(noise * 7.3 + 0.1, 1.0);
    row.seconds *= 1 + 0.06 * (noise - 0.5);
  }
  set(cluster, {{"collective.launch", 20e-6}, {"nvlink.efficiency", 1}});
  const FitReport report = comm::fit(cluster, rows, comm::held_out_rows(rows, HoldOut::none));
  REQUIRE(report.trials.size() == 4);
  for (const analysis::FitTrial& trial : report.trials) {
    INFO(trial.way);
    CHECK(trial.lacks.empty());
    CHECK_FALSE(is_worse(trial));
  }
  CHECK(summarize(report.trials.front().after).median < 0.03);
  CHECK(summarize(report.trials[2].after).median < 0.03);
}

TEST_CASE("every other size of each curve is held out, regardless of the file", "[fit]") {
  std::vector<Measurement> rows;
  const auto add = [&](std::uint32_t ranks, std::uint64_t bytes, bool in_place) {
    Measurement row{Operation::all_reduce, ranks, 0};
    row.bytes = bytes;
    row.in_place = in_place;
    rows.push_back(row);
  };
  add(8, 1024, false);
  add(8, 1024, true);
  add(8, 8, false);
  add(8, 2048, false);
  add(4, 2048, false);
  using Flags = std::vector<bool>;
  CHECK(comm::held_out_rows(rows, HoldOut::odd) == Flags{true, true, false, false, false});
  CHECK(comm::held_out_rows(rows, HoldOut::even) == Flags{false, false, true, true, true});
  CHECK(comm::held_out_rows(rows, HoldOut::none) == Flags(5, false));
}

TEST_CASE("unknown parameters and rows that exceed the cluster are rejected", "[fit]") {
  Cluster cluster = library("dgx-a100");
  std::vector<Measurement> rows = measure(cluster, {{Operation::all_reduce, 8, 1}});
  const std::vector<bool> none(rows.size(), false);
  const auto fit = [&](const std::string& name) {
    return comm::fit(cluster, rows, none, {.names = {name}});
  };
  CHECK_THROWS_WITH(fit("ib.latency"), Catch::Contains("no links of class 'ib'; choose from "
                                                       "collective, "));
  CHECK_THROWS_WITH(fit("nvlink.speed"), Catch::Contains("choose from nvlink.latency, "));
  CHECK_THROWS_WITH(fit("launch"), Catch::Contains("'launch'"));
  rows[3].ranks = 4096;
  CHECK_THROWS_WITH(comm::fit(cluster, rows, none), Catch::StartsWith("a.log:4: "));
}
