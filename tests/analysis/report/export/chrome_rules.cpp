#include "tests/analysis/report/export/chrome_rules.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

namespace pipewright::test {
namespace {

using Json = nlohmann::json;
using Track = std::pair<long, long>;  // Process and thread.

struct Slice {
  long long start;  // Times are in nanoseconds.
  long long end;
};

class RuleChecker {
 public:
  void check(const Json& event) {
    event_ = &event;
    if (!event.contains("ph") || !event["ph"].is_string()) return report_violation("no phase");
    const std::string phase = event["ph"];
    if (!event.contains("pid") || !event["pid"].is_number_unsigned())
      return report_violation("no process");
    if (!event.contains("name") || !event["name"].is_string()) return report_violation("no name");
    const long process = event["pid"];
    if (phase == "M") return metadata(process);
    if (!is_time("ts")) return report_violation("no time");
    if (named_processes_.count(process) == 0) report_violation("a process that has no name yet");
    if (phase == "C") return counter();
    if (!event.contains("tid") || !event["tid"].is_number_unsigned())
      return report_violation("no thread");
    const Track track{process, event["tid"]};
    if (named_threads_.count(track) == 0) report_violation("a thread that has no name yet");
    if (!event.contains("cat")) report_violation("no category");
    if (phase == "X") {
      if (!is_time("dur")) return report_violation("no duration");
      slices_[track].push_back({at("ts"), at("ts") + at("dur")});
    } else if (phase == "s" || phase == "f") {
      arrow(phase, track);
    } else {
      report_violation("a phase that is not used here");
    }
  }

  std::vector<std::string> finish() {
    for (auto& [track, slices] : slices_) nest(slices);
    for (const auto& [id, ends] : arrows_) {
      if (ends.count("s") != 1 || ends.count("f") != 1) {
        violations_.push_back("arrow " + id + " lacks an end");
        continue;
      }
      if (ends.at("s").second > ends.at("f").second)
        violations_.push_back("arrow " + id + " points back");
      for (const auto& [end, track_and_time] : ends)
        inside(id, track_and_time.first, track_and_time.second);
    }
    constexpr std::size_t max_violations = 5;
    if (violations_.size() > max_violations) violations_.resize(max_violations);
    return std::move(violations_);
  }

 private:
  void report_violation(const std::string& rule) {
    violations_.push_back(rule + ": " + event_->dump());
  }
  bool is_time(const char* field) const {
    return event_->contains(field) && (*event_)[field].is_number() &&
           std::isfinite((*event_)[field].get<double>()) && (*event_)[field] >= 0;
  }
  long long at(const char* field) const {
    return std::llround((*event_)[field].get<double>() * 1000);
  }

  void metadata(long process) {
    const std::string name = (*event_)["name"];
    const Json args = event_->value("args", Json::object());
    const bool is_thread = name.rfind("thread_", 0) == 0;
    if (is_thread && !event_->contains("tid")) return report_violation("no thread");
    if (name == "process_name") named_processes_.insert(process);
    if (name == "thread_name") named_threads_.insert({process, (*event_)["tid"].get<long>()});
    if (name.find("_name") != std::string::npos && !args.value("name", Json()).is_string())
      report_violation("no words");
    if (name.find("_sort_index") != std::string::npos && !args["sort_index"].is_number())
      report_violation("no place");
  }

  void counter() {
    if (!event_->contains("args") || (*event_)["args"].empty())
      return report_violation("an empty counter");
    for (const auto& [key, value] : (*event_)["args"].items())
      if (!value.is_number() || value.get<double>() < 0)
        report_violation("a counter that is no number");
  }

  void arrow(const std::string& phase, Track track) {
    if (!event_->contains("id")) return report_violation("no id");
    if (phase == "f" && event_->value("bp", "") != "e")
      report_violation("bound to the slice after it");
    const std::string id = event_->at("cat").get<std::string>() + " " +
                           event_->at("name").get<std::string>() + " " + event_->at("id").dump();
    if (!arrows_[id].emplace(phase, std::pair{track, at("ts")}).second)
      report_violation("an end twice");
  }

  // Checks that slices nest: ordered by start and then by length, each ends before the slice around
  // it.
  void nest(std::vector<Slice>& slices) {
    std::stable_sort(slices.begin(), slices.end(), [](const Slice& a, const Slice& b) {
      return a.start != b.start ? a.start < b.start : a.end > b.end;
    });
    std::vector<long long> open_ends;
    for (const Slice& slice : slices) {
      while (!open_ends.empty() && open_ends.back() <= slice.start) open_ends.pop_back();
      if (!open_ends.empty() && slice.end > open_ends.back())
        violations_.push_back("slices cross at " + std::to_string(slice.start) + " ns");
      open_ends.push_back(slice.end);
    }
  }

  void inside(const std::string& id, Track track, long long time) {
    const std::vector<Slice>& slices = slices_[track];
    if (std::none_of(slices.begin(), slices.end(), [&](const Slice& slice) {
          return slice.start <= time && (time < slice.end || slice.start == slice.end);
        }))
      violations_.push_back("arrow " + id + " ends outside of slices");
  }

  const Json* event_ = nullptr;
  std::vector<std::string> violations_;
  std::set<long> named_processes_;
  std::set<Track> named_threads_;
  std::map<Track, std::vector<Slice>> slices_;
  std::map<std::string, std::map<std::string, std::pair<Track, long long>>> arrows_;
};

}  // namespace

std::vector<std::string> broken_rules(const std::string& json) {
  const Json file = Json::parse(json, nullptr, false);
  if (file.is_discarded()) return {"no JSON"};
  if (!file.contains("traceEvents") || !file["traceEvents"].is_array()) return {"no events"};
  RuleChecker rules;
  for (const Json& event : file["traceEvents"]) rules.check(event);
  return rules.finish();
}

}  // namespace pipewright::test
