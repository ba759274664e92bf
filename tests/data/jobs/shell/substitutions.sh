calc() { awk "BEGIN { printf \"%.0f\n\", $* }"; }
A=$(echo one two | cut -d' ' -f2)
B=`basename /x/model.json .json`
C=$(dirname /x/y/z)
D=$(expr 3 + 4)
E=$(seq -s 2>/dev/null; seq 3 | tail -n 1)
F=$(echo "7B" | tr 'B' 'b')
G=$(echo "a b c" | wc -w)
H=$(echo "6*7/4" | bc)
I=$(calc 1.5*1000000000/3e3)
J=$(echo "$(echo nested "$(echo deep)")")
K=$(for i in 1 2; do echo -n "k$i,"; done)
L=$(echo -e "x\ny" | head -1)
if echo "llama-70b" | grep -q 70b; then M=large; fi
torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 8 --seq-length 1024 --data-path $A $B $C $D $F $G $H $I $J "$K" $L $M
