#include <algorithm>
#include <cmath>
#include <compare>
#include <cstdio>
#include <cstring>
#include <limits>
#include <map>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/config/text/yaml.hpp"
#include "sim/evaluation/hardware.hpp"
#include "sim/evaluation/network_estimate.hpp"
#include "sim/execution/run.hpp"
#include "validation/accuracy_derived.hpp"
#include "validation/capabilities.hpp"

namespace pipewright::accuracy {
namespace {

// A scenario, what is set in it, and whether GPUs are bare.
struct Question {
  std::string scenario;
  std::vector<std::string> settings;
  bool is_bare = false;

  auto operator<=>(const Question&) const = default;
};

// Sets the clock to 1 and the times of the host to 0. True if anything is different then.
bool make_bare(config::Stack& stack, workload::Gpus& gpus) {
  bool differs = std::exchange(stack.host, {}) != config::HostTimes{} && !gpus.empty();
  for (config::Gpu& gpu : gpus) {
    differs = differs || gpu.clock != config::Clock{};
    gpu = config::at_full_clock(gpu);
  }
  return differs;
}

// Where an answer goes.
struct Place {
  Row* row;
  double* value;
};

struct Answer {
  std::vector<double> values;
  RunKind kind;
};

constexpr char separator = '\n';

// Calls visit() for each text of a kind, and then for each number.
template <class Kind, class Visit>
void visit_fields(Kind& kind, const Visit& visit) {
  visit(kind.run.gpu);
  visit(kind.run.architecture);
  visit(kind.run.precision);
  visit(kind.run.stack);
  visit(kind.run.family);
  visit(kind.model);
  visit(kind.run.bits);
  visit(kind.run.has_experts);
  visit(kind.run.is_host_bound);
  visit(kind.run.sequence_range);
  visit(kind.sequence);
  visit(kind.gpus);
  visit(kind.capabilities);
}

// The values as they are in memory, and the kind as lines.
std::string to_message(const Answer& answer) {
  std::string text(answer.values.size() * sizeof(double), '\0');
  std::memcpy(text.data(), answer.values.data(), text.size());
  visit_fields(answer.kind, [&](const auto& field) {
    if constexpr (std::is_same_v<decltype(field), const std::string&>)
      text += field + separator;
    else
      text += fmt::format("{:d}{}", field, separator);
  });
  return text;
}

Answer read_message(const std::string& text, std::size_t count) {
  Answer answer{.values = std::vector<double>(count), .kind = {}};
  std::memcpy(answer.values.data(), text.data(), count * sizeof(double));
  std::istringstream lines(text.substr(count * sizeof(double)));
  visit_fields(answer.kind, [&](auto& field) {
    std::string line;
    std::getline(lines, line, separator);
    if constexpr (std::is_same_v<decltype(field), std::string&>)
      field = line;
    else
      std::istringstream(line) >> field;
  });
  return answer;
}

RunKind kind_of(const config::Scenario& scenario, const evaluation::Hardware& hardware,
                const workload::StageCosts& costs) {
  if (!scenario.model || hardware.gpus.empty()) return {};
  const config::Model& model = scenario.model->value;
  const std::string sizes = fmt::format("{} layers of {}", model.layers, model.hidden);
  const evaluation::RunKind run = evaluation::run_kind(scenario, hardware.gpus.front(), costs);
  const bool has_mixed_gpus =
      hardware.is_mixed || std::ranges::any_of(hardware.gpus, [&](const config::Gpu& gpu) {
        return gpu.name != hardware.gpus.front().name;
      });
  return {.run = run,
          .model = model.name.empty() ? sizes : model.name,
          .sequence = scenario.training.sequence.value_or(model.sequence),
          .gpus = hardware.hosts.size(),
          .capabilities = capabilities_of({scenario, run, has_mixed_gpus})};
}

Answer answers(const Question& question, const std::vector<Place>& places) {
  config::Value root = config::read_yaml_text(question.scenario, "scenario");
  for (const std::string& setting : question.settings) {
    const std::size_t equals = setting.find('=');
    config::override_key(root, setting.substr(0, equals), setting.substr(equals + 1),
                         {.source = "--set " + setting});
  }
  config::Scenario scenario = config::read_scenario(root);
  evaluation::Hardware hardware = evaluation::open_hardware(scenario);
  if (question.is_bare && !make_bare(scenario.training.stack, hardware.gpus))
    return {std::vector<double>(places.size(), std::numeric_limits<double>::quiet_NaN()), {}};
  workload::Plan plan = evaluation::plan_on(scenario, scenario.schedules.front(), hardware);
  const execution::Job job = evaluation::make_job(scenario, hardware, plan);
  analysis::SummarySink sink;
  execution::run(job, execution::EngineKind::simgrid, {}, sink);
  const double factor = hardware.gpus.empty() ? 0 : hardware.gpus.front().launch_factor;
  const Run run{sink.summary(), plan.costs, scenario.training.stack.host.pass * factor,
                scenario.training.reserved};
  std::vector<double> values;
  for (const Place& place : places) values.push_back(place.row->predict(run));
  return {values, kind_of(scenario, hardware, plan.costs)};
}

// A scenario that another process works on: SimGrid has one engine a process.
struct Child {
  pid_t id = 0;
  int pipe = 0;
  std::vector<Place> places;
};

// Starts a process that answers the question. With `is_quiet`, a question without an answer leaves
// no message.
Child start(const Question& question, std::vector<Place> places, bool is_quiet) {
  int ends[2];
  if (::pipe(ends) != 0) throw std::runtime_error("no pipe can be had");
  std::fflush(nullptr);
  const pid_t id = ::fork();
  if (id < 0) throw std::runtime_error("no process can be had");
  if (id > 0) {
    ::close(ends[1]);
    return {id, ends[0], std::move(places)};
  }
  int status = 0;
  try {
    const std::string message = to_message(answers(question, places));
    const auto size = static_cast<ssize_t>(message.size());
    if (::write(ends[1], message.data(), message.size()) != size) status = 1;
  } catch (const std::exception& error) {
    if (!is_quiet) fmt::print(stderr, "{}\n{}\n", error.what(), question.scenario);
    status = 1;
  }
  std::fflush(nullptr);
  ::_exit(status);
}

// Leaves what cannot be predicted without a number.
void finish(const Child& child, int status) {
  constexpr std::size_t most = 65536;  // a pipe holds no more
  std::string message(most, '\0');
  const ssize_t got = ::read(child.pipe, message.data(), message.size());
  ::close(child.pipe);
  const std::size_t count = child.places.size();
  if (status != 0 || got < static_cast<ssize_t>(count * sizeof(double))) return;
  message.resize(static_cast<std::size_t>(got));
  const Answer answer = read_message(message, count);
  for (std::size_t i = 0; i < count; ++i) {
    *child.places[i].value = answer.values[i];
    if (child.places[i].value == &child.places[i].row->predicted)
      child.places[i].row->kind = answer.kind;
  }
}

void predict_tables(std::vector<Table>& tables, bool with_bare, bool is_quiet) {
  struct Bases {
    double predicted = std::numeric_limits<double>::quiet_NaN();
    double bare = std::numeric_limits<double>::quiet_NaN();
  };
  std::map<Row*, Bases> bases;  // of pairs
  std::map<Question, std::vector<Place>> by_question;
  for (Table& table : tables)
    for (Row& row : table.rows) {
      if (row.scenario.empty()) continue;
      by_question[{row.scenario, row.settings, false}].push_back({&row, &row.predicted});
      if (with_bare) by_question[{row.scenario, row.settings, true}].push_back({&row, &row.bare});
      if (row.against.empty()) continue;
      Bases& base = bases[&row];
      by_question[{row.against, row.settings, false}].push_back({&row, &base.predicted});
      if (with_bare) by_question[{row.against, row.settings, true}].push_back({&row, &base.bare});
    }
  const std::size_t at_once = std::max(1U, std::thread::hardware_concurrency());
  std::map<pid_t, Child> running;
  const auto wait_for_one = [&] {
    int status = 0;
    const pid_t id = ::wait(&status);
    finish(running.at(id), status);
    running.erase(id);
  };
  const bool shows = ::isatty(STDERR_FILENO) == 1;
  std::size_t started = 0;
  for (auto& [question, places] : by_question) {
    if (shows) fmt::print(stderr, "\r{} of {} runs", ++started, by_question.size());
    if (running.size() == at_once) wait_for_one();
    Child child = start(question, std::move(places), is_quiet);
    running.emplace(child.id, std::move(child));
  }
  while (!running.empty()) wait_for_one();
  for (const auto& [row, base] : bases) {
    row->predicted /= base.predicted;
    row->bare /= base.bare;
  }
  if (shows) fmt::print(stderr, "\r{:30}\r", "");
}

}  // namespace

void predict(std::vector<Table>& tables) { predict_tables(tables, true, false); }
void predict_only(std::vector<Table>& tables, bool is_quiet) {
  predict_tables(tables, false, is_quiet);
}

}  // namespace pipewright::accuracy
