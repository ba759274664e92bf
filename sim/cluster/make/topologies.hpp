#pragma once

#include <vector>

#include "sim/cluster/make/leaves.hpp"

// How leaves are joined. Each writes the zone "fabric".
namespace pipewright::cluster {

// All leaves under one spine, which stands for as many switches as the leaves have cables to. What
// goes up from a leaf is what its nodes can send, over the oversubscription.
void write_leaf_spine(XmlText& xml, const std::vector<Unit>& units, const PlatformRequest& request);

// Pods, each of so many units under a spine, under one core.
void write_fat_tree(XmlText& xml, const std::vector<Unit>& units, const PlatformRequest& request);

// Groups of leaves, a link between any two leaves of a group and any two groups: shortest paths
// through a balanced dragonfly (Kim et al. 2008, ISCA, section 3: a = 2p = 2h, where a leaf has p
// nodes' links, a group a leaves, and a leaf h links to other groups).
void write_dragonfly(XmlText& xml, const std::vector<Unit>& units, const PlatformRequest& request);

// Every node, a leaf of its own, is a corner; the bandwidth of its NICs is spread over its cables,
// two in each dimension, or one where a side has but two corners. Paths go through one dimension
// after the other.
void write_torus(XmlText& xml, const std::vector<Unit>& units, const PlatformRequest& request);

}  // namespace pipewright::cluster
