#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/report/export/exports.hpp"
#include "analysis/report/export/spans.hpp"
#include "analysis/report/export/text_out.hpp"
#include "analysis/report/palette.hpp"
#include "analysis/report/text_table.hpp"
#include "analysis/trace/tables.hpp"

namespace pipewright::analysis {
namespace {

// Numbers by which Paje files refer to event types; the header of a file defines them.
enum class PajeEvent : int {
  define_container_type = 0,
  define_variable_type = 1,
  define_state_type = 2,
  define_link_type = 4,
  define_entity_value = 5,
  create_container = 6,
  destroy_container = 7,
  set_variable = 8,
  push_state = 12,
  pop_state = 13,
  start_link = 15,
  end_link = 16,
};

struct EventDefinition {
  const char* name;
  PajeEvent event;
  std::span<const char* const> fields;
};

constexpr std::array type_fields{"Alias string", "Type string", "Name string"};
constexpr std::array coloured_type_fields{"Alias string", "Type string", "Name string",
                                          "Color color"};
constexpr std::array link_type_fields{"Alias string", "Type string", "StartContainerType string",
                                      "EndContainerType string", "Name string"};
constexpr std::array create_fields{"Time date", "Alias string", "Type string", "Container string",
                                   "Name string"};
constexpr std::array destroy_fields{"Time date", "Type string", "Name string"};
constexpr std::array variable_fields{"Time date", "Type string", "Container string",
                                     "Value double"};
constexpr std::array state_fields{"Time date", "Type string", "Container string", "Value string"};
constexpr std::array pop_state_fields{"Time date", "Type string", "Container string"};
constexpr std::array start_link_fields{"Time date",    "Type string",           "Container string",
                                       "Value string", "StartContainer string", "Key string"};
constexpr std::array end_link_fields{"Time date",    "Type string",         "Container string",
                                     "Value string", "EndContainer string", "Key string"};

constexpr std::array<EventDefinition, 12> event_definitions{{
    {"PajeDefineContainerType", PajeEvent::define_container_type, type_fields},
    {"PajeDefineVariableType", PajeEvent::define_variable_type, coloured_type_fields},
    {"PajeDefineStateType", PajeEvent::define_state_type, type_fields},
    {"PajeDefineLinkType", PajeEvent::define_link_type, link_type_fields},
    {"PajeDefineEntityValue", PajeEvent::define_entity_value, coloured_type_fields},
    {"PajeCreateContainer", PajeEvent::create_container, create_fields},
    {"PajeDestroyContainer", PajeEvent::destroy_container, destroy_fields},
    {"PajeSetVariable", PajeEvent::set_variable, variable_fields},
    {"PajePushState", PajeEvent::push_state, state_fields},
    {"PajePopState", PajeEvent::pop_state, pop_state_fields},
    {"PajeStartLink", PajeEvent::start_link, start_link_fields},
    {"PajeEndLink", PajeEvent::end_link, end_link_fields},
}};

std::string paje_header() {
  std::string header;
  for (const EventDefinition& definition : event_definitions) {
    header += fmt::format("%EventDef {} {}\n", definition.name, static_cast<int>(definition.event));
    for (const char* field : definition.fields) header += fmt::format("%       {}\n", field);
    header += "%EndEventDef\n";
  }
  return header;
}

std::string paje_text(std::string_view words) {
  std::string text = drawable(words);
  std::replace(text.begin(), text.end(), '"', '\'');
  return '"' + text + '"';
}

std::string paje_colour(Colour colour) {
  return fmt::format("\"{:.3f} {:.3f} {:.3f}\"", colour.red, colour.green, colour.blue);
}

// Aliases of the types and values of a device's states, links and variables. They are short, since
// every line repeats them. Alias R is the run, the container of everything else.
constexpr const char* blocked_alias = "X";
constexpr std::array<const char*, 4> step_phase_aliases{"S0", "S1", "S2", "S3"};
constexpr std::array<const char*, 4> step_phase_names{"gradients are reduced", "norm of gradients",
                                                      "optimizer step", "weights are gathered"};

class PajeExport final : public trace::Sink {
 public:
  explicit PajeExport(std::ostream& stream) : stream_(stream) {}

  void begin(const trace::RunInfo& run, const std::vector<trace::DeviceRow>& devices,
             const std::vector<trace::StageRow>& stages) override;
  void pass(const trace::PassRow& row) override;
  void transfer(const trace::TransferRow& row) override;
  void memory(const trace::MemoryRow& row) override;
  void collective(const trace::CollectiveRow& row) override;
  void step(const trace::StepRow& row) override;
  void finish() override;

 private:
  template <class... Args>
  void event(std::int64_t time, PajeEvent event, fmt::format_string<Args...> format,
             Args&&... args) {
    line_.clear();
    auto out = fmt::format_to(std::back_inserter(line_), "{} {}.{:09} ", static_cast<int>(event),
                              time / 1'000'000'000, time % 1'000'000'000);
    out = fmt::format_to(out, format, std::forward<Args>(args)...);
    *out = '\n';
    lines_.add(time, {line_.data(), line_.size()});
    end_ = std::max(end_, time);
  }
  void define(const trace::RunInfo& run);
  void state(const char* type, const std::string& container, const char* value, std::int64_t start,
             std::int64_t end);

  std::ostream& stream_;
  SortedLines lines_;
  fmt::memory_buffer line_;
  std::size_t devices_ = 0;
  std::int64_t end_ = 0;
  std::uint64_t links_ = 0;
  std::vector<Lanes> lanes_;  // Lanes of collectives, by device.
  // Device and lane of each container that was created for collectives.
  std::set<std::pair<std::uint32_t, std::uint32_t>> lane_containers_;
  std::optional<PassSpans> spans_;
};

void PajeExport::define(const trace::RunInfo& run) {
  std::string text = paje_header();
  const auto add = [&](PajeEvent event, const std::string& fields) {
    text += fmt::format("{} {}\n", static_cast<int>(event), fields);
  };
  add(PajeEvent::define_container_type, "TR 0 \"run\"");
  add(PajeEvent::define_container_type, "TD TR \"device\"");
  add(PajeEvent::define_container_type, "TC TD \"collectives\"");
  add(PajeEvent::define_container_type, "TO TD \"optimizer\"");
  add(PajeEvent::define_state_type, "P TD \"pass\"");
  add(PajeEvent::define_state_type, "C TC \"collective\"");
  add(PajeEvent::define_state_type, "S TO \"step\"");
  add(PajeEvent::define_link_type, "L TR TD TD \"transfer\"");
  for (std::size_t i = 0; i < trace::pass_kinds; ++i)
    add(PajeEvent::define_entity_value,
        fmt::format("{} P \"{}\" {}", kind_styles[i].letter, kind_styles[i].words,
                    paje_colour(kind_styles[i].colour)));
  constexpr Colour grey{0.6, 0.6, 0.6};
  add(PajeEvent::define_entity_value,
      fmt::format("{} P \"blocked by its send\" {}", blocked_alias, paje_colour(grey)));
  const auto values = [&](trace::ColumnType type, const char* type_alias) {
    const auto names = trace::enum_names(type);
    for (std::size_t i = 0; i < names.size(); ++i)
      add(PajeEvent::define_entity_value,
          fmt::format("{}{} {} \"{}\" {}", type_alias, i, type_alias, names[i],
                      paje_colour(kind_styles[i].colour)));
  };
  values(trace::ColumnType::transfer_kind, "L");
  values(trace::ColumnType::collective_kind, "C");
  for (std::size_t i = 0; i < step_phase_aliases.size(); ++i)
    add(PajeEvent::define_entity_value,
        fmt::format("{} S \"{}\" {}", step_phase_aliases[i], step_phase_names[i],
                    paje_colour(kind_styles[i].colour)));
  const auto categories = trace::enum_names(trace::ColumnType::memory_category);
  for (std::size_t i = 0; i < categories.size(); ++i)
    add(PajeEvent::define_variable_type,
        fmt::format("M{} TD \"{} (bytes)\" {}", i, categories[i],
                    paje_colour(mix(kind_styles[i % kind_styles.size()].colour, {0, 0, 0},
                                    i < kind_styles.size() ? 0 : 0.4))));
  stream_ << text;
  event(0, PajeEvent::create_container, "R TR 0 {}", paje_text(run.schedule));
}

void PajeExport::begin(const trace::RunInfo& run, const std::vector<trace::DeviceRow>& devices,
                       const std::vector<trace::StageRow>&) {
  devices_ = devices.size();
  lanes_.resize(devices_);
  spans_.emplace(devices_);
  define(run);
  for (const trace::DeviceRow& device : devices) {
    const std::string host = device.host.empty() ? "" : fmt::format(" ({})", device.host);
    event(0, PajeEvent::create_container, "D{} TD R {}", device.device,
          paje_text(fmt::format("device {}{}", device.device, host)));
    event(0, PajeEvent::create_container, "O{0} TO D{0} \"optimizer of device {0}\"",
          device.device);
  }
}

void PajeExport::state(const char* type, const std::string& container, const char* value,
                       std::int64_t start, std::int64_t end) {
  event(start, PajeEvent::push_state, "{} {} {}", type, container, value);
  event(end, PajeEvent::pop_state, "{} {}", type, container);
}

void PajeExport::pass(const trace::PassRow& row) {
  const Span span = spans_->next(row);
  const std::string container = fmt::format("D{}", row.device);
  state("P", container, trace::name_of(row.kind), span.start, span.end);
  if (span.released > span.end) state("P", container, blocked_alias, span.end, span.released);
}

void PajeExport::transfer(const trace::TransferRow& row) {
  const std::int64_t start = nanoseconds(row.start);
  const auto kind = static_cast<int>(row.kind);
  event(start, PajeEvent::start_link, "L R L{} D{} {}", kind, row.source, ++links_);
  event(std::max(start, nanoseconds(row.end)), PajeEvent::end_link, "L R L{} D{} {}", kind,
        row.destination, links_);
}

void PajeExport::memory(const trace::MemoryRow& row) {
  event(nanoseconds(row.time), PajeEvent::set_variable, "M{} D{} {}",
        static_cast<int>(row.category), row.device, row.bytes);
}

void PajeExport::collective(const trace::CollectiveRow& row) {
  const std::int64_t start = nanoseconds(row.start);
  const std::int64_t end = std::max(start, nanoseconds(row.end));
  const std::uint32_t lane = lanes_.at(row.device).place(start, end);
  const std::string container = fmt::format("C{}-{}", row.device, lane);
  if (lane_containers_.emplace(row.device, lane).second)
    event(0, PajeEvent::create_container, "{} TC D{} \"collectives {} of device {}\"", container,
          row.device, lane + 1, row.device);
  state("C", container, fmt::format("C{}", static_cast<int>(row.kind)).c_str(), start, end);
}

void PajeExport::step(const trace::StepRow& row) {
  const std::array<double, 5> times{row.start, row.reduced, row.synchronized, row.updated, row.end};
  const std::string container = fmt::format("O{}", row.device);
  for (std::size_t i = 0; i < step_phase_aliases.size(); ++i) {
    const std::int64_t start = nanoseconds(times[i]);
    const std::int64_t end = nanoseconds(times[i + 1]);
    if (start < end) state("S", container, step_phase_aliases[i], start, end);
  }
}

void PajeExport::finish() {
  for (const auto& [device, lane] : lane_containers_)
    event(end_, PajeEvent::destroy_container, "TC C{}-{}", device, lane);
  for (std::size_t device = 0; device < devices_; ++device) {
    event(end_, PajeEvent::destroy_container, "TO O{}", device);
    event(end_, PajeEvent::destroy_container, "TD D{}", device);
  }
  event(end_, PajeEvent::destroy_container, "TR R");
  lines_.write_to(stream_);
}

}  // namespace

std::unique_ptr<trace::Sink> paje_export(std::ostream& stream) {
  return std::make_unique<PajeExport>(stream);
}

}  // namespace pipewright::analysis
