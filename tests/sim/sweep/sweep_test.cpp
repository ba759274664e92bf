#include "sim/sweep/sweep.hpp"

#include <catch2/catch.hpp>

#include "sim/sweep/open_values.hpp"
#include "support/paths.hpp"
#include "support/program.hpp"
#include "tests/sim/config/support.hpp"
#include "tests/sim/sweep/spaces.hpp"
#include "tests/support/random.hpp"

namespace pipewright::search::test {
namespace {

using analysis::Objective;
using config::test::error_of;

const std::string passes =
    "devices: 4\nmicrobatches: 8\nforward_times: 1 ms\nbackward_times: 2 ms\n";

std::string fault(const std::string& text) {
  return error_of([&] { sweep_of(text); });
}

Objective objective(const std::string& text) {
  return sweep_of(passes + "search: {objective: " + text + "}").objective;
}

std::vector<std::string> range(const std::string& text) {
  return range_values({config::make_text(text, {}), "devices"});
}

}  // namespace

TEST_CASE("a sweep is a scenario with a section search", "[search][sweep]") {
  const Sweep sweep = sweep_of(
      "cluster: dgx-a100\nmodel: gpt3-175b\nglobal_batch: 64\nparallel: {tp: auto, pp: [4, 8]}\n"
      "search:\n  gpus: [16, 4..6, 8]\n  constraints: tp <= 8\n  memory: 72 GiB\n",
      "folder/big.yaml");
  CHECK(sweep.title == "big");
  CHECK(config::find(sweep.scenario, "search") == nullptr);
  CHECK(sweep.gpus == std::vector<std::uint32_t>{4, 5, 6, 8, 16});
  REQUIRE(sweep.constraints.size() == 1);
  CHECK(sweep.constraints[0].value == "tp <= 8");
  CHECK(config::to_string(sweep.constraints[0].origin) == "folder/big.yaml:7:16");
  CHECK(sweep.memory == std::uint64_t{72} << 30U);
  CHECK(sweep.objective.kind == Objective::Kind::throughput);
  CHECK(cluster_values(sweep) == std::vector<std::string>{"dgx-a100"});
  CHECK(cluster_values(sweep_of(passes)) == std::vector<std::string>{""});
  CHECK(sweep_keys().size() == 6);
}

TEST_CASE("the text of a sweep reads back as the same sweep in any folder", "[search][sweep]") {
  const config::test::Folder folder;
  folder.write("models/tiny.yaml", "{layers: 8, hidden: 64, heads: 8, vocabulary: 9, sequence: 4}");
  folder.write("gpu.yaml",
               "{flops: 1 TFLOP/s, memory: 1 GiB, memory_bandwidth: 1 GB/s, "
               "processors: 1}");
  folder.write("order.csv", "");
  const std::string file = folder.write("sweep.yaml",
                                        "model: [gpt3-175b, models/tiny.yaml]\n"
                                        "gpu: {any_of: [./gpu.yaml, a100-80gb]}\n"
                                        "schedule: [1f1b, order.csv, {name: ./order.csv}]\n"
                                        "devices: 1..4\nglobal_batch: 8\n"
                                        "search: {constraints: [\"pp != 3\"], gpus: 1..4}\n");
  const Sweep sweep = read_sweep(config::read_yaml_file(file));
  const std::string here = folder.path().string();
  CHECK(sweep.text == "model: [gpt3-175b, " + here + "/models/tiny.yaml]\ngpu:\n  any_of: [" +
                          here + "/gpu.yaml, a100-80gb]\nschedule: [1f1b, " + here +
                          "/order.csv, {name: " + here +
                          "/order.csv}]\ndevices: 1..4\nglobal_batch: 8\nsearch:\n  constraints: "
                          "[\"pp != 3\"]\n  gpus: 1..4\n");
  const Sweep again = read_sweep(config::read_yaml_text(sweep.text, "elsewhere"));
  CHECK(again.text == sweep.text);
  CHECK(again.gpus == sweep.gpus);
  const Space space(sweep, {{}});
  CHECK(axes_of(space) ==
        "gpu: gpu a100-80gb, model: gpt3-175b tiny, pp: 1 2 3 4, dp: 1 2 3 4, schedule: 1f1b "
        "order.csv");
  CHECK(axes_of(Space(again, {{}})) == axes_of(space));
}

TEST_CASE("several files of clusters are alternatives", "[search][sweep]") {
  const Sweep sweep = sweep_of(
      "cluster: [dgx-a100, " PIPEWRIGHT_ROOT "/platforms/clusters/dgx-h100.xml]\n" + passes);
  CHECK(cluster_values(sweep) ==
        std::vector<std::string>{"dgx-a100", PIPEWRIGHT_ROOT "/platforms/clusters/dgx-h100.xml"});
}

TEST_CASE("objectives are read from names and maps", "[search][sweep]") {
  CHECK(objective("throughput").kind == Objective::Kind::throughput);
  CHECK(objective("mfu").kind == Objective::Kind::mfu);
  CHECK(objective("memory").kind == Objective::Kind::memory);
  CHECK(objective("memory").floor == 0);
  for (const char* tokens : {"2T tokens", "2e12", "2 T", "2000B", "2000000M tokens"}) {
    CHECK(objective(std::string("{time_to_train: ") + tokens + "}").tokens == 2e12);
    CHECK(objective(std::string("{time_to_train: ") + tokens + "}").kind ==
          Objective::Kind::time_to_train);
  }
  const Objective price = objective("{price: 2.5 EUR, tokens: 300B}");
  CHECK(price.kind == Objective::Kind::price);
  CHECK(price.price_per_gpu_hour == 2.5);
  CHECK(price.currency == "EUR");
  CHECK(price.tokens == 3e11);
  CHECK(objective("{tokens: 1e9, price: $3}").currency == "$");
  CHECK(objective("{tokens: 1e9, price: 3}").currency == "$");
  CHECK(objective("{memory: 1.2M tokens/s}").floor == 1.2e6);
  CHECK_FALSE(objective("{memory: 1.2e6}").floor_in_samples);
  CHECK(objective("{memory: 200 samples/s}").floor == 200);
  CHECK(objective("{memory: 200 samples/s}").floor_in_samples);
  const std::string fails = passes + "goodput: {failures: rsc-1}\nsearch: {objective: ";
  for (const auto& [text, seeds] : {std::pair("tokens_a_day", 20U),
                                    {"{tokens_a_day: 7}", 7U},
                                    {"{tokens_a_day: 9 seeds}", 9U}}) {
    const Objective tokens_per_day = sweep_of(fails + text + "}").objective;
    CHECK(tokens_per_day.kind == Objective::Kind::tokens_a_day);
    CHECK(tokens_per_day.seeds == seeds);
  }
}

TEST_CASE("the objective tokens_a_day needs failures", "[search][sweep]") {
  const std::string error = fault(passes + "search: {objective: tokens_a_day}");
  CHECK_THAT(error, Catch::Contains("which needs failures and recovery") &&
                        Catch::Contains("goodput: {failures: rsc-1"));
  const std::string fails = passes + "goodput: {failures: rsc-1}\nsearch: {objective: ";
  for (const char* seeds : {"0", "2.5", "20 weeks", "20000"})
    CHECK_THAT(fault(fails + "{tokens_a_day: " + seeds + "}}"),
               Catch::Contains("a number of seeds, such as 20"));
}

TEST_CASE("a sweep finds its trace of failures wherever it is read", "[search][sweep]") {
  const tests::CommandFolder place;
  place.write("failures.csv", "time\n1 h\n");
  place.write("s.yaml", passes + "goodput: {failure_trace: failures.csv}\n");
  const Sweep sweep = read_sweep(config::read_yaml_file((place.folder() / "s.yaml").string()));
  CHECK_NOTHROW(read_sweep(config::read_yaml_text(sweep.text, "the sweep")));
}

TEST_CASE("errors of an objective say what is allowed", "[search][sweep]") {
  const auto wrong = [](const std::string& text) {
    return error_of([&] { objective(text); }).substr(0, 70);
  };
  const std::string whole = fault(passes + "search: {objective: thoughput}");
  CHECK(
      whole ==
      "s.yaml:5:21: search.objective is the text 'thoughput'; did you mean 'throughput'? allowed: "
      "throughput, mfu, memory, tokens_a_day, {time_to_train: 2T tokens}, {price: 2.5, tokens: "
      "300B}, {memory: 1.2M tokens/s} or {tokens_a_day: 20 seeds}");
  CHECK(wrong("{price: 2}") ==
        "s.yaml:5:21: search.objective is a map; allowed: throughput, mfu, memo");
  CHECK(wrong("{tokens: 2}") == wrong("{price: 2}"));
  CHECK(wrong("{memory: 2, time_to_train: 3}") == wrong("{price: 2}"));
  // A decimal comma does not begin a currency.
  for (const std::string text : {"'2,5'", "2.5.1", "'2 500'", "'$2,5'"})
    CHECK(wrong("{price: " + text + ", tokens: 2}").find("search.objective.price is") !=
          std::string::npos);
  CHECK(wrong("{price: free, tokens: 2}") ==
        "s.yaml:5:29: search.objective.price is the text 'free'; allowed: the p");
  CHECK(wrong("{time_to_train: 2 weeks}") ==
        "s.yaml:5:37: search.objective.time_to_train is 2 weeks; allowed: a num");
  CHECK(wrong("{memory: -3}") ==
        "s.yaml:5:30: search.objective.memory is -3; allowed: a throughput, suc");
  CHECK(wrong("{memory: 3 cows/s}") ==
        "s.yaml:5:30: search.objective.memory is 3 cows/s; allowed: a throughpu");
  CHECK(wrong("{speed: 3}").substr(0, 33) == "s.yaml:5:22: unknown key 'speed' ");
}

TEST_CASE("ranges step or multiply from low to high", "[search][sweep]") {
  CHECK(range("1..4") == std::vector<std::string>{"1", "2", "3", "4"});
  CHECK(range("8..33 step 8") == std::vector<std::string>{"8", "16", "24", "32"});
  CHECK(range("3..40 x2") == std::vector<std::string>{"3", "6", "12", "24"});
  CHECK(range("1..1000 x 10") == std::vector<std::string>{"1", "10", "100", "1000"});
  CHECK(range("0..2") == std::vector<std::string>{"0", "1", "2"});
  CHECK(range("5..5") == std::vector<std::string>{"5"});
  CHECK(range("1..9007199254740992 x9007199254740992").size() == 2);
  CHECK_FALSE(is_range("../1..4"));
  CHECK_FALSE(is_range("a1..4"));
  for (const char* text : {"4..1", "1..", "1..4 step 0", "1..4 x1", "0..4 x2", "1..4 by 2",
                           "1..4 step 2 x", "1...4", "1..-4", "1..99999999999999999999"})
    CHECK_THAT(fault("devices: " + std::string(text) + "\n" + passes.substr(11)),
               Catch::EndsWith("allowed: a range of whole numbers from low to high, such as 1..8, "
                               "8..64 step 8 or 1..64 x2"));
  CHECK(error_of([] { range("1..100001"); }) ==
        "devices is 1..100001, more than the 100000 values allowed");
  CHECK(range("1..100000").size() == 100000);
}

TEST_CASE("a value that no scenario can have is refused as a sweep is read", "[search][sweep]") {
  const std::string shape = "model: gpt3-175b\ngpu: a100-80gb\nglobal_batch: 8\n";
  CHECK(fault(shape + "parallel: {pp: 4, tp: [1, two]}") ==
        "s.yaml:4:27: parallel.tp is the text 'two'; allowed: a whole number from 1 to 2147483648, "
        "such as 8");
  CHECK(fault(shape + "parallel: {pp: [2, 0]}") ==
        "s.yaml:4:20: devices is 0; allowed: a whole number from 1 to 2147483648, such as 8");
  CHECK(fault(shape + "parallel: {pp: 0..2}") ==
        "s.yaml:4:16: devices is 0; allowed: a whole number from 1 to 2147483648, such as 8");
  CHECK_THAT(fault(shape + "parallel: {pp: 4}\ntrainning: {recompute: auto}"),
             Catch::StartsWith("s.yaml:5:1: unknown key 'trainning'; did you mean 'training'?"));
  CHECK_THAT(fault(shape + "parallel: {pp: 4}\ntraining: {recomptue: [none, full]}"),
             Catch::StartsWith("s.yaml:5:12: unknown key 'recomptue' in training; did you mean "
                               "'recompute'?"));
  CHECK(
      fault(shape + "parallel: {pp: 4}\ntraining: {recompute: [none, half]}") ==
      "s.yaml:5:30: training.recompute is the text 'half'; allowed: one of none, selective, full");
  CHECK_THAT(fault(shape + "parallel: {pp: 4}\nschedule: [1f1b, zb1p]"),
             Catch::StartsWith("s.yaml:5:18: schedule is the text 'zb1p'; did you mean 'zb-1p'?"));
  CHECK_THAT(fault(shape + "parallel: {pp: 4}\nschedule: [{name: 1f1b, chunk: [1, 2]}]"),
             Catch::StartsWith("s.yaml:5:25: unknown key 'chunk' in schedule"));
  CHECK_THAT(fault("model: [gpt3-175b, gpt4]\n" + shape.substr(17) + "devices: 2"),
             Catch::StartsWith("s.yaml:1:20: model: 'gpt4' is not among the models"));
  CHECK_THAT(fault("cluster: [dgx-a100, dgx-b100]\n" + passes),
             Catch::StartsWith("s.yaml:1:21: cluster: 'dgx-b100' is not among the clusters"));
}

TEST_CASE("a list is a value where its items are no names of choices", "[search][sweep]") {
  const std::string job = "model: llama-3-8b\ngpu: h100-sxm\nglobal_batch: 8\nschedule: 1f1b\n";
  const auto axes = [&](const std::string& parallel) {
    return axes_of(space_of(job + "parallel: {shard: 2, pp: 2, " + parallel + "}\n"));
  };
  CHECK_THAT(axes("unshard_lookahead: [full, by_rank]"),
             Catch::Contains("unshard_lookahead: full by_rank"));
  CHECK_THAT(axes("unshard_lookahead: {any_of: [full, [1, 2]]}"),
             Catch::Contains("unshard_lookahead: full [1, 2]"));
  CHECK_THAT(axes("unshard_lookahead: [1, 2]"), !Catch::Contains("unshard_lookahead"));
  const auto frozen = [&](const std::string& parts) {
    return axes_of(space_of(job +
                            "parallel: {pp: 2}\nmodules: {vision: {model: {layers: 2, hidden: 64, "
                            "heads: 4}, tokens: 256, frozen: " +
                            parts + "}}\n"));
  };
  CHECK_THAT(frozen("[none, encoder]"), Catch::Contains("frozen: none encoder"));
  CHECK_THAT(frozen("[encoder, projector]"), !Catch::Contains("frozen"));
  CHECK_THAT(frozen("{any_of: [none, [encoder, projector]]}"),
             Catch::Contains("frozen: none [encoder, projector]"));
}

TEST_CASE("a sweep needs the keys that a scenario needs", "[search][sweep]") {
  CHECK(fault("model: gpt3-175b\nparallel: {tp: auto}\nglobal_batch: 8").empty());
  CHECK_THAT(fault("forward_times: 1 s\nbackward_times: 2 s\nmicrobatches: [4, 8]"),
             Catch::StartsWith("s.yaml: devices is missing: "));
  CHECK_THAT(fault("model: gpt3-175b\nparallel: {pp: auto}"),
             Catch::StartsWith("s.yaml: microbatches is missing: "));
  CHECK_THAT(fault("parallel: {pp: [2, 4]}\nmicrobatches: [4, 8]"),
             Catch::StartsWith("s.yaml: forward_times is missing: "));
  CHECK_THAT(fault(passes + "global_batch: [8, 16]"),
             Catch::StartsWith("s.yaml:5:16: global_batch and microbatches, given at"));
  CHECK_THAT(fault(passes + "parallel: {pp: [2, 4]}"),
             Catch::StartsWith("s.yaml:5:12: parallel.pp is another name of devices"));
  CHECK(fault("[1, 2]") ==
        "s.yaml:1:1: the sweep is a list; allowed: a scenario, with a section "
        "search");
}

TEST_CASE("errors name the keys that a sweep cannot leave open", "[search][sweep]") {
  CHECK_THAT(
      fault(passes + "overlap: auto"),
      Catch::StartsWith("s.yaml:5:10: overlap is auto, but has no fixed set of values; write "
                        "the values, as in [1, 2]; auto is allowed for: schedule, "));
  CHECK_THAT(fault(passes + "schedule: {name: looped-bfs, group_size: auto}"),
             Catch::StartsWith(
                 "s.yaml:5:42: schedule.group_size is auto, but has no fixed set of values"));
  CHECK(fault(passes + "parallel: {tp: [2, auto]}") ==
        "s.yaml:5:20: parallel.tp lists auto among other values; use auto alone, which stands for "
        "all possible values");
  CHECK(fault(passes + "parallel: {tp: []}") ==
        "s.yaml:5:16: parallel.tp is an empty list; allowed: one value or more, such as [1, 2, 4], "
        "1..8 or 1..64 x2");
  CHECK(fault(passes + "parallel: {tp: {any_of: 3}}") ==
        "s.yaml:5:25: parallel.tp.any_of is 3; allowed: a list of alternatives");
  CHECK(fault(passes + "parallel: {tp: {any_of: [3], 2: 3}}") ==
        "s.yaml:5:16: parallel.tp has other keys beside any_of; use any_of alone, as in {any_of: "
        "[..., ...]}");
  CHECK(fault(passes + "variation: {jitter: [0, 5 %]}") ==
        "s.yaml:5:25: variation.jitter is 5 %, but a search compares candidates under the same "
        "times; leave it out");
  CHECK(fault(passes + "variation: {jitter: 0}").empty());
  CHECK_THAT(fault(passes + "partition: [even, ends_less]"),
             Catch::Contains("to list alternatives, write partition: {any_of: [..]}"));
  CHECK_THAT(fault(passes + "schedule: {name: [1f1b, gpipe], chunks: 1..90000}"),
             Catch::Contains("more than the 100000 values allowed"));
}

TEST_CASE("numbers of chunks that no run can have are refused as a sweep is read",
          "[search][sweep]") {
  const std::string too_many = " stages are more than the 65535 that are supported";
  CHECK(fault(passes + "schedule: {name: interleaved-1f1b, chunks: [2, 2147483648]}") ==
        "s.yaml:5:11: interleaved-1f1b: 2147483648" + too_many);
  CHECK_THAT(fault(passes + "schedule: {name: looped-bfs, chunks: 1..100000}"),
             Catch::EndsWith(too_many));
  CHECK_THAT(fault(passes + "schedule: [1f1b, {name: looped-bfs, chunks: 70000}]"),
             Catch::StartsWith("s.yaml:5:18: looped-bfs: 70000" + too_many));
}

TEST_CASE("a space of long ranges of chunks makes no schedule of each", "[search][space]") {
  // Making all schedules of this axis for one device would create 1e11 passes.
  const Space space = space_of(
      "devices: [1, 2]\nmicrobatches: 8\nforward_times: 1 ms\nbackward_times: 2 ms\n"
      "schedule: {name: [looped-bfs, interleaved-1f1b], chunks: 2..49000}\n");
  CHECK(space.combinations() == 2.0 * 2 * 48'999);
  CHECK(space.contains(space.schedules() - 1));
}

TEST_CASE("the keys of the section search are checked", "[search][sweep]") {
  CHECK(fault(passes + "search: {constraint: tp <= 8}") ==
        "s.yaml:5:10: unknown key 'constraint' in search; did you mean 'constraints'? allowed: "
        "gpus, constraints, objective, memory, rules, shard");
  CHECK_THAT(
      fault(passes + "search: {gpus: [8, many]}"),
      Catch::StartsWith("s.yaml:5:20: search.gpus[1] is the text 'many'; allowed: a whole "));
  CHECK_THAT(fault(passes + "search: {memory: 0}"), Catch::Contains("more than 0 bytes"));
  CHECK_THAT(fault(passes + "search: {rules: some}"),
             Catch::Contains("search.rules is the text 'some'; allowed: one of on, true, off, "
                             "false"));
  CHECK_THAT(fault(passes + "search: {constraints: {a: b}}"),
             Catch::StartsWith("s.yaml:5:23: search.constraints is a map; allowed: an expression"));
  CHECK_THAT(fault(passes + "search: 3"),
             Catch::StartsWith("s.yaml:5:9: search is 3; allowed: a map"));
}

TEST_CASE("a sweep states its rules only if they are off", "[search][sweep]") {
  const auto read = [](const std::string& search) { return sweep_of(passes + search); };
  for (const std::string on : {"on", "true"}) {
    CHECK(read("search: {memory: 8 GiB, rules: " + on + "}").has_rules);
    CHECK(read("search: {memory: 8 GiB, rules: " + on + "}").text ==
          read("search: {memory: 8 GiB}").text);
    CHECK(read("search: {rules: " + on + "}").text == read("").text);
  }
  for (const std::string off : {"off", "false"}) {
    const Sweep sweep = read("search: {rules: " + off + "}");
    CHECK_FALSE(sweep.has_rules);
    CHECK(sweep.text == read("search: {rules: off}").text);
    CHECK_FALSE(sweep_of(sweep.text).has_rules);
  }
}

TEST_CASE("a damaged sweep is an error with a text, or still a sweep", "[search][sweep]") {
  tests::Random random(3);
  const std::string sound =
      "cluster: [dgx-a100, dgx-h100]\nparallel: {tp: auto, pp: 1..8 x2, sp: auto}\n"
      "model: {any_of: [gpt3-175b, llama-3-8b]}\nglobal_batch: [16, 32]\n"
      "schedule: [1f1b, {name: looped-bfs, chunks: [2, 4]}]\n"
      "search: {gpus: 8, constraints: [tp <= 8, \"pp > 1\"], objective: {memory: 2k tokens}}\n";
  const std::vector<std::string> words{"auto", "any_of", "1..8", "[", "]",      "{",
                                       "}",    ": ",     ", ",   "0", "-1",     "1e9",
                                       "and",  "%",      "(",    "'", "a.yaml", "{any_of: [1, 2]}"};
  const auto place = [&](const std::string& text) {
    return random.whole(0, static_cast<std::uint32_t>(text.size()) - 1);
  };
  int sweeps = 0;
  for (int i = 0; i < 400; ++i) {
    std::string text = sound;
    const auto kind = random.whole(0, 2);
    if (kind == 0) text.insert(place(text), words[random.whole(0, 17)]);
    if (kind == 1) text.erase(place(text), random.whole(1, 6));
    if (kind == 2) text[place(text)] = static_cast<char>(random.whole(32, 126));
    INFO(text);
    try {
      const Space space = space_of(text, 8);
      CHECK(sweep_of(space.sweep().text).text == space.sweep().text);
      if (candidates_of(space).empty()) CHECK_FALSE(space.why_empty().empty());
      ++sweeps;
    } catch (const config::Error& error) {
      CHECK_FALSE(std::string(error.what()).empty());
    }
  }
  CHECK(sweeps > 10);
  CHECK(sweeps < 390);
}

}  // namespace pipewright::search::test
