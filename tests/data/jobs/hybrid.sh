torchrun --nproc-per-node 8 --nnodes 2 pretrain_mamba.py \
  --hybrid-layer-pattern 'M-M-|M-M*-|M-M-|M-M*-' --hidden-size 1024 --num-attention-heads 8 \
  --pipeline-model-parallel-size 4 --tensor-model-parallel-size 2 --sequence-parallel \
  --seq-length 2048 --position-embedding-type none --normalization RMSNorm --disable-bias-linear \
  --mamba-state-dim 64 --squared-relu --vocab-size 50000 --untie-embeddings-and-output-weights \
  --hidden-dropout 0 --micro-batch-size 1 --global-batch-size 16 --bf16
