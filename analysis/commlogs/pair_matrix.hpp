#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

// What GPUs see of the network between them. Bandwidths in bytes/s, latencies in seconds.
namespace pipewright::analysis {

// Pairs of a sender and a receiver that the network treats alike while nobody else sends.
struct PairClass {
  std::string where;     // "in a node", "same rail", "other rail" or "between nodes"
  std::string links;     // classes of the links on the way, "nic + leaf-spine"
  double bandwidth = 0;  // of the narrowest link
  double latency = 0;    // of the whole way
  std::uint64_t pairs = 0;
  std::string sender;  // of the first such pair
  std::string receiver;

  // Of a message of so many bytes, which waits for the latency; of endless ones if 0.
  double reached(std::uint64_t bytes) const {
    if (bytes == 0) return bandwidth;
    const auto count = static_cast<double>(bytes);
    return count / (latency + count / bandwidth);
  }
};

struct PairMatrix {
  static constexpr std::uint32_t itself = std::numeric_limits<std::uint32_t>::max();

  std::vector<std::string> names;    // of GPUs, or of nodes
  std::vector<std::uint32_t> nodes;  // which node each is of
  std::vector<PairClass> classes;    // the widest first, of those the nearest
  // Row by row, what is sent; column by column, what is received. Empty if only some of the pairs
  // were looked at.
  std::vector<std::uint32_t> class_of;
  std::uint64_t pairs = 0;  // looked at

  std::size_t size() const { return names.size(); }
  bool is_whole() const { return !class_of.empty(); }
  std::uint32_t at(std::size_t sender, std::size_t receiver) const {
    return class_of[sender * size() + receiver];
  }
};

// Every GPU sends to one other and receives from one, all at once, at max-min fair rates.
struct PermutationFigures {
  double slowest = 0;  // flow
  double total = 0;    // of all flows
  double alone = 0;    // the total if each flow had the network for itself
  std::uint32_t slowest_sender = 0;
  std::uint32_t slowest_receiver = 0;
  // The link that holds up the slowest flow: full, with so many flows.
  std::string link;
  std::string link_class;
  double link_bandwidth = 0;
  std::uint32_t link_flows = 0;

  std::vector<std::uint32_t> receiver_of;
};

// What the network does when all GPUs send at once.
struct Contention {
  double bisection = 0;           // as `platform show`: along rails, each GPU to those of its place
  double all_pairs = 0;           // all of the first half to all of the second, each pair alike
  PermutationFigures half_shift;  // GPU i to i + n/2
  PermutationFigures worst;       // of those that were tried: the lowest total
  std::string worst_from;         // how it was found
  std::uint64_t tried = 0;
  // The slowest flow of no permutation is slower. 0: unknown, as only some pairs were looked at.
  double slowest_bound = 0;
};

// Of each pair of nodes, and of each node with itself, what the pair of their GPUs with the least
// bandwidth sees, of those the one with the longest latency.
PairMatrix by_node(const PairMatrix& by_gpu);

// A rectangle of cells of one class: rows `top` to `bottom`, columns `left` to `right`, without the
// last ones.
struct CellBlock {
  std::uint32_t number = 0;  // of the class, or PairMatrix::itself
  std::size_t left = 0;
  std::size_t top = 0;
  std::size_t right = 0;
  std::size_t bottom = 0;
};

// Cuts a whole matrix into blocks, those of a class one after the other. First comes one block of
// everything, in the most frequent class; what follows lies on it.
std::vector<CellBlock> blocks_of(const PairMatrix& matrix);

// A matrix of at most so many rows, at equal distances.
PairMatrix some_of(const PairMatrix& matrix, std::size_t most);

}  // namespace pipewright::analysis
