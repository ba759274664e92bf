#include <filesystem>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "sim/config/text/yaml.hpp"
#include "sim/jobs/job.hpp"
#include "sim/jobs/request/launch_text.hpp"
#include "sim/jobs/request/toml.hpp"
#include "sim/jobs/shell/quote.hpp"
#include "support/program.hpp"

using namespace pipewright;

namespace {

const std::vector<std::string> hostile_names{"m1; touch X #", "GPT 6B",      "it's",
                                             "a\ntouch X\nb", "$(touch X)",  "`touch X`",
                                             "x\"; touch X",  "back\\slash", "tab\tand {braces}"};

config::Scenario scenario_of_name(const std::string& name) {
  config::Value tree = config::read_yaml_text(
      "cluster: dgx-h100\n"
      "model: {name: m, layers: 4, hidden: 512, heads: 8, sequence: 512, vocabulary: 1000}\n"
      "parallel: {pp: 2, dp: 2}\n"
      "global_batch: 8\n",
      "scenario.yaml");
  config::set_key(tree, "model.name", config::make_text(name, {}));
  return config::read_scenario(tree);
}

}  // namespace

TEST_CASE("a quoted text is one word of a shell", "[jobs][shell]") {
  const tests::CommandFolder place;
  CHECK(jobs::shell_word("model.tp=8") == "model.tp=8");
  CHECK(jobs::shell_word("") == "''");
  for (const std::string& name : hostile_names) {
    const tests::ProgramResult ran = place.shell("printf '<%s>' " + jobs::shell_word(name));
    CAPTURE(name, ran.err);
    CHECK(ran.out == "<" + name + ">");
  }
  CHECK(place.files().find('X') == std::string::npos);
}

TEST_CASE("a model's name cannot break the launch of any framework", "[jobs][launch]") {
  for (const jobs::Framework& framework : jobs::frameworks()) {
    if (framework.write == nullptr) continue;
    for (const std::string& name : hostile_names) {
      CAPTURE(framework.name, name);
      const jobs::Launch launch = jobs::export_job(scenario_of_name(name), framework);
      if (launch.extension == ".toml") {
        std::string model;
        for (const jobs::Setting& setting : jobs::read_toml({"launch.toml", launch.text}))
          if (setting.name == "model.name") model = setting.values.front();
        CHECK(model == name);
        continue;
      }
      const tests::CommandFolder place;
      place.write("launch.sh", launch.text);
      // torchrun, python and deepspeed are replaced by a script that prints its arguments.
      place.write("arguments", "#!/bin/sh\nprintf '<%s>' \"$@\"\n");
      const tests::ProgramResult ran = place.shell(
          "bash -n launch.sh && chmod +x arguments && mkdir bin && for p in torchrun python "
          "deepspeed; do cp arguments bin/$p; done && PATH=$PWD/bin:$PATH bash launch.sh");
      CAPTURE(launch.text, ran.err, ran.out);
      CHECK(ran.status == 0);
      CHECK_FALSE(std::filesystem::exists(place.folder() / "X"));
      if (framework.name == "bridge") {
        CHECK_THAT(ran.out, Catch::Contains("<" + name + "_pretrain_config>"));
      }
    }
  }
}

TEST_CASE("the name of a job's file cannot break its YAML", "[jobs]") {
  jobs::Job job{.framework = "megatron", .name = "a\nparallel: {tp: 64}", .tree = {}};
  config::set_key(job.tree, "model.name", config::make_text("it's\na \"name\"", {}));
  job.comments["model.name"] = "--name a\nb";
  job.assumed.emplace_back("one line\nanother line");
  const config::Value tree = config::read_yaml_text(jobs::commented_yaml(job), "job.yaml");
  CHECK(tree.entries.size() == 1);
  CHECK(config::find(*config::find(tree, "model"), "name")->text == "it's\na \"name\"");
}
