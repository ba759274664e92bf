#include <algorithm>
#include <string>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "support/paths.hpp"
#include "support/program.hpp"

using namespace pipewright;
using nlohmann::json;

namespace {

json model_json(const tests::CommandFolder& place, const std::string& words) {
  const tests::ProgramResult ran = place.run("model " + words + " --json");
  INFO(ran.err);
  REQUIRE(ran.status == 0);
  return json::parse(ran.out);
}

// GPU with 1 TFLOP/s and 1 GB/s, which starts kernels without delay.
const std::string plain_gpu =
    "name: plain\nflops: 1 TFLOP/s\nmemory: 80 GiB\nmemory_bandwidth: 1 GB/s\nprocessors: 1\n"
    "memory_efficiency: 1\nkernel_overhead: 0 s\n"
    "products:\n  bf16: {efficiency: 1, wave: 0 s, overhead: 0 s}\n"
    "attention: {fa2: {forward: 1, backward: 1}}\n";

}  // namespace

TEST_CASE("model without a name lists models with parameters and FLOPs", "[cli][model]") {
  const tests::CommandFolder place;
  const json models = model_json(place, "");
  const auto named = [&](const char* name) {
    return *std::ranges::find_if(models, [&](const json& row) { return row["model"] == name; });
  };
  CHECK(named("llama-3-8b")["parameters"] == 8'030'261'248U);
  CHECK(named("llama-3-8b")["active_parameters"] == 8'030'261'248U);
  // 6 FLOPs for each of 7.505e9 parameters in matrices, and 12 x 32 layers x 4,096 x 8,192 for the
  // scores of full attention, or half of that for causal attention.
  CHECK(named("llama-3-8b")["flops_per_token"].get<double>() ==
        Approx(6 * 7.505e9 + 6.0 * 32 * 4096 * 8192).epsilon(0.001));
  CHECK(named("llama-3-8b")["full_attention_flops_per_token"].get<double>() ==
        Approx(6 * 7.505e9 + 12.0 * 32 * 4096 * 8192).epsilon(0.001));
  CHECK(named("mixtral-8x7b")["active_parameters"].get<double>() == Approx(12.88e9).epsilon(0.001));
  CHECK_THAT(place.run("model").out, Catch::Contains("llama-3-8b"));
}

TEST_CASE("a model's bytes are listed by its parts on one GPU", "[cli][model]") {
  const tests::CommandFolder place;
  const json whole = model_json(place, "llama-3-8b");
  const json& parts = whole["parts"];
  REQUIRE(parts.size() == 4);
  CHECK(parts[0]["part"] == "embedding");
  CHECK(parts[1]["part"] == "dense layer");
  CHECK(parts[1]["count"] == 32);
  // Attention has 4,096 x (4,096 + 2 x 1,024) and 4,096 x 4,096 parameters, the MLP 3 x 4,096 x
  // 14,336, and there are two norms.
  CHECK(parts[1]["parameters"] == 218'112'000U);
  CHECK(parts[1]["weights_bytes"] == 2 * 218'112'000.0);
  CHECK(parts[1]["optimizer_bytes"] == 12 * 218'112'000.0);
  CHECK(parts[3]["parameters"] == whole["parameters"]);
  const json cut = model_json(place, "llama-3-8b --tp 2 --sp --sequence 1024");
  CHECK(cut["parts"][1]["parameters"] == 218'112'000U / 2 + 4096);
  CHECK(cut["sequence_tokens"] == 1024);
  CHECK_FALSE(cut.contains("times"));
}

TEST_CASE("the JSON of a model has its layout, precision and peak", "[cli][model]") {
  const tests::CommandFolder place;
  const json run = model_json(
      place, "llama-3-8b --gpu h100-sxm --tp 8 --sp --precision fp8 --microbatch-size 2");
  CHECK(run["layout"]["tp"] == 8);
  CHECK(run["layout"]["sp"] == true);
  CHECK(run["layout"]["microbatch_samples"] == 2);
  CHECK(run["layout"]["sequence_tokens"] == 8192);
  CHECK(run["precision"] == "fp8");
  CHECK(run["peak_flops"].get<double>() == Approx(1979e12));
}

TEST_CASE("the report of a model names its stack, and the attention kernel on its GPU",
          "[cli][model]") {
  const tests::CommandFolder place;
  const auto attention = [&](const std::string& words) {
    return model_json(place, "llama-3-8b " + words)["attention"];
  };
  CHECK(attention("--gpu h100-sxm") == "cudnn");
  CHECK(attention("--gpu a100-80gb") == "fa2");
  CHECK(attention("--gpu h100-sxm --stack torchtitan") == "fa2");
  CHECK(attention("--gpu h100-sxm --set stack.attention='[cudnn-9-2]'") == "cudnn-9-2");
  CHECK(attention("--gpu a100-80gb --stack megatron-lm-2022") == "unfused");
  CHECK(attention("--gpu h100-sxm --set training.flash_attention=false") == "unfused");
  CHECK_THAT(place.run("model llama-3-8b --gpu h100-sxm --stack torchtitan").out,
             Catch::Contains("bf16\nstack torchtitan, attention fa2\n"));
  CHECK_THAT(place.run("model llama-3-8b").out, Catch::Contains("bf16\nstack megatron-core\n"));
  const json without_gpu = model_json(place, "llama-3-8b --stack nanotron");
  CHECK(without_gpu["stack"] == "nanotron");
  CHECK_FALSE(without_gpu.contains("attention"));
  const tests::ProgramResult refused = place.run("model llama-3-8b --gpu a100-80gb --stack primus");
  CHECK(refused.status == 2);
  CHECK_THAT(refused.err, Catch::Contains("has no attention kernel aiter or ck"));
}

TEST_CASE("a model without a GPU uses the GPU of its cluster", "[cli][model]") {
  const tests::CommandFolder place;
  const json run = model_json(place, "llama-3-8b --cluster dgx-h100-8");
  CHECK(run["gpu"] == "h100-sxm");
  CHECK(run["times"] == model_json(place, "llama-3-8b --gpu h100-sxm")["times"]);
  CHECK(model_json(place, "llama-3-8b --cluster dgx-h100-8 --gpu b200")["gpu"] == "b200");
}

TEST_CASE("a layer's kernels have their shapes, times and bounds", "[cli][model]") {
  const tests::CommandFolder place;
  place.write("plain.yaml", plain_gpu);
  const json run = model_json(place, "llama-3-8b --gpu plain.yaml --tp 8 --sp --sequence 2048");
  const json& layer = run["times"][0];
  CHECK(layer["part"] == "dense layer");
  const auto kernel = [&](const char* pass, const char* part) {
    return *std::ranges::find_if(layer["kernels"], [&](const json& row) {
      return row["pass"] == pass && row["part"] == part && row["kernel"] != "norm" &&
             row["bound"] != "network";
    });
  };
  const json qkv = kernel("F", "qkv");
  CHECK(qkv["shape"] == "2048 x 768 x 4096");
  CHECK(qkv["flops"].get<double>() == 2.0 * 2048 * 768 * 4096);
  CHECK(qkv["bytes"].get<double>() == 2.0 * (2048 * 4096 + 768 * 4096 + 2048 * 768));
  CHECK(qkv["seconds"].get<double>() == Approx(qkv["bytes"].get<double>() / 1e9));
  CHECK(qkv["bound"] == "memory");
  // Causal attention computes half of the 4 x 2,048 x 2,048 x 128 FLOPs of four heads.
  const json attention = kernel("F", "core attention");
  CHECK(attention["seconds"].get<double>() == Approx(2.0 * 4 * 2048 * 2048 * 128 / 1e12));
  CHECK(attention["bound"] == "compute");
  CHECK(kernel("W", "mlp out")["shape"] == "4096 x 1792 x 2048");
  for (const json& pass : layer["passes"]) {
    double sum = 0;
    for (const json& row : layer["kernels"])
      if (row["pass"] == pass["pass"])
        sum += row["times"].get<double>() * row["seconds"].get<double>();
    CHECK(pass["kernel_seconds"].get<double>() == Approx(sum));
    CHECK(pass["bound"] == "kernels");
  }
  CHECK(run["assumed"].empty());
}

TEST_CASE("a pass takes at least as long as the host needs to launch it", "[cli][model]") {
  const tests::CommandFolder place;
  place.write("slow.yaml",
              "like: none\nflops: 1 PFLOP/s\nmemory: 80 GiB\nmemory_bandwidth: 1000 TB/s\n"
              "processors: 1\n");
  const std::string words =
      "llama-3-8b --gpu slow.yaml --sequence 128 --set stack.host.kernel=10ms";
  const json pass = model_json(place, words)["times"][0]["passes"][0];
  CHECK(pass["bound"] == "host");
  CHECK(pass["seconds"].get<double>() == Approx(0.01 * pass["kernels"].get<double>()));
  const std::string graphs = words + " training.cuda_graphs=";
  CHECK(model_json(place, graphs + "layer")["times"][0]["passes"][0]["host_seconds"] == 0.01);
  CHECK(model_json(place, graphs + "iteration")["times"][0]["passes"][0]["bound"] == "kernels");
}

TEST_CASE("recomputed kernels are a pass of their own", "[cli][model]") {
  const tests::CommandFolder place;
  place.write("plain.yaml", plain_gpu);
  const auto passes = [&](const std::string& recompute) {
    return model_json(place, "llama-3-8b --gpu plain.yaml --set training.recompute=" +
                                 recompute)["times"][0]["passes"];
  };
  CHECK(passes("none").size() == 3);
  const json full = passes("full");
  REQUIRE(full.size() == 4);
  CHECK(full[1]["pass"] == "R");
  CHECK(full[1]["seconds"] == full[0]["seconds"]);
  // The MLP recomputes its norm, two products and the activation function.
  CHECK(passes("'{modules: [mlp]}'")[1]["kernels"] == 4);
  // All kernels of the forward pass are recomputed except two of the four products and one other
  // kernel.
  CHECK(passes("'{granularity: op}'")[1]["kernels"].get<int>() ==
        full[0]["kernels"].get<int>() - 2 - 1);
}

TEST_CASE("times from assumed numbers are marked", "[cli][model]") {
  const tests::CommandFolder place;
  place.write("guess.yaml", plain_gpu + "assumed: [attention.fa2]\n");
  const json run = model_json(place, "llama-3-8b --gpu guess.yaml");
  CHECK(run["assumed"] == json{"attention.fa2"});
  for (const json& kernel : run["times"][0]["kernels"])
    CHECK(kernel["assumed"].size() == (kernel["part"] == "core attention" ? 1 : 0));
  const std::string text = place.run("model llama-3-8b --gpu guess.yaml").out;
  CHECK_THAT(text, Catch::Contains("~ depends on values of plain that are assumed, not sourced: "
                                   "attention.fa2\n"));
  CHECK_THAT(
      place.run("model llama-3-8b --gpu guess.yaml --set training.flash_attention=false").out,
      !Catch::Contains("~"));
}

TEST_CASE("an assumed host time is marked where the host limits a pass", "[cli][model]") {
  const tests::CommandFolder place;
  place.write("fast.yaml",
              "like: none\nflops: 1 PFLOP/s\nmemory: 80 GiB\nmemory_bandwidth: 1000 TB/s\n"
              "processors: 1\n");
  const auto assumed = [&](const std::string& kernel) {
    place.write("stack.yaml",
                "like: megatron-core\nhost: {kernel: " + kernel + "}\nassumed: [host.kernel]\n");
    return model_json(place,
                      "llama-3-8b --gpu fast.yaml --sequence 128 --set "
                      "stack=./stack.yaml")["assumed"];
  };
  CHECK(assumed("0 us").empty());
  CHECK(assumed("10 ms") == json{"stack.host.kernel"});
}

TEST_CASE("an invalid model is refused with its location", "[cli][model]") {
  const tests::CommandFolder place;
  place.write("m.yaml",
              "layers: 4\nhidden: 64\nheads: 4\nvocabulary: 100\nsequence: 64\nparameters: 5B\n");
  const tests::ProgramResult off = place.run("model m.yaml");
  CHECK(off.status == 2);
  CHECK_THAT(off.err, Catch::Contains("m.yaml:6:13: model.parameters is 5 billion, but the other "
                                      "keys imply "));
  const tests::ProgramResult cut = place.run("model llama-3-8b --tp 3");
  CHECK(cut.status == 2);
  CHECK_THAT(cut.err, Catch::Contains("parallel.tp is 3, which does not divide"));
  const tests::ProgramResult unknown_model = place.run("model llama-9");
  CHECK(unknown_model.status == 2);
  CHECK_THAT(unknown_model.err, Catch::Contains("llama-3-8b"));
  const tests::ProgramResult type = place.run("model llama-3-8b --gpu a100-80gb --precision nvfp4");
  CHECK(type.status == 2);
  CHECK_THAT(type.err, Catch::Contains("--precision: training.precision is nvfp4, but the GPU "
                                       "'a100-80gb' has no nvfp4 products; allowed: bf16, fp16"));
}

TEST_CASE("a config.json runs, and can be changed and swept over like any model", "[cli][model]") {
  const tests::CommandFolder place;
  const std::string data = PIPEWRIGHT_TEST_DATA "/models/";
  const json shape = model_json(place, "'" + data + "small-dense' --set model.layers=8");
  CHECK(shape["model"] == "small-dense");
  CHECK(shape["parameters"] == 2'742'528U + 4 * 557'568U);
  CHECK_THAT(shape["notes"][0].get<std::string>(), Catch::Contains("sequence: 4096 is assumed"));
  const json shorter = model_json(place, "'" + data + "small-dense/config.json' --sequence 512");
  CHECK(shorter["sequence_tokens"] == 512);
  CHECK_FALSE(shorter.contains("notes"));  // the sequence is no longer assumed

  place.write("sweep.yaml", "model: ['" + data + "small-dense/config.json', '" + data +
                                "small-vision']\ncluster: dgx-h100\nparallel: {tp: 2, pp: 2, sp: "
                                "true}\nschedule: 1f1b\nglobal_batch: 64\n");
  const tests::ProgramResult search = place.run("search sweep.yaml --quiet");
  INFO(search.err);
  CHECK(search.status == 0);
  CHECK_THAT(search.out, Catch::Contains("small-dense") && Catch::Contains("small-vision"));

  const tests::ProgramResult run = place.run(
      "run --model '" + data +
      "small-mixture' --cluster dgx-h100 --tp 2 --sp -s 2 --set parallel.dp=2 --ep 2 -b 4 "
      "--schedule 1f1b --trace t.h5");
  INFO(run.err);
  REQUIRE(run.status == 0);
  CHECK_THAT(run.out, Catch::Contains("note: model: sequence: 2048 is assumed"));
  const tests::ProgramResult trace = place.run("show t.h5");
  CHECK(trace.status == 0);
  CHECK_THAT(trace.out, Catch::Contains("small-mixture"));
}
