deepspeed --num_nodes 2 --num_gpus 8 pretrain_gpt.py \
  --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --num-key-value-heads 4 \
  --ffn-hidden-size 5504 --seq-length 2048 --max-position-embeddings 2048 \
  --use-rotary-position-embeddings --untie-embeddings-and-output-weights --swiglu \
  --normalization rmsnorm --disable-bias-linear --hidden-dropout 0 --attention-dropout 0 \
  --tensor-model-parallel-size 2 --no-pipeline-parallel --vocab-size 32000 \
  --deepspeed --deepspeed_config ds.json
