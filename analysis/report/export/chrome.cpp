#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/export/chrome_events.hpp"
#include "analysis/report/export/exports.hpp"
#include "analysis/report/export/spans.hpp"
#include "analysis/report/palette.hpp"
#include "analysis/trace/tables.hpp"

namespace pipewright::analysis {
namespace {

// Groups of threads that a device has in the viewer, from top to bottom. A group has as many
// threads as events of its kind overlap; `passes` has one.
enum class ThreadGroup : std::uint8_t { passes, sends, receives, collectives, steps };
constexpr std::array<const char*, 5> thread_group_names{"passes", "sends", "receives",
                                                        "collectives", "optimizer"};
constexpr std::uint32_t thread_groups = thread_group_names.size();

class ChromeExport final : public trace::Sink {
 public:
  explicit ChromeExport(std::ostream& stream) : events_(stream) {}

  void begin(const trace::RunInfo& run, const std::vector<trace::DeviceRow>& devices,
             const std::vector<trace::StageRow>& stages) override;
  void pass(const trace::PassRow& row) override;
  void transfer(const trace::TransferRow& row) override;
  void memory(const trace::MemoryRow& row) override { memory_->add(events_, row); }
  void collective(const trace::CollectiveRow& row) override;
  void step(const trace::StepRow& row) override { steps_.push_back(row); }
  bool needs_links() const override { return true; }
  void link(const trace::LinkRow& row) override { links_.add(row); }
  void link_use(const trace::LinkUseRow& row) override { links_.add(row); }
  void finish() override;

 private:
  struct Device {
    std::array<Lanes, thread_groups> lanes;
    // Number of threads of each group that already have a name.
    std::array<std::uint32_t, thread_groups> named_threads{};
  };
  // Processes are numbered from 1, since viewers take process 0 for the idle process.
  static std::uint32_t process_of(std::uint32_t device) { return device + 1; }
  Track track(std::uint32_t device, ThreadGroup group, std::uint32_t lane);
  Track lane(std::uint32_t device, ThreadGroup group, std::int64_t start, std::int64_t end);
  void draw(const std::optional<Handover>& handover);
  void draw(const trace::StepRow& row, double last_reduction);

  ChromeEvents events_;
  std::vector<Device> devices_;
  // Seconds that passes wait for collectives, for each stage and kind of pass.
  std::vector<std::array<double, trace::pass_kinds>> collective_waits_;
  std::optional<PassSpans> spans_;
  std::optional<Handovers> handovers_;
  std::optional<MemoryCounters> memory_;
  LinkCounters links_;
  std::vector<trace::StepRow> steps_;  // Drawn when all steps of their iteration are known.
  std::uint64_t arrows_ = 0;
};

void ChromeExport::begin(const trace::RunInfo& run, const std::vector<trace::DeviceRow>& devices,
                         const std::vector<trace::StageRow>& stages) {
  devices_.resize(devices.size());
  spans_.emplace(devices.size());
  memory_.emplace(devices.size());
  handovers_.emplace(stages);
  for (const trace::StageRow& stage : stages) {
    if (collective_waits_.size() <= stage.stage) collective_waits_.resize(stage.stage + 1);
    collective_waits_[stage.stage] = stage.exposed_in_passes();
  }
  std::string run_attributes;
  for (const auto& field : trace::text_fields)
    run_attributes += fmt::format("\"{}\":{},", field.name, json_text(run.*field.member));
  events_.open(run_attributes +
               fmt::format("\"microbatches\":{},\"chunks\":{}", run.microbatches, run.chunks));
  for (const trace::DeviceRow& device : devices) {
    const std::string host = device.host.empty() ? "" : fmt::format(" ({})", device.host);
    events_.process(process_of(device.device), fmt::format("device {}{}", device.device, host),
                    device.device);
    track(device.device, ThreadGroup::passes, 0);
  }
}

Track ChromeExport::track(std::uint32_t device, ThreadGroup group, std::uint32_t lane) {
  const auto group_index = static_cast<std::uint32_t>(group);
  const Track track{process_of(device), 1 + group_index + thread_groups * lane};
  std::uint32_t& named_threads = devices_.at(device).named_threads[group_index];
  for (; named_threads <= lane; ++named_threads) {
    const std::string number = named_threads == 0 ? "" : fmt::format(" {}", named_threads + 1);
    constexpr std::uint32_t group_stride = 1'000'000;
    events_.thread({track.process, 1 + group_index + thread_groups * named_threads},
                   fmt::format("{}{}", thread_group_names[group_index], number),
                   group_index * group_stride + named_threads);
  }
  return track;
}

Track ChromeExport::lane(std::uint32_t device, ThreadGroup group, std::int64_t start,
                         std::int64_t end) {
  Lanes& lanes = devices_.at(device).lanes[static_cast<std::size_t>(group)];
  return track(device, group, lanes.place(start, end));
}

void ChromeExport::pass(const trace::PassRow& row) {
  const Span span = spans_->next(row);
  const Track pass_track = track(row.device, ThreadGroup::passes, 0);
  const double collective_wait =
      collective_waits_.at(row.stage)[static_cast<std::size_t>(row.kind)];
  const std::string name =
      fmt::format(FMT_COMPILE("{} {}"), style(row.kind).letter, row.microbatch);
  events_.slice(
      pass_track, name, style(row.kind).words, span.start, span.end,
      fmt::format(
          FMT_COMPILE(R"("stage":{},"chunk":{},"microbatch":{},"iteration":{},)"
                      R"("input_sent_s":{},"input_ready_s":{},"waits_for_collectives_s":{})"),
          row.stage, row.chunk, row.microbatch, row.iteration, row.sent, row.ready,
          collective_wait));
  if (span.released > span.end)
    events_.slice(pass_track, "blocked by its send", "blocked", span.end, span.released, "");
  draw(handovers_->consumed(row, span));
  draw(handovers_->produced(row, span));
}

// Arrows start just before the end of a slice, since viewers attach none to a slice that has ended.
void ChromeExport::draw(const std::optional<Handover>& handover) {
  if (!handover || handover->producer.duration() == 0) return;
  events_.arrow(++arrows_, trace::name_of(handover->kind),
                track(handover->from, ThreadGroup::passes, 0), handover->producer.end - 1,
                track(handover->to, ThreadGroup::passes, 0), handover->consumer.start);
}

void ChromeExport::transfer(const trace::TransferRow& row) {
  const std::int64_t start = nanoseconds(row.start);
  const std::int64_t end = std::max(start, nanoseconds(row.end));
  const char* kind = trace::name_of(row.kind);
  const std::string name = fmt::format(FMT_COMPILE("{} {}"), kind, row.microbatch);
  const std::string args = fmt::format(
      FMT_COMPILE(
          R"("from_device":{},"to_device":{},"stage":{},"microbatch":{},"bytes":{},"waited_s":{})"),
      row.source, row.destination, row.stage, row.microbatch, row.bytes,
      std::max(0.0, row.start - row.posted));
  events_.slice(lane(row.source, ThreadGroup::sends, start, end), name, kind, start, end, args);
  events_.slice(lane(row.destination, ThreadGroup::receives, start, end), name, kind, start, end,
                args);
}

void ChromeExport::collective(const trace::CollectiveRow& row) {
  const std::int64_t start = nanoseconds(row.start);
  const std::int64_t end = std::max(start, nanoseconds(row.end));
  const char* kind = trace::name_of(row.kind);
  events_.slice(
      lane(row.device, ThreadGroup::collectives, start, end), kind, "collective", start, end,
      fmt::format(FMT_COMPILE(R"("stage":{},"iteration":{},"bytes":{},"waited_s":{})"), row.stage,
                  row.iteration, row.bytes, std::max(0.0, row.start - row.posted)));
}

// Draws the phases of an optimizer step. `last_reduction` is the time when the last device has
// reduced its gradients.
void ChromeExport::draw(const trace::StepRow& row, double last_reduction) {
  const double waited =
      std::clamp(last_reduction, row.reduced, std::max(row.reduced, row.synchronized));
  const std::array<double, 6> times{row.start,        row.reduced, waited,
                                    row.synchronized, row.updated, row.end};
  constexpr std::array<const char*, 5> names{"gradients are reduced", "waits for other devices",
                                             "norm of gradients", "optimizer step",
                                             "weights are gathered"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::int64_t start = nanoseconds(times[i]);
    const std::int64_t end = nanoseconds(times[i + 1]);
    if (start < end)
      events_.slice(lane(row.device, ThreadGroup::steps, start, end), names[i], "step", start, end,
                    fmt::format(FMT_COMPILE(R"("iteration":{})"), row.iteration));
  }
}

void ChromeExport::finish() {
  std::map<std::uint32_t, double> last_reduction;  // By iteration.
  for (const trace::StepRow& row : steps_) {
    double& latest = last_reduction[row.iteration];
    latest = std::max(latest, row.reduced);
  }
  for (const trace::StepRow& row : steps_) draw(row, last_reduction.at(row.iteration));
  memory_->finish(events_);
  links_.finish(events_, process_of(static_cast<std::uint32_t>(devices_.size())));
  events_.close();
}

}  // namespace

std::unique_ptr<trace::Sink> chrome_export(std::ostream& stream) {
  return std::make_unique<ChromeExport>(stream);
}

}  // namespace pipewright::analysis
