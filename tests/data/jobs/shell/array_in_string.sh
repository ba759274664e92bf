ARGS=(
  --num-layers 8 --hidden-size 1024
  --num-attention-heads 8
)
EMPTY=()
CMD="torchrun --nproc_per_node 8 pretrain_gpt.py ${ARGS[@]} ${EMPTY[@]} --seq-length 1024"
bash -c "$CMD"
