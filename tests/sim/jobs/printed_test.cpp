#include <string>

#include <catch2/catch.hpp>

#include "sim/jobs/support.hpp"

using namespace pipewright;
using tests::scenario_of;

namespace {

const std::string arguments =
    "  add_bias_linear .................................. False\n"
    "  attention_dropout ................................ 0.0\n"
    "  bf16 ............................................. True\n"
    "  cp_comm_type ..................................... ['p2p']\n"
    "  data_parallel_size ............................... 1\n"
    "  encoder_num_layers ............................... 80\n"
    "  ffn_hidden_size .................................. 28672\n"
    "  fp16 ............................................. False\n"
    "  fp8 .............................................. None\n"
    "  global_batch_size ................................ 128\n"
    "  group_query_attention ............................ True\n"
    "  hidden_dropout ................................... 0.0\n"
    "  hidden_size ...................................... 8192\n"
    "  micro_batch_size ................................. 1\n"
    "  normalization .................................... RMSNorm\n"
    "  num_attention_heads .............................. 64\n"
    "  num_experts ...................................... None\n"
    "  num_layers ....................................... 80\n"
    "  num_query_groups ................................. 8\n"
    "  overlap_p2p_comm ................................. False\n"
    "  padded_vocab_size ................................ 128256\n"
    "  pipeline_model_parallel_size ..................... 2\n"
    "  position_embedding_type .......................... rope\n"
    "  rampup_batch_size ................................ None\n"
    "  recompute_granularity ............................ full\n"
    "  recompute_method ................................. uniform\n"
    "  recompute_num_layers ............................. 1\n"
    "  seq_length ....................................... 8192\n"
    "  sequence_parallel ................................ True\n"
    "  swiglu ........................................... True\n"
    "  tensor_model_parallel_size ....................... 8\n"
    "  untie_embeddings_and_output_weights .............. True\n"
    "  use_distributed_optimizer ........................ True\n"
    "  world_size ....................................... 16\n";

const std::string heading = "------------------------ arguments ------------------------\n";
const std::string ending = "-------------------- end of arguments ---------------------\n";

// The lines of a text, each behind a prefix.
std::string behind(const std::string& prefix, const std::string& text) {
  std::string lines;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = text.find('\n', at);
    lines += prefix + text.substr(at, end - at + 1);
    at = end + 1;
  }
  return lines;
}

}  // namespace

TEST_CASE("Megatron-LM's printed arguments are a job", "[jobs]") {
  const std::string log = "using world size: 16\n" + heading + arguments + ending +
                          "> building Llama3Tokenizer tokenizer ...\n";
  for (const std::string& text :
       {log, behind("0: ", log), behind("[default0]:", log),
        behind("[2024-08-10 09:01:11,512] [rank0] ", log), heading + behind("12: ", arguments)}) {
    CAPTURE(text);
    const jobs::Job job = tests::import_text("train.log", text);
    CHECK(job.framework == "megatron");
    CHECK(job.missing.empty());
    CHECK(job.not_modelled.empty());
    const config::Scenario scenario = scenario_of(job);
    const config::Model& model = scenario.model->value;
    CHECK(model.layers == 80);
    CHECK(model.kv_heads == 8);
    CHECK(model.vocabulary == 128256);
    CHECK(model.biases == config::Model::Biases::none);
    CHECK_FALSE(model.tied_embeddings);
    CHECK(scenario.parallel.tp.value == 8);
    CHECK(scenario.devices.value == 2);
    CHECK(scenario.parallel.dp.value == 1);  // 16 / (8 x 2)
    CHECK(scenario.parallel.sequence);
    CHECK(scenario.parallel.zero == 1);
    CHECK(scenario.microbatches.value == 128);
    CHECK(scenario.training.recompute.granularity == config::Recompute::Granularity::full);
    CHECK_FALSE(scenario.communication.overlap_grad_reduce);
  }
  const jobs::Job job = tests::import_text("train.log", log);
  CHECK(job.comments.at("parallel.tp") == "tensor_model_parallel_size 8 (line 33)");
}

TEST_CASE("the last run of a log gives the job", "[jobs]") {
  std::string other = arguments;
  other.replace(other.find("128\n"), 4, "64\n");
  const jobs::Job job = tests::import_text(
      "train.log", heading + arguments + ending + "restart\n" + heading + other + ending);
  CHECK(scenario_of(job).microbatches.value == 64);
}

TEST_CASE("printed arguments that the framework would refuse are errors", "[jobs]") {
  std::string wrong = arguments;
  wrong.replace(wrong.find("world_size ....................................... 16"), 53,
                "world_size ....................................... 24");
  CHECK_THROWS_WITH(tests::import_text("train.log", heading + wrong + ending),
                    Catch::Contains("world size (24, by world_size 24) is not divisible by "
                                    "total_model_size (16"));
}

TEST_CASE("printed arguments of Megatron-DeepSpeed have the rules of DeepSpeed", "[jobs]") {
  std::string text = arguments;
  text +=
      "  deepspeed ........................................ True\n"
      "  zero_stage ....................................... 1\n"
      "  batch_size ....................................... None\n";
  const config::Scenario scenario =
      scenario_of(tests::import_text("train.log", heading + text + ending));
  CHECK(scenario.parallel.zero == 1);
  CHECK(scenario.communication.gradient_bytes == 2);
  CHECK(scenario.training.stack.name == "megatron-lm-2022");
}
