#include <filesystem>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "support/paths.hpp"
#include "support/program.hpp"

using namespace pipewright;

TEST_CASE("a generated platform can be checked and shown", "[cli][platform]") {
  const tests::CommandFolder place;
  const tests::ProgramResult generated = place.run(
      "platform make --node dgx-a100 --nodes 4 --fabric rail --leaf-nodes 2 "
      "--oversubscription 2 -o mine.xml");
  CHECK(generated.status == 0);
  CHECK(generated.out == "wrote   mine.xml\n");
  CHECK_THAT(place.read("mine.xml"),
             Catch::Contains("value=\"pipewright platform make --node dgx-a100 --nodes 4 --fabric "
                             "rail --leaf-nodes 2 --oversubscription 2\""));
  const tests::ProgramResult checked = place.run("platform check mine.xml");
  CHECK(checked.status == 0);
  CHECK(checked.out ==
        "mine.xml: no faults in 32 GPUs and 160 links\n"
        "examined 260 of 992 pairs of GPUs; the remaining pairs are equivalent\n");
  const tests::ProgramResult shown =
      place.run("platform show mine.xml --route node-0-gpu-0 node-3-gpu-1");
  CHECK(shown.status == 0);
  CHECK(shown.out ==
        "mine.xml: 4 nodes, 32 GPUs\n"
        "  32 x a100-80gb, 312 TFLOP/s, 80.0 GiB\n"
        "  NCCL 2.27 chooses algorithms and protocols\n"
        "  routing: one route for each pair of GPUs\n"
        "\n"
        "                   bandwidth  latency\n"
        "link class  links       GB/s       us\n"
        "leaf-spine     16         24      0.2\n"
        "nic            32         24     14.3\n"
        "nvlink         32        230      1.7\n"
        "\n"
        "message costs\n"
        "collective.launch         9.6 us\n"
        "collective.simple-launch  18 us\n"
        "collective.ll128-launch   6.7 us\n"
        "collective.post           2 us\n"
        "collective.message        2.5 us\n"
        "collective.ring-ends      0.5 steps\n"
        "collective.direct-ends    0.5 steps\n"
        "nic.ll-latency            0.25\n"
        "nic.ll-efficiency         0.21\n"
        "nic.ll128-latency         0.55\n"
        "nic.ll128-efficiency      0.92\n"
        "nvlink.message            0.5 us\n"
        "nvlink.ll-latency         0.25\n"
        "nvlink.ll-efficiency      0.46\n"
        "nvlink.ll128-latency      0.56\n"
        "nvlink.ll128-efficiency   0.8\n"
        "\n"
        "bisection 192 GB/s, 12 per GPU of the first half\n"
        "\n"
        "node-0-gpu-0 to node-3-gpu-1: 24 GB/s, 29 us\n"
        "\n"
        "                                  bandwidth  latency\n"
        "link                  class            GB/s       us\n"
        "leaf-0-0_link_0_UP    nic                24     14.3\n"
        "leaf-0-0-up_UP        leaf-spine         24      0.2\n"
        "leaf-1-1-up_DOWN      leaf-spine         24      0.2\n"
        "leaf-1-1_link_3_DOWN  nic                24     14.3\n");
}

TEST_CASE("library files are equal to the output of their commands", "[cli][platform]") {
  const tests::CommandFolder place;
  std::size_t generated = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(PIPEWRIGHT_ROOT "/platforms/clusters")) {
    CAPTURE(entry.path());
    // Accuracy records are left out of the comparison, as they are added after the file was
    // generated.
    const std::string text =
        place.shell("grep -v '<prop id=\"record' '" + entry.path().string() + "'").out;
    const std::string mark = "<prop id=\"made-by\" value=\"pipewright ";
    const std::size_t at = text.find(mark);
    if (at == std::string::npos) continue;
    const std::size_t begin = at + mark.size();
    CHECK(place.run(text.substr(begin, text.find('"', begin) - begin)).out == text);
    CHECK(place.run("platform check '" + entry.path().string() + "'").status == 0);
    ++generated;
  }
  CHECK(generated == 42);
}

TEST_CASE("a node is described by a kind, a file, or options", "[cli][platform]") {
  const tests::CommandFolder place;
  place.write("box.yaml",
              "gpu: mi300x\nwiring: mesh\nlink_class: xgmi\nlink_bandwidth: 48 GB/s\n"
              "nic_bandwidth: 47 GB/s\n");
  REQUIRE(place.run("platform make --node box.yaml --nodes 2 -o box.xml").status == 0);
  CHECK(place.run("platform check box.xml").status == 0);
  const tests::ProgramResult shown = place.run("platform show box.xml");
  // The eight GPUs of a node form 28 pairs; memory and peak rate come from the GPU file.
  for (const char* part : {"2 nodes, 16 GPUs", "16 x mi300x, 1307 TFLOP/s, 192.0 GiB",
                           "\nxgmi           56         48"})
    CHECK_THAT(shown.out, Catch::Contains(part));
  const std::string described =
      "platform make --gpu mi300x --wiring mesh --nvlink '48 GB/s' --nic '47 GB/s' --nodes 2";
  REQUIRE(place.run(described + " -o described.xml").status == 0);
  CHECK_THAT(place.read("described.xml"), Catch::Contains("--nvlink '48 GB/s' --nic '47 GB/s'") &&
                                              Catch::Contains("with gpu mi300x, wiring mesh"));

  REQUIRE(
      place.run("platform make --node dgx-h100 --gpu h200 --nic '94 GB/s' -o fast.xml").status ==
      0);
  const tests::ProgramResult fast = place.run("platform show fast.xml");
  for (const char* part : {"8 x h200, 989.5 TFLOP/s, 140.4 GiB", "nic             8         94"})
    CHECK_THAT(fast.out, Catch::Contains(part));
}

TEST_CASE("a host's GPU can be a user's file", "[cli][platform]") {
  const tests::CommandFolder place;
  place.write("next.yaml",
              "flops: 4000 TFLOP/s\nmemory: 300 GiB\nmemory_bandwidth: 12000 GB/s\n"
              "processors: 200\n");
  REQUIRE(place.run("platform make --gpu next.yaml --nvlink '900 GB/s' --nic '94 GB/s' -o c.xml")
              .status == 0);
  CHECK(place.run("platform check c.xml").status == 0);
  const tests::ProgramResult ran =
      place.run("run --cluster c.xml --model llama-3-8b --set parallel.pp=2 --tp 4 -b 4");
  CAPTURE(ran.err);
  CHECK(ran.status == 0);
  CHECK_THAT(ran.out, Catch::StartsWith("Llama 3 8B on 8 next (c.xml) with megatron-core: tp 4, "));
  std::filesystem::remove(place.folder() / "next.yaml");
  CHECK_THAT(
      place.run("run --cluster c.xml --model llama-3-8b --set parallel.pp=2 --tp 4 -b 4").err,
      Catch::Contains("has the property gpu: ") && Catch::Contains("next.yaml"));
}

TEST_CASE("texts of a node file can contain any character", "[cli][platform]") {
  const tests::CommandFolder place;
  place.write("odd.yaml",
              "help: a --box-- <of> \"mine\"\ngpu: h200\nlink_bandwidth: 370 GB/s\n"
              "nic_bandwidth: 47 GB/s\nsources: ['--> & so on']\n");
  REQUIRE(place.run("platform make --node odd.yaml --fabric 'rail' --gpu h200 -o c.xml").status ==
          0);
  CHECK(place.run("platform check c.xml").status == 0);
}

TEST_CASE("an invalid node is rejected with the reason", "[cli][platform]") {
  const tests::CommandFolder place;
  place.write("box.yaml", "gpu: h200\nlink_bandwidth: 370 GB/s\nnic: 47 GB/s\n");
  const auto complaint = [&](const std::string& words) {
    const tests::ProgramResult ran = place.run("platform make " + words + " -o x.xml");
    CHECK(ran.status != 0);
    CHECK(place.files() == "box.yaml");
    return ran.err;
  };
  CHECK_THAT(complaint("--node box.yaml"), Catch::Contains("box.yaml:3:1: unknown key 'nic'") &&
                                               Catch::Contains("nic_bandwidth"));
  CHECK_THAT(complaint("--node none"), Catch::Contains("'none' is not among the nodes"));
  CHECK_THAT(complaint("--nic '47 GB/s'"), Catch::Contains("gpu is missing"));
  CHECK_THAT(complaint("--node dgx-h100 dgx-a100 --nic '47 GB/s'"),
             Catch::Contains("--nic needs a single kind of node, but --node names 2"));
  // 3 NICs of 49 GB/s have 147 GB/s, as 2 of 73.5.
  CHECK_THAT(complaint("--node dgx-h100 --nics 3"),
             Catch::Contains("--nics: nics is 3, which 8 GPUs cannot share evenly; use 2 with the "
                             "same bandwidth together: --nics 2 --nic '73.5 GB/s'"));
  CHECK_THAT(complaint("--node dgx-h100 --nics 9"),
             Catch::Contains("--nics: nics is 9 for 8 GPUs; allowed: at most one per GPU"));
  CHECK_THAT(complaint("--node dgx-h100 --nvlink 370"),
             Catch::Contains("did you mean '370 GB/s'?"));
  CHECK_THAT(complaint("--node gb200-nvl72 --nodes 20000"),
             Catch::Contains("1440000 GPUs exceed the limit for simulation"));
}

TEST_CASE("faults of a platform are reported by line, with status 1", "[cli][platform]") {
  const tests::CommandFolder place;
  place.write("p.xml",
              "<?xml version='1.0'?>\n"
              "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
              "<platform version=\"4.1\"><zone id='z' routing='Full'>\n"
              "<host id='a' speed='1Gf'/></zone></platform>\n");
  const tests::ProgramResult ran = place.run("platform check p.xml");
  CHECK(ran.status == 1);
  CHECK_THAT(ran.out, Catch::StartsWith("p.xml:4: GPU 'a' has no property gpu"));
}

TEST_CASE("platform has examples in its help, and rejects invalid options with the allowed values",
          "[cli][platform]") {
  const tests::CommandFolder place;
  CHECK_THAT(place.run("platform --help").out, Catch::Contains("platform make --node dgx-h100"));
  const tests::ProgramResult help = place.run("platform make --help");
  CHECK_THAT(help.out, Catch::Contains("gb200-nvl72") && Catch::Contains("dragonfly"));
  const auto complaint = [&](const std::string& words) {
    const tests::ProgramResult ran = place.run("platform " + words);
    CHECK(ran.status == 2);
    CHECK(ran.out.empty());
    return ran.err;
  };
  CHECK(complaint("draw") ==
        "pipewright: platform needs a verb: 'make', 'import', 'show' or 'check', not 'draw'\n");
  CHECK_THAT(complaint("make"), Catch::Contains("platform make needs --node"));
  CHECK_THAT(complaint("make --node dgx-b100"), Catch::Contains("did you mean 'dgx-"));
  CHECK_THAT(complaint("make --node dgx-h100 --nodes 0"), Catch::Contains("from 1 to"));
  CHECK_THAT(complaint("make --node dgx-h100 --nodes 2 3"), Catch::Contains("one number per kind"));
  CHECK_THAT(complaint("make --node dgx-h100 -o x.yaml"), Catch::Contains("must end in .xml"));
  CHECK_THAT(complaint("show"), Catch::Contains("dgx-a100"));
  CHECK_THAT(complaint("show dgx-a1000"), Catch::Contains("dgx-a100"));
  CHECK_THAT(complaint("show dgx-a100 --route node-0-gpu-0"), Catch::Contains("takes two GPUs"));
  CHECK_THAT(complaint("show dgx-a100 --route node-0-gpu-0 x"), Catch::Contains("has no GPU 'x'"));
}

TEST_CASE("a platform with missing routes can be shown", "[cli][platform]") {
  const tests::CommandFolder place;
  place.write("p.xml",
              "<?xml version='1.0'?>\n"
              "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
              "<platform version=\"4.1\"><zone id='z' routing='Full'>\n"
              "<host id='a' speed='312Tf'/><host id='b' speed='312Tf'/></zone></platform>\n");
  const tests::ProgramResult ran = place.run("platform show p.xml");
  CHECK(ran.status == 0);
  CHECK_THAT(ran.out, Catch::StartsWith("p.xml: 1 node, 2 GPUs\n") &&
                          Catch::EndsWith("bisection none: no route leads from 'a' to 'b'\n"));
}

TEST_CASE("show and check print JSON", "[cli][platform]") {
  const tests::CommandFolder place;
  const tests::ProgramResult shown =
      place.run("platform show dgx-a100 --route node-0-gpu-0 node-1-gpu-0 --json");
  CHECK(shown.status == 0);
  const auto json = nlohmann::json::parse(shown.out);
  CHECK(json["gpus"] == 32);
  CHECK(json["bisection"]["bytes_per_s"] == 384e9);
  CHECK(json["route"]["links"].size() == 2);
  CHECK(json["messages"]["collective.launch"] == Approx(9.6e-6));
  const tests::ProgramResult checked = place.run("platform check dgx-a100 --json");
  CHECK(checked.status == 0);
  const auto report = nlohmann::json::parse(checked.out);
  CHECK(report["faults"].empty());
  CHECK(report["pairs"] == 32 * 31);
}

TEST_CASE("an option of another fabric is rejected", "[cli][platform]") {
  const tests::CommandFolder place;
  const auto complaint = [&](const std::string& options) {
    return place.run("platform make --node dgx-h100 --nodes 8 " + options).err;
  };
  CHECK(complaint("--fabric rail --dimensions 2 2 2") ==
        "pipewright: --dimensions has no effect for --fabric rail; it is for torus\n");
  CHECK_THAT(complaint("--fabric torus --oversubscription 2"), Catch::Contains("has no effect"));
  CHECK_THAT(complaint("--group-leaves 2"), Catch::Contains("it is for dragonfly"));
  CHECK(place.run("platform make --node dgx-h100 --nodes 7 --fabric torus --dimensions 7").status ==
        0);
}

TEST_CASE("platform show names the routing of a fabric", "[cli][platform]") {
  const tests::CommandFolder place;
  const auto routing = [&](const std::string& options) {
    REQUIRE(place.run("platform make --node a100-4nic --nodes 8 " + options + " -o f.xml").status ==
            0);
    return place.run("platform show f.xml").out;
  };
  using Catch::Contains;
  CHECK_THAT(routing("--fabric leaf-spine --leaf-nodes 4 --spines 4"),
             Contains("  routing: adaptive, over all equally short routes by their rates\n"));
  CHECK_THAT(routing("--fabric dragonfly"),
             Contains("  routing: one route for each pair of GPUs\n"));
  CHECK_THAT(routing("--fabric torus"), Contains("  routing: one dimension of the torus after"));
}
