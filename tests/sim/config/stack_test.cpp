#include "sim/config/stack.hpp"

#include <algorithm>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "sim/config/gpu.hpp"
#include "sim/config/scenario.hpp"
#include "sim/config/stack_rules.hpp"
#include "sim/config/text/library.hpp"
#include "sim/config/text/yaml.hpp"
#include "tests/sim/config/support.hpp"

namespace pipewright::config::test {
namespace {

using Catch::Contains;
using Kernels = std::vector<AttentionKernel>;

Stack stack(const std::string& text) {
  const Value value = read_yaml_text(text, "s.yaml");
  const Value tree = named_stack_tree({value, "stack"});
  return read_stack({tree, "stack"});
}

Stack stack_of_file(const std::string& name_or_path) {
  const Value value = make_text(name_or_path, {});
  const Value tree = named_stack_tree({value, "stack"});
  return read_stack({tree, "stack"});
}

Value scenario_tree(const std::string& more) {
  return read_yaml_text(
      "{model: llama-3-8b, gpu: h100-sxm, devices: 2, microbatches: 4" + more + "}", "t.yaml");
}

Scenario scenario(const std::string& more) { return read_scenario(scenario_tree(more)); }

TEST_CASE("every stack of the library is complete and can be named in a scenario", "[stack]") {
  for (const std::string& name : library_names("stacks", ".yaml")) {
    CAPTURE(name);
    const Stack library_stack = stack_of_file(name);
    CHECK(library_stack.name == name);
    CHECK_FALSE(library_stack.help.empty());
    CHECK_FALSE(library_stack.attention.empty());
    const Scenario read = scenario(", stack: " + name);
    CHECK(read.training.stack.name == name);
    CHECK(read.training.stack.host == library_stack.host);
    const Value* const tree = find(read.tree, "stack");
    REQUIRE(tree != nullptr);
    CHECK(find(*tree, "like") == nullptr);
    CHECK(find(*tree, "host") != nullptr);
  }
}

TEST_CASE("a stack overrides keys of the stack that it is like", "[stack]") {
  const std::string text =
      "{like: pytorch-fsdp, host: {pass: 1 ms}, attention: fa3, training: {bytes: {weights: 2}}}";
  const Stack mine = stack(text);
  CHECK(mine.name == "pytorch-fsdp");
  CHECK(mine.host.kernel == Approx(12e-6));
  CHECK(mine.host.collective == Approx(25e-6));
  CHECK(mine.host.pass == Approx(1e-3));
  CHECK(mine.attention == Kernels{AttentionKernel::fa3});
  CHECK(mine.early_stop);
  CHECK(mine.fused.none());
  const Training training = scenario(", stack: " + text).training;
  CHECK(training.bytes.weights == 2.0);
  CHECK(training.bytes.gradients == 4.0);
  CHECK_FALSE(training.fused_accumulation);
}

TEST_CASE("a stack inherits through several stacks", "[stack]") {
  const Stack eager = stack_of_file("torchtitan-eager");
  CHECK(eager.host == stack_of_file("pytorch-fsdp").host);
  CHECK_FALSE(eager.early_stop);  // from torchtitan
  CHECK(eager.fuses(Fusable::optimizer));
  CHECK_FALSE(eager.fuses(Fusable::norm));
}

TEST_CASE("a stack inherits the rules of another, and its own list replaces them", "[stack]") {
  const auto names = [](const Stack& of) {
    std::vector<std::string_view> rules;
    for (std::size_t i = 0; i < stack_rules.size(); ++i)
      if (of.rules.test(i)) rules.push_back(stack_rules[i].name);
    return rules;
  };
  using Names = std::vector<std::string_view>;
  const Names of_core = names(stack_of_file("megatron-core"));
  CHECK(of_core.front() == "interleaving_needs_pp");
  CHECK(names(stack_of_file("megatron-bridge")) == of_core);
  const Names of_nemo = names(stack_of_file("nemo-2"));  // of Megatron-Core 0.14
  CHECK(std::ranges::count(of_nemo, "no_gtp") == 1);
  CHECK(std::ranges::count(of_nemo, "no_moe_graph_without_padding") == 0);
  CHECK(names(stack("{like: megatron-core, rules: no_tp}")) == Names{"no_tp"});
  CHECK(names(stack("{like: megatron-core, rules: [no_pp, no_tp]}")) == Names{"no_tp", "no_pp"});
  CHECK(names(stack("{like: megatron-core, rules: []}")).empty());
  CHECK(names(stack("{host: {kernel: 1 us}, attention: fa2}")).empty());
}

TEST_CASE("a named stack has its schedules, and the default stack has all", "[stack]") {
  using Names = std::vector<std::string>;
  CHECK(stack_of_file("nanotron").schedules == Names{"gpipe", "1f1b"});
  CHECK(stack_of_file("nemo-2").schedules == Names{"1f1b", "interleaved-1f1b"});
  CHECK(stack("{like: nanotron, schedules: zb-h1}").schedules == Names{"zb-h1"});
  CHECK(stack("{like: nanotron, schedules: []}").schedules.empty());
  CHECK(scenario(", stack: megatron-core").training.stack.schedules ==
        Names{"1f1b", "interleaved-1f1b"});
  const Scenario by_default = scenario("");
  CHECK(by_default.training.stack.schedules.empty());
  CHECK(read_scenario(by_default.tree).training.stack.schedules.empty());
  // A changed value does not name the stack.
  Value root = scenario_tree("");
  override_key(root, "stack.host.kernel", "40 us", {"--set", 0, 0, ""});
  CHECK(read_scenario(root).training.stack.schedules.empty());
}

TEST_CASE("a stack sets keys of software, and not of a job", "[stack]") {
  const auto fault = [](const std::string& keys) {
    return error_of([&] { stack("{like: megatron-core, " + keys + "}"); });
  };
  CHECK(fault("training: {bytes: {weights: 2}, cuda_graphs: layer, tensor_format: bshd, "
              "fused_accumulation: false, reserved: 1 GiB, experts: {dispatcher: deepep}}")
            .empty());
  CHECK(fault("communication: {gradient_bytes: 2, overlap_grad_reduce: false}").empty());
  for (const std::string key : {"microbatch_size: 2", "sequence: 8192", "precision: fp8",
                                "recompute: full", "offload: {num_layers: 1}", "causal: false"}) {
    CAPTURE(key);
    const std::string name = "stack.training." + key.substr(0, key.find(':'));
    CHECK_THAT(fault("training: {" + key + "}"),
               Contains(name + " is no key of a stack: it describes a job") &&
                   Contains("allowed: bytes, optimizer, cuda_graphs, "));
  }
  CHECK_THAT(fault("training: {experts: {imbalance: 1.5}}"),
             Contains("stack.training.experts.imbalance is no key of a stack"));
  CHECK_THAT(fault("communication: {detail: full}"),
             Contains("stack.communication.detail is no key of a stack") &&
                 Contains("allowed: overlap_p2p, "));
  CHECK_THAT(
      error_of([] { scenario(", stack: {like: megatron-core, training: {sequence: 4096}}"); }),
      Contains("t.yaml:1:") && Contains("stack.training.sequence is no key of a stack"));
  const Folder folder;
  const std::string file =
      folder.write("mine.yaml", "like: torchtitan\ntraining: {global_batch: 8}\n");
  CHECK_THAT(error_of([&] { stack_of_file(file); }),
             Contains("mine.yaml:2:") && Contains("stack.training.global_batch is no key"));
}

TEST_CASE("a description is not inherited, and assumptions are for keys that stay the same",
          "[stack]") {
  const Folder folder;
  folder.write("base.yaml",
               "name: base\nhelp: a stack\nsource: a paper\nhost: {kernel: 5 us}\n"
               "attention: [cudnn, fa2]\nassumed: [host.kernel, attention]\n");
  const std::string file = folder.write("mine.yaml", "like: base.yaml\nfused: []\n");
  CHECK(stack_of_file((folder.path() / "base.yaml").string()).assumed ==
        std::vector<std::string>{"host.kernel", "attention"});
  const Stack mine = stack_of_file(file);
  CHECK(mine.name == "mine");
  CHECK(mine.help.empty());
  CHECK(mine.assumed == std::vector<std::string>{"host.kernel", "attention"});
  CHECK(stack("{like: " + file + ", host: {kernel: 6 us}, assumed: [host.pass]}").assumed ==
        std::vector<std::string>{"host.pass", "attention"});
  CHECK(mine.fused.none());
  CHECK(mine.host.kernel == Approx(5e-6));
  CHECK(mine.host.collective == 0);
  CHECK(mine.attention == Kernels{AttentionKernel::cudnn, AttentionKernel::fa2});
}

TEST_CASE("stacks that inherit from each other in a circle are refused with the chain", "[stack]") {
  const Folder folder;
  const std::string first = folder.write("a.yaml", "like: b.yaml\nattention: fa2\n");
  folder.write("b.yaml", "like: a.yaml\nhost: {kernel: 5 us}\n");
  CHECK_THAT(error_of([&] { stack_of_file(first); }),
             Contains("'a.yaml' inherits from itself: ") &&
                 Contains("/a.yaml -> b.yaml -> a.yaml; name another stack under like"));
}

TEST_CASE("a user's version of a stack of the library changes the shipped one", "[stack]") {
  const Stack shipped = stack_of_file("torchtitan");
  const Stack shipped_eager = stack_of_file("torchtitan-eager");
  const OwnLibrary library;
  const std::string file =
      library.folder.write("stacks/torchtitan.yaml", "like: torchtitan\nhost: {kernel: 9 us}\n");
  for (const std::string& name : {std::string("torchtitan"), file}) {
    CAPTURE(name);
    const Stack own = stack_of_file(name);
    CHECK(own.name == "torchtitan");
    CHECK(own.host.kernel == Approx(9e-6));
    CHECK(own.host.collective == shipped.host.collective);
    CHECK(own.fused == shipped.fused);
  }
  // Stacks that are like it inherit the user's version.
  const Stack eager = stack_of_file("torchtitan-eager");
  CHECK(eager.host.kernel == Approx(9e-6));
  CHECK(eager.fused == shipped_eager.fused);
  // The shipped torchtitan inherits from pytorch-fsdp.
  library.folder.write("stacks/pytorch-fsdp.yaml", "like: torchtitan\n");
  CHECK_THAT(error_of([] { stack_of_file("torchtitan"); }),
             Contains("torchtitan -> torchtitan -> pytorch-fsdp -> torchtitan"));
}

TEST_CASE("every fault of a stack has a message", "[stack]") {
  const auto fault = [](const std::string& text) { return error_of([&] { stack(text); }); };
  const std::string rest = ", host: {kernel: 1 us}, attention: fa2}";
  CHECK_THAT(fault("{hots: 1" + rest),
             Contains("s.yaml:1:2: ") && Contains("'hots'") && Contains("did you mean 'host'?"));
  CHECK_THAT(fault("{host: {kernle: 1 us}, attention: fa2}"),
             Contains("'kernle'") && Contains("did you mean 'kernel'?"));
  CHECK_THAT(fault("{attention: fa2}"), Contains("stack.host is missing"));
  CHECK_THAT(fault("{host: {pass: 1 ms}, attention: fa2}"),
             Contains("stack.host.kernel is missing"));
  CHECK_THAT(fault("{host: {kernel: 1 us}}"), Contains("stack.attention is missing"));
  CHECK_THAT(fault("{host: {kernel: 1 us}, attention: []}"),
             Contains("allowed: an attention kernel or a list of them, such as [cudnn, fa2]"));
  CHECK_THAT(fault("{host: {kernel: 1 us}, attention: [fa2, fa9]}"),
             Contains("stack.attention[1] is ") &&
                 Contains("allowed: one of unfused, fa1, fa2, fa3, cudnn, cudnn-9-2, ck, aiter, "
                          "aotriton"));
  CHECK_THAT(fault("{fused: [nrom]" + rest), Contains("stack.fused[0] is ") &&
                                                 Contains("did you mean 'norm'?") &&
                                                 Contains("cross_entropy, permutation, router"));
  CHECK_THAT(fault("{rules: [no_zero1]" + rest),
             Contains("stack.rules[0] is ") && Contains("did you mean 'no_zero_1'?") &&
                 Contains("allowed: one of interleaving_needs_pp, "));
  CHECK_THAT(fault("{rules: {no_tp: true}" + rest), Contains("stack.rules is a map"));
  CHECK_THAT(fault("{schedules: [1f1b, zb-h9]" + rest),
             Contains("stack.schedules[1] is ") && Contains("allowed: one of gpipe, 1f1b, "));
  CHECK_THAT(fault("{recompute: {early_stop: 2}" + rest),
             Contains("stack.recompute.early_stop is "));
  CHECK_THAT(fault("{assumed: [host.krenel]" + rest),
             Contains("stack.assumed[0] is ") && Contains("allowed: keys of this file"));
  CHECK_THAT(fault("{training: fast" + rest),
             Contains("allowed: a map of keys of the section training of scenarios"));
  CHECK_THAT(fault("{like: torchtitn}"), Contains("did you mean 'torchtitan'?"));
  CHECK_THAT(error_of([] { scenario(", stack: {like: megatron-core, training: {colour: red}}"); }),
             Contains("stack.training.colour is no key of a stack"));
}

TEST_CASE("host times of a stack are limited to realistic ranges", "[stack]") {
  const auto fault = [](const std::string& host) {
    return error_of([&] { stack("{host: {" + host + "}, attention: fa2}"); });
  };
  CHECK(fault("kernel: 140 us, collective: 10 ms, pass: 1 s, iteration: 0").empty());
  CHECK_THAT(fault("kernel: 140"),
             Contains("stack.host.kernel is 140 (a bare number is in seconds); did you mean '140 "
                      "us'? allowed: an overhead from 0 to 10 ms, such as 5 us"));
  CHECK_THAT(fault("kernel: 1 h"),
             Contains("stack.host.kernel is 1 h; allowed: an overhead from 0 to"));
  CHECK_THAT(fault("kernel: 5 us, pass: 1.2 s"),
             Contains("an overhead from 0 to 1 s, such as 0.5 ms"));
  CHECK_THAT(fault("kernel: 5 us, iteration: 30"), Contains("did you mean '30 ms'?"));
}

TEST_CASE("a scenario with a model and no stack runs Megatron-Core", "[stack]") {
  const Scenario read = scenario("");
  CHECK(read.training.stack.name == "megatron-core");
  CHECK(read.training.stack.host == stack_of_file("megatron-core").host);
  const Value* const tree = find(read.tree, "stack");
  REQUIRE(tree != nullptr);
  REQUIRE(find(*tree, "name") != nullptr);
  CHECK(find(*tree, "name")->text == "megatron-core");
  CHECK(find(*tree, "host") != nullptr);
  CHECK(read_scenario(read.tree).text == read.text);
  // Given times need no software.
  const Scenario times = read_scenario(read_yaml_text(
      "{devices: 2, microbatches: 4, forward_times: 1, backward_times: 2}", "t.yaml"));
  CHECK(find(times.tree, "stack") == nullptr);
}

TEST_CASE("keys of a scenario override those of its stack", "[stack]") {
  const Scenario of_stack = scenario(", stack: pytorch-fsdp");
  CHECK_FALSE(of_stack.training.fused_accumulation);
  CHECK_FALSE(of_stack.communication.async_tensor_model_parallel_allreduce);
  CHECK(of_stack.training.bytes.weights == 4.0);
  CHECK(of_stack.training.bytes.gradients == 4.0);
  CHECK(find(of_stack.tree, "training") == nullptr);
  const Scenario own = scenario(
      ", stack: pytorch-fsdp, training: {fused_accumulation: true, bytes: {gradients: 2}}, "
      "communication: {async_tensor_model_parallel_allreduce: true}");
  CHECK(own.training.fused_accumulation);
  CHECK(own.communication.async_tensor_model_parallel_allreduce);
  CHECK(own.training.bytes.weights == 4.0);
  CHECK(own.training.bytes.gradients == 2.0);
}

TEST_CASE("single keys of a stack can be set, with or without a name of the stack", "[stack]") {
  for (const auto& [more, name] :
       {std::pair{"", "megatron-core"}, std::pair{", stack: torchtitan", "torchtitan"},
        std::pair{", stack: {like: torchtitan}", "torchtitan"}}) {
    CAPTURE(more);
    Value root = scenario_tree(more);
    override_key(root, "stack.host.kernel", "40 us", {"--set", 0, 0, ""});
    const Stack changed = read_scenario(root).training.stack;
    const Stack library_stack = stack_of_file(name);
    CHECK(changed.name == name);
    CHECK(changed.host.kernel == Approx(40e-6));
    CHECK(changed.host.collective == library_stack.host.collective);
    CHECK(changed.attention == library_stack.attention);
  }
}

TEST_CASE("the stack that a scenario's stack is like cannot be set alone", "[stack]") {
  Value root = scenario_tree(", stack: {like: torchtitan}");
  CHECK_THROWS_WITH(override_key(root, "stack.like", "torchtitan-eager", {"--set", 0, 0, ""}),
                    Contains("stack.like cannot be set alone") && Contains("--stack torchtitan"));
}

TEST_CASE("a stack within a stack has the name of the innermost", "[stack]") {
  CHECK(scenario(", stack: {like: {like: torchtitan}}").training.stack.name == "torchtitan");
}

TEST_CASE("flash attention, the fused loss and early stopping follow the stack unless set",
          "[stack]") {
  const auto training = [](const std::string& name, const std::string& keys) {
    return scenario(", stack: " + name + (keys.empty() ? "" : ", training: {" + keys + "}"))
        .training;
  };
  CHECK(training("megatron-core", "").flash_attention);
  CHECK_FALSE(training("megatron-core", "flash_attention: false").flash_attention);
  CHECK_FALSE(training("megatron-lm-2022", "").flash_attention);
  const Training flash = training("megatron-lm-2022", "flash_attention: true");
  CHECK(flash.flash_attention);
  CHECK(flash.stack.attention == Kernels{AttentionKernel::fa2});
  // Fused kernels take 16 bits.
  CHECK_FALSE(training("megatron-core", "precision: tf32").flash_attention);
  CHECK(training("megatron-core", "precision: tf32, flash_attention: true").flash_attention);

  CHECK(training("megatron-core", "").fused_loss);
  CHECK_FALSE(training("torchtitan-eager", "").fused_loss);
  CHECK(training("torchtitan-eager", "fused_loss: true").fused_loss);
  CHECK_FALSE(training("megatron-core", "fused_loss: false").fused_loss);

  CHECK(training("pytorch-fsdp", "recompute: full").recompute.early_stop);
  CHECK_FALSE(training("megatron-core", "recompute: full").recompute.early_stop);
  CHECK_FALSE(training("pytorch-fsdp", "recompute: {granularity: full, early_stop: false}")
                  .recompute.early_stop);
  CHECK(training("megatron-core", "recompute: {early_stop: true}").recompute.early_stop);
}

TEST_CASE("bytes that a stack gives are those of mixed precision", "[stack]") {
  const Scenario mixed = scenario(", stack: deepspeed");
  CHECK(weight_bytes(mixed.training) == 2);
  CHECK(gradient_bytes(mixed.training) == 2);
  CHECK(mixed.communication.gradient_bytes == 2);
  const Scenario wide = scenario(", stack: deepspeed, training: {precision: tf32}");
  CHECK(weight_bytes(wide.training) == 4);
  CHECK(gradient_bytes(wide.training) == 4);
  CHECK(optimizer_bytes(wide.training) == 8);
  CHECK(wide.communication.gradient_bytes == 4);
  // Other defaults of the stack stay.
  CHECK_FALSE(wide.training.fused_accumulation);
  CHECK_FALSE(wide.communication.async_tensor_model_parallel_allreduce);
  const Scenario own = scenario(
      ", stack: deepspeed, training: {precision: tf32}, communication: {gradient_bytes: 2}");
  CHECK(own.communication.gradient_bytes == 2);
}

TEST_CASE("reserved memory and fragmentation follow the stack unless set", "[stack]") {
  const auto training = [](const std::string& of_stack, const std::string& keys) {
    return scenario(", stack: " + of_stack + (keys.empty() ? "" : ", training: {" + keys + "}"))
        .training;
  };
  const Training core = training("megatron-core", "");
  CHECK(core.reserved == std::uint64_t{2} << 30U);
  CHECK(core.fragmentation == 0.1);
  SoftwareMemory expected;
  expected.expert_workspace = std::uint64_t{128} << 20U;
  expected.unused_gradients = true;
  CHECK(core.stack.memory == expected);
  CHECK(core.stack.memory.workspace == std::uint64_t{96} << 20U);

  const std::string mine =
      "{like: megatron-core, memory: {fragmentation: 4 %, nccl_buffers: 3 GiB}}";
  CHECK(training(mine, "").fragmentation == 0.04);
  CHECK(training(mine, "").reserved == (std::uint64_t{3} << 30U) + (std::uint64_t{512} << 20U));
  CHECK(training(mine, "").stack.memory.workspace == core.stack.memory.workspace);
  const Training set = training(mine, "fragmentation: 0, reserved: 1 GiB");
  CHECK(set.fragmentation == 0);
  CHECK(set.reserved == std::uint64_t{1} << 30U);
}

TEST_CASE("memory of a stack is inherited key by key", "[stack]") {
  CHECK(stack_of_file("torchtitan").memory.workspace == std::uint64_t{64} << 20U);
  const SoftwareMemory automodel = stack_of_file("automodel").memory;
  CHECK(automodel.workspace == std::uint64_t{96} << 20U);
  CHECK(automodel.reserved() == stack_of_file("pytorch-fsdp").memory.reserved());
  const Stack small =
      stack("{host: {kernel: 1 us}, attention: fa2, memory: {graph_kernel: 64 kB}}");
  CHECK(small.memory.graph_kernel == 64'000);
  CHECK(small.memory.reserved() == SoftwareMemory{}.reserved());
}

TEST_CASE("temporaries of the loss and of the optimizer are those of the stack", "[stack]") {
  const SoftwareMemory core = stack_of_file("megatron-core").memory;
  CHECK(core.loss_working == 2);
  CHECK(core.fused_loss_working == 0);
  CHECK(core.optimizer_working == 0);
  CHECK_FALSE(core.delayed_frees);
  CHECK(core.unused_gradients);
  CHECK_FALSE(stack_of_file("maxtext").memory.unused_gradients);
  CHECK_FALSE(stack_of_file("pytorch-fsdp").memory.unused_gradients);
  const SoftwareMemory eager = stack_of_file("torchtitan-eager").memory;
  CHECK(eager.loss_working == 8);
  CHECK(eager.fused_loss_working == 2);
  CHECK(eager.optimizer_working == 0);
  CHECK(stack_of_file("pytorch-fsdp").memory.optimizer_working == 4);
  CHECK(stack_of_file("nanotron").memory.delayed_frees);
}

TEST_CASE("wrong values of a stack's memory are refused", "[stack]") {
  const auto error = [](const std::string& memory) {
    return error_of(
        [&] { stack("{host: {kernel: 1 us}, attention: fa2, memory: " + memory + "}"); });
  };
  CHECK_THAT(error("{fragmentation: 2}"), Contains("stack.memory.fragmentation is 2; allowed: a "
                                                   "part of the activations, from 0 to 1"));
  CHECK_THAT(error("{workspace: much}"), Contains("stack.memory.workspace"));
  CHECK_THAT(
      error("{loss_working: -1}"),
      Contains(
          "stack.memory.loss_working is -1; allowed: bytes per element, from 0 to 64, such as 8"));
  CHECK_THAT(error("{optimizer_working: 65}"), Contains("stack.memory.optimizer_working is 65"));
  CHECK_THAT(error("{delayed_frees: 2}"), Contains("stack.memory.delayed_frees"));
  CHECK_THAT(error("{workspce: 1 MiB}"),
             Contains("unknown key 'workspce' in stack.memory; did you mean 'workspace'?"));
  CHECK_THAT(error("2 GiB"), Contains("stack.memory"));
}

TEST_CASE("the number of gathered FSDP stages is that of the stack unless set", "[stack]") {
  const auto stages = [](const std::string& stack_name, const std::string& keys) {
    return scenario(", stack: " + stack_name + ", parallel: {" + keys + "}")
        .parallel.max_unsharded_stages;
  };
  CHECK(stages("torchtitan", "shard: 4") == 3U);
  CHECK(stages("torchtitan-eager", "shard: 4") == 3U);
  CHECK(stages("torchtitan", "shard: 4, max_unsharded_stages: 5") == 5U);
  CHECK(stages("{like: torchtitan, max_unsharded_stages: 2}", "shard: 4") == 2U);
  CHECK_FALSE(stages("pytorch-fsdp", "shard: 4"));
  CHECK(stages("pytorch-fsdp", "shard: 4, max_unsharded_stages: 2") == 2U);
  CHECK_NOTHROW(stages("torchtitan", "dp: 4, zero: 1"));  // without effect
  CHECK_THAT(
      error_of([] { stack("{host: {kernel: 1 us}, attention: fa2, max_unsharded_stages: 0}"); }),
      Contains("stack.max_unsharded_stages is 0; allowed: a whole number from 1"));
}

TEST_CASE("stacks without Megatron-FSDP do not gather its number of elements ahead", "[stack]") {
  const auto ahead = [](const std::string& name) {
    return scenario(", stack: " + name + ", parallel: {dp: 4, zero: 3}").parallel.gather_ahead;
  };
  CHECK(ahead("megatron-core") == 500'000'000U);
  CHECK(ahead("megatron-bridge") == 500'000'000U);
  CHECK(ahead("maxtext") == 1U);  // one layer
  CHECK(ahead("megatron-lm-2022") == 50'000'000U);
  CHECK_FALSE(ahead("torchtitan"));
}

TEST_CASE("a stack states how far the times of equal replicas spread", "[stack]") {
  const auto spread = [](const std::string& text) { return stack(text).replica_spread; };
  CHECK(spread("{like: pytorch-fsdp, replica_spread: 2.5 %}") == Approx(0.025));
  CHECK(spread("{host: {kernel: 1 us}, attention: fa2}") == 0);
  CHECK(spread("nanotron") == spread("pytorch-fsdp"));
  CHECK_THAT(error_of([&] { spread("{like: pytorch-fsdp, replica_spread: 2}"); }),
             Contains("stack.replica_spread is 2; allowed: a deviation, from 0 to 1"));
}

TEST_CASE("the partition is that of the stack unless set", "[stack]") {
  const auto rule = [](const std::string& stack_name, const std::string& keys) {
    return to_string(scenario(", stack: " + stack_name + keys).partition);
  };
  CHECK(rule("nanotron", "") == "by_weights");
  CHECK(rule("nanotron", ", partition: by_cost") == "by_cost");
  CHECK(rule("{like: nanotron, partition: even}", "") == "even");
  CHECK(rule("megatron-core", "") == "even");
  CHECK_THAT(error_of([] { stack("{host: {kernel: 1 us}, attention: fa2, partition: [1, 2]}"); }),
             Contains("stack.partition"));
  CHECK_THAT(error_of([] { scenario(", stack: {like: nanotron, partition: by_wieghts}"); }),
             Contains("stack.partition is the text 'by_wieghts'; did you mean 'by_weights'?"));
}

TEST_CASE("flash attention needs a stack with a fused kernel", "[stack]") {
  const std::string text = ", stack: {like: megatron-core, attention: unfused}";
  CHECK_FALSE(scenario(text).training.flash_attention);
  CHECK_THAT(error_of([&] { scenario(text + ", training: {flash_attention: true}"); }),
             Contains("t.yaml:1:") &&
                 Contains("training.flash_attention is true, but the stack megatron-core has no "
                          "fused attention kernel; set stack.attention too, such as [fa2]"));
}

TEST_CASE("a GPU runs the first attention kernel of the stack that its file has", "[stack]") {
  using enum AttentionKernel;
  const Gpu a100 = find_gpu("a100-80gb");
  CHECK(attention_kernel_of(a100, Kernels{cudnn, fa2}) == fa2);
  CHECK(attention_kernel_of(a100, Kernels{unfused, fa2}) == unfused);
  CHECK(attention_kernel_of(a100, {}) == fa2);
  CHECK_THAT(
      error_of([&] {
        attention_kernel_of(a100, Kernels{aiter, ck});
      }),
      Contains("the GPU 'a100-80gb' has no attention kernel aiter or ck, which the stack "
               "uses; allowed: stack.attention: unfused, fa1, fa2 (rates of other kernels "));
  // Default rates stand for all kernels of a GPU whose file has none.
  Gpu plain{.name = "plain"};
  CHECK(attention_kernel_of(plain, Kernels{aiter, ck}) == aiter);
  CHECK(attention_kernel_of(plain, {}) == fa2);
  CHECK(rates_of(plain, aiter) == AttentionRates{});
  mutable_rates_of(plain, ck).forward = 0.3;
  CHECK(attention_kernel_of(plain, Kernels{aiter, ck}) == ck);
  CHECK(rates_of(plain, ck).forward == 0.3);
}

TEST_CASE("every GPU of the library has an attention kernel of the default stack", "[stack]") {
  const Kernels preference = stack_of_file("megatron-core").attention;
  for (const std::string& name : library_names("gpus", ".yaml")) {
    CAPTURE(name);
    CHECK_NOTHROW(attention_kernel_of(find_gpu(name), preference));
  }
}

}  // namespace
}  // namespace pipewright::config::test
