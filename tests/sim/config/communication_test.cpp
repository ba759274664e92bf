#include "sim/config/communication.hpp"

#include <algorithm>

#include <catch2/catch.hpp>
#include <fmt/ranges.h>

#include "sim/config/text/yaml.hpp"
#include "tests/sim/config/support.hpp"

namespace pipewright::config::test {
namespace {

Communication communication(std::string_view text) {
  const Value value = read_yaml_text(text, "t");
  return read_communication({value, "communication"});
}

TEST_CASE("communication overlaps as in Megatron-LM by default") {
  const Communication c = communication("{}");
  CHECK(c.overlap_grad_reduce);
  CHECK(c.overlap_param_gather);
  CHECK_FALSE(c.tp_comm_overlap);
  CHECK(c.async_tensor_model_parallel_allreduce);
  CHECK(c.scatter_gather);
  CHECK_FALSE(c.bucket);
  CHECK(bucket_bytes(c, 2) == 160'000'000);
  CHECK(bucket_bytes(c, 128) == 512'000'000);
  CHECK(c.gradient_bytes == 4);
  CHECK(c.all_reduce == Algorithm::automatic);
  CHECK_FALSE(c.nccl);
  CHECK_FALSE(c.sms);
  CHECK_FALSE(c.overlap_slowdown);
  CHECK(c.global_norm);
  CHECK(c.detail == Detail::fast);
}

TEST_CASE("every key of communication is read") {
  const Communication c = communication(
      "{overlap_grad_reduce: false, overlap_param_gather: false, tp_comm_overlap: true, "
      "async_tensor_model_parallel_allreduce: false, "
      "scatter_gather: false, bucket: 25 MiB, gradient_bytes: 2, all_reduce: hierarchical, "
      "nccl: 2.27.3, sms: 20, overlap_slowdown: 1.15, global_norm: false, detail: full}");
  CHECK_FALSE(c.overlap_grad_reduce);
  CHECK_FALSE(c.overlap_param_gather);
  CHECK(c.tp_comm_overlap);
  CHECK_FALSE(c.async_tensor_model_parallel_allreduce);
  CHECK_FALSE(c.scatter_gather);
  CHECK(c.bucket == 25U << 20U);
  CHECK(c.gradient_bytes == 2);
  CHECK(c.all_reduce == Algorithm::hierarchical);
  CHECK(c.nccl == 27U);
  CHECK(communication("nccl: 2.18").nccl == 18U);
  CHECK(c.sms == 20);
  CHECK(communication("sms: 0").sms == 0);
  CHECK(c.overlap_slowdown == 1.15);
  CHECK_FALSE(c.global_norm);
  CHECK(c.detail == Detail::full);
  CHECK(communication("algorithm: tree").all_reduce == Algorithm::tree);
}

TEST_CASE(
    "versions of NCCL are known from the first with trees to the newest whose code was read") {
  for (const auto& [text, version] :
       {std::pair{"2.4", 4U}, std::pair{"2.18.3", 18U}, std::pair{"2.30", 30U}})
    CHECK(config::parse_nccl(text) == version);
  for (const char* const text : {"2.3", "2.31", "2.99", "3.1", "2", "2.", "2.x", "27", "", "v2.27"})
    CHECK_FALSE(config::parse_nccl(text).has_value());
}

TEST_CASE("every fault of communication has a message") {
  const auto [text, message] = GENERATE(table<std::string, std::string>({
      {"overlap_grad_reduce: 1",
       "t:1:22: communication.overlap_grad_reduce is 1; allowed: one of false, true"},
      {"bucket: 0",
       "t:1:9: communication.bucket is 0; allowed: a size of more than 0 bytes, such "
       "as 160 MB"},
      {"gradient_bytes: 3", "t:1:17: communication.gradient_bytes is 3; allowed: one of 1, 2, 4"},
      {"nccl: 1.9",
       "t:1:7: communication.nccl is 1.9; allowed: a version of NCCL from 2.4 to 2.30, such as "
       "2.27; of later versions, give the newest of these"},
      {"overlap_slowdown: 0.9",
       "t:1:19: communication.overlap_slowdown is 0.9; allowed: 1 (none) to 1e6, such as 1.1"},
      {"all_reduce: rings",
       fmt::format("t:1:13: communication.all_reduce is the text 'rings'; did you mean 'ring'? "
                   "allowed: one of {}",
                   fmt::join(algorithm_names, ", "))},
  }));
  CAPTURE(text);
  CHECK(error_of([t = text] { communication(t); }) == message);
  CHECK_THAT(error_of([] { communication("overlap_grad_reduse: true"); }),
             Catch::StartsWith("t:1:1: unknown key 'overlap_grad_reduse' in communication; did you "
                               "mean 'overlap_grad_reduce'?"));
}

TEST_CASE("every algorithm of collectives is read by its name", "[config]") {
  for (std::size_t i = 0; i < algorithm_names.size(); ++i) {
    const auto algorithm = static_cast<Algorithm>(i);
    CHECK(parse_algorithm(to_string(algorithm)) == algorithm);
  }
  CHECK_FALSE(parse_algorithm("rings").has_value());
  CHECK_FALSE(parse_algorithm("").has_value());
}

TEST_CASE("the list of algorithms reads as a sentence", "[config]") {
  const std::string list = algorithm_list();
  CHECK_THAT(list, Catch::StartsWith("automatic, ring, tree, "));
  CHECK_THAT(list, Catch::EndsWith(fmt::format(" or {}", algorithm_names.back())));
  for (const std::string_view name : algorithm_names)
    CHECK_THAT(list, Catch::Contains(std::string(name)));
  CHECK(std::ranges::count(list, ',') == std::ssize(algorithm_names) - 2);
}

TEST_CASE("algorithms with reduction in switches name the place of the switches", "[config]") {
  CHECK(switches_of(Algorithm::nvls) == "inside");
  CHECK(switches_of(Algorithm::sharp) == "between");
  CHECK_FALSE(switches_of(Algorithm::ring).has_value());
}

}  // namespace
}  // namespace pipewright::config::test
