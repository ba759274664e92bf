L=(a b 'c d' e)
L+=(f)
L[7]=h
unset 'X'
NAMES="${#L[@]} ${L[1]} ${L[-1]} ${!L[*]}"
torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 8 --seq-length 1024 "${L[@]:1:2}" ${L[@]:3} "${L[*]}" "pre${L[@]}post" $NAMES "${EMPTY[@]}" "${L[@]/#/x}"
