#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analysis/report/search/objective.hpp"
#include "analysis/report/summary.hpp"

// What a search over layouts, schedules and the like came to, as plain data.
namespace pipewright::analysis {

enum class Outcome : std::uint8_t {
  open,          // fits, and has a bound; nothing more is known yet
  illegal,       // such a layout, partition or schedule cannot be
  does_not_fit,  // a device would hold more than it has
  bounded_away,  // its bound shows that it is neither the best nor on the front
  simulated,
  failed,  // its simulation crashed, ran out of memory or past its time
};

// What a candidate's bound and peak rest on, while it is open; each is known from the one before.
enum class Basis : std::uint8_t {
  order,    // the order of its passes
  network,  // its passes, and what the network takes within them at least: some order
  passes,   // its passes alone
};

// Where a candidate is and what it sends, for who works out weeks of it. No file has it.
struct Site {
  std::uint32_t nodes = 0;
  std::uint32_t cluster_nodes = 0;  // 0: there is no cluster
  double traffic_bytes = 0;         // of an iteration, between stages and replicas
};

struct CandidateRow {
  std::uint64_t candidate = 0;  // its number in the space: digits of the axes, the last the fastest
  std::uint32_t group = 0;      // of SearchRun::groups
  Outcome outcome = Outcome::open;
  std::string note;            // why it is illegal, does not fit or failed
  Basis basis = Basis::order;  // of bound and peak: no order is shorter, or holds less

  // Of every legal one.
  IterationWork work;
  // Of the device that is fullest for what it has; until the order of passes is known, the least
  // that any order holds.
  std::uint64_t peak_bytes = 0;
  std::uint64_t capacity_bytes = 0;
  double bound_s = 0;     // no iteration is shorter; 0 where it does not fit
  double activities = 0;  // that its simulation has, about; 0: not known

  // Of simulated ones.
  double time_s = 0;  // of an iteration
  double bubble_ratio = 0;
  double span_bubble_s = 0;
  TimeParts parts;         // as a mean over the devices of a replica
  trace::Assumed assumed;  // what its time, or what it has, rests on
  Site site;               // while it is asked for
};

// What the sweep leaves open. Of the last, the schedules, a candidate takes one as of the others.
struct SearchAxis {
  std::string key;   // of the scenario: "parallel.tp"
  std::string name;  // in outputs: "tp"
  std::vector<std::string> values;
};

// Combinations that no candidate was made of.
struct Excluded {
  std::string rule;  // "tp <= gpus_per_node"
  std::uint64_t combinations = 0;
};

// The part of a sweep that a search looked at: all of it, or one of several shards.
struct ShardNumber {
  std::uint32_t number = 1;  // from 1
  std::uint32_t count = 1;
};

struct SearchRun {
  std::string title;  // the sweep's
  std::string sweep;  // its text
  std::vector<SearchAxis> axes;
  std::vector<std::string> groups;  // a model on a cluster each, whose fronts stand apart
  Objective objective;
  double combinations = 0;  // of all values of all axes
  std::vector<Excluded> excluded;
  ShardNumber shard;  // what follows is of this part of the sweep
  bool exhaustive = false;
  bool fronts = true;              // were to be proven, and not the best alone
  bool finished = false;           // else it was stopped, and
  double gap = 0;                  // nothing can be better than the best by more than this part
  std::vector<CandidateRow> rows;  // in order of candidates; those not looked at are missing
};

// Which value of each axis a candidate has.
std::vector<std::uint32_t> choices(const std::vector<SearchAxis>& axes, std::uint64_t candidate);

const std::string& value_of(const SearchRun& run, const CandidateRow& row, std::size_t axis);

// Axes that leave a choice, as others tell nothing about a candidate.
std::vector<std::size_t> open_axes(const SearchRun& run);

// "shard 2/3"; empty where all of the sweep was looked at.
std::string shard_name(const SearchRun& run);

// "tp 8, pp 4, schedule zb-1p": a candidate among others of its search, for a terminal.
std::string named(const SearchRun& run, const CandidateRow& row);

}  // namespace pipewright::analysis
