set -- --alpha 1 --beta "two words" rest
while [[ $# -gt 0 ]]; do
  case "$1" in
    --alpha) ALPHA=$2; shift 2 ;;
    --beta) BETA="$2"; shift; shift ;;
    *) REST+=("$1"); shift ;;
  esac
done
set -- "${REST[@]}" x "y z"
LAST="${@: -1}"
torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 8 --seq-length 1024 --data-path $ALPHA "$BETA" $# "$@" "$*" "${@:2}" "$LAST" ${3}
