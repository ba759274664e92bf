A=set; EMPTY=
NAME=A
: ${NEW:=fresh value} "${EMPTY:=filled}"
torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 8 --seq-length 1024 --data-path ${A:-x} ${B:-"q r"} "${B:-s t}" ${EMPTY-kept} ${A:+plus} ${B:+none} ${!NAME} "$NEW" ${C-${A}2} \
  "${B:-"inner quotes"}" ${B:-} "${B:-}" ${EMPTY:+yes}
