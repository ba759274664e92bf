# Qwen3 30B-A3B on 32 GPUs with its optimizer on the CPU.
torchrun --nnodes 4 --nproc_per_node 8 pretrain_gpt.py \
  --num-layers 48 --hidden-size 2048 --ffn-hidden-size 6144 --num-attention-heads 32 \
  --group-query-attention --num-query-groups 4 --kv-channels 128 --qk-layernorm \
  --num-experts 128 --moe-router-topk 8 --moe-ffn-hidden-size 768 --moe-grouped-gemm \
  --moe-token-dispatcher-type alltoall --swiglu --normalization RMSNorm --disable-bias-linear \
  --untie-embeddings-and-output-weights --position-embedding-type rope --seq-length 4096 \
  --hidden-dropout 0 --attention-dropout 0 --bf16 --micro-batch-size 1 --global-batch-size 256 \
  --tensor-model-parallel-size 1 --pipeline-model-parallel-size 2 \
  --expert-model-parallel-size 8 --use-distributed-optimizer --vocab-size 151936 \
  --optimizer-cpu-offload --optimizer-offload-fraction ${FRACTION:-1.0} \
  --use-precision-aware-optimizer $MORE
