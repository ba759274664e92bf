MODEL=${1:-small}
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$HERE/common.inc"
. ./common.inc
add_flag --bf16
add_flag --swiglu
torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers $LAYERS --hidden-size $WIDTH $FLAGS --seq-length 1024
