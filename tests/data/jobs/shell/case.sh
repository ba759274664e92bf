SCALE=${SCALE:-8b}
case $SCALE in
  1b)
    TP=1
    ;;
  8b)
    TP=4
    ;;
  *)
    echo unknown scale
    exit 1
    ;;
esac
torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 8 --seq-length 1024 --tensor-model-parallel-size $TP
