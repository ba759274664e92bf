#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analysis/report/search/objective.hpp"
#include "analysis/report/summary.hpp"

// Plain data of a search over layouts, schedules and other settings: axes, candidates, results.
namespace pipewright::analysis {

enum class Outcome : std::uint8_t {
  open,          // it fits and has a bound, but is not decided yet
  illegal,       // its layout, partition or schedule is impossible
  does_not_fit,  // a device would need more memory than its capacity
  bounded_away,  // its bound shows that it is neither the best nor on the front
  simulated,
  failed,  // its simulation crashed, ran out of memory or exceeded its time limit
};

// Input from which the lower bound of the iteration time and the peak memory of a candidate that
// was not simulated were computed. The first input gives the closest bounds, the last the roughest.
enum class Basis : std::uint8_t {
  order,    // the order of the passes, and all collectives
  network,  // the passes with the least time of the collectives within them; in any order, or in
            // that of a schedule that does not plan for pass times
  passes,   // the passes alone
};

// Nodes and network traffic of a candidate, which its goodput run needs. Not stored in files.
struct Site {
  // Nodes are machines with hosts of their own: a rack whose GPUs share NVLink has several nodes,
  // its compute trays.
  std::uint32_t nodes = 0;
  std::uint32_t cluster_nodes = 0;  // 0: no cluster
  std::uint32_t racks = 0;          // racks of several nodes that the job uses
  std::uint32_t rack_nodes = 0;     // nodes of such a rack; 0: there are none
  double traffic_bytes = 0;         // per iteration, between stages and replicas
};

// Outcome and figures of a candidate. Numbers that are unknown are 0. candidate_figures.hpp lists
// the figures that files and reports have.
struct CandidateRow {
  // Number of the candidate in the sweep. Its digits are the indices of its values on the axes; the
  // last axis varies fastest.
  std::uint64_t candidate = 0;
  std::uint32_t group = 0;  // index in SearchRun::groups
  Outcome outcome = Outcome::open;
  std::string note;            // reason of illegal, does_not_fit or failed
  Basis basis = Basis::order;  // basis of bound_s and peak_bytes

  // Figures that all legal candidates have.
  IterationWork work;
  // Peak memory and capacity of the device that fills the largest share of its capacity. While the
  // order of the passes is unknown, the smallest peak that any order allows.
  std::uint64_t peak_bytes = 0;
  std::uint64_t capacity_bytes = 0;
  double bound_s = 0;     // lower bound of the iteration time; 0 if the candidate does not fit
  double activities = 0;  // estimated number of activities of its simulation

  // Figures that only simulated candidates have.
  double time_s = 0;  // iteration time
  double bubble_ratio = 0;
  double span_bubble_s = 0;
  TimeParts parts;           // mean over the devices of a replica
  trace::Evidence evidence;  // what its time and its capacity rest on
  Site site;                 // filled on request
};

// A setting that the sweep varies, with its values. The last axis is the schedule.
struct SearchAxis {
  std::string key;   // key of the scenario: "parallel.tp"
  std::string name;  // name in outputs: "tp"
  std::vector<std::string> values;
};

// Number of combinations of values that a rule of the sweep excludes in advance.
struct Excluded {
  std::string rule;  // "tp <= gpus_per_node"
  std::uint64_t combinations = 0;
};

// The part of a sweep that a search covers: the whole sweep, or one of several shards.
struct ShardNumber {
  std::uint32_t number = 1;  // from 1
  std::uint32_t count = 1;
};

struct SearchRun {
  std::string title;  // title of the sweep
  std::string sweep;  // text of the sweep
  std::vector<SearchAxis> axes;
  std::vector<std::string> groups;  // pairs of model and cluster, each with its own front
  Objective objective;
  double combinations = 0;  // number of combinations of all values of all axes
  std::vector<Excluded> excluded;
  ShardNumber shard;  // part of the sweep that the members below describe
  bool exhaustive = false;
  bool fronts = true;     // whether the fronts are proven, too, and not the best alone
  bool finished = false;  // false: the search was stopped
  // Upper bound of the relative amount by which any candidate may be better in the objective than
  // the best one found.
  double gap = 0;
  std::vector<std::string> notes;  // what the figures assume; files of results do not store them
  std::vector<CandidateRow> rows;  // in order of candidates; unexamined candidates have no row
};

// Returns the index of a candidate's value on each axis.
std::vector<std::uint32_t> choices(const std::vector<SearchAxis>& axes, std::uint64_t candidate);

// Returns the value of a candidate on an axis.
const std::string& value_of(const SearchRun& run, const CandidateRow& row, std::size_t axis);

// Returns the axes that have more than one value.
std::vector<std::size_t> open_axes(const SearchRun& run);

// Returns the shard of the sweep that the search covers, "shard 2/3"; empty for the whole sweep.
std::string shard_name(const SearchRun& run);

// Returns a candidate's values on the open axes, for a terminal: "tp 8, pp 4, schedule zb-1p".
std::string candidate_name(const SearchRun& run, const CandidateRow& row);

}  // namespace pipewright::analysis
