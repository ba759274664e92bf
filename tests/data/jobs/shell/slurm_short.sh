#!/bin/bash
#SBATCH -N 2
#SBATCH -n 16
#SBATCH --gres=gpu:a100:4
#SBATCH -p big
torchrun --nnodes $SLURM_NNODES --nproc_per_node $SLURM_GPUS_ON_NODE pretrain_gpt.py --num-layers 8 --hidden-size 1024 \
  --data-path $SLURM_NPROCS $SLURM_JOB_PARTITION "${SLURM_GPUS_PER_NODE:-none}"
