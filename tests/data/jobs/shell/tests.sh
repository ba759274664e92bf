A=fp8; N=12; E=""
[ "$A" = fp8 -a $N -gt 3 ] && R="$R 1"
[ ! -z "$A" ] && R="$R 2"
[ -n "$E" -o "$N" != 12 ] || R="$R 3"
[[ $A == fp* && ! ( $N -lt 3 || -n $E ) ]] && R="$R 4"
[[ $A == "fp*" ]] || R="$R 5"
[[ "x-70b" =~ ^x-([0-9]+)(b)$ ]] && R="$R ${BASH_REMATCH[1]}"
[ $UNSET -eq 1 ] 2> /dev/null || R="$R 6"
[ -z $UNSET ] && R="$R 7"
test abc \< abd && R="$R 8"
if [ "$A" == "bf16" ] || [ "$N" -le 11 ]; then R="$R no"; elif ! [ $N = 3 ]; then R="$R 9"; else R="$R no"; fi
[[ -z "$UNSET" ]] && { R="$R 10"; true; } || R="$R no"
torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 8 --seq-length 1024 --data-path $R
