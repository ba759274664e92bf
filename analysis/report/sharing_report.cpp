#include <algorithm>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "analysis/report/report_table.hpp"
#include "analysis/report/sharing.hpp"
#include "analysis/report/text_table.hpp"
#include "analysis/report/units_text.hpp"

namespace pipewright::analysis {
namespace {

std::string times_text(double factor) { return fmt::format("x{:.3f}", factor); }

std::string gigabytes(double rate) {
  constexpr double giga = 1e9;
  return fmt::format("{:.4g}", rate / giga);
}

// A row of the table of jobs: a job, and its slow-down in each phase.
struct JobFigures {
  const SharingJob* job = nullptr;
  std::vector<double> slow_downs;

  std::optional<double> memory() const {  // Used part of the capacity.
    if (job->memory_capacity_bytes == 0) return std::nullopt;
    return static_cast<double>(job->peak_memory_bytes) /
           static_cast<double>(job->memory_capacity_bytes);
  }
  double min_slow_down() const { return *std::ranges::min_element(slow_downs); }
  double max_slow_down() const { return *std::ranges::max_element(slow_downs); }
  double mean() const {
    return std::accumulate(slow_downs.begin(), slow_downs.end(), 0.0) /
           static_cast<double>(slow_downs.size());
  }
};

std::vector<JobFigures> figures_of(const Sharing& sharing) {
  std::vector<JobFigures> figures;
  for (std::size_t i = 0; i < sharing.jobs.size(); ++i) {
    JobFigures& job = figures.emplace_back(JobFigures{&sharing.jobs[i], {}});
    for (const SharingPhase& phase : sharing.phases)
      job.slow_downs.push_back(phase.jobs[i].slow_down());
    if (job.slow_downs.empty()) job.slow_downs.push_back(1);
  }
  return figures;
}

const ReportColumns<JobFigures>& job_figure_columns() {
  using Row = JobFigures;
  static const ReportColumns<Row> columns{
      {"name", {"job"}, Quantity::name(), [](const Row& row) { return row.job->name; }},
      {"gpus", {"GPUs"}, Quantity::count(), [](const Row& row) { return row.job->gpus; }},
      {"nodes", {"nodes"}, Quantity::count(), [](const Row& row) { return row.job->nodes; }},
      {"first_host",
       {"from"},
       Quantity::name(),
       [](const Row& row) { return printable(row.job->first_host); }},
      {"last_host",
       {"to"},
       Quantity::name(),
       [](const Row& row) { return printable(row.job->last_host); }},
      {"alone_s",
       {"iteration", "alone"},
       Quantity::each_as(format_seconds),
       [](const Row& row) { return row.job->iteration_s; }},
      optional(ReportColumn<Row>{"memory",
                                 {"memory", "used"},
                                 Quantity::percent(),
                                 [](const Row& row) { return row.memory(); }}),
      {"peak_memory_bytes", [](const Row& row) { return row.job->peak_memory_bytes; }},
      {"memory_capacity_bytes", [](const Row& row) { return row.job->memory_capacity_bytes; }},
      {"slow_down_least", {"slow-down", "min"}, Quantity::each_as(times_text), &Row::min_slow_down},
      {"slow_down_mean", {"slow-down", "mean"}, Quantity::each_as(times_text), &Row::mean},
      {"slow_down_most", {"slow-down", "max"}, Quantity::each_as(times_text), &Row::max_slow_down},
      {"in_passes_simulated", [](const Row& row) { return row.job->in_passes; }},
      {"job", [](const Row& row) { return row.job->job; }}};
  return columns;
}

std::string phases_text(const Sharing& sharing) {
  TextTable table;
  std::vector<Json> shares;
  for (const SharingPhase& phase : sharing.phases) shares.emplace_back(phase.share);
  add_column(table, {"phase"}, Quantity::percent(1), shares);
  const auto add = [&](const std::vector<std::string>& heading, const Quantity& quantity,
                       std::size_t job, const auto& value) {
    std::vector<Json> cells;
    for (const SharingPhase& phase : sharing.phases) cells.emplace_back(value(phase.jobs[job]));
    add_column(table, heading, quantity, cells);
  };
  for (std::size_t job = 1; job < sharing.jobs.size(); ++job)
    add({printable(sharing.jobs[job].name), "starts after"}, Quantity::each_as(format_seconds), job,
        [](const JobInPhase& timing) { return timing.offset_s; });
  for (std::size_t job = 0; job < sharing.jobs.size(); ++job) {
    add({printable(sharing.jobs[job].name), "iteration"}, Quantity::each_as(format_seconds), job,
        [](const JobInPhase& timing) { return timing.iteration_s; });
    add({"slow-", "down"}, Quantity::each_as(times_text), job,
        [](const JobInPhase& timing) { return timing.slow_down(); });
  }
  return table.text();
}

// A class of links with its busiest link and the number of its links.
struct ClassOfLinks {
  const ContendedLink* busiest = nullptr;
  std::uint64_t links = 0;
};

std::vector<ClassOfLinks> classes_of(const std::vector<ContendedLink>& links) {
  std::vector<ClassOfLinks> classes;
  for (const ContendedLink& link : links) {  // The busiest first.
    const auto is_same_class = [&](const ClassOfLinks& row) {
      return row.busiest->link_class == link.link_class;
    };
    auto it = std::ranges::find_if(classes, is_same_class);
    if (it == classes.end()) it = classes.insert(classes.end(), {&link, 0});
    it->links += link.alike;
  }
  return classes;
}

std::string links_text(const Sharing& sharing, const SharingPhase& phase) {
  using Row = ClassOfLinks;
  ReportColumns<Row> columns{{"class",
                              {"shared links"},
                              Quantity::name(),
                              [](const Row& row) { return printable(row.busiest->link_class); }},
                             {"alike", {"links"}, Quantity::count(), &Row::links},
                             {"busiest",
                              {"busiest link"},
                              Quantity::name(),
                              [](const Row& row) { return printable(row.busiest->name); }},
                             {"bandwidth",
                              {"bandwidth", "GB/s"},
                              Quantity::each_as(gigabytes),
                              [](const Row& row) { return row.busiest->bandwidth; }},
                             {"use", {"busy"}, Quantity::percent(), [](const Row& row) {
                                return row.busiest->total_use();
                              }}};
  for (std::size_t job = 0; job < sharing.jobs.size(); ++job)
    columns.push_back({"use",
                       {"by", printable(sharing.jobs[job].name)},
                       Quantity::percent(),
                       [job](const Row& row) { return row.busiest->use[job]; }});
  return table_text(columns, classes_of(phase.links));
}

Json phase_json(const Sharing& sharing, const SharingPhase& phase) {
  Json json{{"phase", phase.share}, {"window_s", phase.window_s}};
  json["jobs"] = Json::array();
  for (std::size_t i = 0; i < phase.jobs.size(); ++i) {
    const JobInPhase& job = phase.jobs[i];
    json["jobs"].push_back({{"name", sharing.jobs[i].name},
                            {"offset_s", job.offset_s},
                            {"iteration_s", job.iteration_s},
                            {"alone_s", job.alone_s},
                            {"slow_down", job.slow_down()},
                            {"iterations", job.iterations}});
  }
  json["shared_links"] = Json::array();
  for (const ContendedLink& link : phase.links)
    json["shared_links"].push_back({{"name", link.name},
                                    {"class", link.link_class},
                                    {"alike", link.alike},
                                    {"bandwidth_bytes_per_s", link.bandwidth},
                                    {"use", link.total_use()},
                                    {"use_by_job", link.use},
                                    {"waiting_s_by_job", link.waiting_s}});
  return json;
}

}  // namespace

double ContendedLink::total_use() const { return std::accumulate(use.begin(), use.end(), 0.0); }

double SharingPhase::mean_slow_down() const {
  double sum = 0;
  for (const JobInPhase& job : jobs) sum += job.slow_down();
  return sum / static_cast<double>(jobs.size());
}

const SharingPhase& Sharing::worst() const {
  return *std::ranges::max_element(phases, {}, &SharingPhase::mean_slow_down);
}

const SharingPhase& Sharing::best() const {
  return *std::ranges::min_element(phases, {}, &SharingPhase::mean_slow_down);
}

std::string sharing_text(const Sharing& sharing) {
  std::string text = fmt::format("{}: {} GPUs, {} jobs {}\n\n", printable(sharing.cluster),
                                 sharing.cluster_gpus, sharing.jobs.size(), sharing.placing);
  text += table_text(job_figure_columns(), figures_of(sharing));
  if (!sharing.share_links)
    return text + "\nNo link carries traffic of two jobs: no job slows down another.\n";
  if (sharing.phases.size() > 1)
    text += fmt::format(
        "\nSlow-downs by phase, the start of the other jobs within an iteration of {}:\n\n{}",
        printable(sharing.jobs.front().name), phases_text(sharing));
  const SharingPhase& worst = sharing.worst();
  text += fmt::format("\nLinks that carry traffic of two jobs, {}:\n\n{}",
                      sharing.phases.size() > 1
                          ? fmt::format("in the worst phase ({:.1f} %)", 100 * worst.share)
                          : fmt::format("at a phase of {:.1f} %", 100 * worst.share),
                      links_text(sharing, worst));
  return text;
}

std::string sharing_json(const Sharing& sharing) {
  Json json{{"cluster", sharing.cluster},
            {"cluster_gpus", sharing.cluster_gpus},
            {"placing", sharing.placing},
            {"share_links", sharing.share_links}};
  json["jobs"] = json_rows(job_figure_columns(), figures_of(sharing));
  json["phases"] = Json::array();
  for (const SharingPhase& phase : sharing.phases)
    json["phases"].push_back(phase_json(sharing, phase));
  if (!sharing.phases.empty()) {
    json["worst_phase"] = sharing.worst().share;
    json["best_phase"] = sharing.best().share;
  }
  return json_document(json);
}

}  // namespace pipewright::analysis
