#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "support/program.hpp"
#include "support/random.hpp"

using namespace pipewright;
using nlohmann::json;

namespace {

// Words of `run` for a scenario in which devices wait for each other before the optimizer's step.
std::string random_scenario(tests::Random& random) {
  const auto any_of = [&](const std::vector<std::string>& values) {
    return values[random.whole(0, static_cast<std::uint32_t>(values.size()) - 1)];
  };
  const std::uint32_t pp = random.flip() ? 2 : 4;
  std::string words = fmt::format(
      "--model {} --gpu h100-sxm --cluster dgx-h100 --pp {} --tp {} --dp {} -b {} --schedule {} "
      "--engine {} --set iterations={} parallel.zero={} "
      "parallel.sp=true",
      any_of({"llama-3-8b", "qwen2.5-7b", "mixtral-8x7b"}), pp, any_of({"1", "2"}),
      any_of({"1", "2", "4"}), pp * random.whole(1, 2), any_of({"1f1b", "gpipe", "zb-h1"}),
      any_of({"timing", "simgrid"}), any_of({"1", "2"}), any_of({"0", "1"}));
  if (random.flip()) words += " model.tied_embeddings=true";
  if (random.flip())
    words += fmt::format(" variation.stragglers='{{device: {}, replica: 0, factor: {:.2f}}}'",
                         random.whole(0, pp - 1), random.real(1.05, 1.5));
  else if (random.flip())
    words += " variation.jitter=0.05 variation.seed=3";
  return words;
}

json first_of(const json& report) { return report.is_array() ? report.at(0) : report; }

}  // namespace

TEST_CASE("all outputs agree on exposed communication in random scenarios", "[cli]") {
  const tests::CommandFolder place;
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    tests::Random random(seed);
    const std::string words = random_scenario(random);
    CAPTURE(seed, words);
    const tests::ProgramResult ran = place.run("run " + words + " --json --trace x.h5");
    CAPTURE(ran.err);
    REQUIRE(ran.status == 0);
    const json run = first_of(json::parse(ran.out));
    const json shown = first_of(json::parse(place.run("show x.h5 --json").out));
    const json compared = json::parse(place.run("compare x.h5 x.h5 --json").out);
    const json why = first_of(json::parse(place.run("why x.h5 --json").out));

    const double exposed = run["exposed_communication_s"];
    CHECK(shown["exposed_communication_s"] == exposed);
    json parts = {{"p2p_s", 0}, {"in_passes_s", 0}, {"gradients_s", 0}, {"weights_s", 0}};
    for (std::size_t i = 0; i < run["devices"].size(); ++i) {
      const json& device = run["devices"][i];
      CHECK(shown["devices"][i]["exposed"] == device["exposed"]);
      for (auto& [name, part] : parts.items())
        part = std::max(part.get<double>(), device["exposed"][name].get<double>());
      // The report of `why` separates the gradients of tied embeddings.
      const json& times = why["devices"][i];
      CHECK(times["p2p_s"].get<double>() + times["in_passes_s"].get<double>() +
                times["gradients_s"].get<double>() + times["embeddings_s"].get<double>() +
                times["weights_s"].get<double>() ==
            Approx(device["exposed_communication_s"].get<double>()).margin(1e-9));
    }
    for (const json& side : {compared["baseline"], compared["others"][0]}) {
      CHECK(side["metrics"]["exposed_communication_s"] == exposed);
      for (auto& [name, part] : parts.items())
        CHECK(side["metrics"][name].get<double>() == Approx(part.get<double>()));
      for (std::size_t i = 0; i < run["devices"].size(); ++i)
        CHECK(side["devices"][i]["exposed_communication_s"] ==
              run["devices"][i]["exposed_communication_s"]);
    }
  }
}

TEST_CASE("a wait for a straggler is no exposed communication in a comparison", "[cli]") {
  const tests::CommandFolder place;
  const std::string run =
      "run --model llama-3-8b --gpu h100-sxm --cluster dgx-h100 --pp 2 --tp 4 --dp 4 -b 4 "
      "--engine timing --quiet --trace ";
  REQUIRE(place.run(run + "even.h5").status == 0);
  REQUIRE(place
              .run(run + "slow.h5 --set variation.stragglers='{device: 1, replica: 0, factor: "
                         "1.5}'")
              .status == 0);
  const json report = json::parse(place.run("compare even.h5 slow.h5 --json").out);
  const auto of = [&](const json& side, const char* key) {
    return side["metrics"][key].get<double>();
  };
  // The reduction of gradients takes as long as before; devices wait longer for the straggler.
  const double longer =
      of(report["others"][0], "makespan_s") - of(report["baseline"], "makespan_s");
  CHECK(longer > 0.05);
  CHECK(of(report["others"][0], "gradients_s") <
        of(report["baseline"], "gradients_s") + 0.1 * longer);
}
