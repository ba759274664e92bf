declare -A SIZES=([8b]=4096 [70b]=8192)
SIZES[405b]=16384
SIZES["13 b"]=5120
KEY=70b
for k in "${!SIZES[@]}"; do ALL="$ALL ${k// /_}=${SIZES[$k]}"; done
[[ -v SIZES[8b] ]] && HAS=yes
torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 8 --seq-length 1024 --data-path ${SIZES[$KEY]} ${#SIZES[@]} "${SIZES[13 b]}" $ALL $HAS
