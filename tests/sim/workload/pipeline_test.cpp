#include "sim/workload/pipeline.hpp"

#include <catch2/catch.hpp>

#include "sim/config/text/yaml.hpp"

using namespace pipewright;
using schedules::PassKind;
using schedules::Pipeline;
using schedules::Routes;
using workload::MemoryLimit;
using Unit = workload::MemoryLimit::Unit;

namespace {

const std::string sizes = "devices: 2, microbatches: 6, ";
const std::string times = "forward_times: 2, input_grad_times: 4, weight_grad_times: 6, ";
const std::string bytes =
    "activation: {per_microbatch: [101, 60], released_by_input_grad: [40, 0]}, "
    "state: {weights: [10, 20], optimizer: 5}";

config::Scenario scenario(const std::string& yaml) {
  return config::read_scenario(config::read_yaml_text("{" + yaml + "}", "mine.yaml"));
}

Pipeline v_shape(const std::string& yaml, const MemoryLimit& limit) {
  return workload::make_pipeline(scenario(yaml), Routes::v_shape(2), limit, 0.5).value();
}

}  // namespace

TEST_CASE("stages share the times of their device, and B takes as long as I and W", "[pipeline]") {
  const Pipeline pipeline = v_shape(sizes + times, {Unit::microbatches, 2});
  const auto times_of = [&](PassKind kind) {
    return pipeline.times.of_stage[static_cast<std::size_t>(kind)];
  };
  CHECK(times_of(PassKind::forward) == std::vector<double>{1, 1, 1, 1});
  CHECK(times_of(PassKind::backward) == std::vector<double>{5, 5, 5, 5});
  CHECK(pipeline.hop == 0.5);
  CHECK(pipeline.microbatches == 6);
}

TEST_CASE("a limit in microbatches is counted in chunks, until the end of W", "[pipeline]") {
  const Pipeline pipeline = v_shape(sizes + times + bytes, {Unit::microbatches, 2.7});
  CHECK(pipeline.memory.held == std::vector<std::int64_t>{1, 1, 1, 1});
  CHECK(pipeline.memory.released_by_input_grad == std::vector<std::int64_t>{0, 0, 0, 0});
  CHECK(pipeline.memory.limit == std::vector<std::int64_t>{5, 5});
  // At most all microbatches can be in flight, so a larger limit is reduced to that.
  CHECK(v_shape(sizes + times, {Unit::microbatches, 1e300}).memory.limit ==
        std::vector<std::int64_t>{12, 12});
}

TEST_CASE("a limit in bytes leaves activations the memory that the state does not take",
          "[pipeline]") {
  const Pipeline pipeline = v_shape(sizes + times + bytes, {Unit::bytes, 200});
  CHECK(pipeline.memory.held == std::vector<std::int64_t>{51, 30, 30, 50});
  CHECK(pipeline.memory.released_by_input_grad == std::vector<std::int64_t>{20, 0, 0, 20});
  CHECK(pipeline.memory.limit == std::vector<std::int64_t>{185, 175});
  CHECK(workload::least_limit(scenario(sizes + times + bytes), Unit::bytes) == 116);
  CHECK(workload::least_limit(scenario(sizes + times + bytes), Unit::microbatches) == 1);
}

TEST_CASE("one time per stage needs a placement with as many stages", "[pipeline]") {
  const config::Scenario four_times =
      scenario(sizes + "forward_times: [1, 2, 3, 4], input_grad_times: 1, weight_grad_times: 1");
  const MemoryLimit limit{Unit::microbatches, 2};
  CHECK(workload::make_pipeline(four_times, Routes::v_shape(2), limit, 0).has_value());
  CHECK(!workload::make_pipeline(four_times, Routes::looped(2, 1), limit, 0).has_value());
}

TEST_CASE("a pipeline needs the times of both halves, and bytes for a limit in bytes",
          "[pipeline]") {
  CHECK_THROWS_WITH(v_shape(sizes + "forward_times: 1, backward_times: 2", {Unit::microbatches, 2}),
                    Catch::Contains("mine.yaml:1:") && Catch::Contains("input_grad_times"));
  CHECK_THROWS_WITH(v_shape(sizes + times, {Unit::bytes, 200}),
                    Catch::Contains("activation.per_microbatch"));
}
