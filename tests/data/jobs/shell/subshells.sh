A=1
( A=2; B=3 )
{ C=4; }
echo "p q" | while read x y; do D=$y; done
echo ignored | { read z; E=$z; } ; F=$(A=9; echo $A)
shopt -s lastpipe 2> /dev/null || true
true & wait
torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 8 --seq-length 1024 --data-path $A $B $C $D "$E" $F
