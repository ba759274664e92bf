P="["
for ((i = 0; i < 4; i++)); do
  if ((i == 2)); then continue; fi
  P+="$i,"
done
for ((;;)); do break; done
n=0
until [ $n -ge 3 ]; do n=$((n + 1)); done
while true; do
  for j in 1 2 3; do
    [ $j = 2 ] && break 2
  done
done
torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 8 --seq-length 1024 --data-path "${P%,}]" $n $j
