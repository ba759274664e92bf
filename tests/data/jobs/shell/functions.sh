add() {
  local name=$1 count=${2:-1}
  ARGS="$ARGS --$name $((count + offset))"
  return 0
}
function twice { echo "$(( $1 * 2 ))"; }
is_large() { [ "$1" -gt 10 ]; }
offset=1
name=outer
add log-interval 3
add save-interval
if is_large 12; then add eval-iters $(twice 4); fi
is_large 2 || add eval-interval 9
total() { local s=0; for v in "$@"; do s=$((s + v)); done; printf '%s' "$s"; }
torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 8 --seq-length 1024 $ARGS --data-path $name $count "$(total 1 2 3)"
