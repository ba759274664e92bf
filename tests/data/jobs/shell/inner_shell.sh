export SEEN=1
HIDDEN=2
LOCAL=3 bash -c 'echo "$LOCAL"' > /dev/null
srun --label -N 2 bash -lc 'torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 8 --seq-length 1024 --data-path "$SEEN" "$HIDDEN" $0 $1' zero one
