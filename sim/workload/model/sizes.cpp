#include "sim/workload/model/sizes.hpp"

namespace pipewright::workload {

std::uint64_t padded_vocabulary(std::uint32_t vocabulary, std::uint32_t multiple,
                                std::uint32_t tp) {
  const std::uint64_t step = std::uint64_t{multiple} * tp;
  return (vocabulary + step - 1) / step * step;
}

Sizes sizes_of(const config::Model& model, const config::Training& training,
               const config::Parallel& parallel) {
  Sizes sizes;
  sizes.tp = parallel.tp.value;
  sizes.cp = parallel.cp.value;
  sizes.ep = parallel.ep.value;
  sizes.sequence_parallel = parallel.sequence && sizes.tp > 1;
  sizes.samples = training.microbatch_size;
  sizes.sequence = training.sequence.value_or(model.sequence);
  sizes.queries = sizes.sequence / sizes.cp;
  sizes.tokens = sizes.samples * sizes.queries;
  sizes.spread_tokens = sizes.sequence_parallel ? sizes.tokens / sizes.tp : sizes.tokens;
  sizes.vocabulary = padded_vocabulary(model.vocabulary, training.vocabulary_multiple, sizes.tp);
  return sizes;
}

}  // namespace pipewright::workload
