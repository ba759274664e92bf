#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/cluster/platform/error.hpp"
#include "sim/cluster/record.hpp"
#include "sim/cluster/route.hpp"
#include "sim/config/communication.hpp"

namespace pipewright::cluster {

class Network;

// Hosts and links that a run uses, and the routes between them. Copies share the same hosts and
// links.
class Cluster {
 public:
  // A network without links: every hop takes `latency` seconds regardless of size, without
  // contention.
  static Cluster ideal(double latency);
  // Loads a platform file. `label` is its name in outputs; if empty, the file's path is used.
  // Throws Error with file and line. A process can load only one file that needs SimGrid itself
  // (see load_with_simgrid).
  static Cluster load(const std::filesystem::path& file, const std::string& label = {},
                      const config::Multipath& multipath = {});

  // GPUs in natural order of names (node-2 before node-10): the hosts with a property `gpu`, or, if
  // no host has it, all hosts that are not NICs. An ideal network has a single host.
  const std::vector<Host*>& gpus() const;
  // Assigns a GPU to each rank: the named hosts, or else the first `count` GPUs. Every rank needs a
  // host of its own.
  std::vector<Host*> place(const std::vector<std::string>& names, std::uint32_t count) const;
  // Route from one host to another; a route from a host to itself has no links. Throws Error if the
  // platform has no such route, or if a link on it has failed.
  Route route(const Host* source, const Host* destination, Numbers numbers = Numbers::actual,
              Condition condition = Condition::current) const;

  // Number of the node of a GPU. The hosts of a zone form a node, unless a property `node` assigns
  // them explicitly. Nodes are numbered in the order of their first GPU.
  std::uint32_t node_of(const Host* gpu) const;
  // GPUs of each node, by node number. An ideal network has one node with one host.
  const std::vector<std::vector<Host*>>& nodes() const { return nodes_; }
  // Class of a link: its property `class`; for a link that a <cluster> generates, the cluster's
  // property `class`; otherwise its name without numbers, such as "node-nvlink" for
  // node-0-nvlink-7.
  const std::string& link_class(const Link* link) const;
  std::vector<const Link*> links() const;       // in natural order of names
  double latency_of(const Link* link) const;    // seconds
  double bandwidth_of(const Link* link) const;  // bytes/s in one direction
  // Capacity in bytes/s that the flows on a link share: the bandwidth times the number of parts
  // into which flows are divided on it (see Route::links).
  static double capacity_of(const Link* link);
  double capacity_of(const Link* link, Numbers numbers,
                     Condition condition = Condition::current) const;
  std::uint32_t parts_of(const Link* link) const;
  // Name of a link: "node-0-nvlink-7", with "_UP" or "_DOWN" if it is one direction of a duplex
  // link.
  static const std::string& link_name(const Link* link);

  // Scales the bandwidth of a link before a run: both directions, unless the name ends in _UP or
  // _DOWN. The name of a NIC, switch or zone scales all of its links. Factor 0 makes the links
  // fail: routes avoid them, or throw Error if no path remains. Throws Error if the name is
  // unknown.
  void scale_link(const std::string& name, double factor);
  // Returns whether scale_link() has made a link fail or changed its rate.
  bool has_faults() const;
  // Names of the switches: vertices of the platform file that have links and are not hosts.
  std::vector<std::string> switches() const;
  // Get and set how flows are distributed over equally short paths; tell whether any flow is
  // divided among several paths.
  const config::Multipath& multipath() const;
  void set_multipath(const config::Multipath& multipath);
  bool has_divided_routes() const;
  // Multiplies the bandwidth of all links of a class, and the latency of all routes. Throws Error
  // if a factor is not > 0, or if there is no link of the class.
  void scale_bandwidth(const std::string& link_class, double factor);
  void scale_latency(double factor);

  // Costs of messages in addition to the bandwidth and latency of links; see message_model.hpp. An
  // ideal network has none.
  const MessageModel& model(Numbers numbers = Numbers::actual) const;
  // Returns whether NCCL chooses algorithms and protocols by other numbers than the actual ones:
  // because the file has `expected.` properties, or because freeze_expectations() was called.
  bool has_tuning_model() const;
  // Freezes the numbers by which NCCL chooses at their current values if `is_frozen`, whatever
  // set_parameter() changes later. No effect if the file has `expected.` properties.
  void freeze_expectations(bool is_frozen);
  // Version of NCCL whose own cost model chooses algorithms (27 for 2.27), from the platform file
  // or set_nccl(). None if the file has `expected.` properties.
  std::optional<std::uint32_t> nccl() const;
  void set_nccl(std::uint32_t version);
  std::vector<std::string> link_classes() const;  // in natural order
  // Costs of reducing data in the switches behind a route's first link (SHARP). Empty if these
  // switches cannot reduce data.
  std::optional<InSwitch> in_switch(const Route& route, Numbers numbers) const;
  // Sets a number of the message model, such as "nvlink.latency", before or between runs. Throws
  // Error if the parameter or class is unknown, or if the value is out of range.
  void set_parameter(const std::string& name, double value);

  // Adds a pair of hosts with a route over these links. A link that is listed k times carries k
  // times the flow's bytes, so that one flow can stand for k equal flows.
  Route add_route(const std::vector<const Link*>& links) const;
  // Links that a flow from source to destination loads, in the same form as Route::links.
  std::vector<const Link*> links_between(const Host* source, const Host* destination) const;

  // Accuracy records of the platform file: where its predictions were compared with measurements.
  const std::vector<Record>& records() const { return records_; }

  bool is_ideal() const { return network_ == nullptr; }
  // Network of the cluster; null if the network is ideal. Only sim/cluster and code that runs flows
  // in SimGrid use it.
  const std::shared_ptr<Network>& network() const { return network_; }
  // Name of the cluster in outputs: the file's name, or "ideal network, 0.5 ms a hop".
  // The name omits a latency of 0.
  const std::string& name() const { return name_; }
  const std::string& text() const { return text_; }  // content of the file; empty if ideal

 private:
  Cluster() = default;

  double ideal_latency_ = 0;
  double latency_factor_ = 1;
  std::string name_;
  std::string text_;
  std::vector<Record> records_;
  std::vector<Host*> gpus_;
  std::vector<std::vector<Host*>> nodes_;
  std::shared_ptr<Network> network_;  // null if ideal
};

std::string simgrid_version();  // SimGrid release this was built with: "SimGrid 3.32"

}  // namespace pipewright::cluster
