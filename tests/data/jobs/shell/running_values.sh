RUN=$(date +%Y-%m-%d)
LOGS="$HOME/logs/$RUN"
MASTER=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
torchrun --rdzv_endpoint "$MASTER:6000" --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 \
  --save $LOGS --tensorboard-dir "$PWD/tb" --seed ${RANDOM:-1}
