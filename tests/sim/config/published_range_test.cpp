#include "sim/config/published_range.hpp"

#include <catch2/catch.hpp>

#include "sim/config/derived_gpu.hpp"
#include "sim/config/gpu.hpp"
#include "sim/config/text/yaml.hpp"
#include "tests/sim/config/support.hpp"

namespace pipewright::config::test {
namespace {

constexpr Document document{"a GPU", "keys", "flops: 312 TFLOP/s"};

Value gpu_with(const std::string& bandwidth, const std::string& further = "") {
  return read_yaml_text(
      "{name: next, flops: 1 PFLOP/s, memory: 80 GiB, processors: 100, "
      "memory_bandwidth: " +
          bandwidth + further + "}",
      "next.yaml", document);
}

double bandwidth_of(const Value& tree) { return read_gpu({tree, "gpu"}).memory_bandwidth; }

std::string fault_of(const std::string& range) {
  return error_of([&] { published_ranges(gpu_with(range)); });
}

TEST_CASE("a GPU with a range of published values has its middle", "[config]") {
  const Value tree = gpu_with("{low: 19 TB/s, high: 22 TB/s}");
  CHECK(bandwidth_of(tree) == Approx(20.5e12));
  CHECK(bandwidth_of(at_range_end(tree, RangeEnd::low)) == Approx(19e12));
  CHECK(bandwidth_of(at_range_end(tree, RangeEnd::high)) == Approx(22e12));
  CHECK(bandwidth_of(at_range_end(tree, RangeEnd::middle)) == Approx(20.5e12));
}

TEST_CASE("ranges are found at every depth of a GPU's keys", "[config]") {
  const std::vector<PublishedRange> ranges = published_ranges(
      gpu_with("2 TB/s", ", products: {fp8: {flops: {high: 3 PFLOP/s, low: 2 PFLOP/s}}}"));
  REQUIRE(ranges.size() == 1);
  CHECK(ranges[0].key == "products.fp8.flops");
  CHECK(ranges[0].low == "2 PFLOP/s");
  CHECK(ranges[0].high == "3 PFLOP/s");
  CHECK(published_ranges(gpu_with("2 TB/s")).empty());
}

TEST_CASE("numbers that follow from a range follow from its middle", "[config]") {
  const auto clock_at = [](const char* power) {
    return read_gpu(
               {read_yaml_text(std::string("{like: h100-sxm, power: {compute: ") + power + "}}",
                               "next.yaml", document),
                "gpu"})
        .clock.products;
  };
  CHECK(clock_at("{low: 300 W, high: 500 W}") == clock_at("400 W"));
  CHECK(clock_at("400 W") < clock_at("700 W"));
}

TEST_CASE("a file that derives from another GPU keeps its ranges", "[config]") {
  const Value tree =
      derived_gpu_tree({gpu_with("{low: 19 TB/s, high: 22 TB/s}", ", like: b200"), "gpu"});
  CHECK(value_at(tree, "attention.cudnn") != nullptr);
  REQUIRE(published_ranges(tree).size() == 1);
  CHECK(published_ranges(tree).front().high == "22 TB/s");
}

TEST_CASE("a range with a fault is refused", "[config]") {
  CHECK_THAT(fault_of("{low: 19 TB/s}"), Catch::StartsWith("next.yaml:1:") &&
                                             Catch::Contains("memory_bandwidth.high is missing") &&
                                             Catch::Contains("{low: 19.4 TB/s, high: 22 TB/s}"));
  CHECK_THAT(fault_of("{low: 900 GB/s, high: 1 TB/s}"),
             Catch::Contains("memory_bandwidth has the units 'GB/s' and 'TB/s'") &&
                 Catch::Contains("give both ends in the same unit"));
  CHECK_THAT(fault_of("{low: 2 TB/s, high: 2 TB/s}"),
             Catch::Contains("memory_bandwidth.high is not above memory_bandwidth.low"));
  CHECK_THAT(fault_of("{low: few TB/s, high: 2 TB/s}"), Catch::Contains("memory_bandwidth.low is"));
  CHECK_THAT(fault_of("{low: [1], high: 2 TB/s}"), Catch::Contains("memory_bandwidth.low is"));
  CHECK_THAT(fault_of("{low: 1 TB/s, high: 2 TB/s, mean: 1.2 TB/s}"),
             Catch::Contains("memory_bandwidth has other keys than low and high"));
  CHECK_THAT(error_of([] { bandwidth_of(gpu_with("{low: 1 parsec, high: 2 parsec}")); }),
             Catch::Contains("gpu.memory_bandwidth"));
}

}  // namespace
}  // namespace pipewright::config::test
