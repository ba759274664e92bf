V='single "double" $none'
W="double 'single' \$literal \\ \"inner\" \z"
X=$'tab\tnew\nline\'s'
Y=a\ b"c d"'e f'
Z="first \
second"
long=one\
two
torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 8 --seq-length 1024 --data-path "$V" "$W" "$X" "$Y" "$Z" $long "${V}${Y}" '' "" --lr=1e-4 "a#b" # comment ' with a quote
