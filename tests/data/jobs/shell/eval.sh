options=" \
  --num-layers 8 \
  --hidden-size 1024 --num-attention-heads 8"
run_cmd="torchrun --nproc_per_node 8 pretrain_gpt.py $options
  --seq-length 1024 --save 'a b'"
name=TP
eval "$name=2"
eval echo nothing \> /dev/null
echo $run_cmd
eval ${run_cmd} --tensor-model-parallel-size $TP
set +x
