TP=${TP:-4}
OVERLAP=$(( $TP > 1 ? 1 : 0 ))
BOTH=$((TP>=4&&OVERLAP==1?TP<<1:-1))
opt="--overlap-grad-reduce"
if [ $OVERLAP -eq 1 ]; then
  opt="--overlap-grad-reduce --tp-comm-overlap"
fi
torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 8 --seq-length 1024 --tensor-model-parallel-size $TP $opt --pipeline-model-parallel-size $BOTH
