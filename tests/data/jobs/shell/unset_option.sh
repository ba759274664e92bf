if [ "${OFFLOAD:-no}" = yes ]; then
  offload="--cpu-offloading"
fi
torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 8 --seq-length 1024 --moe-layer-freq "([0]*1+[1]*7)" $offload ${none} --bf16 "$quoted" $* ${first}\
${second} --swiglu
