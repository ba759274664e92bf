ALL=""
for name in llama-8b Llama_70B gpt3 "a b" 17 '*'; do
  case "$name" in
    llama-[0-9]*) ALL="$ALL small" ;;
    [[:upper:]]*_7?B | never) ALL="$ALL large" ;&
    neither) ALL="$ALL fell" ;;
    gpt*) ALL="$ALL gpt" ;;&
    *3) ALL="$ALL three" ;;
    "a b") ALL="$ALL blank" ;;
    "*") ALL="$ALL star" ;;
    [!a-z]*) ALL="$ALL other" ;;
  esac
done
torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 8 --seq-length 1024 --data-path $ALL
