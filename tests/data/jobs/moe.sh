NNODES=8
GPUS_PER_NODE=8
OPTIONS=" \
  --num-layers 27 --hidden-size 2048 --num-attention-heads 16 \
  --ffn-hidden-size 10944 --kv-channels 16 \
  --multi-latent-attention --kv-lora-rank 512 --v-head-dim 128 \
  --num-experts 64 --moe-layer-freq ([0]+[1]*26) --moe-ffn-hidden-size 1408 \
  --moe-router-topk 6 --moe-shared-expert-intermediate-size 2816 \
  --moe-token-dispatcher-type flex --moe-flex-dispatcher-backend deepep --moe-grouped-gemm \
  --swiglu --normalization RMSNorm --disable-bias-linear --position-embedding-type rope \
  --untie-embeddings-and-output-weights --hidden-dropout 0 --attention-dropout 0 \
  --seq-length 4096 --padded-vocab-size 102400 \
  --expert-model-parallel-size 8 --micro-batch-size 4 --global-batch-size 1024 \
  --use-distributed-optimizer --bf16 --recompute-granularity selective \
  --recompute-modules moe_act layernorm --some-new-flag 3"
torchrun --nnodes $NNODES --nproc_per_node=$GPUS_PER_NODE pretrain_gpt.py ${OPTIONS}
