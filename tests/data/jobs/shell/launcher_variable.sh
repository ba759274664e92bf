export LAUNCHER="python -u -m torch.distributed.run --nproc_per_node 8"
export CMD=" \
    pretrain_gpt.py \
    --num-layers 8 --hidden-size 1024 \
    --num-attention-heads 8 --seq-length 1024 \
    "
echo $CMD
srun --jobid $SLURM_JOBID bash -c '$LAUNCHER --node_rank $SLURM_PROCID $CMD' 2>&1 | tee -a out.txt
