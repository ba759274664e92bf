printf -v NAME "%s-%d" gpt 13
printf -v PADDED '%03d|%s\n' 7 a
LIST=$(printf ' %s' a b c)
NUMBER=$(printf "%d%%" 40)
torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 8 --seq-length 1024 --data-path "$NAME" "$PADDED" $LIST "$NUMBER" "$(printf 'a\tb')"
