let A=3+4 "B = A * 2"
((C = A ** 2, D = C % 5))
((E += 7)); ((E++)); ((--E))
F=$((0x10 + 010 + 2#101))
I=(1 2 3)
G=$((I[1] + ${I[2]} * -1 + !0 + ~5 ^ 3 | 8))
if ((A > 5 && (B < 10 || C == 49))); then H=yes; fi
((0)) || J=failed
K=$((A/2*2)) ; K2=$(( (A)*(B) )) ; N="$[A+1]"
torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 8 --seq-length 1024 --data-path $A $B $C $D $E $F $G $H $J $K $K2 $N $((A++)) $A
