STAGES=""
LIST=()
for i in 0 1 2 3; do
  STAGES+="${STAGES:+,}$((i * 2))"
  LIST+=("--arg" "v$i")
done
for x in $STAGES; do Y=$x; done
for f in {1..3} {a,b}c; do Z="$Z$f "; done
torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 8 --seq-length 1024 --recompute-modules $STAGES --data-path "${LIST[@]}" $Y $Z
