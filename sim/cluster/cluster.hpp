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

// The hosts and links that a run uses, and the routes between them. Copies are of the same ones.
class Cluster {
 public:
  // No links: every hop takes `latency` seconds whatever its size, and nothing contends.
  static Cluster ideal(double latency);
  // Throws Error with the file's name and line. Of files that only SimGrid itself can read, a
  // process loads one (see load_with_simgrid).
  // It is called `label` in outputs, or as the file is if that is empty.
  static Cluster load(const std::filesystem::path& file, const std::string& label = {},
                      const config::Multipath& multipath = {});

  // The GPUs in natural order of names (node-2 before node-10): the hosts with a property `gpu`; of
  // a platform without that property, all hosts that are nobody's NIC. One host if ideal.
  const std::vector<Host*>& gpus() const;
  // A GPU for each rank: the named ones, or the first. Each rank needs its own.
  std::vector<Host*> place(const std::vector<std::string>& names, std::uint32_t count) const;
  // No links from a host to itself: there is nothing to carry. Throws Error if the platform file
  // knows no way, or if a link on it has failed.
  Route route(const Host* source, const Host* destination, Numbers numbers = Numbers::actual) const;

  // GPUs of a node have the same number: the hosts of one zone, unless a property `node` says which
  // node a host is of. Nodes are numbered in order of their first GPU.
  std::uint32_t node_of(const Host* gpu) const;
  // Their GPUs, by these numbers; of an ideal network the one host.
  const std::vector<std::vector<Host*>>& nodes() const { return nodes_; }
  // What a link is: its property `class`; of one that a <cluster> makes, the cluster's property
  // `class`; else its name without numbers, "node-nvlink" of node-0-nvlink-7.
  const std::string& link_class(const Link* link) const;
  std::vector<const Link*> links() const;       // in natural order of names
  double latency_of(const Link* link) const;    // seconds
  double bandwidth_of(const Link* link) const;  // bytes/s of one direction
  // What its flows share, bytes/s: the bandwidth, or as many times that as flows have parts on it
  // (Route::links).
  static double capacity_of(const Link* link);
  double capacity_of(const Link* link, Numbers numbers) const;
  std::uint32_t parts_of(const Link* link) const;
  // "node-0-nvlink-7", with "_UP" or "_DOWN"
  static const std::string& link_name(const Link* link);

  // Before a run: a link (both directions, unless the name ends in _UP or _DOWN) has so much of its
  // bandwidth, or all links of a NIC, a switch or a zone. With 0 they have failed, and routes lead
  // round them, or throw Error where nothing is left. Throws Error if there is none of the name.
  void scale_link(const std::string& name, double factor);
  // Of NICs, switches and planes of a platform file, the switches.
  std::vector<std::string> switches() const;
  // How flows go where several ways are equally short, and whether they do anywhere.
  const config::Multipath& multipath() const;
  void set_multipath(const config::Multipath& multipath);
  bool has_divided_ways() const;
  // All links of a class have so many times their bandwidth, and all ways so many times their
  // latency. Throws Error if a factor is not above 0, or if there is no link of the class.
  void scale_bandwidth(const std::string& link_class, double factor);
  void scale_latency(double factor);

  // What messages cost beside links: see message_model.hpp. Of an ideal network: nothing.
  const MessageModel& model(Numbers numbers = Numbers::actual) const;
  // Whether NCCL chooses algorithms and protocols by other numbers than the actual ones: the file
  // says so, or keep_expectations() was called.
  bool has_tuning_model() const;
  // Whether NCCL goes on to choose by the numbers as they are now, whatever is set later. Not where
  // the file says by which it does.
  void keep_expectations(bool keep);
  // The version of NCCL by whose own model it chooses, 27 of 2.27: as the platform file says, or as
  // set. None where the file gives the numbers by which it chooses.
  std::optional<std::uint32_t> nccl() const;
  void set_nccl(std::uint32_t version);
  std::vector<std::string> link_classes() const;  // in natural order
  // What switches do on a way, if those behind its first link can reduce.
  std::optional<InSwitch> in_switch(const Route& route, Numbers numbers) const;
  // Sets a number of the model, "nvlink.latency", before or between runs. Throws Error if there is
  // no such parameter or class, or if the value cannot be.
  void set_parameter(const std::string& name, double value);

  // A pair of hosts of its own, and a route between them over these links. A link that is listed k
  // times carries k times the flow's bytes, so that one flow stands for k equal ones.
  Route add_route(const std::vector<const Link*>& links) const;
  // What a flow between the ends of a route loads, as Route::links.
  std::vector<const Link*> links_between(const Host* source, const Host* destination) const;

  // Where and how closely its predictions were held against measurements, as the file says.
  const std::vector<Record>& records() const { return records_; }

  bool is_ideal() const { return network_ == nullptr; }
  // Null if ideal. For sim/cluster, and for what has SimGrid carry flows over it.
  const std::shared_ptr<Network>& network() const { return network_; }
  const std::string& name() const { return name_; }  // the file's, or "ideal network, 0.5 ms a hop"
  const std::string& text() const { return text_; }  // the file's content, empty if ideal

 private:
  Cluster() = default;

  double ideal_latency_ = 0;
  double latency_factor_ = 1;
  std::string name_;
  std::string text_;
  std::vector<Record> records_;
  std::vector<Host*> gpus_;
  std::vector<std::vector<Host*>> nodes_;
  std::shared_ptr<Network> network_;  // null: ideal
};

std::string simgrid_version();  // that this was built for: "SimGrid 3.32"

}  // namespace pipewright::cluster
